package metrics

import "github.com/prometheus/client_golang/prometheus"

// Pool has the numbers of one connection pool.
type Pool struct {
	Total, Idle, Max int32
	Acquired         int64   // connections handed out since the start
	WaitSeconds      float64 // spent waiting for them since the start
}

// pools reads the pools' numbers whenever Prometheus collects.
type pools struct {
	read                                 func() map[string]Pool
	total, idle, limit, acquired, waited *prometheus.Desc
}

// Pools registers a function that reads the pools of the current policy.
func (m *Metrics) Pools(read func() map[string]Pool) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("dpproxy_pool_"+name, help, []string{"database"}, nil)
	}
	m.registry.MustRegister(&pools{
		read:     read,
		total:    desc("connections", "Open connections to a database."),
		idle:     desc("idle_connections", "Open connections that are not in use."),
		limit:    desc("max_connections", "The pool's limit."),
		acquired: desc("acquired_total", "Connections handed out."),
		waited:   desc("wait_seconds_total", "Time spent waiting for connections."),
	})
}

// Describe implements prometheus.Collector.
func (p *pools) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.total, p.idle, p.limit, p.acquired, p.waited} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (p *pools) Collect(out chan<- prometheus.Metric) {
	for database, s := range p.read() {
		gauge := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, database)
		}
		counter := func(d *prometheus.Desc, v float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, database)
		}
		gauge(p.total, float64(s.Total))
		gauge(p.idle, float64(s.Idle))
		gauge(p.limit, float64(s.Max))
		counter(p.acquired, float64(s.Acquired))
		counter(p.waited, s.WaitSeconds)
	}
}

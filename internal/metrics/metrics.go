// Package metrics counts what the proxy does. It serves the counts to Prometheus at /metrics, and /healthz and /readyz.
//
// Metrics implements the hook interfaces that wire and engine declare. It has its own registry. No label holds SQL, a
// name of the schema or a value: operators may see them, but dashboards reach other people too. Analysts are named only
// where the policy says `metrics: {analysts: true}` (analysts.go).
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/dpproxy/dpproxy/internal/version"
)

// Metrics holds every counter. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	connections prometheus.Gauge
	opened      prometheus.Counter
	refused     *prometheus.CounterVec
	logins      prometheus.Counter
	messages    *prometheus.HistogramVec
	errors      *prometheus.CounterVec
	statements  *prometheus.CounterVec
	stages      *prometheus.HistogramVec
	epsilon     prometheus.Counter
	share       prometheus.Counter
	uncertified prometheus.Counter
	reloads     *prometheus.CounterVec
	stale       prometheus.Gauge
	ledger      ledgerMetrics
	analysts    *analysts
}

// buckets are durations in seconds, from a kept answer to a long measure query.
var buckets = []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30}

// New returns metrics that count from 0.
func New() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dpproxy_connections", Help: "Open client connections."}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dpproxy_connections_total",
			Help: "Client connections accepted.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_connections_refused_total",
			Help: "Client connections refused before a session, by reason.",
		}, []string{"reason"}),
		logins: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dpproxy_login_failures_total",
			Help: "Failed authentications.",
		}),
		messages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dpproxy_message_seconds",
			Help: "Time to handle a client's message, by its name.", Buckets: buckets,
		}, []string{"message"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_errors_total",
			Help: "Errors sent to clients, by SQLSTATE.",
		}, []string{"sqlstate"}),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_statements_total",
			Help: "Statements accepted, by verdict.",
		}, []string{"verdict"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dpproxy_stage_seconds",
			Help: "Time spent in one stage of a statement.", Buckets: buckets,
		}, []string{"stage"}),
		epsilon: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dpproxy_epsilon_charged_total",
			Help: "Sum of the epsilon of charged statements.",
		}),
		share: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dpproxy_share_charged_total",
			Help: "Sum of the shares that charged statements took of their analysts' budgets: 1 is one whole budget.",
		}),
		uncertified: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "dpproxy_uncertified_total",
			Help: "Queries for main that certify cannot derive: refused, or run where the policy says certify: warn.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_reloads_total",
			Help: "Policy reloads, by result.",
		}, []string{"result"}),
		stale: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "dpproxy_shadow_stale",
			Help: "1 while the databases are not what the policy says, as of the last look; the log has what differs.",
		}),
		ledger: newLedgerMetrics(), analysts: newAnalysts(),
	}
	m.registry.MustRegister(build(), m.connections, m.opened, m.refused, m.logins, m.messages, m.errors, m.statements,
		m.stages,
		m.epsilon, m.share, m.uncertified, m.reloads, m.stale, m.ledger.calls, m.ledger.records, m.ledger.errors, m.analysts,
		m.analysts.statements, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// build is 1, with labels that say which dpproxy runs.
func build() prometheus.Collector {
	v := version.Of()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dpproxy_build_info", Help: "Always 1; the labels say which build runs.",
		ConstLabels: prometheus.Labels{"version": v.Version, "revision": v.Revision, "goversion": v.Go},
	}, func() float64 { return 1 })
}

// ConnectionOpened counts an accepted connection.
func (m *Metrics) ConnectionOpened() { m.connections.Inc(); m.opened.Inc() }

// ConnectionClosed counts the end of a connection.
func (m *Metrics) ConnectionClosed() { m.connections.Dec() }

// ConnectionRefused counts a refused connection.
func (m *Metrics) ConnectionRefused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// LoginFailed counts a failed authentication.
func (m *Metrics) LoginFailed() { m.logins.Inc() }

// Message records how long a client's message took.
func (m *Metrics) Message(name string, took time.Duration) {
	m.messages.WithLabelValues(name).Observe(took.Seconds())
}

// ErrorSent counts an error by its SQLSTATE.
func (m *Metrics) ErrorSent(code string) { m.errors.WithLabelValues(code).Inc() }

// Statement counts a statement by verdict.
func (m *Metrics) Statement(verdict string) { m.statements.WithLabelValues(verdict).Inc() }

// Stage records how long one stage of a statement took.
func (m *Metrics) Stage(stage string, d time.Duration) {
	m.stages.WithLabelValues(stage).Observe(d.Seconds())
}

// Charged adds to the ε that was charged, and to the shares of budgets.
func (m *Metrics) Charged(epsilon, share float64) {
	m.epsilon.Add(max(epsilon, 0)) // a counter panics if it is decreased
	m.share.Add(max(share, 0))
}

// Uncertified counts a query for main that is not certified.
func (m *Metrics) Uncertified() { m.uncertified.Inc() }

// Stale says whether the databases are what the policy says.
func (m *Metrics) Stale(stale bool) {
	value := 0.0
	if stale {
		value = 1
	}
	m.stale.Set(value)
}

// Reloaded counts a policy reload.
func (m *Metrics) Reloaded(ok bool) {
	result := "failed"
	if ok {
		result = "ok"
	}
	m.reloads.WithLabelValues(result).Inc()
}

// Package metrics counts what the proxy does and serves the counts to Prometheus, with /healthz and /readyz beside them.
//
// Metrics implements the hook interfaces that wire and engine declare. It has its own registry. No label holds SQL, a
// name of the schema, a value or an analyst: the listener is for operators, who may see more of main than analysts, but
// dashboards travel. What is spent per analyst is in `dpproxy budget show`.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
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
	reloads     *prometheus.CounterVec
	ledger      ledgerMetrics
}

// buckets of durations in seconds: from a cached plan to a long measure query.
var buckets = []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1, 3, 10, 30}

// New returns metrics that count from zero.
func New() *Metrics {
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dpproxy_connections", Help: "Open client connections."}),
		opened:      prometheus.NewCounter(prometheus.CounterOpts{Name: "dpproxy_connections_total", Help: "Client connections accepted."}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpproxy_connections_refused_total",
			Help: "Client connections refused before a session, by reason."}, []string{"reason"}),
		logins: prometheus.NewCounter(prometheus.CounterOpts{Name: "dpproxy_login_failures_total", Help: "Failed authentications."}),
		messages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dpproxy_message_seconds",
			Help: "Time to handle a client's message, by its name.", Buckets: buckets}, []string{"message"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpproxy_errors_total",
			Help: "Errors sent to clients, by SQLSTATE."}, []string{"sqlstate"}),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpproxy_statements_total",
			Help: "Statements accepted, by what became of them."}, []string{"verdict"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dpproxy_stage_seconds",
			Help: "Time spent in one stage of a statement.", Buckets: buckets}, []string{"stage"}),
		epsilon: prometheus.NewCounter(prometheus.CounterOpts{Name: "dpproxy_epsilon_charged_total", Help: "Sum of the epsilon of charged statements."}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dpproxy_reloads_total",
			Help: "Policy reloads, by result."}, []string{"result"}),
		ledger: newLedgerMetrics(),
	}
	m.registry.MustRegister(m.connections, m.opened, m.refused, m.logins, m.messages, m.errors, m.statements, m.stages,
		m.epsilon, m.reloads, m.ledger.calls, m.ledger.records, m.ledger.errors, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// ConnectionOpened counts an accepted connection.
func (m *Metrics) ConnectionOpened() { m.connections.Inc(); m.opened.Inc() }

// ConnectionClosed counts its end.
func (m *Metrics) ConnectionClosed() { m.connections.Dec() }

// ConnectionRefused counts a refused connection.
func (m *Metrics) ConnectionRefused(reason string) { m.refused.WithLabelValues(reason).Inc() }

// LoginFailed counts a failed authentication.
func (m *Metrics) LoginFailed() { m.logins.Inc() }

// Message observes one handled message.
func (m *Metrics) Message(name string, took time.Duration) {
	m.messages.WithLabelValues(name).Observe(took.Seconds())
}

// ErrorSent counts an error by its SQLSTATE.
func (m *Metrics) ErrorSent(code string) { m.errors.WithLabelValues(code).Inc() }

// Statement counts a statement by verdict.
func (m *Metrics) Statement(verdict string) { m.statements.WithLabelValues(verdict).Inc() }

// Stage observes one stage of a statement.
func (m *Metrics) Stage(stage string, d time.Duration) {
	m.stages.WithLabelValues(stage).Observe(d.Seconds())
}

// Charged adds to the ε charged.
func (m *Metrics) Charged(epsilon float64) {
	if epsilon > 0 { // a counter panics on less
		m.epsilon.Add(epsilon)
	}
}

// Reloaded counts a policy reload.
func (m *Metrics) Reloaded(ok bool) {
	result := "failed"
	if ok {
		result = "ok"
	}
	m.reloads.WithLabelValues(result).Inc()
}

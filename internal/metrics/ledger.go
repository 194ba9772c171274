package metrics

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
)

// ledgerMetrics count and time calls of the ledger.
type ledgerMetrics struct {
	calls   *prometheus.HistogramVec
	records *prometheus.CounterVec
	errors  *prometheus.CounterVec
}

func newLedgerMetrics() ledgerMetrics {
	return ledgerMetrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dpproxy_ledger_seconds",
			Help: "Time of one call of the ledger. Spend returns when its charges are on disk.", Buckets: buckets,
		}, []string{"operation"}),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_ledger_records_total",
			Help: "Records that the ledger has made durable.",
		}, []string{"operation"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_ledger_errors_total",
			Help: "Calls of the ledger that ended in an error, by SQLSTATE: 53400 is over budget, 58030 a store that is unavailable.",
		}, []string{"operation", "sqlstate"}),
	}
}

// Ledger records one call of the ledger: its time, the records that it has made durable, and its error.
func (m *Metrics) Ledger(operation string, took time.Duration, records int, err error) {
	m.ledger.calls.WithLabelValues(operation).Observe(took.Seconds())
	m.ledger.records.WithLabelValues(operation).Add(float64(records))
	if err == nil {
		return
	}
	code := "none"
	var e *pgconn.PgError
	if errors.As(err, &e) {
		code = e.Code
	}
	m.ledger.errors.WithLabelValues(operation, code).Inc()
}

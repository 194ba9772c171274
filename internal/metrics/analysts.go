package metrics

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAnalysts bounds the series that have an analyst's name. Statements of further analysts are counted under otherAnalysts.
const (
	maxAnalysts   = 1000
	otherAnalysts = "*other"
)

// Budget is what an analyst has spent and has left in the current period; "*" is all together.
type Budget struct {
	Analyst     string
	Spent, Left float64
}

// analysts holds the series that name analysts. They are served only where the policy asks for them.
type analysts struct {
	budgets     atomic.Pointer[[]Budget] // as the ledger said last; a scrape asks no ledger
	spent, left *prometheus.Desc
	statements  *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]bool // names in statements
}

func newAnalysts() *analysts {
	return &analysts{
		spent: prometheus.NewDesc("dpproxy_budget_epsilon_spent", "Epsilon that an analyst has spent in the current period, or all together (*).", []string{"analyst"}, nil),
		left:  prometheus.NewDesc("dpproxy_budget_epsilon_left", "Epsilon that an analyst has left in the current period, or all together (*).", []string{"analyst"}, nil),
		statements: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dpproxy_analyst_statements_total",
			Help: "Statements of an analyst, by verdict: also those of the session itself, and all that were refused.",
		}, []string{"analyst", "verdict"}),
		seen: map[string]bool{},
	}
}

// Budgets replaces the budgets that are served, of which the first maxAnalysts are; nil: none.
func (m *Metrics) Budgets(budgets []Budget) {
	budgets = budgets[:min(len(budgets), maxAnalysts)]
	m.analysts.budgets.Store(&budgets)
}

// AnalystStatement counts a statement of an analyst.
func (m *Metrics) AnalystStatement(analyst, verdict string) {
	m.analysts.statements.WithLabelValues(m.analysts.name(analyst), verdict).Inc()
}

// name is the label of an analyst.
func (a *analysts) name(analyst string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.seen[analyst] {
		if len(a.seen) == maxAnalysts {
			return otherAnalysts
		}
		a.seen[analyst] = true
	}
	return analyst
}

// Describe implements prometheus.Collector.
func (a *analysts) Describe(out chan<- *prometheus.Desc) { out <- a.spent; out <- a.left }

// Collect implements prometheus.Collector.
func (a *analysts) Collect(out chan<- prometheus.Metric) {
	budgets := a.budgets.Load()
	if budgets == nil {
		return
	}
	for _, b := range *budgets {
		out <- prometheus.MustNewConstMetric(a.spent, prometheus.GaugeValue, b.Spent, b.Analyst)
		out <- prometheus.MustNewConstMetric(a.left, prometheus.GaugeValue, math.Max(b.Left, 0), b.Analyst)
	}
}

package metrics

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAnalysts bounds the series that have an analyst's name. Statements of further analysts are counted under
// otherAnalysts.
const (
	maxAnalysts   = 1000
	otherAnalysts = "*other"
)

// Budget is what an analyst has spent and has left in the current period; "*" is all together.
type Budget struct {
	Analyst               string
	Spent, Left           float64 // epsilon
	ShareSpent, ShareLeft float64 // of the budget, from 0 to 1
}

// analysts holds the series that name analysts. They are served only where the policy asks for them.
type analysts struct {
	budgets    atomic.Pointer[[]Budget] // as the ledger said last; a scrape asks no ledger
	gauges     []budgetGauge
	statements *prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]bool // names in statements
}

// budgetGauge is one number of each budget.
type budgetGauge struct {
	desc *prometheus.Desc
	of   func(Budget) float64
}

func newAnalysts() *analysts {
	gauge := func(name, help string, of func(Budget) float64) budgetGauge {
		help += " in the current period, or all together (*)."
		return budgetGauge{prometheus.NewDesc("dpproxy_budget_"+name, help, []string{"analyst"}, nil), of}
	}
	return &analysts{
		gauges: []budgetGauge{
			gauge("share_spent", "Share of the budget, from 0 to 1, that an analyst has spent", func(b Budget) float64 {
				return b.ShareSpent
			}),
			gauge("share_left", "Share of the budget, from 0 to 1, that an analyst has left", func(b Budget) float64 {
				return math.Max(b.ShareLeft, 0)
			}),
			gauge("epsilon_spent", "Epsilon that an analyst has spent", func(b Budget) float64 { return b.Spent }),
			gauge("epsilon_left", "Epsilon that an analyst has left", func(b Budget) float64 { return math.Max(b.Left, 0) }),
		},
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
func (a *analysts) Describe(out chan<- *prometheus.Desc) {
	for _, g := range a.gauges {
		out <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (a *analysts) Collect(out chan<- prometheus.Metric) {
	budgets := a.budgets.Load()
	if budgets == nil {
		return
	}
	for _, b := range *budgets {
		for _, g := range a.gauges {
			out <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.of(b), b.Analyst)
		}
	}
}

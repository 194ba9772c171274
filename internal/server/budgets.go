package server

import (
	"context"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/metrics"
)

// budgetsEvery is how old the budgets in the metrics may be. A scrape asks no ledger, so that neither many scrapes nor
// many analysts are work for it.
const budgetsEvery = 15 * time.Second

// budgets keeps the budgets in the metrics as the ledger has them, while the policy asks for them.
func (s *Server) budgets() error {
	ticks := time.NewTicker(budgetsEvery)
	defer ticks.Stop()
	for {
		s.readBudgets()
		select {
		case <-s.serving.Done():
			return nil
		case <-ticks.C:
		}
	}
}

// readBudgets asks the ledger once. Where it does not answer there are no budgets in the metrics: old ones would look
// like those of now.
func (s *Server) readBudgets() {
	st := s.state.Load()
	if st == nil || !st.policy.AnalystMetrics {
		s.metrics.Budgets(nil)
		return
	}
	ctx, cancel := context.WithTimeout(s.serving, budgetsEvery)
	defer cancel()
	accounts, err := s.ledger.Show(ctx)
	if err != nil {
		s.log.Warn("budgets are missing in the metrics", "error", err)
	}
	s.metrics.Budgets(budgetsOf(accounts))
}

// budgetsOf leaves out accounts that have no budget now.
func budgetsOf(accounts []ledger.AccountSummary) []metrics.Budget {
	var out []metrics.Budget
	for _, a := range accounts {
		if !a.Listed {
			continue
		}
		spent := math.Inf(1)
		if a.EpsilonSpent != nil {
			spent = *a.EpsilonSpent
		}
		out = append(out, metrics.Budget{
			Analyst: a.Analyst, Spent: spent, Left: a.EpsilonLeft, ShareSpent: a.ShareSpent,
			ShareLeft: a.ShareLeft,
		})
	}
	return out
}

package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// shown is a ledger that shows accounts, or fails.
type shown struct {
	ledger.Store
	accounts []ledger.AccountSummary
	err      error
	calls    int
}

func (l *shown) Show(context.Context) ([]ledger.AccountSummary, error) {
	l.calls++
	return l.accounts, l.err
}

// TestBudgetsInMetrics: there are budgets where the policy asks for them and the ledger answers, and a scrape asks no
// ledger.
func TestBudgetsInMetrics(t *testing.T) {
	half := 0.5
	l := &shown{accounts: []ledger.AccountSummary{
		{Analyst: "alice", Listed: true, EpsilonSpent: &half, EpsilonLeft: 9.5, ShareSpent: 0.02, ShareLeft: 0.98},
		{Analyst: "broken", Listed: true}, // unbounded
		{Analyst: "gone", EpsilonSpent: &half},
		{Analyst: "*", Listed: true, EpsilonSpent: &half, EpsilonLeft: 39.5},
	}}
	p := &policy.Policy{}
	s := &Server{log: slog.New(slog.DiscardHandler), metrics: metrics.New(), ledger: l, serving: context.Background()}
	s.state.Store(&state{policy: p})
	scrape := func() string {
		s.readBudgets()
		calls := l.calls
		w := httptest.NewRecorder()
		s.metrics.Handler(s.Ready, s.log).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if l.calls != calls {
			t.Error("a scrape asks the ledger")
		}
		return w.Body.String()
	}
	if strings.Contains(scrape(), "dpproxy_budget") || l.calls > 0 {
		t.Error("budgets that nobody asked for")
	}
	p.AnalystMetrics = true
	body := scrape()
	for _, line := range []string{
		`dpproxy_budget_share_spent{analyst="alice"} 0.02`, `dpproxy_budget_share_left{analyst="alice"} 0.98`,
		`dpproxy_budget_epsilon_spent{analyst="alice"} 0.5`, `dpproxy_budget_epsilon_left{analyst="*"} 39.5`,
		`dpproxy_budget_epsilon_spent{analyst="broken"} +Inf`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if strings.Contains(body, `"gone"`) {
		t.Error("an analyst without a budget")
	}
	l.err, l.accounts = errors.New("no disk"), nil
	if strings.Contains(scrape(), "dpproxy_budget") {
		t.Error("old budgets are served while the ledger does not answer")
	}
}

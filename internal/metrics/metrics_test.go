package metrics_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func TestCountsAreServed(t *testing.T) {
	m := metrics.New()
	m.ConnectionOpened()
	m.ConnectionOpened()
	m.ConnectionClosed()
	m.ConnectionRefused("address")
	m.LoginFailed()
	m.Message("Query", 2*time.Millisecond)
	m.ErrorSent("42501")
	m.Statement("private")
	m.Stage("charge", time.Millisecond)
	m.Charged(0.5, 0.02)
	m.Charged(0.25, 0.01)
	m.Charged(-1, -1)
	m.Ledger("spend", 2*time.Millisecond, 3, nil)
	m.Ledger("spend", time.Millisecond, 0, pgerr.New(pgerr.BudgetExceeded, "over budget"))
	m.Ledger("answer", time.Millisecond, 0, errors.New("gone"))
	m.Reloaded(true)
	m.Reloaded(false)
	m.AnalystStatement("alice", "private")
	m.Budgets([]metrics.Budget{
		{Analyst: "alice", Spent: 0.5, Left: 9.5, ShareSpent: 0.02, ShareLeft: 0.98},
		{Analyst: "*", Spent: math.Inf(1), Left: -1e-17, ShareSpent: 1, ShareLeft: -1e-17},
	})
	m.Pools(func() map[string]metrics.Pool {
		return map[string]metrics.Pool{"main": {Total: 3, Idle: 1, Max: 8, Acquired: 42, WaitSeconds: 1.5}}
	})
	_, body := get(t, m.Handler(func(context.Context) error { return nil }, slog.Default()), "/metrics")
	for _, line := range []string{
		"dpproxy_connections 1",
		"dpproxy_connections_total 2",
		`dpproxy_connections_refused_total{reason="address"} 1`,
		"dpproxy_login_failures_total 1",
		`dpproxy_message_seconds_count{message="Query"} 1`,
		`dpproxy_message_seconds_bucket{message="Query",le="0.003"} 1`,
		`dpproxy_message_seconds_bucket{message="Query",le="0.001"} 0`,
		`dpproxy_errors_total{sqlstate="42501"} 1`,
		`dpproxy_statements_total{verdict="private"} 1`,
		`dpproxy_stage_seconds_count{stage="charge"} 1`,
		"dpproxy_epsilon_charged_total 0.75",
		"dpproxy_share_charged_total 0.03",
		`dpproxy_ledger_seconds_count{operation="spend"} 2`,
		`dpproxy_ledger_records_total{operation="spend"} 3`,
		`dpproxy_ledger_errors_total{operation="spend",sqlstate="53400"} 1`,
		`dpproxy_ledger_errors_total{operation="answer",sqlstate="none"} 1`,
		`dpproxy_reloads_total{result="ok"} 1`,
		`dpproxy_reloads_total{result="failed"} 1`,
		`dpproxy_pool_connections{database="main"} 3`,
		`dpproxy_pool_acquired_total{database="main"} 42`,
		`dpproxy_budget_share_spent{analyst="alice"} 0.02`,
		`dpproxy_budget_share_left{analyst="alice"} 0.98`,
		`dpproxy_budget_share_left{analyst="*"} 0`,
		`dpproxy_budget_epsilon_spent{analyst="alice"} 0.5`,
		`dpproxy_budget_epsilon_left{analyst="alice"} 9.5`,
		`dpproxy_budget_epsilon_spent{analyst="*"} +Inf`,
		`dpproxy_budget_epsilon_left{analyst="*"} 0`,
		`dpproxy_analyst_statements_total{analyst="alice",verdict="private"} 1`,
		"go_goroutines ",
	} {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("/metrics lacks %q", line)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
}

// TestAnalystsInMetricsAreBounded: whoever can make many analysts does not make many series.
func TestAnalystsInMetricsAreBounded(t *testing.T) {
	m := metrics.New()
	var budgets []metrics.Budget
	for i := range 1100 {
		name := "analyst" + strconv.Itoa(i)
		m.AnalystStatement(name, "private")
		budgets = append(budgets, metrics.Budget{Analyst: name})
	}
	m.Budgets(budgets)
	h := m.Handler(func(context.Context) error { return nil }, slog.Default())
	_, body := get(t, h, "/metrics")
	if n := strings.Count(body, "\ndpproxy_analyst_statements_total{"); n != 1001 ||
		!strings.Contains(body, `{analyst="*other",verdict="private"} 100`) {
		t.Errorf("%d analysts", n)
	}
	if n := strings.Count(body, "\ndpproxy_budget_epsilon_left{"); n != 1000 {
		t.Errorf("%d budgets", n)
	}
	m.Budgets(nil)
	if _, body = get(t, h, "/metrics"); strings.Contains(body, "dpproxy_budget") {
		t.Error("budgets are served that nobody asked for")
	}
}

func TestReadiness(t *testing.T) {
	var log strings.Builder
	var state error
	h := metrics.New().Handler(func(context.Context) error { return state }, slog.New(slog.NewTextHandler(&log, nil)))
	if code, body := get(t, h, "/readyz"); code != 200 || body != "ok\n" {
		t.Errorf("ready: %d %q", code, body)
	}
	state = errors.New("databases.main: no route to 10.0.0.7")
	if code, body := get(t, h, "/readyz"); code != 503 || body != "not ready\n" {
		t.Errorf("not ready: %d %q", code, body)
	}
	if !strings.Contains(log.String(), "10.0.0.7") {
		t.Error("the reason is not in the log")
	}
	if code, _ := get(t, h, "/healthz"); code != 200 {
		t.Errorf("healthz: %d", code)
	}
	if code, _ := get(t, h, "/elsewhere"); code != 404 {
		t.Errorf("elsewhere: %d", code)
	}
}

func TestReadinessAsksWithADeadline(t *testing.T) {
	h := metrics.New().Handler(func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		return nil
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	get(t, h, "/readyz")
}

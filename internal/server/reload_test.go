package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/metrics"
)

// replace gives the policy of the clinic other texts, and reads it again.
func (h *hospital) replace(texts ...string) {
	h.t.Helper()
	common, clinic := h.common, h.of["clinic"]
	defer func() { h.common, h.of["clinic"] = common, clinic }()
	r := strings.NewReplacer(texts...)
	h.common, h.of["clinic"] = r.Replace(common), r.Replace(clinic)
	h.write("clinic")
	if err := h.Reload(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// hammer asks statements over several connections until stop is called, which returns how often each SQLSTATE came.
func (h *hospital) hammer(connections int) (stop func() map[string]int) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var mu sync.Mutex
	codes := map[string]int{}
	var all sync.WaitGroup
	for c := range connections {
		conn := h.mustLogin("alice", "clinic")
		all.Go(func() {
			modes := []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec}
			for n := 0; ctx.Err() == nil; n++ {
				sql := fmt.Sprintf("SELECT %s FROM patients WHERE id > %d", []string{"count(*)", "avg(age)"}[n%2], n*connections+c)
				_, err := conn.Exec(h.t.Context(), sql, modes[n/2%2])
				code := "00000"
				if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
					if code = refused.Code; strings.HasPrefix(refused.Message, "cached plan") {
						code = "a cached plan"
					}
				} else if err != nil {
					code = err.Error()
				}
				mu.Lock()
				codes[code]++
				mu.Unlock()
			}
		})
	}
	return func() map[string]int {
		cancel()
		all.Wait()
		return codes
	}
}

// charged is a statement in the log that was charged.
var charged = regexp.MustCompile(`verdict=(\S+) sqlstate=(\S+) epsilon=[0-9.e-]*[1-9]`)

// connections counts those of the proxy.
func (h *hospital) connections(admin *pgx.Conn) int {
	h.t.Helper()
	return one[int](
		h.t, admin, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dpproxy' AND usename LIKE 'clinic\\_%'")
}

// TestAReloadEndsWithItsTime: also where it waits for another, or for a look at databases that take long. It counts as
// one that has failed.
func TestAReloadEndsWithItsTime(t *testing.T) {
	s := &Server{reloading: make(chan struct{}, 1), metrics: metrics.New()}
	s.reloading <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("late")
	cancel(late)
	if err := s.Reload(ctx); !errors.Is(err, late) {
		t.Error(err)
	}
	page := httptest.NewRecorder()
	s.metrics.Handler(func(context.Context) error { return nil }, slog.Default()).ServeHTTP(
		page, httptest.NewRequest("GET", "/metrics", nil))
	if failed := `dpproxy_reloads_total{result="failed"} 1`; !strings.Contains(page.Body.String(), failed) {
		t.Errorf("no %s", failed)
	}
}

// TestReloadsWhileStatementsRun: whatever a reload changes, a statement that is charged is answered, and one that is
// not charged is refused for a reason of its own. Databases see the connections of two policies at a time.
func TestReloadsWhileStatementsRun(t *testing.T) {
	h := newHospital(t)
	h.common = strings.Replace(h.common, "databases:\n",
		"answers: {ttl: 0s}\npool: {main: 4, shadow: 4, public: 2}\ndatabases:\n", 1)
	h.common = strings.ReplaceAll(h.common, "epsilon: 100", "epsilon: 1e6")
	h.replace()
	admin, err := pgx.Connect(t.Context(), h.admin["clinic"])
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	h.log.since()
	stop := h.hammer(3)
	const most = 2*(4+2+4+2) + 4 // two pools of main, shadow and public each, and what checks
	seen := 0
	changes := [][]string{
		nil,
		{"age: {bounds: [0, 120]}", "age: {}"},
		{"[0, 120]", "[0, 100]"},
		{"epsilon: 1e6", "epsilon: 1e4"},
		{"pool: {main: 4", "pool: {main: 3"},
		{"method: rdp", "method: pure"},
	}
	for n := range 12 {
		h.replace(changes[n%len(changes)]...)
		seen = max(seen, h.connections(admin))
	}
	codes := stop()
	t.Logf("%d connections at most; SQLSTATE and how often: %v", seen, codes)
	if seen > most {
		t.Errorf("%d connections, more than %d", seen, most)
	}
	for code := range codes {
		// an average without bounds; rdp's noise has no pure ε
		if !slices.Contains([]string{"00000", "0A000", "53400"}, code) {
			t.Errorf("%d statements failed with %s", codes[code], code)
		}
	}
	said := h.log.since()
	if strings.Contains(said, "statements still run") {
		t.Error("a reload waited in vain for the statements of a policy before")
	}
	lines := charged.FindAllStringSubmatch(said, -1)
	if len(lines) < 20 {
		t.Errorf("%d statements were charged", len(lines))
	}
	for _, line := range lines {
		if line[2] != "00000" {
			t.Errorf("a statement was charged and failed: %s", line[0])
		}
	}
}

// TestKeptAnswersStayFree: whatever the budget becomes, also one below what is spent, an answer that is kept is given
// again.
func TestKeptAnswersStayFree(t *testing.T) {
	h := newHospital(t)
	h.common = strings.Replace(h.common, "databases:\n", "answers: {ttl: 1h}\ndatabases:\n", 1)
	h.replace()
	conn := h.mustLogin("alice", "clinic")
	questions := []string{countPatients, "SELECT avg(age) FROM patients", "SELECT sum(age) FROM patients WHERE age > 30"}
	var first []string
	ask := func(sql string) string {
		t.Helper()
		return one[string](t, conn, strings.Replace(sql, " FROM", "::text FROM", 1))
	}
	for _, sql := range questions {
		first = append(first, ask(sql))
	}
	for _, budget := range []string{"epsilon: 1000", "epsilon: 2", "epsilon: 0.1"} {
		h.replace("epsilon: 100", budget)
		for i, sql := range questions {
			if again := ask(sql); again != first[i] {
				t.Errorf("%s: %s: %s, and %s before", budget, sql, again, first[i])
			}
		}
	}
	if _, err := conn.Exec(t.Context(), countPatients+" WHERE age = 7"); err == nil {
		t.Error("a new question is answered without a budget")
	}
}

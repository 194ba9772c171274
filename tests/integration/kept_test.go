package integration_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// dashboard has the tables of three pairs of keys, their margins, and slices of them: 34 tiles of 7 tables.
func dashboard() (tables, slices []string) {
	values := map[string][]string{"ward": {"A", "B", "C"}, "diagnosis": {"asthma", "cold", "flu", "gout"}, "smoker": {
		"true", "false",
	}}
	ask := func(list *[]string, where, by string) {
		sql := "SELECT count(*) FROM patients" + where
		if by != "" {
			sql = fmt.Sprintf("SELECT %s, count(*) FROM patients%s GROUP BY %[1]s", by, where)
		}
		*list = append(*list, sql)
	}
	for _, pair := range [][]string{{"ward", "diagnosis"}, {"ward", "smoker"}, {"diagnosis", "smoker"}} {
		ask(&tables, "", pair[0]+", "+pair[1])
		for i, key := range pair {
			for _, v := range values[key] {
				ask(&slices, fmt.Sprintf(" WHERE %s = '%s'", key, v), pair[1-i])
			}
		}
	}
	for _, key := range []string{"smoker", "ward", "diagnosis"} {
		ask(&tables, "", key)
		for _, v := range values[key] {
			ask(&slices, fmt.Sprintf(" WHERE %s = '%s'", key, v), "")
		}
	}
	ask(&tables, "", "")
	return tables, slices
}

// TestDashboard: of a dashboard what is charged are its tables, at most. Slices of these are free, and have the same
// numbers: every key is shown, as of 16 groups noise hides others than of four.
func TestDashboard(t *testing.T) {
	for name, policy := range map[string]string{"rdp": everyKey(clinicPolicy()), "pure": everyKey(purePolicy())} {
		t.Run(name, func(t *testing.T) {
			conn := start(t, policy, clinic).connect()
			tables, slices := dashboard()
			charged := 0
			for i, sql := range append(tables, slices...) {
				spent := spentBy(t, conn, sql)
				if spent > 0 {
					charged++
				}
				if spent > 0 && i >= len(tables) {
					t.Errorf("epsilon %g is spent for %s", spent, sql)
				}
			}
			if charged != 4 { // sums over smokers, of whom there are three groups, are free
				t.Errorf("%d of %d tiles are charged", charged, len(tables)+len(slices))
			}
			of := countsBy(t, conn, "SELECT ward || diagnosis, count(*) FROM patients GROUP BY ward, diagnosis")
			for _, ward := range []string{"A", "B", "C"} {
				slice := countsBy(t, conn, "SELECT '"+ward+"' || diagnosis, count(*) FROM patients WHERE ward = '"+ward+"' GROUP BY diagnosis")
				for key, n := range slice {
					if of[key] != n {
						t.Errorf("%s: %d, in its table %d", key, n, of[key])
					}
				}
			}
		})
	}
}

// charged is the ε of each statement that was charged.
func charged(t *testing.T, conn *pgx.Conn) []float64 {
	t.Helper()
	rows, err := conn.Query(context.Background(), "SELECT epsilon FROM dpproxy.history")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// askAtOnce asks several statements in one message, as psql -c does.
func askAtOnce(t *testing.T, conn *pgx.Conn, list []string) {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), strings.Join(list, "; ")).ReadAll()
	if err != nil || len(results) != len(list) {
		t.Fatalf("%d results: %v", len(results), err)
	}
}

// TestWorkload: of slices that are asked together, in one message or as dpproxy.workload, one is charged for each table,
// in whatever order they come, and as much as it is alone. They have the numbers of the table.
func TestWorkload(t *testing.T) {
	tables, slices := dashboard()
	slices = append(slices, tables...) // the worst order
	const wards = "SELECT 'A', count(*) FROM patients WHERE ward = 'A'; SELECT 'B', count(*) FROM patients WHERE ward = 'B'"
	for name, policy := range map[string]string{"rdp": everyKey(clinicPolicy()), "pure": purePolicy()} {
		t.Run(name, func(t *testing.T) {
			p := start(t, policy, clinic)
			alice, bob := p.connect(), p.connect(func(c *pgx.ConnConfig) { c.User = "bob" })
			askAtOnce(t, bob, slices[:1])
			askAtOnce(t, alice, slices[:3])
			if of, one := charged(t, alice), charged(t, bob); len(of) != 1 || fmt.Sprint(of) != fmt.Sprint(one) {
				t.Errorf("three wards are charged %v, one alone %v", of, one)
			}
			askAtOnce(t, alice, slices)
			if n := len(charged(t, alice)); n != 4 {
				t.Errorf("%d of %d tiles are charged", n, len(slices))
			}
			of := countsBy(t, alice, "SELECT ward, count(*) FROM patients GROUP BY ward")
			for ward, n := range map[string]int64{"A": of["A"], "B": of["B"]} {
				if got := countsBy(t, alice, "SELECT ward, count(*) FROM patients WHERE ward = '"+ward+"' GROUP BY ward"); got[ward] != n {
					t.Errorf("ward %s has %d, in its table %d", ward, got[ward], n)
				}
			}
		})
	}
	t.Run("a pipeline", func(t *testing.T) {
		workloadOfTransaction(t, start(t, everyKey(clinicPolicy()), clinic).connect(), wards)
	})
}

// workloadOfTransaction asks by the extended protocol, with parameters, what SET LOCAL says before.
func workloadOfTransaction(t *testing.T, conn *pgx.Conn, text string) {
	ctx := context.Background()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "SELECT set_config('dpproxy.workload', $1, true)", text); err != nil {
		t.Fatal(err)
	}
	if list := charged(t, conn); len(list) > 0 {
		t.Errorf("setting it is charged %v", list)
	}
	const sql = "SELECT count(*) FROM patients WHERE ward = $1"
	explained := explainText(t, conn, strings.Replace(sql, "$1", "'A'", 1))
	if !strings.Contains(explained, "charged are 1 of 2 different statements") {
		t.Errorf("EXPLAIN says:\n%s", explained)
	}
	batch := &pgx.Batch{}
	for _, ward := range []string{"A", "B", "C"} {
		batch.Queue(sql, ward)
	}
	results := tx.SendBatch(ctx, batch)
	for range batch.Len() {
		var n int64
		if err := results.QueryRow().Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	if err := results.Close(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if list := charged(t, conn); len(list) != 1 {
		t.Errorf("%d statements are charged", len(list))
	}
	var setting string
	if err := conn.QueryRow(ctx, "SHOW dpproxy.workload").Scan(&setting); err != nil || setting != "" {
		t.Errorf("behind the transaction it is %q, %v", setting, err)
	}
}

// TestOneAnswerForAll: under a budget of all analysts two who ask the same are given the same answer. Each is charged,
// and all together once, for what they ask alike.
func TestOneAnswerForAll(t *testing.T) {
	for name, c := range map[string]struct{ policy, budget string }{
		"rdp":  {clinicPolicy("budget: {epsilon: 40, delta: 1e-6}"), "budget: {epsilon: 20, delta: 1e-6}"},
		"pure": {purePolicy("budget: {epsilon: 1000}"), "budget: {epsilon: 20}"},
	} {
		t.Run(name, func(t *testing.T) {
			policy := strings.NewReplacer("budget: {epsilon: 100000, delta: 1e-6}", c.budget, "budget: {epsilon: 1, delta: 1e-6}",
				c.budget).Replace(c.policy)
			p := start(t, policy, clinic)
			const sql = "SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis"
			alice, bob := p.connect(), p.connect(func(c *pgx.ConnConfig) { c.User = "bob" })
			first := countsBy(t, alice, sql)
			before := epsilonLeft(t, bob)
			second := countsBy(t, bob, sql)
			if fmt.Sprint(first) != fmt.Sprint(second) {
				t.Errorf("alice is told %v, bob %v", first, second)
			}
			if before-epsilonLeft(t, bob) < .1 {
				t.Errorf("bob is charged epsilon %g", before-epsilonLeft(t, bob))
			}
			if n := spentBy(t, bob, sql); n != 0 {
				t.Errorf("asked again it costs epsilon %g", n)
			}
			if n := spentBy(t, bob, "SELECT count(*) FROM patients WHERE diagnosis = 'flu'"); n != 0 {
				t.Errorf("a slice of it costs epsilon %g", n)
			}
			spent := p.spent()
			if alice, all := spent["alice"], spent["*"]; math.Abs(all-alice) > .3*alice {
				t.Errorf("alice is charged epsilon %g, bob %g, and all together %g", alice, spent["bob"], all)
			}
			if out, err := p.command("budget", "verify").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// countsBy asks for a count by a text.
func countsBy(t *testing.T, conn *pgx.Conn, sql string) map[string]int64 {
	t.Helper()
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	var key *string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error {
		if key != nil {
			out[*key] = n
		}
		return nil
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// TestKeptIsTold: EXPLAIN says beforehand, and the NOTICE afterwards, what a free answer follows from.
func TestKeptIsTold(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	const table, slice = "SELECT smoker, count(*) FROM patients GROUP BY smoker", "SELECT count(*) FROM patients WHERE smoker"
	if text := explainText(t, conn, slice); strings.Contains(text, "kept:") {
		t.Errorf("before anything is asked:\n%s", text)
	}
	spentBy(t, conn, table)
	if text := explainText(t, conn, slice); !strings.Contains(text, "kept: It follows from what is kept of: "+table) ||
		!strings.Contains(text, "nothing of your budget") {
		t.Errorf("EXPLAIN does not say it:\n%s", text)
	}
	if text := explainText(t, conn, "SELECT count(*) FROM patients"); !strings.Contains(text, "of 3 draws together") {
		t.Errorf("EXPLAIN of the sum:\n%s", text)
	}
	if n := spentBy(t, conn, slice); n != 0 {
		t.Errorf("epsilon %g is spent", n)
	}
	var epsilon, margin float64
	if err := conn.QueryRow(context.Background(), "SELECT epsilon, margin FROM dpproxy.last").Scan(&epsilon, &margin); err != nil {
		t.Fatal(err)
	}
	if epsilon != 0 || margin < 1 {
		t.Errorf("dpproxy.last has epsilon %g and margin %g", epsilon, margin)
	}
}

func explainText(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(context.Background(), "EXPLAIN "+sql)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// spentBy gives what a statement takes of the budget.
func spentBy(t *testing.T, conn *pgx.Conn, sql string) float64 {
	t.Helper()
	before := epsilonLeft(t, conn)
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	return before - epsilonLeft(t, conn)
}

func epsilonLeft(t *testing.T, conn *pgx.Conn) (left float64) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), "SELECT epsilon_left FROM dpproxy.budget").Scan(&left); err != nil {
		t.Fatal(err)
	}
	return left
}

package demo

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

var update = flag.Bool("update", false, "write the tables of docs/choosing.md anew")

const choosingPage = "../../docs/choosing.md"

// foretold is what EXPLAIN says of one statement.
type foretold struct {
	Price    struct{ Statements int }
	Releases []struct{ Margin *float64 }
}

// TestChoosingPage: the tables of docs/choosing.md are what a demo's EXPLAIN says of the margins, and its rows of what bounds leave out.
func TestChoosingPage(t *testing.T) {
	conn, err := pgx.Connect(context.Background(), runningDemo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	page, err := os.ReadFile(choosingPage)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	tables := map[string]string{"rows": rowsTable(t, conn), "bounds": boundsTable(t, conn), "epsilon": epsilonTable(t, conn)} // each at the policy's ε, but for the last
	for name, table := range tables {
		start, end := "<!-- "+name+": TestChoosingPage -->\n\n", "\n<!-- end -->"
		before, rest, found := strings.Cut(text, start)
		old, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("the page has no place for the table %s", name)
		}
		if old != table && !*update {
			t.Errorf("%s: the page has\n%s\nwant\n%s", name, old, table)
		}
		text = before + start + table + end + after
	}
	if *update {
		if err := os.WriteFile(choosingPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// explain asks what a statement would cost, after a setting.
func explain(t *testing.T, conn *pgx.Conn, setting, sql string) foretold {
	t.Helper()
	results, err := conn.PgConn().Exec(context.Background(), setting+"; EXPLAIN (FORMAT JSON) "+sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var list []foretold
	if err := json.Unmarshal(results[1].Rows[0][0], &list); err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// margin is that of the last release with one.
func (f foretold) margin() float64 {
	for _, r := range slices.Backward(f.Releases) {
		if r.Margin != nil {
			return *r.Margin
		}
	}
	return 0
}

func epsilonTable(t *testing.T, conn *pgx.Conn) string {
	var b strings.Builder
	b.WriteString("| ε | statements in the budget | `count(*)` of patients | `sum(cost)` of visits |\n|---|---|---|---|\n")
	for _, epsilon := range []string{"0.05", "0.1", "0.2", "0.5", "1"} {
		setting := "SET dpproxy.epsilon = " + epsilon
		count, sum := explain(t, conn, setting, "SELECT count(*) FROM patients"), explain(t, conn, setting, "SELECT sum(cost) FROM visits")
		fmt.Fprintf(&b, "| %s | %d | ±%.0f | ±%.0f |\n", epsilon, count.Price.Statements, count.margin(), sum.margin())
	}
	return b.String()
}

func rowsTable(t *testing.T, conn *pgx.Conn) string {
	of := map[int64]int{}
	visits(Patients, func(_ patient, v visit, r *rand.Rand) {
		of[v.patient]++
		for range v.results {
			r.NormFloat64() // as writeResults draws
		}
	})
	var b strings.Builder
	b.WriteString("| `max_rows_per_unit` | margin of `count(*)` of visits | visits left out |\n|---|---|---|\n")
	for _, most := range []int{5, 10, 20, 40, 70} {
		all, beyond := 0, 0
		for _, n := range of {
			all += n
			beyond += max(0, n-most)
		}
		f := explain(t, conn, fmt.Sprintf("SET dpproxy.max_rows = %d", most), "SELECT count(*) FROM visits")
		fmt.Fprintf(&b, "| %d | ±%.0f | %d (%.1f %%) |\n", most, f.margin(), beyond, 100*float64(beyond)/float64(all))
	}
	return b.String()
}

func boundsTable(t *testing.T, conn *pgx.Conn) string {
	var costs []float64
	total := 0.0
	visits(Patients, func(_ patient, v visit, r *rand.Rand) {
		costs = append(costs, v.cost)
		total += v.cost
		for range v.results {
			r.NormFloat64()
		}
	})
	var b strings.Builder
	b.WriteString("| upper bound of `cost` | margin of `sum` | costs left out |\n|---|---|---|\n")
	for _, bound := range []float64{200, 500, 1000, 5000, 20000} {
		beyond := 0.0
		for _, c := range costs {
			beyond += max(0, c-bound)
		}
		f := explain(t, conn, "RESET dpproxy.max_rows", fmt.Sprintf("SELECT sum(least(cost, %.0f)) FROM visits", bound))
		fmt.Fprintf(&b, "| %.0f | ±%.0f | %.0f (%.1f %%) |\n", bound, f.margin(), beyond, 100*beyond/total)
	}
	return b.String()
}

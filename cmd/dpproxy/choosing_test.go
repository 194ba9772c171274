package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

var placed = regexp.MustCompile(`(?s)(<!-- (\w+): TestPages -->\n\n)(.*?)(\n<!-- end -->)`)

// tables prints the tables of a part of a page anew, and compares them.
func (r *reader) tables(p *page, part string) string {
	return placed.ReplaceAllStringFunc(part, func(old string) string {
		m := placed.FindStringSubmatch(old)
		table, known := map[string]func(analyst, owner *pgx.Conn) string{
			"epsilon": r.epsilonTable, "rows": r.rowsTable,
			"bounds": r.boundsTable,
		}[m[2]]
		if !known {
			r.t.Fatalf("%s: what is the table %s?", p.file, m[2])
		}
		now := table(r.dial(r.dsn), r.dial(r.ownerDSN))
		if now != m[3] {
			p.unlike = append(p.unlike, fmt.Errorf("%s: the page has\n%s\nand it is\n%s", m[2], m[3], now))
		}
		return m[1] + now + m[4]
	})
}

func (r *reader) dial(dsn string) *pgx.Conn {
	conn, err := pgx.Connect(r.t.Context(), dsn)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close(r.t.Context()) })
	return conn
}

// foretold is what EXPLAIN says of one statement.
type foretold struct {
	Price    struct{ Statements int }
	Releases []struct{ Margin *float64 }
}

// explain asks what a statement would cost, after a setting.
func (r *reader) explain(conn *pgx.Conn, setting, sql string) (f foretold) {
	results, err := conn.PgConn().Exec(r.t.Context(), setting+"; EXPLAIN (FORMAT JSON) "+sql).ReadAll()
	if err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
	list := []foretold{f}
	if err := json.Unmarshal(results[len(results)-1].Rows[0][0], &list); err != nil {
		r.t.Fatal(err)
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

func (r *reader) epsilonTable(analyst, _ *pgx.Conn) string {
	var b strings.Builder
	b.WriteString("| ε | statements in the budget | `count(*)` of patients | `sum(cost)` of visits |\n|---|---|---|---|\n")
	for _, epsilon := range []string{"0.05", "0.1", "0.2", "0.5", "1"} {
		setting := "SET dpproxy.epsilon = " + epsilon
		count, sum := r.explain(analyst, setting, "SELECT count(*) FROM patients"),
			r.explain(analyst, setting, "SELECT sum(cost) FROM visits")
		fmt.Fprintf(&b, "| %s | %d | ±%.0f | ±%.0f |\n", epsilon, count.Price.Statements, count.margin(), sum.margin())
	}
	return b.String()
}

// leftOut asks the database what is left out, and how much there is.
func (r *reader) leftOut(owner *pgx.Conn, sql string, bound int) (beyond, all float64) {
	if err := owner.QueryRow(r.t.Context(), sql, bound).Scan(&beyond, &all); err != nil {
		r.t.Fatal(err)
	}
	return beyond, all
}

func (r *reader) rowsTable(analyst, owner *pgx.Conn) string {
	var b strings.Builder
	b.WriteString("| `max_rows_per_unit` | margin of `count(*)` of visits | visits left out |\n|---|---|---|\n")
	for _, most := range []int{5, 10, 20, 40, 70} {
		beyond,
			all := r.leftOut(
			owner,
			"SELECT sum(greatest(n - $1, 0))::float8, sum(n)::float8 FROM (SELECT count(*) AS n FROM visits GROUP BY patient_id) p", most)
		f := r.explain(analyst, fmt.Sprintf("SET dpproxy.epsilon = 0.5; SET dpproxy.max_rows = %d", most),
			"SELECT count(*) FROM visits")
		fmt.Fprintf(&b, "| %d | ±%.0f (%.2f %%) | %.0f (%.1f %%) |\n", most, f.margin(), 100*f.margin()/all, beyond,
			100*beyond/all)
	}
	return b.String()
}

func (r *reader) boundsTable(analyst, owner *pgx.Conn) string {
	var b strings.Builder
	b.WriteString("| upper bound of `cost` | margin of `sum` | costs left out |\n|---|---|---|\n")
	for _, bound := range []int{200, 500, 1000, 5000, 20000} {
		beyond, all := r.leftOut(owner, "SELECT sum(greatest(cost - $1, 0))::float8, sum(cost)::float8 FROM visits", bound)
		f := r.explain(analyst, "SET dpproxy.epsilon = 0.5", fmt.Sprintf("SELECT sum(least(cost, %d)) FROM visits", bound))
		fmt.Fprintf(&b, "| %d | ±%.0f (%.2f %%) | %.0f (%.1f %%) |\n", bound, f.margin(), 100*f.margin()/all, beyond,
			100*beyond/all)
	}
	return b.String()
}

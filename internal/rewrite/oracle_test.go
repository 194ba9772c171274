package rewrite_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// fill replaces all rows by random ones within every declared bound: what the policy promises of main.
// Without nulls, every visit has its patient.
func (w *world) fill(random *rand.Rand, patients int, nulls bool) error {
	var b strings.Builder
	b.WriteString("TRUNCATE patients, visits, lab_results, profiles, staff;\n")
	maybe := func(v string) string {
		if random.IntN(8) == 0 {
			return "NULL"
		}
		return v
	}
	pick := func(v ...string) string { return "'" + v[random.IntN(len(v))] + "'" }
	day := func() string {
		return fmt.Sprintf("date '2020-01-01' + %d", random.IntN(730))
	}
	visit, lab := 0, 0
	for id := 1; id <= patients; id++ {
		fmt.Fprintf(&b, "INSERT INTO patients VALUES (%d, %s, %s, %s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s);\n", id,
			pick("Bob", "Ann", "Abe", "O''Brien", "Zoe"), maybe(strconv.Itoa(random.IntN(121))), maybe(strconv.Itoa(random.IntN(500001))),
			maybe(fmt.Sprintf("%g", float64(random.IntN(25000))/100)), maybe(fmt.Sprintf("%g", float64(random.IntN(300))/100)), random.IntN(10),
			pick("asthma", "cold", "flu"), maybe(pick("icu", "er", "onc")), day(),
			maybe(fmt.Sprintf("timestamptz '2020-01-01 00:00+00' + interval '%d seconds'", random.IntN(730*86400))),
			maybe(fmt.Sprintf("interval '%d seconds'", random.IntN(30*86400))), maybe(strconv.FormatBool(random.IntN(2) == 0)),
			maybe(pick("bad", "so-so", "good")), maybe(strconv.Itoa(random.IntN(11))), maybe(pick("x", "y", "z")))
		for range random.IntN(5) {
			visit++
			unit := strconv.Itoa(id)
			if nulls && random.IntN(12) == 0 {
				unit = "NULL"
			}
			fmt.Fprintf(&b, "INSERT INTO visits VALUES (%d, %s, %s, %s, %s, %d, %s, %v);\n", visit, unit, pick("icu", "er", "onc"), day(),
				maybe(fmt.Sprintf("%d.%02d", random.IntN(1500), random.IntN(100))), random.IntN(71)-10,
				maybe(fmt.Sprintf("timestamp '2020-01-01' + interval '%d seconds'", random.IntN(730*86400))), random.IntN(2) == 0)
			for range random.IntN(3) {
				lab++
				fmt.Fprintf(&b, "INSERT INTO lab_results VALUES (%d, %d, %s, %s);\n", lab, visit, pick("a", "b"), maybe(fmt.Sprintf("%g", float64(random.IntN(10000))/100)))
			}
		}
		if random.IntN(3) > 0 {
			fmt.Fprintf(&b, "INSERT INTO profiles VALUES (%d, %s, %d);\n", id, pick("Rome", "Oslo"), 100+random.IntN(121))
		}
	}
	for id := range 20 {
		fmt.Fprintf(&b, "INSERT INTO staff VALUES (%d, %s, %d);\n", id, pick("icu", "er", "onc"), random.IntN(101))
	}
	_, err := w.main.Exec(context.Background(), b.String())
	return err
}

// TestOracle proves that plans mean what PostgreSQL means: without noise, and with bounds that do not bind, every answered
// query of the corpus has the columns, types and rows that PostgreSQL gives for the original text, up to the grid.
func TestOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	if err := theWorld.fill(random, 60, false); err != nil {
		t.Fatal(err)
	}
	compared := 0
	wide := theWorld.withGroups(1000)
	for _, q := range corpus(t) {
		asked, err := wide.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		compared++
		got, err := wide.finish(asked)
		if err != nil {
			t.Errorf("%s: %s\n%v", q.file, q.sql, err)
			continue
		}
		if strings.Contains(q.sql, "dpproxy.") {
			continue
		}
		want := wide.original(asked)
		if want.Err != nil {
			t.Errorf("%s: %s\nPostgreSQL itself: %v", q.file, q.sql, want.Err)
			continue
		}
		if strings.Contains(q.sql, "percentile_cont") || deviates[q.sql] {
			continue
		}
		if d := difference(q.sql, got, want); d != "" {
			t.Errorf("%s: %s\n%s\nmeasure: %s\nfinish: %s", q.file, q.sql, d, asked.plan.Blocks[0].Measure.Text, asked.plan.Finish.SQL)
		}
	}
	if compared < 250 {
		t.Errorf("only %d queries of the corpus are answered", compared)
	}
}

// withGroups is the world under a policy that lets a unit be in so many groups.
func (w *world) withGroups(groups int) *world {
	p := *w.policy
	p.Tables = nil
	for _, t := range w.policy.Tables {
		c := *t
		c.MaxGroupsPerUnit = groups
		p.Tables = append(p.Tables, &c)
	}
	s := *w.schema
	s.Policy = &p
	out := *w
	out.policy, out.schema = &p, &s
	return &out
}

func (w *world) original(q *question) *pgconn.Result {
	var values [][]byte
	for _, v := range q.values {
		if v == nil {
			values = append(values, nil)
		} else {
			values = append(values, []byte(*v))
		}
	}
	types := slices.Clone(q.described.ParamOIDs)
	for i, t := range types {
		if t >= 16384 {
			types[i] = 0 // the shadow's number of a type
		}
	}
	return w.main.PgConn().ExecParams(context.Background(), q.sql, values, types, nil, nil).Read()
}

// difference compares two results: names, types, and rows; without ORDER BY as sets.
func difference(sql string, got, want *pgconn.Result) string {
	for i, f := range want.FieldDescriptions {
		g := got.FieldDescriptions[i]
		if g.Name != f.Name || g.DataTypeOID != f.DataTypeOID {
			return fmt.Sprintf("column %d is %s of type %d, want %s of type %d", i+1, g.Name, g.DataTypeOID, f.Name, f.DataTypeOID)
		}
	}
	g, w := texts(got), texts(want)
	unmatched := make([]bool, len(g))
	extra := 0
	for _, row := range w {
		found := false
		for i := range g {
			if !unmatched[i] && sameRow(g[i], row) {
				unmatched[i], found = true, true
				break
			}
		}
		if !found {
			return fmt.Sprintf("row %s is missing; got %s", rowText(row), rowsText(g))
		}
	}
	for i := range g {
		if !unmatched[i] && !emptyGroup(g[i]) {
			return fmt.Sprintf("row %s is not PostgreSQL's; want %s", rowText(g[i]), rowsText(w))
		}
		if !unmatched[i] {
			extra++
		}
	}
	if extra > 0 && !strings.Contains(strings.ToUpper(sql), "GROUP BY") && !strings.Contains(strings.ToUpper(sql), "DISTINCT") {
		return fmt.Sprintf("%d more rows than PostgreSQL", extra)
	}
	return ""
}

// emptyGroup says that a row may belong to a group without rows, which dpproxy returns and PostgreSQL does not: it holds a
// zero or a NULL.
func emptyGroup(row []*string) bool {
	if len(row) == 1 {
		return true
	}
	for _, v := range row {
		if v == nil || *v == "0" || strings.Trim(*v, "0.") == "" || *v == "f" || *v == "00:00:00" {
			return true
		}
	}
	return false
}

func sameRow(a, b []*string) bool {
	for i := range a {
		if b[i] == nil && a[i] != nil && strings.Trim(*a[i], "0.:") == "" {
			continue // a sum over no rows is 0
		}
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && !sameValue(*a[i], *b[i]) {
			return false
		}
	}
	return true
}

// sameValue compares two values in text form; numbers within a relative 2·10⁻³ and an absolute 10⁻³, which covers every
// grid of the test's policy.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX != nil || errY != nil {
		return sameTime(a, b)
	}
	return math.Abs(x-y) <= 2e-3*math.Max(math.Abs(x), math.Abs(y))+1e-3
}

// sameTime compares values that differ in fractions of a second.
func sameTime(a, b string) bool {
	var i, j pgtype.Interval
	if i.Scan(a) == nil && j.Scan(b) == nil {
		seconds := func(v pgtype.Interval) float64 {
			return float64(v.Microseconds)/1e6 + 86400*(float64(v.Days)+30*float64(v.Months))
		}
		return math.Abs(seconds(i)-seconds(j)) <= 1+2e-3*math.Abs(seconds(j))
	}
	cut := func(s string) string {
		if i := strings.LastIndexByte(s, '.'); i > 0 {
			return s[:i]
		}
		return s
	}
	return cut(a) != "" && cut(a) == cut(b)
}

func rowText(row []*string) string {
	var parts []string
	for _, v := range row {
		if v == nil {
			parts = append(parts, "NULL")
		} else {
			parts = append(parts, *v)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func rowsText(rows [][]*string) string {
	var parts []string
	for _, r := range rows {
		parts = append(parts, rowText(r))
	}
	if len(parts) > 12 {
		parts = append(parts[:12], "…")
	}
	return strings.Join(parts, " ")
}

// deviates lists the queries whose answer differs from PostgreSQL's on purpose; docs/sql.md names the reasons.
var deviates = map[string]bool{
	// Every key of a declared domain is returned, so an aggregate over groups sees the empty ones too.
	"SELECT avg(n) FROM (SELECT age, count(*) AS n FROM patients GROUP BY age) s": true,
	// The order of groups without ORDER BY is the domain's.
	"SELECT array_agg(n) FROM (SELECT count(*) AS n FROM patients GROUP BY diagnosis) s":        true,
	"SELECT ARRAY(SELECT count(*) FROM patients GROUP BY diagnosis)":                            true,
	"SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis HAVING count(*) > $1 LIMIT $2": true,
	// The client's own name and database.
	"SELECT current_user, count(*) FROM patients": true,
	// EXPLAIN is answered by the engine.
	"EXPLAIN SELECT count(*) FROM patients":               true,
	"EXPLAIN (FORMAT JSON) SELECT count(*) FROM patients": true,
}

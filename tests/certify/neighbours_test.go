package certify_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// How many texts are run, and on how many databases at once, each with its neighbours.
const (
	batch       = 1000 // texts that run on the same databases
	families    = 2
	fullBatches = 22
)

// tried is a certified text, what it is held to, and who it comes from.
type tried struct {
	from, sql  string
	parameters []certify.Value
	outputs    []certify.Output
}

// answered is what a database says: rows, or an error.
type answered struct {
	rows [][]*string
	err  error
}

// cluster has databases: one that is empty of private rows, and families of one and its neighbours, which lack a unit, or the rows
// without one.
type cluster struct {
	empty *pgconn.PgConn
	of    [][]*pgconn.PgConn // whole, without unit 0, 1, …, without the rows of no unit
}

func newCluster(t *testing.T, families int) *cluster {
	ctx := context.Background()
	server, err := pgserver.Start(ctx, pgserver.Options{})
	if errors.Is(err, pgserver.ErrNoServer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	schema, err := os.ReadFile("../../internal/rewrite/testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	connect := func(name string) *pgconn.PgConn {
		c, err := pgconn.Connect(ctx, server.DSN(name, pgserver.Superuser))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	admin, made := connect("postgres"), 0
	database := func() *pgconn.PgConn {
		made++
		name := fmt.Sprintf("d%d", made)
		run(t, admin, "CREATE DATABASE "+name)
		c := connect(name)
		run(t, c, string(schema))
		run(t, c, "SET statement_timeout = '5s'; SET jit = off; SET max_parallel_workers_per_gather = 0; SET timezone = UTC; SET session_replication_role = replica; CREATE INDEX ON lab_results (kind)")
		t.Cleanup(func() { _ = c.Close(ctx) })
		return c
	}
	n := &cluster{empty: database(), of: make([][]*pgconn.PgConn, families)}
	for f := range n.of {
		for i := range len(rewritetest.Units) + 2 {
			c := database()
			if i > 0 {
				run(t, c, "SET enable_hashagg = off; SET enable_hashjoin = off")
			}
			n.of[f] = append(n.of[f], c)
		}
	}
	return n
}

func run(t *testing.T, c *pgconn.PgConn, sql string) {
	t.Helper()
	if _, err := c.Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatalf("%v\n%.300s", err, sql)
	}
}

// honest makes true what the facts say of sessions: one is of one unit, or of rows without one. The unit of ratings is that of a patient.
const honest = `
	UPDATE calls SET session_id = 10 * COALESCE(array_position(ARRAY[%[1]s]::bigint[], patient_id), 9) + abs(session_id %% 3),
		follows = 10 * COALESCE(array_position(ARRAY[%[1]s]::bigint[], patient_id), 9) + abs(follows %% 3);
	UPDATE ratings r SET session_id = 10 * COALESCE((SELECT array_position(ARRAY[%[1]s]::bigint[], p.id) FROM patients p WHERE p.id = r.of_patient), 9) + abs(session_id %% 3);`

// few leaves few rows of a unit, with values of few kinds that meet those of public tables.
const few = `
	DELETE FROM visits v WHERE visit_id IN (SELECT visit_id FROM (SELECT visit_id, row_number() OVER (PARTITION BY patient_id ORDER BY visit_id) i FROM visits) n WHERE i > %[1]d);
	DELETE FROM calls v WHERE call_id IN (SELECT call_id FROM (SELECT call_id, row_number() OVER (PARTITION BY patient_id ORDER BY call_id) i FROM calls) n WHERE i > %[1]d);
	DELETE FROM lab_results l WHERE lab_id IN (SELECT lab_id FROM (SELECT lab_id, row_number() OVER (PARTITION BY visit_id ORDER BY lab_id) i FROM lab_results) n WHERE i > 3);
	UPDATE visits SET ward = (ARRAY['a0', 'a1', 'icu', 'er', ward])[1 + (visit_id * %[2]d) %% 5], minutes = CASE WHEN minutes %% 3 = 0 THEN minutes ELSE (visit_id * %[2]d) %% 4 END;
	UPDATE patients SET ward = (ARRAY['a0', 'icu', ward, ward])[1 + (abs(id) * %[2]d) %% 4], score = CASE WHEN score %% 2 = 0 THEN score ELSE (abs(id) * %[2]d) %% 3 END;`

// publicRows are other rows of the public tables.
func publicRows(r *random) string {
	var b strings.Builder
	b.WriteString("DELETE FROM wards; DELETE FROM floors; DELETE FROM shifts;\n")
	words := []string{"icu", "er", "onc", "a0", "a1", ""}
	for _, w := range words[:1+r.IntN(len(words))] {
		fmt.Fprintf(&b, "INSERT INTO wards VALUES ('%s', '%s', %d, %s);\n", w, r.one(words...), r.IntN(3), r.one("0", "1", "2", "8", "12", "2147483647"))
	}
	for f := range 3 {
		fmt.Fprintf(&b, "INSERT INTO floors VALUES (%d, '%s');\n", f, r.one(words...))
	}
	for s := range r.IntN(8) {
		fmt.Fprintf(&b, "INSERT INTO shifts VALUES (%d, %s, '%s', %s, %s, %s);\n", s, r.one("NULL", "'icu'", "'er'", "'a0'"), r.one("early", "late", "icu"),
			r.one("NULL", "'2020-01-01'", "'2020-06-15'", "'-infinity'"), r.one("NULL", "'2020-07-01'", "'2021-12-31'", "'infinity'"), r.one("NULL", "1", "2", "2.0", "30", "'NaN'"))
	}
	return b.String()
}

// fill makes new databases of all families. Rows of neighbours lie in another order on disk.
func (n *cluster) fill(t *testing.T, r *random, number int) {
	var units []string
	for _, u := range rewritetest.Units {
		units = append(units, fmt.Sprint(u))
	}
	for f := range n.of {
		sql := rewritetest.Hostile(r.Rand, number*len(n.of)+f) + fmt.Sprintf(honest, strings.Join(units, ", "))
		if r.often(80) {
			sql += fmt.Sprintf(few, 1+r.IntN(8), 1+r.IntN(9))
		}
		sql += publicRows(r)
		for i, c := range n.of[f] {
			run(t, c, sql)
			switch {
			case i > len(rewritetest.Units):
				run(t, c, rewritetest.Unitless)
			case i > 0:
				run(t, c, rewritetest.Without(i-1))
				run(t, c, rewritetest.Reordered("%s DESC", "visits.visit_id", "lab_results.lab_id", "calls.call_id", "ratings.session_id", "patients.id"))
			}
			run(t, c, "ANALYZE")
		}
	}
}

// asked asks a database all texts.
func asked(c *pgconn.PgConn, texts []tried) []answered {
	all := make([]answered, len(texts))
	for i, q := range texts {
		values, types := given(q)
		result := c.ExecParams(context.Background(), q.sql, values, types, nil, nil).Read()
		all[i].err = result.Err
		for _, row := range result.Rows {
			var list []*string
			for _, v := range row {
				if v == nil {
					list = append(list, nil)
					continue
				}
				s := string(v)
				list = append(list, &s)
			}
			all[i].rows = append(all[i].rows, list)
		}
	}
	return all
}

// given gives the parameters that a text has, up to the last one. The others have no type of their own.
func given(q tried) (values [][]byte, types []uint32) {
	used := map[int]bool{}
	for _, m := range anyParam.FindAllStringSubmatch(q.sql, -1) {
		used[number(m[1])] = true
	}
	for i, p := range q.parameters {
		if values, types = append(values, parameter(p)), append(types, 0); !used[i+1] {
			types[i] = pgtype.TextOID
		}
	}
	for len(values) > 0 && !used[len(values)] {
		values, types = values[:len(values)-1], types[:len(types)-1]
	}
	return values, types
}

// parameter is a value as text.
func parameter(v certify.Value) []byte {
	if !v.Array {
		if len(v.Elements) == 0 || v.Elements[0] == nil {
			return nil
		}
		return []byte(*v.Elements[0])
	}
	var list []string
	for _, e := range v.Elements {
		if e == nil {
			list = append(list, "NULL")
			continue
		}
		list = append(list, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(*e)+`"`)
	}
	return []byte("{" + strings.Join(list, ",") + "}")
}

// try runs texts on all databases and gives what is wrong with them. It counts those that could be tried, and those that move.
func (n *cluster) try(texts []tried) (problems []string, run, moving int) {
	bare := asked(n.empty, texts)
	var able []tried
	for i, q := range texts {
		if bare[i].err == nil { // else PostgreSQL refuses the text whatever the rows are
			able = append(able, q)
		}
	}
	answers := make([][][]answered, len(n.of))
	var group sync.WaitGroup
	limit := make(chan bool, 3)
	for f := range n.of {
		answers[f] = make([][]answered, len(n.of[f]))
		for i, c := range n.of[f] {
			group.Add(1)
			go func() {
				defer group.Done()
				limit <- true
				answers[f][i] = asked(c, able)
				<-limit
			}()
		}
	}
	group.Wait()
	for k, q := range able {
		problem, moves := "", false
		for f := range answers {
			whole := answers[f][0][k]
			for i, a := range answers[f] {
				p, m := compared(q.outputs, whole, a[k], i > len(rewritetest.Units))
				if moves = moves || m; p != "" && problem == "" {
					problem = fmt.Sprintf("family %d, neighbour %d: %s: %s\n%s", f, i, q.from, p, q.sql)
				}
			}
		}
		if problem != "" {
			problems = append(problems, problem)
		}
		if moves {
			moving++
		}
	}
	return problems, len(able), moving
}

// compared says how two answers of neighbours differ by more than the outputs' bounds, or at all if they may not.
func compared(outputs []certify.Output, a, b answered, alike bool) (problem string, moves bool) {
	for _, x := range []answered{a, b} {
		var e *pgconn.PgError
		if x.err != nil && errors.As(x.err, &e) && e.Code == "57014" {
			return "", false // too slow to say
		}
		if x.err != nil {
			return fmt.Sprintf("it fails: %v", x.err), false
		}
	}
	left, problem := integersOf(outputs, a.rows)
	right, problemOf := integersOf(outputs, b.rows)
	if problem+problemOf != "" {
		return problem + problemOf, false
	}
	for i, o := range outputs {
		if o.Kind != certify.Integer {
			continue
		}
		places, total, groups := map[string]*big.Rat{}, new(big.Rat), new(big.Rat)
		for key := range union(left, right) {
			d := new(big.Rat).Sub(left[key].at(i), right[key].at(i))
			if d.Abs(d).Sign() == 0 {
				continue
			}
			moves = true
			groups.Add(groups, big.NewRat(1, 1))
			total.Add(total, d)
			place := left[key].place + right[key].place
			if left[key].values != nil {
				place = left[key].place
			}
			if places[place] == nil {
				places[place] = new(big.Rat)
			}
			places[place].Add(places[place], d)
			switch {
			case alike:
				return "rows without a unit count", true
			case above(d, o.Delta):
				return fmt.Sprintf("output %d moves by %s in a group, certified %s", i+1, d.RatString(), o.Influence), true
			case above(places[place], o.Place):
				return fmt.Sprintf("output %d moves by %s in a place, certified %s", i+1, places[place].RatString(), o.Influence), true
			}
		}
		if above(total, o.Total) || above(groups, o.Groups) {
			return fmt.Sprintf("output %d moves by %s in all, in %s groups, certified %s", i+1, total.RatString(), groups.RatString(), o.Influence), true
		}
	}
	return "", moves
}

func above(d, bound *big.Rat) bool { return bound != nil && d.Cmp(bound) > 0 }

func union(a, b map[string]integersAt) map[string]bool {
	all := map[string]bool{}
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return all
}

// integersAt are the integers of a group, and its public keys.
type integersAt struct {
	place  string
	values []*big.Rat
}

func (n integersAt) at(i int) *big.Rat {
	if n.values == nil {
		return new(big.Rat)
	}
	return n.values[i]
}

// integersOf reads the integers of an answer by their keys.
func integersOf(outputs []certify.Output, rows [][]*string) (map[string]integersAt, string) {
	all := map[string]integersAt{}
	if !slices.ContainsFunc(outputs, func(o certify.Output) bool { return o.Kind == certify.Integer }) {
		return all, ""
	}
	for _, r := range rows {
		key, n := "", integersAt{values: make([]*big.Rat, len(outputs))}
		for i, o := range outputs {
			text := "NULL"
			if r[i] != nil {
				text = fmt.Sprintf("%q", *r[i])
			}
			if o.Kind != certify.Integer {
				if key += text + " "; o.Kind == certify.Public {
					n.place += text + " "
				}
				continue
			}
			k := new(big.Int)
			if r[i] == nil {
				return nil, fmt.Sprintf("output %d is NULL", i+1)
			}
			if _, ok := k.SetString(*r[i], 10); !ok {
				return nil, fmt.Sprintf("output %d is no integer: %s", i+1, *r[i])
			}
			n.values[i] = new(big.Rat).SetInt(k)
		}
		if all[key].values != nil {
			return nil, "two rows have the key " + key
		}
		all[key] = n
	}
	return all, ""
}

// mutated changes a text at one or two places, at random.
func mutated(r *random, sql string, parts []string) string {
	tree, err := pg.Parse(sql)
	if err != nil {
		return ""
	}
	for range 1 + r.IntN(2) {
		all, froms := mutantsOf(tree), []*pg.Node{}
		nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) {
			if n.GetRangeSubselect() != nil || n.GetRangeVar() != nil {
				froms = append(froms, n)
			}
		})
		if len(froms) > 0 && len(parts) > 0 && r.often(25) { // another table or subquery in the place of one
			part, err := pg.Parse(parts[r.IntN(len(parts))])
			if err != nil {
				return ""
			}
			at := froms[r.IntN(len(froms))]
			all = []mutant{set("part", &at.Node, part.Stmts[0].Stmt.GetSelectStmt().FromClause[0].Node)}
		}
		if len(all) > 0 {
			all[r.IntN(len(all))].do()
		}
	}
	text, err := pg.Deparse(tree)
	if err != nil {
		return ""
	}
	return text
}

// source writes texts: new ones, and changes of those that were certified, and of the corpus.
type source struct {
	*random
	pool  []tried
	parts []string // SELECT FROM tables and subqueries of the corpus
	seen  map[string]bool
	asked int
}

func newSource(t *testing.T, r *random) *source {
	s := &source{random: r, seen: map[string]bool{}}
	for _, m := range readCorpus(t) {
		if len(m.sql) > 6000 {
			continue
		}
		s.pool = append(s.pool, tried{from: m.file, sql: m.sql, parameters: m.parameters})
		tree, err := pg.Parse(m.sql)
		if err != nil {
			t.Fatal(err)
		}
		nodes(reflect.ValueOf(tree.Stmts), func(n *pg.Node) {
			if n.GetRangeSubselect() == nil && n.GetRangeVar() == nil {
				return
			}
			alone := &pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{FromClause: []*pg.Node{n}}}}}}}
			if part, err := pg.Deparse(alone); err == nil {
				s.parts = append(s.parts, part)
			}
		})
	}
	return s
}

// next is a certified text that was not there before.
func (s *source) next() tried {
	for {
		q := tried{from: "random", parameters: someParameters}
		if s.often(50) {
			q.sql = s.query()
		} else {
			q = s.pool[s.IntN(len(s.pool))]
			q.from, q.sql = "change of "+strings.TrimPrefix(q.from, "change of "), mutated(s.random, q.sql, s.parts)
		}
		if s.asked++; q.sql == "" || len(q.sql) > 8000 || s.seen[q.sql] {
			continue
		}
		c, err := certify.Check(clinic, q.sql, q.parameters, nil)
		if err != nil || !slices.ContainsFunc(c.Outputs, func(o certify.Output) bool { return o.Kind == certify.Integer }) {
			continue
		}
		s.seen[q.sql], q.outputs = true, c.Outputs
		if s.pool = append(s.pool, q); len(s.pool) > 4000 {
			s.pool[s.IntN(len(s.pool)-1)] = q
			s.pool = s.pool[:4000]
		}
		return q
	}
}

// TestNeighbours runs texts that no planner wrote, and that Check certified, on hostile databases and their neighbours: no integer moves
// by more than certified, and no row makes one fail.
func TestNeighbours(t *testing.T) {
	batches, size, families := fullBatches, batch, families
	if testing.Short() {
		batches, size, families = 1, 300, 1
	}
	r := &random{Rand: rand.New(rand.NewPCG(29, 1))}
	n, s := newCluster(t, families), newSource(t, r)
	certified, ran, moving, bounded, failed := 0, 0, 0, 0, 0
	for number := range batches {
		n.fill(t, r, number)
		var texts []tried
		for len(texts) < size {
			q := s.next()
			texts = append(texts, q)
			if certified++; slices.ContainsFunc(q.outputs, func(o certify.Output) bool { return o.Delta != nil }) {
				bounded++
			}
		}
		problems, run, moves := n.try(texts)
		ran, moving = ran+run, moving+moves
		for _, p := range problems {
			if failed++; failed <= 20 {
				t.Error(p)
			}
		}
		t.Logf("%d texts written, %d certified (%d with a bound in a group), %d run by PostgreSQL, %d of them move, %d fail", s.asked, certified, bounded, ran, moving, failed)
	}
}

// TestMutantNeighbours runs the mutants of one change that pass Check with the bounds of their originals, in the same way.
func TestMutantNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("all of them take minutes")
	}
	r := &random{Rand: rand.New(rand.NewPCG(29, 2))}
	n := newCluster(t, 1)
	var texts []tried
	seen := map[string]bool{}
	everyMutant(t, func(m measured, kind, _, text string, claims []certify.Claim) {
		if kind == twoChanges || seen[text] {
			return
		}
		seen[text] = true
		if c, err := certify.Check(clinic, text, m.parameters, claims); err == nil {
			texts = append(texts, tried{from: kind + " in " + m.file, sql: text, parameters: m.parameters, outputs: c.Outputs})
		}
	})
	ran, moving, number := 0, 0, 0
	for some := range slices.Chunk(texts, batch) {
		n.fill(t, r, number)
		number++
		problems, run, moves := n.try(some)
		ran, moving = ran+run, moving+moves
		for _, p := range problems {
			t.Error(p)
		}
		t.Logf("%d mutants pass, %d run by PostgreSQL, %d of them move", len(texts), ran, moving)
	}
}

package rewrite_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// oraclePatients is enough for every age to have one, and most days.
const oraclePatients = 4000

// TestOracle proves that plans mean what PostgreSQL means: without noise, and with bounds that do not bind, every
// answered query of the corpus has the columns, types and rows that PostgreSQL gives for the original text, up to the
// grid. Where an answer differs on purpose, the corpus has the statement that says how, and PostgreSQL is asked that
// one.
func TestOracle(t *testing.T) {
	if err := theWorld.fill(rand.New(rand.NewPCG(1, 2)), oraclePatients); err != nil {
		t.Fatal(err)
	}
	theWorld.indexed(t)
	wide := theWorld.withGroups(1 << 20)
	worlds, asked := wide.inSessions(t), map[string][]*answer{}
	var mu sync.Mutex
	each(t, "asked", worlds, func(t *testing.T, name string, w *world) {
		answered := w.answers(t)
		if name == "plain" && *corpusFiles == "*" && len(answered) < 250 {
			t.Errorf("only %d queries of the corpus are answered", len(answered))
		}
		t.Logf("%d answers", len(answered))
		mu.Lock()
		defer mu.Unlock()
		asked[name] = answered
	})
	if err := wide.dropUnitless(); err != nil {
		t.Fatal(err)
	}
	wide.neighbours(t)
	each(t, "compared", worlds, func(t *testing.T, name string, w *world) {
		for _, a := range asked[name] {
			if d := w.compare(a); d != "" {
				t.Errorf("%s: %s\nin session %+v\n%s\nmeasure: %s\nfinish: %s", a.file, a.sql, w.session, d,
					a.asked.plan.Blocks[0].Measure.Text, a.asked.plan.Finish.SQL)
			}
		}
	})
}

// answers asks the corpus, without noise.
func (w *world) answers(t *testing.T) []*answer {
	var answered []*answer
	for _, q := range corpus(t) {
		asked, err := w.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			continue
		}
		got, err := w.finish(asked)
		if err != nil {
			t.Errorf("%s: %s\nin session %+v\n%v", q.file, q.sql, w.session, err)
			continue
		}
		answered = append(answered, &answer{q, asked, got})
	}
	return answered
}

// answer is the noiseless answer to a query of the corpus.
type answer struct {
	corpusQuery
	asked *question
	rows  *pgconn.Result
}

// compare says how an answer differs from PostgreSQL's, which is "" if it does not.
func (w *world) compare(a *answer) string {
	sql := a.asked.sql
	if a.expected != "" {
		sql = a.expected
	}
	want := w.original(a.asked, sql)
	if want.Err != nil {
		return "PostgreSQL itself: " + want.Err.Error()
	}
	if d := sameColumns(a.asked.described.Fields, a.rows.FieldDescriptions, want.FieldDescriptions); d != "" {
		return d
	}
	low, high := want, want
	if strings.Contains(strings.ToLower(sql), "percentile_cont") {
		low, high = w.under("below", a.asked, sql), w.under("above", a.asked, sql)
	}
	rows, err := span(texts(want), texts(low), texts(high))
	if err != nil {
		return err.Error()
	}
	return difference(texts(a.rows), rows, sortColumns(sql, want.FieldDescriptions))
}

// sortColumns are the result columns that ORDER BY names, or all where it computes something else: rows that are equal
// there may come in any order.
func sortColumns(sql string, fields []pgconn.FieldDescription) []int {
	parsed, err := rewrite.Parse(sql, 32768)
	if err != nil {
		panic(err)
	}
	var list []int
	for _, n := range parsed[0].Node.GetSelectStmt().GetSortClause() {
		at := int(n.GetSortBy().Node.GetAConst().GetIval().GetIval()) - 1
		if names := n.GetSortBy().Node.GetColumnRef().GetFields(); len(names) == 1 {
			at = slices.IndexFunc(fields, func(f pgconn.FieldDescription) bool {
				return f.Name == names[0].GetString_().GetSval()
			})
		}
		if at < 0 {
			list = nil
			for i := range fields {
				list = append(list, i)
			}
			return list
		}
		list = append(list, at)
	}
	return list
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

// original asks main itself.
func (w *world) original(q *question, sql string) *pgconn.Result {
	w.client()
	types := slices.Clone(q.described.ParamOIDs)
	for i, t := range types {
		if t >= 16384 {
			types[i] = 0 // the shadow's number of a type
		}
	}
	return read(w.main.PgConn().ExecParams(context.Background(), sql, q.values, types, nil,
		exactFormats(q.described.Fields)))
}

// inSessions is the world in each session, with a connection of its own to main.
func (w *world) inSessions(t *testing.T) map[string]*world {
	worlds := map[string]*world{}
	for name, session := range tried() {
		main, err := pgx.ConnectConfig(context.Background(), w.main.Config().Copy())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = main.Close(context.Background()) })
		of := w.as(session)
		of.main, of.pinned = main, &backend.Settings{}
		worlds[name] = of
	}
	return worlds
}

// each tests the sessions beside each other, and waits for all.
func each(t *testing.T, what string, worlds map[string]*world, do func(t *testing.T, name string, w *world)) {
	t.Run(what, func(t *testing.T) {
		for name, w := range worlds {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(t, name, w)
			})
		}
	})
}

// indexed has main answer the original statements sooner, some of which look for rows by columns that no plan needs an
// index on.
func (w *world) indexed(t *testing.T) {
	exec := func(sql string) {
		t.Helper()
		if _, err := w.main.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE INDEX oracle_calls ON calls (session_id); CREATE INDEX oracle_ratings ON ratings (session_id);
		CREATE INDEX oracle_wards ON visits (ward); CREATE INDEX oracle_days ON visits (visited)`)
	t.Cleanup(func() { exec("DROP INDEX oracle_calls, oracle_ratings, oracle_wards, oracle_days") })
}

// under asks main where percentile_cont is that of a schema made by neighbours.
func (w *world) under(schema string, q *question, sql string) *pgconn.Result {
	path := func(p string) {
		if _, err := w.main.Exec(context.Background(), "SET search_path = "+p); err != nil {
			panic(err)
		}
	}
	path(schema + ", pg_catalog, public")
	defer path("DEFAULT")
	return w.original(q, sql)
}

// neighbours makes two schemas with a percentile_cont that does not interpolate: it takes the row below, or the row
// above. A release picks one point of the grid, near the rank; between the two rows it is as right as PostgreSQL's.
func (w *world) neighbours(t *testing.T) {
	exec := func(sql string) {
		t.Helper()
		if _, err := w.main.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for schema, round := range map[string]string{"below": "floor", "above": "ceil"} {
		text := "CREATE SCHEMA @s;\n"
		for _, typ := range []string{"float8", "interval"} {
			text += strings.ReplaceAll(`
				CREATE FUNCTION @s.row(list @t[], fraction float8) RETURNS @t LANGUAGE sql IMMUTABLE AS $$
					SELECT v FROM unnest(list) AS v WHERE v IS NOT NULL ORDER BY v
					OFFSET (SELECT greatest(0, @round(fraction * (count(v) - 1))) FROM unnest(list) AS v) LIMIT 1 $$;
				CREATE FUNCTION @s.row(list @t[], fractions float8[]) RETURNS @t[] LANGUAGE sql IMMUTABLE AS $$
					SELECT array_agg(@s.row(list, f) ORDER BY i) FROM unnest(fractions) WITH ORDINALITY AS x (f, i) $$;
				CREATE AGGREGATE @s.percentile_cont(float8 ORDER BY @t) (SFUNC = array_append, STYPE = @t[], FINALFUNC = @s.row);
				CREATE AGGREGATE @s.percentile_cont(float8[] ORDER BY @t) (SFUNC = array_append, STYPE = @t[], FINALFUNC = @s.row);
				`, "@t", typ)
		}
		exec(strings.NewReplacer("@s", schema, "@round", round).Replace(text))
	}
	t.Cleanup(func() { exec("DROP SCHEMA below CASCADE; DROP SCHEMA above CASCADE") })
}

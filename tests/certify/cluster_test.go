package certify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// answered is what a database says: rows, or an error.
type answered struct {
	rows [][]*string
	err  error
}

// cluster has databases: one that is empty of private rows, and families of one and its neighbours, which lack a unit,
// or the rows without one.
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
		run(
			t, c,
			"SET statement_timeout = '5s'; SET jit = off; SET max_parallel_workers_per_gather = 0; SET timezone = UTC; SET session_replication_role = replica; CREATE INDEX ON lab_results (kind)")
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

// honest makes true what the facts say of sessions: one is of one unit, or of rows without one. The unit of ratings is
// that of a patient.
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
		fmt.Fprintf(&b, "INSERT INTO wards VALUES ('%s', '%s', %d, %s);\n", w, r.one(words...), r.IntN(3),
			r.one("0", "1", "2", "8", "12", "2147483647"))
	}
	for f := range 3 {
		fmt.Fprintf(&b, "INSERT INTO floors VALUES (%d, '%s');\n", f, r.one(words...))
	}
	for s := range r.IntN(8) {
		fmt.Fprintf(&b, "INSERT INTO shifts VALUES (%d, %s, '%s', %s, %s, %s);\n", s, r.one("NULL", "'icu'", "'er'", "'a0'"),
			r.one("early", "late", "icu"),
			r.one("NULL", "'2020-01-01'", "'2020-06-15'", "'-infinity'"), r.one("NULL", "'2020-07-01'", "'2021-12-31'",
				"'infinity'"), r.one("NULL", "1", "2", "2.0", "30", "'NaN'"))
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
				run(t, c, rewritetest.Reordered("%s DESC", "visits.visit_id", "lab_results.lab_id", "calls.call_id",
					"ratings.session_id", "patients.id"))
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

// given returns the parameters that a text has, up to the last one. The others have no type of their own.
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

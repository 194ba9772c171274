package rewrite_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestChainsJoinUnderOneEquality: what check --live reports of the policy is refused of each statement too.
func TestChainsJoinUnderOneEquality(t *testing.T) {
	const text = `
version: 1
databases: {main: postgres://m@db/x, shadow: postgres://s@db/x_shadow}
accounting: {method: pure}
analysts: {a: {certificate: a, budget: {epsilon: 1}}}
auth: {method: certificate}
tls: {cert: a, key: b, client_ca: c}
tables:
  people: {privacy_unit: {name: person, column: id}, max_rows_per_unit: 1, columns: {id: {}}}
  visits: {privacy_unit: {name: person, via: {column: person, references: people.id}}, max_rows_per_unit: 3, columns: {key: {}, person: {}}}
  labs:   {privacy_unit: {name: person, via: {column: visit, references: visits.key}}, max_rows_per_unit: 9, columns: {visit: {}}}
`
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	relation := func(name string, columns ...string) *rewrite.Relation {
		r := &rewrite.Relation{Name: policy.Name{Schema: "public", Relation: name}, Kind: 'r'}
		for _, c := range columns {
			r.Columns = append(r.Columns, rewrite.RelationColumn{
				Name: c, Type: pgtype.Int8OID, Typmod: -1, TypeName: "bigint",
				DeterministicCollation: true, NotNull: true,
			})
		}
		r.Unique, r.PrimaryKey = [][]string{{columns[0]}}, columns[:1]
		return r
	}
	for _, c := range []struct {
		name, table, column string
		typ                 uint32
		refused             map[string]bool // by table
	}{
		{"one type", "labs", "visit", pgtype.Int8OID, nil},
		{"another integer", "labs", "visit", pgtype.Int4OID, nil},
		{"the first step", "labs", "visit", pgtype.Float8OID, map[string]bool{"labs": true}},
		{"the second step", "visits", "person", pgtype.NumericOID, map[string]bool{"labs": true, "visits": true}},
		{"its target", "people", "id", pgtype.TimestampOID, map[string]bool{"labs": true, "visits": true}},
	} {
		schema := &rewrite.Schema{Policy: p, Relations: map[policy.Name]*rewrite.Relation{}}
		for _, r := range []*rewrite.Relation{
			relation("people", "id"), relation("visits", "key", "person"),
			relation("labs", "visit"),
		} {
			if r.Name.Relation == c.table {
				r.Column(c.column).Type = c.typ
			}
			schema.Relations[r.Name] = r
		}
		for table, sql := range map[string]string{
			"people": "SELECT count(*) FROM people",
			"visits": "SELECT count(*) FROM visits",
			"labs":   "SELECT count(*) FROM labs l JOIN visits v ON l.visit = v.key",
		} {
			statements, err := rewrite.Parse(sql, 1000)
			if err != nil {
				t.Fatal(err)
			}
			_, err = rewrite.Analyze(context.Background(), schema, statements[0], rewrite.Description{}, settings)
			var refusal *pgconn.PgError
			switch {
			case !c.refused[table] && err != nil:
				t.Errorf("%s: %s: %v", c.name, sql, err)
			case c.refused[table] && (!errors.As(err, &refusal) || refusal.Code != "0A000" ||
				!strings.Contains(refusal.Message, "cannot be traced to one person")):
				t.Errorf("%s: %s: %v, want a refusal", c.name, sql, err)
			}
		}
	}
}

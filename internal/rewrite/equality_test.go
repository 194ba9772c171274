package rewrite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

func TestEqualitiesThatAreOne(t *testing.T) {
	of := func(oid uint32) rewrite.Equality { return rewrite.Equality{Type: oid, Deterministic: true} }
	text := func(collation string) rewrite.Equality {
		return rewrite.Equality{Type: pgtype.TextOID, Collation: collation, Deterministic: true}
	}
	folded := rewrite.Equality{Type: pgtype.TextOID, Collation: "public.ci"}
	for _, c := range []struct {
		name string
		a, b rewrite.Equality
		want bool
	}{
		{"integers", of(pgtype.Int2OID), of(pgtype.Int8OID), true},
		{"an integer and a numeric", of(pgtype.Int4OID), of(pgtype.NumericOID), false},
		{"numerics", of(pgtype.NumericOID), of(pgtype.NumericOID), true},
		{"floats", of(pgtype.Float8OID), of(pgtype.Float8OID), false},
		{"an integer and a float", of(pgtype.Int8OID), of(pgtype.Float8OID), false},
		{"timestamps with and without a zone", of(pgtype.TimestamptzOID), of(pgtype.TimestampOID), false},
		{"text and varchar", of(pgtype.TextOID), of(pgtype.VarcharOID), true},
		{"text and padded text", of(pgtype.TextOID), of(pgtype.BPCharOID), false},
		{"a collation and the database's", text(`pg_catalog."C"`), text(""), true},
		{"two collations", text(`pg_catalog."C"`), text(`pg_catalog."POSIX"`), false},
		{"a collation that folds", folded, folded, false},
		{"a collation that folds and the database's", folded, text(""), false},
	} {
		if c.a.Same(c.b) != c.want || c.b.Same(c.a) != c.want {
			t.Errorf("%s: one equality is %v, want %v", c.name, !c.want, c.want)
		}
	}
}

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
			r.Columns = append(r.Columns, rewrite.RelationColumn{Name: c, Type: pgtype.Int8OID, Typmod: -1, TypeName: "bigint", DeterministicCollation: true, NotNull: true})
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
		for _, r := range []*rewrite.Relation{relation("people", "id"), relation("visits", "key", "person"), relation("labs", "visit")} {
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
			_, err = rewrite.Analyze(schema, statements[0], rewrite.Description{}, settings)
			var refusal *pgconn.PgError
			switch {
			case !c.refused[table] && err != nil:
				t.Errorf("%s: %s: %v", c.name, sql, err)
			case c.refused[table] && (!errors.As(err, &refusal) || refusal.Code != "0A000" || !strings.Contains(refusal.Message, "cannot be traced to one person")):
				t.Errorf("%s: %s: %v, want a refusal", c.name, sql, err)
			}
		}
	}
}

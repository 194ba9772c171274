package expr

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// collated adds columns whose collations differ to a scope: ci takes texts that differ in case for equal, cc compares
// bytes.
func collated(s *testScope) *testScope {
	for name, collation := range map[string]string{"ci": `public."ci"`, "cc": `pg_catalog."C"`} {
		s.columns[name] = &Column{
			Ref: query.Named("r").Column(name), Name: name, Type: pgtype.TextOID, Typmod: -1, TypeName: pgresolve.Qualified(
				pgtype.TextOID, -1), Nullable: true, Scale: -1,
			Collation: collation, DeterministicCollation: name != "ci",
		}
	}
	s.columns["name"] = &Column{
		Ref: query.Named("r").Column("name"), Name: "name", Type: pgtype.NameOID, Typmod: -1,
		TypeName: "pg_catalog.name", Nullable: true, Scale: -1, DeterministicCollation: true,
	}
	return s
}

// TestDisjoint: what is proven of pairs that people write, and of pairs that mislead.
func TestDisjoint(t *testing.T) {
	scope := collated(offlineScope(t))
	seven, nulls, none := "7", "{4,NULL}", "{}"
	scope.types, scope.values, scope.known = []uint32{pgtype.Int4OID, 1007, 1007}, []*string{&seven, &nulls, &none}, true
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"t = 'a'", "t = 'b'", true},
		{"t = 'a'", "'b' = t", true},
		{"t = 'a'", "t = 'a'", false},
		{"t = 'a'", "t = 'a '", true},
		{"t = 'a'", "v = 'b'", false},
		{"v = 'a'", "v = 'b'", true},
		{"v = 'a'", "v::text = 'b'", true},
		{"c = 'a'", "c = 'b'", true},
		{"c = 'a'", "c = 'a '", false}, // char(5): blanks at the end do not count
		{"c = 'a'", "c::text = 'b'", false},
		{"name = 'x'", "name = 'y'", true},
		{"name = '" + strings.Repeat("x", 64) + "'", "name = 'y'", false}, // cut after 63 bytes: not looked into
		{"name = 'x'", "name <> 'x'", true},
		{"ci = 'a'", "ci = 'A'", false}, // equal under the collation
		{"ci = 'a'", "ci = 'b'", false}, // nothing is known of the collation
		{"ci IN ('a', 'b')", "ci IN ('A', 'c')", false},
		{"ci = 'a'", "ci <> 'a'", true},
		{"ci = 'a'", "NOT (ci = 'a')", true},
		{"ci < 'a'", "ci >= 'a'", true},
		{`ci COLLATE "C" = 'a'`, `ci COLLATE "C" = 'A'`, true},
		{`ci COLLATE "C" = 'a'`, "ci = 'A'", false},
		{"lower(ci) = 'e'", "lower(ci) = 'E'", false},
		{"ci || 'x' = 'a'", "ci || 'x' = 'A'", false},
		{"coalesce(ci, 'x') = 'a'", "coalesce(ci, 'x') = 'A'", false},
		{"left(ci, 1) IN ('a', 'b')", "left(ci, 1) = 'A'", false},
		{"CASE WHEN b THEN ci END = 'a'", "CASE WHEN b THEN ci END = 'A'", false},
		{"ci::varchar = 'a'", "ci::varchar = 'A'", false},
		{"cc < 'b'", "cc >= 'c'", true},
		{"cc < 'c'", "cc >= 'b'", false},
		{`t COLLATE "C" < 'b'`, `t COLLATE "C" > 'c'`, true},
		{`t COLLATE "C" < 'b'`, "t > 'c'", false},
		{"t < 'b'", "t > 'c'", false}, // the order of the database's collation is not known
		{"t < 'b'", "t > 'b'", true},
		{"t IN ('a', 'b')", "t IN ('c', 'd')", true},
		{"t IN ('a', 'b')", "t NOT IN ('a', 'b', 'c')", true},
		{"t IN ('a', 'b')", "t IN ('b', 'd')", false},
		{"t = ANY ('{a,b}')", "t = 'c'", true},
		{"t <> ALL ('{a,b}')", "t = 'a'", true},
		{"lower(t) = 'a'", "lower(t) = 'b'", true},
		{"lower(t) = 'a'", "upper(t) = 'b'", false},
		{"t LIKE 'a%'", "t NOT LIKE 'a%'", true},
		{"t LIKE 'a%'", "t LIKE 'b%'", false},
		{"t LIKE 'a%'", "t IS NULL", true},
		{"lower(t) = 'a'", "t IS NULL", true},
		{"coalesce(t, 'x') = 'x'", "t IS NULL", false},
		{"coalesce(t, 'x') = 'x'", "coalesce(t, 'x') = 'y'", true},
		{"m = 'sad'", "m = 'ok'", true},
		{"m < 'ok'", "m >= 'ok'", true},
		{"m < 'ok'", "m > 'sad'", true},
		{"m IN ('sad', 'ok')", "m IN ('it''s {0}')", true},
		{"u = 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11'", "u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", false},
		{"u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'", "u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", true},

		{"i4 < 10", "i4 >= 10", true},
		{"i4 < 10", "i4 > 9", true}, // whole numbers
		{"i4 <= 10", "i4 >= 10", false},
		{"n < 10", "n > 9", false},
		{"i4 BETWEEN 1 AND 5", "i4 BETWEEN 6 AND 9", true},
		{"i4 BETWEEN 1 AND 5", "i4 BETWEEN 5 AND 9", false},
		{"i4 BETWEEN SYMMETRIC 5 AND 1", "i4 BETWEEN SYMMETRIC 9 AND 6", true},
		{"i4 NOT BETWEEN 1 AND 5", "i4 = 3", true},
		{"i4 NOT BETWEEN 1 AND 5", "i4 = 6", false},
		{"i4 = 5", "i4 = 5.0", false},
		{"i4 = 5", "i4 > 5.5", true},
		{"i4 = 120.0", "i4 > 120", false}, // the one reads it clamped to 120
		{"i4 = 119.0", "i4 > 119", true},
		{"i4 < 10", "i4 > 150.5", true}, // of a value that is read clamped to 120: it holds for no row
		{"i4 = 5", "i4::bigint = 6", true},
		{"i4 = 5", "i4::text = '6'", false},
		{"i4 IN (1, 2)", "i4 IN (3, 4)", true},
		{"i4 IN (1, 2)", "i4 IN (2.0, 4)", false},
		{"i4 = $1", "i4 = 8", true},
		{"i4 = $1", "i4 = 7", false},
		{"i4 = ANY ($2)", "i4 = 4", false},
		{"i4 = ANY ($2)", "i4 = 5", true},
		{"i4 <> ALL ($2)", "i4 = 5", true}, // 5 <> ALL ('{4,NULL}') is NULL
		{"i4 <> ALL ($3)", "i4 = 5", false},
		{"i4 <> ALL ($3)", "i4 IS NULL", false}, // an empty list
		{"i4 <> ALL ('{4}')", "i4 IS NULL", true},
		{"(i4 = ANY ($2)) IS NOT TRUE", "i4 = 4", true},
		{"(i4 = ANY ($2)) IS NOT TRUE", "i4 = 5", false},
		{"(i4 = ANY ($2)) IS UNKNOWN", "i4 = 5", false},
		{"(i4 NOT IN (1, 2)) IS NOT TRUE", "i4 IS NULL", false},
		{"(i4 NOT IN (1, 2)) IS NOT TRUE", "i4 = 3", true},
		{"i4 % 2 = 0", "i4 % 2 = 1", true},
		{"i4 % 2 = 0", "i4 % 2 <> 0", true},
		{"i4 % 2 = 0", "i4 IS NULL", true},
		{"i4 = age", "i4 <> age", true},
		{"i4 = age", "age < i4", true},
		{"i4 <= age", "age <= i4", false},
		{"i4 < age", "age IS NULL", true},

		{"f8 > 5", "f8 = 'NaN'", false}, // NaN is above every number
		{"f8 < 5", "f8 = 'NaN'", true},
		{"f8 = 'NaN'", "f8 = 'Infinity'", true},
		{"f8 = 0", "f8 = '-0'", false},
		{"uf = 0.1", "uf > 0.1", true},
		{"uf = 0.1::float4", "uf = 0.1", false}, // rounded first: not looked into
		{"f4 = 0.1", "f4 = 0.1::float4", false}, // 0.1 is float8 there, and no float4 equals it
		{"f8::numeric = 0.1", "f8 = 0.1", false},
		{"i8 = 9007199254740993", "i8::float8 = 9007199254740992", false},
		{"i8::float8 = 9007199254740993", "i8::float8 = 9007199254740992", false},
		{"uf = ANY ('{0.1}'::numeric[])", "uf = 0.1", false}, // 0.1 becomes a float8
		{"n = 0.10", "n = 0.1", false},
		{"n = 0.1", "n = 0.1::float8", false},
		{"un = 'NaN'", "un < 'Infinity'", true},

		{"d < '2020-01-01'", "d >= '2020-01-01'", true},
		{"d < '2020-01-02'", "d > '2020-01-01'", true},
		{"d < 'infinity'", "d = 'infinity'", true},
		{"d >= '2020-01-01'", "d = 'infinity'", false},
		{"d = '2020-01-01'", "d > timestamp '2020-01-01 12:00'", true},
		{"d = '2020-01-01'", "d < timestamp '2020-01-01 12:00'", false},
		{"ts < date '2020-01-01'", "ts >= '2020-01-01'", true},
		{"ts >= '2020-01-01' AND ts < '2020-02-01'", "ts >= '2020-02-01' AND ts < '2020-03-01'", true},
		{"ts >= '2020-01-01' AND ts <= '2020-02-01'", "ts >= '2020-02-01' AND ts < '2020-03-01'", false},
		{"tz < '2020-01-01 00:00Z'", "tz >= '2020-01-01 01:00+01'", true},
		{"tz < date '2020-01-01'", "tz >= date '2020-01-01'", true},
		{"tz < date '2020-01-01'", "tz >= date '2020-01-02'", false}, // depends on the session's zone
		{"extract(year FROM d) = 2020", "extract(year FROM d) = 2021", true},
		{"extract(year FROM d) = 2020", "d IS NULL", true},
		{"date_trunc('month', ts) = '2020-01-01'", "date_trunc('month', ts) = '2020-02-01'", true},
		{"tm < '12:00'", "tm >= '12:00'", true},
		{"uiv = '1 month'", "uiv = '30 days'", false}, // equal to PostgreSQL
		{"uiv = '1 month'", "uiv = '31 days'", true},
		{"uiv > '1 year'", "uiv < '365 days'", false}, // a year is 360 days
		{"uiv < '1 day'", "uiv >= '24:00'", true},

		{"b", "NOT b", true},
		{"b", "b IS NOT TRUE", true},
		{"b", "b IS FALSE", true},
		{"b", "b IS NOT FALSE", false},
		{"b", "b IS NULL", true},
		{"b", "b IS UNKNOWN", true},
		{"b", "b = false", true},
		{"b", "b <> true", true},
		{"b", "b IS DISTINCT FROM true", true},
		{"NOT b", "b IS NOT TRUE", false},
		{"b", "nb", false},
		{"b = nb", "b <> nb", true},
		{"b AND nb", "NOT (b AND nb)", true},
		{"b AND nb", "(b AND nb) IS NOT TRUE", true},
		{"b OR nb", "NOT b AND NOT nb", true},
		{"b OR nb", "NOT b", false},
		{"(b OR nb) IS UNKNOWN", "b", true},
		{"(b AND nb) IS NULL", "b IS NOT TRUE AND nb IS FALSE", true},
		{"true", "false", true},
		{"b", "NULL", true},
		{"i4 = NULL", "true", true},
		{"i4 IS NULL", "i4 IS NOT NULL", true},
		{"i4 IS NULL", "i4 > 5", true},
		{"i4 IS NULL", "i4 > 5 IS NOT TRUE", false},
		{"i4 IS NULL", "i4 IS DISTINCT FROM 5", false},
		{"i4 IS NOT DISTINCT FROM NULL", "i4 IS NOT DISTINCT FROM 5", true},
		{"i4 IS DISTINCT FROM 5", "i4 = 5", true},
		{"i4 IS DISTINCT FROM age", "i4 = age", true},

		{"i4 = 1 AND b", "i4 = 2 AND nb", true},
		{"i4 = 1 OR b", "i4 = 2", false},
		{"i4 = 1 OR t = 'a'", "i4 = 2 AND t = 'b'", true},
		{"i4 = 1 OR t = 'a'", "i4 = 2 AND t = 'a'", false},
		{"i4 = 1 AND t = 'a' OR i4 = 2 AND t = 'b'", "i4 = 1 AND t = 'b' OR i4 = 2 AND t = 'a'", true},
		{"i4 = 1 AND i4 = 2", "b", true},
		{"i4 > 1 OR i4 < -1", "i4 = 0", true},
		{"(i4, age) = (1, 2)", "(i4, age) = (1, 3)", true},
		{"(i4, age) IN ((1, 2), (3, 4))", "(i4, age) IN ((1, 4), (3, 2))", true},
		{"CASE WHEN i4 < 5 THEN 'low' ELSE 'high' END = 'low'", "CASE WHEN i4 < 5 THEN 'low' ELSE 'high' END = 'high'", true},
		{"dom = 1", "dom = 2", true},
		{"age IS NULL", "b", false}, // that age is NOT NULL is not the conditions' own
	} {
		if got := Disjoint(condition(t, scope, c.a), condition(t, scope, c.b)); got != c.want {
			t.Errorf("%s / %s: %v", c.a, c.b, got)
		}
		if got := Disjoint(condition(t, scope, c.b), condition(t, scope, c.a)); got != c.want {
			t.Errorf("%s / %s: %v", c.b, c.a, got)
		}
	}
	if Disjoint(nil, nil) || Disjoint(nil, condition(t, scope, "b")) ||
		!Disjoint(nil, condition(t, scope, "b AND NOT b")) {
		t.Error("nil is not every row")
	}
}

// TestDisjointUnknownParameter: a value that is not known proves nothing, and NULL least of all.
func TestDisjointUnknownParameter(t *testing.T) {
	scope := offlineScope(t)
	scope.types = []uint32{pgtype.Int4OID, 1007, 90001}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"i4 = $1", "i4 = 8", false},
		{"i4 = $1", "i4 <> $1", true},
		{"i4 = ANY ($2)", "i4 = 8", false},
		{"i4 <> ALL ($2)", "i4 IS NULL", false},
		{"m = $3", "m = 'ok'", false},
	} {
		if got := Disjoint(condition(t, scope, c.a), condition(t, scope, c.b)); got != c.want {
			t.Errorf("%s / %s: %v", c.a, c.b, got)
		}
	}
}

// TestComplement: b is true exactly where a is not.
func TestComplement(t *testing.T) {
	scope := offlineScope(t)
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"nb", "NOT nb", true},
		{"b", "NOT b", false}, // NULL is neither
		{"b", "b IS NOT TRUE", true},
		{"age < 18", "age >= 18", true},
		{"i4 < 18", "i4 >= 18", false},
		{"i4 < 18", "i4 >= 18 OR i4 IS NULL", true},
		{"age < 18", "age > 18", false},
		{"age <= 17", "age > 17.5", true}, // read clamped
		{"i4 IS NULL", "i4 IS NOT NULL", true},
		{"t = 'a'", "t IS DISTINCT FROM 'a'", true},
		{"age IN (1, 2)", "age NOT IN (1, 2)", true},
		{"nb AND age < 18", "NOT nb OR age >= 18", true},
		{"true", "false", true},
	} {
		if got := Complement(condition(t, scope, c.a), condition(t, scope, c.b)); got != c.want {
			t.Errorf("%s / %s: %v", c.a, c.b, got)
		}
	}
}

// TestDisjointIsBounded: conditions that would take very long to compare are not.
func TestDisjointIsBounded(t *testing.T) {
	scope := offlineScope(t)
	var ors, ands, unknown []string
	for i := range 300 {
		ors = append(ors, fmt.Sprintf("(i4 = %d OR age <> %d)", i, i))
		ands = append(ands, fmt.Sprintf("i4 <> %d", i))
	}
	unknown = append(unknown, strings.Repeat("(", 60)+"b"+strings.Repeat(" IS UNKNOWN)", 60))
	for _, text := range []string{strings.Join(ors, " AND "), strings.Join(ands, " AND "), unknown[0]} {
		e := condition(t, scope, text)
		if Disjoint(e, condition(t, scope, "i8 = 1")) {
			t.Errorf("%.60s excludes what it does not read", text)
		}
	}
}

// TestStrict: of the operators and functions that have a rule, PostgreSQL gives NULL wherever an operand is.
func TestStrict(t *testing.T) {
	s := startServer(t)
	names := map[string]bool{}
	for signature := range allRules.bySignature {
		name, _, _ := strings.Cut(signature, "(")
		names[name] = true
	}
	for name := range allRules.builders {
		names[name] = true
	}
	for name := range names {
		rows,
			err := s.text(
			fmt.Sprintf(
				"SELECT count(*) FROM pg_proc WHERE proname = %[1]s AND NOT proisstrict AND prokind = 'f' UNION ALL SELECT count(*) FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode WHERE oprname = %[1]s AND NOT proisstrict AND oprleft NOT IN (SELECT oid FROM pg_type WHERE typname ~ 'array|record') AND oprright NOT IN (SELECT oid FROM pg_type WHERE typname ~ 'array|record')", query.Text(query.Raw("'"+name+"'"))))
		if err != nil {
			t.Fatal(err)
		}
		if *rows[0][0] != "0" || *rows[1][0] != "0" {
			t.Errorf("%s may give a value where an operand is NULL: strict has to know it", name)
		}
	}
}

func condition(t testing.TB, scope Scope, text string) *Expr {
	t.Helper()
	e, err := BuildBoolean(parseExpr(t, text), scope)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

// TestImplies: what is proven of conditions of which one is within the other, as those of a funnel.
func TestImplies(t *testing.T) {
	scope := collated(offlineScope(t))
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"i4 > 60", "i4 > 40", true},
		{"i4 > 40", "i4 > 60", false},
		{"i4 > 40", "i4 > 40", true},
		{"i4 > 40", "i4 >= 40", true},
		{"i4 >= 40", "i4 > 40", false},
		{"i4 IS NOT NULL", "i4 > 40", false},
		{"i4 > 40", "i4 IS NOT NULL", true},
		{"NOT (i4 > 40)", "i4 IS NOT NULL", true},
		{"(i4 > 40) IS NOT TRUE", "i4 IS NOT NULL", false},
		{"b", "b OR i4 > 40", true},
		{"b AND i4 > 40", "b", true},
		{"b AND i4 > 40", "i4 > 40 AND b", true},
		{"b AND i4 > 60", "b AND i4 > 40", true},
		{"b AND i4 > 60", "i4 > 40", true},
		{"b", "b AND i4 > 40", false},
		{"t = 'a'", "t IN ('a', 'b')", true},
		{"t IN ('a', 'b')", "t = 'a'", false},
		{"ci = 'a'", "ci IN ('A', 'b')", false},
		{"t = 'a'", "ci = 'a'", false},
	} {
		a, b := condition(t, scope, c.a), condition(t, scope, c.b)
		if got := Implies(a, b); got != c.want {
			t.Errorf("%s implies %s: %t", c.a, c.b, got)
		}
		if !Implies(a, nil) || Implies(nil, b) {
			t.Errorf("%s, %s: what holds of all rows", c.a, c.b)
		}
	}
}

package expr

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// TestNarrow: what a WHERE says of its columns.
func TestNarrow(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'Europe/Berlin'")
	scope := s.scope
	seven, list := "7", "{4,9,NULL}"
	scope.types, scope.values, scope.known = []uint32{pgtype.Int4OID, 1007}, []*string{&seven, &list}, true
	held := *scope.columns["age"]
	held.Enforced, held.Bounds = true, bounds.Between(2, 50)
	scope.columns["held"] = &held
	for _, c := range []struct {
		where, column, bounds string
		notNull               bool
		domain                []string
	}{
		{"i4 BETWEEN 18 AND 65", "i4", "[18, 65]", true, nil},
		{"i4 > 18 AND i4 < 65", "i4", "[19, 64]", true, nil},
		{"18 < i4", "i4", "[19, 120]", true, nil},
		{"i4 >= 18.5", "i4", "[19, 120]", true, nil},
		{"i4 > 18.5 AND i4 < 20.5", "i4", "[19, 20]", true, nil},
		{"i4 = 5", "i4", "[5, 5]", true, nil},
		{"i4 IN (3, 5, 9)", "i4", "[3, 9]", true, nil},
		{"i4 = ANY ('{3,9}')", "i4", "[3, 9]", true, nil},
		{"i4 = 3 OR i4 = 9", "i4", "[3, 9]", true, nil},
		{"i4 = 3 OR b", "i4", "[-50, 120]", false, nil},
		{"NOT (i4 < 18 OR i4 > 65)", "i4", "[18, 65]", true, nil},
		{"NOT (i4 < 18 AND i4 > 10)", "i4", "[-50, 120]", true, nil},
		{"(i4 > 18) IS TRUE", "i4", "[19, 120]", true, nil},
		{"(i4 > 18) IS FALSE", "i4", "[-50, 18]", true, nil},
		{"(i4 > 18) IS NOT TRUE", "i4", "[-50, 18]", false, nil},
		{"NOT ((i4 > 18) IS TRUE)", "i4", "[-50, 18]", false, nil},
		{"i4 IS NOT NULL", "i4", "[-50, 120]", true, nil},
		{"NOT (i4 IS NULL)", "i4", "[-50, 120]", true, nil},
		{"i4 IS NULL", "i4", "[-50, 120]", false, nil},
		{"i4 <> -50", "i4", "[-49, 120]", true, nil},
		{"i4 <> 5", "i4", "[-50, 120]", true, nil},
		{"i4 > 5 AND NULL", "i4", "[6, 120]", true, nil},
		{"i4 > 200", "i4", "[-50, 120]", true, nil}, // a contradiction leaves the bounds alone
		{"i4 < age", "i4", "[-50, 120]", true, nil}, // age is compared as it is, and may lie outside its bounds
		{"i4 < age + 0", "i4", "[-50, 119]", true, nil},
		{"i4 > held", "i4", "[3, 120]", true, nil},
		{"i4 IS DISTINCT FROM 5", "i4", "[-50, 120]", false, nil},
		{"i4 IS NOT DISTINCT FROM 5", "i4", "[5, 5]", true, nil},
		{"i8 < 100", "i8", "[0, 99]", true, nil},
		{"i2 > 5.5", "i2", "[6, 100]", true, nil},
		{"n > 5 AND n <= 7.25", "n", "[5, 7.25]", true, nil},
		{"f8 BETWEEN 0.5 AND 2", "f8", "[0.5, 2]", true, nil},
		{"n2 <> 0", "n2", "[0.01, 20000]", true, nil},
		{"d >= '2020-01-01' AND d < '2021-01-01'", "d", "[18262, 18627]", true, nil},
		{"ts < '2016-01-01'", "ts", "[1420070400000000, 1451606399999999]", true, nil},
		{"d > ts", "d", "[16436, 20818]", true, nil},
		{"ts >= date '2020-01-01'", "ts", "[1577836800000000, 1798761599000000]", true, nil},
		{"d < timestamp '2020-01-01 12:00'", "d", "[16436, 18262]", true, nil},
		{"tz >= '2020-01-01'", "tz", "[1577833200000000, 1798675200000000]", true, nil}, // Europe/Berlin
		{"tz < date '2020-07-01'", "tz", "[1420070400000000, 1593554399999999]", true, nil},
		{"tz < '2021-03-28'", "tz", "[1420070400000000, 1616885999999999]", true, nil}, // before the offset changes
		{"tz >= '2020-01-01 00:00:00Z'", "tz", "[1577836800000000, 1798675200000000]", true, nil},
		{"extract(year FROM tz) = 2020", "tz", "[1577833200000000, 1609455599999999]", true, nil},
		{"extract(year FROM tz) < 2020", "tz", "[1420070400000000, 1577833199999999]", true, nil},
		{"2019 < date_part('year', tz)", "tz", "[1577833200000000, 1798675200000000]", true, nil},
		{"extract(year FROM tz) IN (2018, 2020)", "tz", "[1514761200000000, 1609455599999999]", true, nil},
		{"extract(year FROM tz AT TIME ZONE 'UTC') = 2020", "tz", "[1577836800000000, 1609459199999999]", true, nil},
		{"tz::date BETWEEN '2020-01-01' AND '2020-12-31'", "tz", "[1577833200000000, 1609455599999999]", true, nil},
		{"tz::date IN ('2020-01-01', '2020-12-31', NULL)", "tz", "[1577833200000000, 1609455599999999]", true, nil},
		{"NOT tz::date > '2020-01-01'", "tz", "[1420070400000000, 1798675200000000]", false, nil},
		{"date(tz) >= '2020-01-01' AND tz < '2020-02-01'", "tz", "[1577833200000000, 1580511599999999]", true, nil},
		{"date_trunc('month', tz) = '2020-01-01'", "tz", "[1577833200000000, 1580511599999999]", true, nil},
		{"date_trunc('year', tz) < date '2020-01-01'", "tz", "[1420070400000000, 1577833199999999]", true, nil},
		{"ts::date = '2020-01-01'", "ts", "[1577836800000000, 1577923199999999]", true, nil},
		{"NOT ts::date >= '2020-01-01'", "ts", "[1420070400000000, 1577836799999999]", true, nil},
		{"ts::date <> '2020-01-01'", "ts", "[1420070400000000, 1798761599000000]", true, nil},
		{"date_trunc('month', ts) > '2020-01-15'", "ts", "[1580515200000000, 1798761599000000]", true, nil},
		{"date_trunc('quarter', d) <= '2020-01-01'", "d", "[16436, 18352]", true, nil},
		{"date_trunc('month', d::timestamp) = '2020-02-01'", "d", "[18293, 18321]", true, nil},
		{"ts::date >= d", "ts", "[1420070400000000, 1798761599000000]", true, nil},
		{"NOT extract(year FROM tz) > 2020", "tz", "[1420070400000000, 1798675200000000]", false, nil},
		{"extract(year FROM tz) <> 2020", "tz", "[1420070400000000, 1798675200000000]", false, nil},
		{"diag = 'flu'", "diag", "[∞, ∞]", true, []string{"flu"}},
		{"diag IN ('flu', 'cold')", "diag", "[∞, ∞]", true, []string{"cold", "flu"}},
		{"diag = 'flu' OR diag = 'cold'", "diag", "[∞, ∞]", true, []string{"cold", "flu"}},
		{"diag <> 'flu'", "diag", "[∞, ∞]", true, []string{"asthma", "cold", "flu"}},
		{"dom BETWEEN 10 AND 20", "dom", "[10, 20]", true, nil},
		{"u4 BETWEEN 0 AND 10", "u4", "[0, 10]", true, nil},
		{"uf BETWEEN 0 AND 10", "uf", "[0, 10]", true, nil},
		{"un > 0", "un", "[0, ∞]", true, nil},
		{"age > $1", "age", "[8, 120]", true, nil},
		{"age = ANY ($2)", "age", "[4, 9]", true, nil},
	} {
		t.Run(c.where, func(t *testing.T) {
			e, err := BuildBoolean(parseExpr(t, c.where), scope)
			if err != nil {
				t.Fatal(err)
			}
			col := scope.columns[c.column]
			n := Narrow(e)[col]
			x := columnExpr(col, -1).narrowed(n)
			if x.bounds.String() != c.bounds || x.nullable == c.notNull && !(c.column == "age" && !x.nullable) {
				t.Errorf("bounds %s, nullable %v", x.bounds, x.nullable)
			}
			domain := n.Domain
			if domain == nil {
				domain = col.Domain
			}
			if !slices.Equal(domain, c.domain) {
				t.Errorf("domain %q", domain)
			}
		})
	}
}

// TestNarrowedColumnsAreClamped: PostgreSQL may compute with a derived column before the condition that narrows it is
// tested, so that what only the condition keeps away is clamped, and what the column's own expression keeps away is
// not.
func TestNarrowedColumnsAreClamped(t *testing.T) {
	scope := offlineScope(t)
	c := &Column{
		Ref: query.Named("t").Column("c"), Name: "c", Type: pgtype.NumericOID, Typmod: -1,
		TypeName: "pg_catalog.\"numeric\"", Bounds: bounds.Between(0, 5), Enforced: true, Scale: 2,
		DeterministicCollation: true,
	}
	scope.columns["c"] = c
	for _, step := range []struct{ bounds, held, sql string }{
		{"[0, 5]", "[0, 5]", "t.c"},
		{
			"[1, 5]", "[0, 5]",
			"(CASE WHEN t.c OPERATOR(pg_catalog.<) '1'::pg_catalog.\"numeric\" THEN '1'::pg_catalog.\"numeric\" ELSE t.c END)",
		},
		{
			"[1, 3]", "[0, 5]",
			"(CASE WHEN t.c OPERATOR(pg_catalog.<) '1'::pg_catalog.\"numeric\" THEN '1'::pg_catalog.\"numeric\" WHEN t.c OPERATOR(pg_catalog.>) '3'::pg_catalog.\"numeric\" THEN '3'::pg_catalog.\"numeric\" ELSE t.c END)",
		},
	} {
		switch step.bounds {
		case "[1, 5]":
			c.Narrow(bounds.Between(1, 5))
		case "[1, 3]":
			c.Narrow(bounds.Between(1, 3))
		}
		e := Read(c, -1)
		if sql := strings.ReplaceAll(sqlOf(e.Read()), "pg_catalog.numeric", "pg_catalog.\"numeric\""); sql != step.sql {
			t.Errorf("printed as %s", sql)
		}
		as := e.AsColumn(query.Named("u").Column("c"), "c") // of a subquery that lets it through
		for _, x := range []*Column{c, as} {
			h, ok := (&Expr{col: x}).heldBounds()
			if x.Bounds.String() != step.bounds || h.String() != step.held || !ok || x.Scale != 2 {
				t.Errorf("%s: bounds %s, held %s, scale %d", x.Ref, x.Bounds, h, x.Scale)
			}
		}
	}
}

// TestParameters: without values the analysis is provisional; with them everything is proven.
func TestParameters(t *testing.T) {
	for _, c := range []struct {
		text  string
		oid   uint32
		value string // * is NULL
		ok    bool
	}{
		{"age / $1", pgtype.Int4OID, "7", true},
		{"age / $1", pgtype.Int4OID, "0", false},
		{"age / $1", pgtype.Int4OID, "*", true},
		{"age + $1", pgtype.Int4OID, "1", true},
		{"age + $1", pgtype.Int4OID, "2147483647", false},
		{"age * $1", pgtype.Int8OID, "3", true},
		{"n2 / $1", pgtype.NumericOID, "0.5", true},
		{"n2 / $1", pgtype.NumericOID, "NaN", false},
		{"f8 / $1", pgtype.Float8OID, "0", false},
		{"f8 / $1", pgtype.Float8OID, "Infinity", false},
		{"t LIKE $1", pgtype.TextOID, "a%", true},
		{"t LIKE $1", pgtype.TextOID, `a\`, false},
		{"t ~ $1", pgtype.TextOID, "(a|b)", true},
		{"t ~ $1", pgtype.TextOID, "(a{9}", false},
		{"date_trunc($1, ts)", pgtype.TextOID, "month", true},
		{"date_trunc($1, ts)", pgtype.TextOID, "x", false},
		{"round(n, $1)", pgtype.Int4OID, "2", true},
		{"round(n, $1)", pgtype.Int4OID, "2000", false},
		{"left(t, $1)", pgtype.Int4OID, "2", true},
		{"left(t, $1)", pgtype.Int4OID, "-2147483648", false},
		{"substring(t, 1, $1)", pgtype.Int4OID, "-1", false},
		{"width_bucket(n, 0, 10, $1)", pgtype.Int4OID, "0", false},
		{"width_bucket(age, 0, 10, $1)", pgtype.Int4OID, "5", true},
		{"d + $1", pgtype.Int4OID, "30", true},
		{"d + $1", pgtype.Int4OID, "2147483647", false},
		{"d + $1", pgtype.IntervalOID, "1 day", true},
		{"ts + $1", pgtype.IntervalOID, "100000 years", false},
		{"LEAST(GREATEST(u4, $1), 10) + 1", pgtype.Int4OID, "0", true},
		{"age = ANY ($1)", 1007, "{1,2,NULL}", true},
		{"age = ANY ($1)", 1007, "{{1},{2}}", false},
		{"age = ANY ($1)", 1007, "*", true},
		{"t = ANY ($1)", 1009, `{a,"b \" c"}`, true},
		{"t LIKE ANY ($1)", 1009, `{a%,"b\\"}`, false},
		{"to_char(ts, $1)", pgtype.TextOID, "YYYY", true},
		{"to_char(ts, $1)", pgtype.TextOID, "TMMonth", false},
		{"CASE WHEN $1 THEN age / 2 END", pgtype.BoolOID, "true", true},
		{"$1", pgtype.Int4OID, "3", true},
		{"$1 > age", pgtype.Int4OID, "3", true},
		{"m = $1", 90001, "ok", true},
		{"m = $1", 90001, "happy", false},
		{"m IN ($1, 'sad')", 90001, "ok", true},
		{"m > $1", 90001, "*", true},
		{"d > $1", pgtype.DateOID, "2020-01-01", true},
		{"tz > $1", pgtype.TimestamptzOID, "2020-01-01 00:00:00+05:30", true},
		{"extract($1 from ts)", pgtype.TextOID, "x", false},
		{"ts AT TIME ZONE $1", pgtype.TextOID, "UTC", true},
		{"ts AT TIME ZONE $1", pgtype.TextOID, "Nowhere", false},
		{"split_part(t, $1, 1)", pgtype.TextOID, "", true},
		{"exp($1 * age)", pgtype.Float8OID, "1", true},
		{"exp($1 * age)", pgtype.Float8OID, "100", false},
		{"power(age, $1)", pgtype.Float8OID, "2", true},
		{"power(age, $1)", pgtype.Float8OID, "0.5", false},
	} {
		t.Run(c.text+" "+c.value, func(t *testing.T) {
			if c.text == "extract($1 from ts)" {
				c.text = "date_part($1, ts)"
			}
			scope := offlineScope(t)
			scope.types = []uint32{c.oid}
			e, err := Build(parseExpr(t, c.text), scope)
			if err != nil {
				t.Fatalf("without a value: %v", err)
			}
			provisional := sqlOf(e)
			scope.known = true
			scope.values = []*string{&c.value}
			if c.value == "*" {
				scope.values = []*string{nil}
			}
			e, err = Build(parseExpr(t, c.text), scope)
			if (err == nil) != c.ok {
				t.Fatalf("with the value: %v", err)
			}
			if err == nil && e.Provisional() {
				t.Errorf("still provisional: %s", provisional)
			}
			if err == nil && strings.Contains(sqlOf(e), "$1") {
				t.Errorf("the value is known: %s", sqlOf(e))
			}
		})
	}
}

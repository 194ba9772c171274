package query

import (
	"reflect"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// visits is a table under an alias of a plan.
func visits(as *Alias) *Table {
	return &Table{Name: policy.Name{Schema: "public", Relation: "visits"}, As: as}
}

func text(s string) *schema.Canonical {
	c := schema.Canonical(s)
	return &c
}

// TestPrint: what each node is written as.
func TestPrint(t *testing.T) {
	a, b := &Alias{ID: 7}, &Alias{ID: 3}
	x, y := a.Column("x"), b.Column(`"Y"`)
	one := &Select{Outputs: []Output{{X: Integer(1)}}}
	from := func(s Source) Query { return &Select{Outputs: []Output{{X: Integer(1)}}, From: s} }
	value := func(x Scalar) Query { return &Select{Outputs: []Output{{X: x}}} }
	for name, c := range map[string]struct {
		query Query
		want  string
	}{
		"Raw":              {value(Raw("now()")), "SELECT now()"},
		"Integer":          {value(Integer(-5)), "SELECT -5"},
		"Name":             {value(Name("r1")), "SELECT r1"},
		"Column":           {value(x), "SELECT t1.x"},
		"Column of a name": {value(Named("g").Column("m1")), "SELECT g.m1"},
		"Form":             {value(F("f({}, {}, {})", x, "y", 3)), "SELECT f(t1.x, y, 3)"},
		"List":             {value(List{" OR ", []Scalar{x, y}}), `SELECT t1.x OR t2."Y"`},
		"Clamp":            {value(Clamp{X: x, Lo: Integer(0), Hi: Integer(9)}), "SELECT LEAST(GREATEST(t1.x, 0), 9)"},
		"Clamp above":      {value(Clamp{X: x, Hi: Integer(9)}), "SELECT LEAST(t1.x, 9)"},
		"Clamp, ladder": {
			value(Clamp{X: x, Lo: Integer(0), Hi: Integer(9), Ladder: true}),
			"SELECT (CASE WHEN t1.x OPERATOR(pg_catalog.<) 0 THEN 0 WHEN t1.x OPERATOR(pg_catalog.>) 9 THEN 9 ELSE t1.x END)",
		},
		"Clamp, ladder within": {
			value(Clamp{X: x, Lo: Integer(0), Ladder: true, Within: y}),
			`SELECT (CASE WHEN t1.x OPERATOR(pg_catalog.<) 0 THEN 0 ELSE t2."Y" END)`,
		},
		"UnitClamp": {value(UnitClamp{X: x, Lo: -3, Hi: 4}), "SELECT LEAST(GREATEST(t1.x, (-3)), 4)"},
		"Aggregate": {value(Aggregate{Call: Raw("count(*)")}), "SELECT count(*)"},
		"Aggregate of some": {
			value(Aggregate{Call: F("sum({})", x), Where: F("{} > 0", y)}),
			`SELECT sum(t1.x) FILTER (WHERE t2."Y" > 0)`,
		},
		"Over": {
			value(Over{
				Call: Raw("rank()"), Partition: []Scalar{x}, Order: []Scalar{F("{} DESC", y), x},
				Frame: Raw("ROWS 1 PRECEDING"),
			}),
			`SELECT rank() OVER (PARTITION BY t1.x ORDER BY t2."Y" DESC, t1.x ROWS 1 PRECEDING)`,
		},
		"Over unordered": {
			value(Over{Call: Raw("rank()"), Partition: []Scalar{x, y}}),
			`SELECT rank() OVER (PARTITION BY t1.x, t2."Y")`,
		},
		"Pick": {
			value(Pick{Partition: []Scalar{x}, Order: []Scalar{y}}),
			`SELECT row_number() OVER (PARTITION BY t1.x ORDER BY t2."Y")`,
		},
		"Pick of groups": {
			value(Pick{Partition: []Scalar{x}, Order: []Scalar{y}, Groups: true}),
			`SELECT dense_rank() OVER (PARTITION BY t1.x ORDER BY t2."Y")`,
		},
		"First":    {&Select{Outputs: one.Outputs, Where: []Scalar{First{Rank: x, N: 2}}}, "SELECT 1 WHERE t1.x <= 2"},
		"Subquery": {value(Subquery{one}), "SELECT (SELECT 1)"},
		"Exists":   {value(Exists{one}), "SELECT EXISTS (SELECT 1)"},
		"Compared": {
			value(Compared{Left: []Scalar{x}, Op: "<", Word: "ALL", Query: one}),
			"SELECT (t1.x OPERATOR(pg_catalog.<) ALL (SELECT 1))",
		},
		"Compared rows": {
			value(Compared{Left: []Scalar{x, y}, Op: "=", Word: "ANY", Query: one}),
			`SELECT (ROW(t1.x, t2."Y") OPERATOR(pg_catalog.=) ANY (SELECT 1))`,
		},
		"Table": {from(visits(a)), `SELECT 1 FROM "public"."visits" AS t1`},
		"Table alone": {
			from(&Table{Name: policy.Name{Schema: `a"b`, Relation: "c"}, Only: true, As: a}),
			`SELECT 1 FROM ONLY "a""b"."c" AS t1`,
		},
		"Values": {from(&Values{
			Rows: [][]Scalar{{Integer(1), Raw("'a'")}, {Integer(2), Raw("'b'")}}, As: a,
			Columns: []string{"c1", "c2"},
		}), "SELECT 1 FROM (VALUES (1, 'a'), (2, 'b')) AS t1 (c1, c2)"},
		"Function": {from(&Function{
			Call: Raw("pg_catalog.unnest($1)"), Ordinality: true, As: Named("v"),
			Columns: []string{"k", "o"},
		}), "SELECT 1 FROM pg_catalog.unnest($1) WITH ORDINALITY AS v (k, o)"},
		"Derived":         {from(&Derived{Query: one, As: a}), "SELECT 1 FROM (SELECT 1) AS t1"},
		"Derived lateral": {from(&Derived{Query: one, As: a, Lateral: true}), "SELECT 1 FROM LATERAL (SELECT 1) AS t1"},
		"Join": {
			from(&Join{Kind: "LEFT", Left: visits(a), Right: visits(b), On: []Scalar{F("{} = {}", x, y), Raw("TRUE")}}),
			`SELECT 1 FROM ("public"."visits" AS t1 LEFT JOIN "public"."visits" AS t2 ON (t1.x = t2."Y" AND TRUE))`,
		},
		"Product": {
			from(Product{visits(a), visits(b)}),
			`SELECT 1 FROM ("public"."visits" AS t1 CROSS JOIN "public"."visits" AS t2)`,
		},
		"Product of one": {from(Product{visits(a)}), `SELECT 1 FROM "public"."visits" AS t1`},
		"Select": {
			&Select{
				Distinct: true, Outputs: []Output{{x, "k"}, {Raw("count(*)"), ""}}, From: visits(a),
				Where: []Scalar{Raw("TRUE"), Raw("FALSE")}, Groups: 1, OrderBy: []Scalar{x}, Limit: 5, Fence: FenceAll,
			},
			`SELECT DISTINCT t1.x AS k, count(*) FROM "public"."visits" AS t1 WHERE TRUE AND FALSE GROUP BY 1 ORDER BY t1.x LIMIT 5 OFFSET 0`,
		},
		"Select of first rows": {
			&Select{DistinctOn: []Scalar{x, y}, Outputs: one.Outputs, Groups: 2, Fence: FenceParallel},
			`SELECT DISTINCT ON (t1.x, t2."Y") 1 GROUP BY 1, 2 OFFSET '0'`,
		},
		"SetOp": {
			&SetOp{Op: "EXCEPT ALL", Of: []Query{one, one, one}},
			"SELECT 1 EXCEPT ALL SELECT 1 EXCEPT ALL SELECT 1",
		},
		"Ordinals": {
			&Ordinals{Arrays: []Scalar{Raw("$1")}, Equalities: []string{` COLLATE "C"`}},
			`SELECT v.k1 COLLATE "C" AS k1, min(v.o) AS o FROM pg_catalog.unnest($1) WITH ORDINALITY AS v (k1, o) GROUP BY 1`,
		},
		"Once": {
			Once(visits(a), []Scalar{x}),
			`SELECT NOT EXISTS (SELECT FROM "public"."visits" AS t1 GROUP BY t1.x HAVING count(*) > 1)`,
		},
	} {
		if got := Print(c.query); got.Text != c.want || len(got.Parameters) > 0 {
			t.Errorf("%s is printed as\n%s\nwant\n%s", name, got.Text, c.want)
		}
	}
}

// TestAliasesAreNumberedAsTheyAreNamed: queries that are equal have equal texts, in whatever order their parts were planned.
func TestAliasesAreNumberedAsTheyAreNamed(t *testing.T) {
	build := func(first, second int) Query {
		l, r := &Alias{ID: first}, &Alias{ID: second}
		return &Select{Outputs: []Output{{X: l.Column("a")}}, From: &Join{
			Kind: "INNER", Left: visits(l), Right: visits(r),
			On: []Scalar{F("{} = {}", l.Column("a"), r.Column("b"))},
		}}
	}
	want := `SELECT t1.a FROM ("public"."visits" AS t1 INNER JOIN "public"."visits" AS t2 ON (t1.a = t2.b))`
	for _, ids := range [][2]int{{1, 2}, {2, 1}, {40, 17}} {
		if got := Print(build(ids[0], ids[1])).Text; got != want {
			t.Errorf("aliases %v: %s, want %s", ids, got, want)
		}
	}
	if Print(build(1, 1)).Text == want {
		t.Error("two items of one alias are printed as two aliases")
	}
}

// TestParametersAreNumberedOnce: each parameter is one $n however often it stands there, and two are two even if their values are equal.
func TestParametersAreNumberedOnce(t *testing.T) {
	parameter := func(value *schema.Canonical) *Parameter {
		return &Parameter{schema.Parameter{Type: pgtype.TextOID, Value: value}}
	}
	p, q, null := parameter(text("it's")), parameter(text("it's")), parameter(nil)
	x := F("f({}, {}, {}, {}, {})", q, p, q, null, p)
	got := Print(&Select{Outputs: []Output{{X: x}}})
	if want := "SELECT f($1, $2, $1, $3, $2)"; got.Text != want {
		t.Errorf("printed %s, want %s", got.Text, want)
	}
	if want := []schema.Parameter{q.Parameter, p.Parameter, null.Parameter}; !reflect.DeepEqual(got.Parameters, want) {
		t.Errorf("the parameters are %v, want %v", got.Parameters, want)
	}
	if want := "f('it''s', 'it''s', 'it''s', NULL, 'it''s')"; Text(x) != want {
		t.Errorf("by itself it is %s, want %s", Text(x), want)
	}
}

// TestKey: expressions of one plan have one key if, and only if, they are the same.
func TestKey(t *testing.T) {
	a, b := &Alias{ID: 1}, &Alias{ID: 2}
	list := []Scalar{
		nil, Raw("1"), Raw("t000001.x"), a.Column("x"), b.Column("x"), a.Column("y"), F("({})", a.Column("x")),
		F("({})", b.Column("x")),
		&Parameter{schema.Parameter{Value: text("a")}}, &Parameter{schema.Parameter{Value: text("'a'")}}, &Parameter{},
	}
	for i, x := range list {
		for j, y := range list {
			same := i == j || i == 2 && j == 3 || i == 3 && j == 2 // Raw holds no name of a query: nobody writes the third
			if Equal(x, y) != same {
				t.Errorf("%q and %q are equal: %v", Key(x), Key(y), !same)
			}
		}
	}
	many := &Alias{ID: 12}
	sorted := Sorted([]Scalar{many.Column("x"), b.Column("x"), a.Column("x"), b.Column("x")})
	if want := []Scalar{a.Column("x"), b.Column("x"), many.Column("x")}; !reflect.DeepEqual(sorted, want) {
		t.Errorf("sorted: %v, want %v", sorted, want)
	}
}

// everything has every kind of node that Map enters.
func everything(a *Alias) Query {
	x := a.Column("x")
	leaf := &Select{Outputs: []Output{{X: x}}}
	scalar := F("f({}, {}, {}, {}, {}, {}, {}, {})",
		List{", ", []Scalar{x}},
		Clamp{X: x, Lo: x, Hi: x, Within: x, Ladder: true},
		Aggregate{Call: x, Where: x},
		Over{Call: x, Partition: []Scalar{x}, Order: []Scalar{x}, Frame: x},
		UnitClamp{X: x, Hi: 1},
		Pick{Partition: []Scalar{x}, Order: []Scalar{x}},
		F("{} {}", Subquery{leaf}, Exists{leaf}),
		Compared{Left: []Scalar{x}, Op: "=", Word: "ANY", Query: leaf})
	from := Product{
		&Values{Rows: [][]Scalar{{x}}, As: a}, &Function{Call: x, As: a},
		&Derived{Query: &SetOp{Op: "UNION ALL", Of: []Query{leaf, leaf}}, As: a},
		&Join{Kind: "FULL", Left: visits(a), Right: &Derived{
			Query: &Ordinals{Arrays: []Scalar{x}, Equalities: []string{""}},
			As:    a,
		}, On: []Scalar{x}},
	}
	return &SetOp{Op: "UNION", Of: []Query{
		&Select{
			DistinctOn: []Scalar{x}, Outputs: []Output{{X: scalar}}, From: from, Where: []Scalar{x},
			OrderBy: []Scalar{x},
		},
		Once(&Derived{Query: leaf, As: a}, []Scalar{x}),
	}}
}

// TestMapReachesEverything: each node is what the functions make of it, wherever it stands, and the tree that was there is not changed.
func TestMapReachesEverything(t *testing.T) {
	a := &Alias{ID: 1}
	tree := everything(a)
	before := Print(tree).Text
	columns := func(q Query) (n int) {
		Map{Scalar: func(x Scalar) Scalar {
			if _, ok := x.(Column); ok {
				n++
			}
			return x
		}}.OfQuery(q)
		return n
	}
	replaced := Map{Scalar: func(x Scalar) Scalar {
		if _, ok := x.(Column); ok {
			return Raw("NULL")
		}
		return x
	}}.OfQuery(tree)
	if n := columns(tree); n < 25 {
		t.Errorf("Map reaches %d columns only", n)
	}
	if n := columns(replaced); n > 0 {
		t.Errorf("%d columns are left: %s", n, Print(replaced).Text)
	}
	if Print(tree).Text != before {
		t.Errorf("the tree itself is another now: %s", Print(tree).Text)
	}
	sources := 0
	Map{Source: func(s Source) Source { sources++; return s }}.OfQuery(tree)
	if sources != 8 {
		t.Errorf("Map reaches %d FROM items, want 8", sources)
	}
}

// TestMapKeepsWhatItDoesNotTouch: without functions it gives the same query, and it keeps what is empty.
func TestMapKeepsWhatItDoesNotTouch(t *testing.T) {
	a := &Alias{ID: 1}
	for _, tree := range []Query{everything(a), &Select{
		Outputs: []Output{{X: Clamp{X: a.Column("x")}}, {X: Aggregate{Call: Raw("count(*)")}}},
	}, &Select{DistinctOn: nil}} {
		if same := (Map{}).OfQuery(tree); !reflect.DeepEqual(same, tree) {
			t.Errorf("%s became %s", Print(tree).Text, Print(same).Text)
		}
	}
	if (Map{}).OfScalar(nil) != nil {
		t.Error("nothing became something")
	}
}

// TestMapRebuildsFromBelow: a function sees a node whose parts are what it made of them.
func TestMapRebuildsFromBelow(t *testing.T) {
	var seen []string
	Map{Scalar: func(x Scalar) Scalar {
		seen = append(seen, Key(x))
		if Equal(x, Raw("a")) {
			return Raw("b")
		}
		return x
	}}.OfScalar(F("f({}, {})", "a", "c"))
	if want := []string{"a", "c", "f(b, c)"}; !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}

// TestTemplatesHoldTheirOperands: a template with too few or too many operands is a fault of the code.
func TestTemplatesHoldTheirOperands(t *testing.T) {
	for _, make := range []func(){func() { F("{} {}", "a") }, func() { F("", "a") }, func() { F("{}", 1.5) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it is accepted")
				}
			}()
			make()
		}()
	}
}

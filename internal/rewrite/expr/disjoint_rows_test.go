package expr

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// conditions writes random conditions of few columns, over values that rows have.
type conditions struct {
	generator
	values map[string][]string // of each column, as SQL
}

func (g conditions) condition(columns []string, depth int) string {
	if depth == 0 {
		return g.leaf(columns[g.IntN(len(columns))], columns)
	}
	a, b := g.condition(columns, depth-1), g.condition(columns, depth-1)
	switch g.IntN(8) {
	case 0, 1:
		return "(" + a + " AND " + b + ")"
	case 2, 3:
		return "(" + a + " OR " + b + ")"
	case 4:
		return "(NOT " + a + ")"
	case 5:
		return "((" + a + ") IS " + g.pick("TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN") + ")"
	}
	return a
}

func (g conditions) leaf(column string, columns []string) string {
	value := func() string {
		v := g.pick(g.values[column]...)
		if g.IntN(12) == 0 {
			v += g.pick("::numeric", "::float8", "::timestamp", "::date", "::text", "::bigint")
		}
		return v
	}
	operator := g.pick("=", "=", "<>", "<", "<=", ">", ">=")
	switch g.IntN(13) {
	case 0:
		return column + " IS " + g.pick("NULL", "NOT NULL")
	case 1:
		return column + " " + g.pick("", "NOT ") + "IN (" + value() + ", " + value() + ", " + g.pick(value(), "NULL") + ")"
	case 2:
		return column + " " + g.pick("", "NOT ") + "BETWEEN " + g.pick("", "SYMMETRIC ") + value() + " AND " + value()
	case 3:
		return column + " IS " + g.pick("", "NOT ") + "DISTINCT FROM " + g.pick(value(), "NULL")
	case 4:
		return column + " " + operator + " " + columns[g.IntN(len(columns))]
	case 5:
		return "coalesce(" + column + ", " + value() + ") " + operator + " " + value()
	case 6:
		return value() + " " + operator + " " + column + g.pick("", "::text", "::numeric", "::float8", "::bigint", "::date")
	case 7:
		return g.pick("lower(", "abs(", "date_trunc('month', ", "floor(", "upper(") + column + ") " + operator + " " + value()
	case 8:
		return column + g.pick("", "::text") + g.pick("", " NOT") + g.pick(" LIKE ", " ILIKE ") + g.pick(
			"'a%'", "'%n'", "'1%'")
	case 9:
		return column + g.pick(` COLLATE "C"`, "::text") + " " + operator + " " + value()
	}
	return column + " " + operator + " " + value()
}

// TestDisjointOnRows draws pairs of conditions, and asks PostgreSQL whether a row of a hostile table fulfils both
// wherever that is said to be impossible.
func TestDisjointOnRows(t *testing.T) {
	s := startServer(t)
	s.exec(t, "DROP TYPE mood CASCADE; CREATE TYPE mood AS ENUM ('bad', 'so-so', 'good'); "+rewritetest.SamplesSchema+
		"CREATE TABLE many (LIKE samples);")
	g := conditions{generator{rand.New(rand.NewPCG(3, *randomSeed))}, map[string][]string{}}
	for i := range 20 {
		s.exec(t, rewritetest.Samples(rand.New(rand.NewPCG(5, uint64(i))))+"INSERT INTO many SELECT * FROM samples")
	}
	spellings := []string{"'ann'", "'ANN'", "'Ann'", "'bob'", "'é'", "U&'e\\0301'", "'e'", "''"}
	scope := &testScope{columns: map[string]*Column{}, ask: s.literal}
	for name, c := range map[string]Column{
		"ci":    {Type: pgtype.TextOID, Collation: `public."ci"`},
		"plain": {Type: pgtype.TextOID, Collation: `public."accents"`},
		"big":   {Type: pgtype.Int8OID, DeterministicCollation: true},
		"n":     {Type: pgtype.NumericOID, DeterministicCollation: true},
		"r":     {Type: pgtype.Float4OID, DeterministicCollation: true},
		"d":     {Type: pgtype.DateOID, DeterministicCollation: true},
		"ts":    {Type: pgtype.TimestampOID, DeterministicCollation: true},
		"tk":    {Type: pgtype.TimestamptzOID, DeterministicCollation: true},
		"iv":    {Type: pgtype.IntervalOID, DeterministicCollation: true},
		"b":     {Type: pgtype.BoolOID, DeterministicCollation: true},
	} {
		c.Ref, c.Name, c.Typmod, c.Nullable, c.Scale, c.TypeName = query.Named("r").Column(name), name, -1, true, -1,
			pgresolve.Qualified(c.Type, -1)
		scope.columns[name] = &c
	}
	g.values["ci"], g.values["plain"] = spellings, spellings
	g.values["big"] = []string{
		"0", "9007199254740993", "9007199254740992", "(-9223372036854775808)", "9223372036854775807",
		"1",
	}
	g.values["n"] = []string{"'NaN'", "'Infinity'", "0", "0.0", "1.000", "1", "-7", "0.1", "4.99999999999999999999", "5"}
	g.values["r"] = []string{"'NaN'", "'Infinity'", "3e38", "1e-45::float4", "'-0.0'", "0", "1.75", "0.1", "0.1::float4"}
	g.values["d"] = []string{
		"'2020-03-08'", "'2020-01-01'", "'2021-12-31'", "'2020-06-15'", "'infinity'", "'-infinity'",
		"timestamp '2020-01-01 12:00'", "date '2020-01-01'",
	}
	g.values["ts"] = []string{
		"'2020-01-01'", "date '2020-01-01'", "'infinity'", "'-infinity'", "'2020-03-08 02:30:00'",
		"'2020-06-15 18:30:00'", "timestamp '2020-03-08 07:00:00'",
	}
	g.values["tk"] = []string{
		"'2020-03-08 07:30:00+00'", "'2020-11-01 05:30:00+00'", "'infinity'", "date '2020-03-08'",
		"timestamp '2020-11-01 01:30:00'", "'2020-06-15 18:30:00+00'",
	}
	g.values["iv"] = []string{
		"'0'", "'29 days 23:59:59.9'", "'24:00'", "'1 day'", "'1 mon -30 days'", "'30 days'",
		"'1 month'",
	}
	g.values["b"] = []string{"true", "false"}
	s.exec(t, "SET TimeZone = 'America/New_York'")
	g.check(t, s, scope, "many", 12000)
}

// TestDisjointOnFixture is TestDisjointOnRows over the fixture's types, whose columns are read clamped.
func TestDisjointOnFixture(t *testing.T) {
	s := startServer(t)
	g := conditions{generator{rand.New(rand.NewPCG(4, *randomSeed))}, map[string][]string{}}
	for _, f := range fixture {
		for _, v := range append(slices.Clone(f.benign), f.hostile...) {
			if len(v) < 60 && f.name != "j" && f.name != "u" {
				g.values[f.name] = append(g.values[f.name], v)
			}
		}
	}
	g.check(t, s, s.scope, "hostile", 12000)
}

// check draws pairs over a table.
func (g conditions) check(t *testing.T, s *server, scope *testScope, table string, pairs int) {
	var names []string
	for name := range g.values {
		names = append(names, name)
	}
	slices.Sort(names)
	built, proven, apart := 0, 0, 0
	for range pairs {
		columns := []string{g.pick(names...)}
		if g.IntN(2) == 0 {
			columns = append(columns, g.pick(names...))
		}
		ta, tb := g.condition(columns, g.IntN(3)), g.condition(columns, g.IntN(3))
		switch g.IntN(8) {
		case 0:
			tb = "NOT (" + ta + ")"
		case 1:
			tb = "(" + ta + ") IS NOT TRUE"
		}
		a, err := BuildBoolean(parseExpr(t, ta), scope)
		if err != nil {
			continue
		}
		b, err := BuildBoolean(parseExpr(t, tb), scope)
		if err != nil {
			continue
		}
		built++
		checkNarrow(t, s, a, sense(built%4), table)
		disjoint, complement := Disjoint(a, b), Complement(a, b)
		if complement && !disjoint {
			t.Fatalf("%s / %s: a complement that is not disjoint", ta, tb)
		}
		if !disjoint {
			continue
		}
		proven++
		rows,
			err := s.text(
			fmt.Sprintf(
				"SELECT count(*) FILTER (WHERE %[1]s AND %[2]s), count(*) FILTER (WHERE %[1]s), count(*) FILTER (WHERE NOT (COALESCE(%[1]s, false) OR COALESCE(%[2]s, false))) FROM %[3]s AS r", sqlOf(a), sqlOf(b), table))
		if err != nil {
			t.Fatalf("%s / %s: %v", ta, tb, err)
		}
		if *rows[0][0] != "0" {
			t.Errorf("%s rows fulfil both %s and %s\n%s\n%s", *rows[0][0], ta, tb, sqlOf(a), sqlOf(b))
		}
		if complement && *rows[0][2] != "0" {
			t.Errorf("%s rows fulfil neither %s nor %s", *rows[0][2], ta, tb)
		}
		if *rows[0][1] != "0" {
			apart++
		}
	}
	t.Logf("%d pairs built, %d proven disjoint, %d of them of rows that exist", built, proven, apart)
	if built < pairs/3 || apart < built/12 {
		t.Errorf("of %d pairs %d were built and %d proven disjoint: the test shows little", pairs, built, apart)
	}
}

// checkNarrow asks PostgreSQL whether a row has another value of a column than a condition of known sense leaves it.
func checkNarrow(t *testing.T, s *server, condition *Expr, known sense, table string) {
	t.Helper()
	holds := "(" + sqlOf(condition) + ") IS " + [...]string{"TRUE", "FALSE", "NOT TRUE", "NOT FALSE"}[known]
	var others []string
	for c, n := range narrow(condition, known) {
		e := columnExpr(c, -1).relabelled()
		if n.NotNull {
			others = append(others, c.Name+" IS NULL")
		}
		if pgresolve.IsInt(e.typ) {
			e.typ = pgtype.NumericOID // bounds may lie beyond the type
		}
		if e.bounds = n.Bounds; within(e, c.Name) != "" {
			others = append(others, "NOT (true"+within(e, c.Name)+")")
		}
		if n.Never {
			others = append(others, "true")
		}
		if n.Domain != nil {
			var list []string
			for _, text := range n.Domain {
				list = append(list, sqltext.Literal(text))
			}
			others = append(others, c.Name+`::text COLLATE "C" NOT IN (`+strings.Join(list, ", ")+")")
		}
	}
	if others == nil {
		return
	}
	other := strings.Join(others, " OR ")
	rows, err := s.text("SELECT count(*) FROM " + table + " AS r WHERE " + holds + " AND (" + other + ")")
	if err != nil {
		t.Fatalf("%s: %v", holds, err)
	}
	if *rows[0][0] != "0" {
		t.Errorf("%s rows where %s have other values: %s", *rows[0][0], holds, other)
	}
}

package expr

import (
	"math/rand/v2"
	"testing"
)

// condition draws comparisons of few operands, so that many are spelled differently and mean the same.
func (g generator) condition(depth int) string {
	if depth > 0 {
		a, b := g.condition(depth-1), g.condition(depth-1)
		switch g.IntN(5) {
		case 0, 1:
			return "(" + a + " AND " + b + ")"
		case 2, 3:
			return "(" + a + " OR " + b + ")"
		}
		return "(NOT " + a + ")"
	}
	operands := [][]string{
		{"i2", "i4", "u8", "5", "'5'", "5::int8", "5::int2", "'-1'", "3000000000", "NULL::int4"},
		{"n", "n2", "5.0", "5.00", "1e1", "un", "10", "'NaN'::numeric"},
		{"uf", "f8", "2.5::float8", "'2.50'::float8", "'-0'::float8", "0::float8", "'NaN'::float8", "'inf'::float8"},
		{"f4", "0.1::float4", "0.1", "uf"},
		{"t", "v", "'x'", "'Alice'", "(t COLLATE \"C\")"},
		{
			"ud", "d", "'2020-02-29'::date", "'Feb 29, 2020'::date", "uts", "'2020-02-29 00:00'::timestamp", "'infinity'::date",
			"utz",
		},
		{"uiv", "'1 day'::interval", "'24:00:00'::interval", "'1 mon'::interval"},
		{"b", "nb", "true", "'no'::bool"},
		{"m", "'sad'", "'ok'"},
	}[g.IntN(9)]
	a, b := operands[0], operands[g.IntN(len(operands))]
	if g.IntN(3) == 0 {
		a = operands[min(1, len(operands)-1)]
	}
	if g.IntN(2) == 0 {
		a, b = b, a
	}
	switch g.IntN(8) {
	case 0:
		return a + " BETWEEN " + b + " AND " + operands[0]
	case 1:
		return a + " IN (" + b + ", " + operands[0] + ")"
	case 2:
		return a + " IS " + g.pick("", "NOT ") + "DISTINCT FROM " + b
	}
	return a + " " + g.pick("=", "<>", "<", "<=", ">", ">=") + " " + b
}

// TestCanonical: what is printed in canonical form means what was written, for any row. So two questions that print
// alike are one.
func TestCanonical(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'Europe/Berlin'")
	g := generator{rand.New(rand.NewPCG(*randomSeed, 5))}
	printed := map[string]string{}
	built, alike := 0, 0
	for range 3 * *randomExpressions {
		text := g.condition(g.IntN(3))
		e, err := BuildBoolean(parseExpr(t, text), s.scope)
		if err != nil {
			continue
		}
		built++
		sql := sqlOf(e)
		if other, ok := printed[sql]; ok && other != text {
			alike++
		}
		printed[sql] = text
		wrong, err := s.text("SELECT r::text FROM hostile AS r WHERE (" + text + ") IS DISTINCT FROM (" + sql + ") LIMIT 1")
		if err != nil {
			t.Fatalf("%s\n%s\nSQL: %s", full(err), text, sql)
		}
		if len(wrong) > 0 {
			t.Fatalf("%s is printed as %s, which differs for %.1000s", text, sql, *wrong[0][0])
		}
	}
	if built < *randomExpressions || alike < *randomExpressions/20 {
		t.Errorf("%d expressions were built, %d of them spelled in another way before: the test shows little", built, alike)
	}
	t.Log(built, "built,", alike, "spelled in another way before")
}

// TestAlike: spellings that print alike.
func TestAlike(t *testing.T) {
	scope := offlineScope(t)
	for _, group := range [][]string{
		{"i4 = 5", "5 = i4", "'5' = i4", "i4 = 5::int8", "i4 = 005", "NOT i4 <> 5", "i4 IN (5)", "i4 = 5 OR 5 = i4"},
		{"i4 < age", "age > i4", "NOT age <= i4"},
		{"n = 5", "n = 5.0", "n = '5.000'", "5 = n"},
		{"f8 > 2.5", "f8 > '2.50'", "2.5 < f8"},
		{"(b AND nb) AND i4 > 1", "nb AND (i4 > 1 AND b)", "1 < i4 AND b AND nb AND b"},
		{"i4 BETWEEN 1 AND 2", "i4 >= 1 AND i4 <= 2", "2 >= i4 AND 1 <= i4", "NOT (i4 < 1) AND NOT (i4 > 2)"},
		{"t IN ('a', 'b')", "t = ANY ('{b,a}')", "t IN ('b', 'a', 'b')"},
		{"uiv > '1 day'", "uiv > interval '1' day", "'1 day 00:00' < uiv"},
		{"uts > '2020-01-01'", "uts > '2020-01-01 00:00'"},
		{"u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "u = 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'"},
	} {
		first := ""
		for _, text := range group {
			e, err := Build(parseExpr(t, text), scope)
			if err != nil {
				t.Fatal(text, err)
			}
			if first == "" {
				first = sqlOf(e)
			}
			if sqlOf(e) != first {
				t.Errorf("%s prints %s, not %s", text, sqlOf(e), first)
			}
		}
	}
}

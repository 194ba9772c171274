package expr

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
)

var (
	randomExpressions = flag.Int("random", 700, "how many random expressions TestRandomTotal draws")
	randomSeed        = flag.Uint64("seed", 7, "seed of TestRandomTotal")
)

// generator writes random expressions of the grammar that analysts use. Most operands are columns, so that bounds
// matter.
type generator struct{ *rand.Rand }

func (g generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) number(depth int) string {
	if depth == 0 || g.IntN(5) == 0 {
		if g.IntN(3) == 0 {
			return g.pick("0", "1", "2", "-1", "7", "100", "0.5", "0.01", "-2.5", "1e3", "2147483647", "1.5::float8", "3::int8")
		}
		return g.pick("i2", "i4", "age", "i8", "n", "n2", "disc", "pn", "f4", "f8", "pf8", "u4", "u8", "un", "uf", "dom")
	}
	a, b := g.number(depth-1), g.number(depth-1)
	switch g.IntN(16) {
	case 0, 1, 2, 3:
		return "(" + a + " " + g.pick("+", "-", "*", "/", "%", "^") + " " + b + ")"
	case 4:
		return g.pick("abs", "sign", "floor", "ceil", "round", "trunc", "sqrt", "ln", "log", "exp", "sin", "acos", "-") +
			"(" + a + ")"
	case 5:
		return "(" + a + ")::" + g.pick("int4", "int8", "int2", "numeric", "float8", "float4", "numeric(10,2)",
			"numeric(30,5)")
	case 6:
		return "CASE WHEN " + g.boolean(depth-1) + " THEN " + a + " ELSE " + b + " END"
	case 7:
		return "CASE WHEN " + g.boolean(depth-1) + " THEN " + a + " WHEN " + g.boolean(depth-1) + " THEN " + b + " END"
	case 8:
		return g.pick("COALESCE", "GREATEST", "LEAST", "NULLIF") + "(" + a + ", " + b + ")"
	case 9:
		return "LEAST(GREATEST(" + a + ", " + g.pick("0", "-5", "1", "0.1") + "), " + g.pick("10", "1000", "5.5") + ")"
	case 10:
		return "round((" + a + ")::numeric, " + g.pick("0", "1", "2", "-1") + ")"
	case 11:
		return "power(" + a + ", " + g.pick("2", "0.5", "3", b) + ")"
	case 12:
		return "extract(" + g.pick("year", "month", "day", "hour", "second", "epoch", "dow", "doy", "week", "isoyear") +
			" FROM " + g.time(depth-1) + ")"
	case 13:
		return g.pick("length("+g.text(depth-1)+")", "width_bucket("+a+", 0, 10, 5)", "mod("+a+", "+b+")", "div("+a+", "+b+
			")", "asin("+a+" / 10)", "date_part('epoch', "+g.time(depth-1)+")")
	case 14:
		return "CASE WHEN " + g.pick("i4 <> 0", "i4 > 0", "f8 > 0.1", "n > 0", "n2 <> 0", "age > 3") + " THEN " + a + " / " +
			g.pick("i4", "f8", "n", "n2", "age") + " END"
	}
	return "(" + g.time(depth-1) + " - " + g.time(depth-1) + ")"
}

func (g generator) boolean(depth int) string {
	if depth <= 0 {
		return g.pick("b", "nb", "i4 > 0", "age >= 18", "n <> 0", "f8 < 5", "diag = 'flu'", "t LIKE 'a%'", "d > '2020-01-01'",
			"i4 IN (1, 2, 3)", "i4 IS NULL", "m = 'sad'", "age = 0", "pn BETWEEN 1 AND 2", "un > 1")
	}
	a, b := g.boolean(depth-1), g.boolean(depth-1)
	switch g.IntN(6) {
	case 0:
		return "(" + a + " AND " + b + ")"
	case 1:
		return "(" + a + " OR " + b + ")"
	case 2:
		return "(NOT " + a + ")"
	case 3:
		return "(" + a + ") IS " + g.pick("TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NULL", "NOT NULL")
	case 4:
		return "(" + g.number(depth-1) + " " + g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM") + " " +
			g.number(depth-1) + ")"
	}
	return "(" + g.number(depth-1) + " BETWEEN " + g.number(0) + " AND " + g.number(0) + ")"
}

func (g generator) time(depth int) string {
	if depth <= 0 || g.IntN(3) == 0 {
		return g.pick("d", "ts", "tz", "tm", "iv", "ud", "uts", "utz", "date '2020-02-29'", "timestamp '2020-01-31 12:00'",
			"interval '1 day'", "interval '1 month'", "interval '-3 hours'")
	}
	switch g.IntN(6) {
	case 0, 1:
		return "(" + g.time(depth-1) + " " + g.pick("+", "-") + " " + g.time(depth-1) + ")"
	case 2:
		return "date_trunc('" + g.pick("month", "day", "hour", "year", "week", "quarter", "decade") + "', " +
			g.time(depth-1) + ")"
	case 3:
		return "(" + g.time(depth-1) + ")::" + g.pick("date", "timestamp", "timestamptz", "time", "interval")
	case 4:
		return g.pick("to_timestamp("+g.number(depth-1)+")", "date_bin('"+g.pick("1 day", "7 hours", "90 s")+"', "+
			g.time(depth-1)+", timestamp '2020-01-01')")
	}
	return "(" + g.time(depth-1) + g.pick(" + (", " - (") + g.number(depth-1) + ")" +
		g.pick("::int", " * interval '1 day'", " * interval '7 hours'", " * (ts - timestamp '2020-01-01')") + ")"
}

func (g generator) text(depth int) string {
	if depth <= 0 {
		return g.pick("t", "v", "c", "diag", "'x'", "age::text", "n::text")
	}
	return g.pick("lower(", "upper(", "trim(") + g.text(depth-1) + ")" + g.pick("", " || 'y'", " || "+g.text(0))
}

// product is a chain of float factors, which underflow sooner or later.
func (g generator) product() string {
	text := "f8"
	for range 1 + g.IntN(6) {
		text += g.pick(" * ", " * ", " / ") + g.pick("f8", "pf8", "LEAST(GREATEST(uf, -1), 1)", "sin(f8)", "radians(f8)",
			"f4", "sqrt(abs(f8))", "n::float8", "(f8 - 0.1)", "exp(-pf8)", "ln(pf8)",
			"power(pf8, 3)", "cos(f8)", "abs(f8)", "(f8 / pf8)", "n::float4", "CASE WHEN b THEN f8 ELSE pf8 END",
			"COALESCE(uf, f8)", "1e-9", "date_part('epoch', ts - ts)")
	}
	return text
}

// TestRandomTotal draws expressions at random and holds those that are accepted to the same promises as the corpus.
func TestRandomTotal(t *testing.T) {
	s := startServer(t)
	g := generator{rand.New(rand.NewPCG(*randomSeed, 11))}
	accepted := 0
	for range *randomExpressions {
		text := g.number(2 + g.IntN(2))
		switch g.IntN(8) {
		case 0, 1:
			text = g.time(3)
		case 2:
			text = g.product()
		case 3:
			text = g.text(2)
		}
		e, err := Build(parseExpr(t, text), s.scope)
		if err != nil {
			continue
		}
		accepted++
		t.Run(text, func(t *testing.T) {
			s.checkValues(t, e.Read())
			s.checkMeasured(t, e)
			s.checkType(t, text, e)
		})
	}
	if accepted < *randomExpressions/20 {
		t.Fatalf("only %d of %d expressions were accepted: the test shows little", accepted, *randomExpressions)
	}
	t.Log(fmt.Sprint(accepted, " accepted"))
}

// checkType compares the type with PostgreSQL's of the same text.
func (s *server) checkType(t *testing.T, text string, e *Expr) {
	t.Helper()
	d, err := s.conn.PgConn().Prepare(t.Context(), "", "SELECT "+text+" FROM benign AS r", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d.Fields[0].DataTypeOID != e.Type() {
		t.Fatalf("type %d, PostgreSQL says %d", e.Type(), d.Fields[0].DataTypeOID)
	}
}

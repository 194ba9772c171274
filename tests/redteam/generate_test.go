package redteam_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// source is what a statement reads.
type source struct {
	from string
	unit string
	cols []column
	subs []string
}

// generate writes the i-th random statement of a seed.
func generate(seed uint64, i int) statement {
	g := newGenerator(rand.New(rand.NewPCG(seed, 1000+uint64(i))))
	sql := pick(g, []func() string{
		g.grouped, g.grouped, g.grouped, g.total, g.derivedKey, g.derivedKey, g.aboveGroups,
		g.perUnit, g.perUnit, g.setOperation, g.windowed, g.distinct, g.lateral, g.pivoted, g.pivoted, g.pivoted, g.branches,
		g.spine, g.byPrivate,
	})()
	st := statement{source: fmt.Sprintf("random statement %d", i), number: i}
	// Alternatives that were not taken have parameters too: count those that are left.
	st.sql = parameter.ReplaceAllStringFunc(sql, func(old string) string {
		n, err := strconv.Atoi(old[1:])
		if err != nil {
			panic(err)
		}
		st.values = append(st.values, g.values[n-1])
		return "$" + strconv.Itoa(len(st.values))
	})
	return st
}

var parameter = regexp.MustCompile(`\$\d+`)

// read puts a source into scope and returns its FROM and, now and then, a WHERE.
func (g *generator) read(s source) string {
	g.cols, g.subs = s.cols, s.subs
	text := " FROM " + s.from
	if g.chance(45) {
		text += " WHERE " + g.condition(2)
	}
	return text
}

func (g *generator) aggregates() string {
	list := make([]string, 1+g.IntN(3))
	for i := range list {
		list[i] = g.aggregate()
	}
	return strings.Join(list, ", ")
}

// grouped is SELECT keys, aggregates … GROUP BY, by one key as a rule, or by grouping sets.
func (g *generator) grouped() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	keys := []string{g.key()}
	if g.chance(30) {
		keys = append(keys, g.key())
	}
	sql := "SELECT "
	numbers := make([]string, len(keys))
	for i, k := range keys {
		sql += fmt.Sprintf("%s AS k%d, ", k, i+1)
		numbers[i] = fmt.Sprintf("k%d", i+1)
	}
	by := strings.Join(numbers, ", ")
	if g.chance(15) {
		by = pick(g, []string{"ROLLUP (" + by + ")", "CUBE (" + by + ")", "GROUPING SETS ((" + by + "), ())"})
	}
	sql += g.aggregates() + g.read(s) + " GROUP BY " + by
	if g.chance(15) {
		sql += " HAVING count(*) > 1"
	}
	return sql
}

func (g *generator) total() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	return "SELECT " + g.aggregates() + g.read(s)
}

// derivedKey computes a key in a subquery and filters or groups by it above.
func (g *generator) derivedKey() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	key := g.caseOf(k, 2)
	switch {
	case g.chance(25):
		key = g.expr(k, 2)
	case g.chance(35):
		k = pick(g, castable[k])
		key = "(" + key + ")::" + string(k)
	}
	inner := "SELECT " + s.unit + " AS u, " + key + " AS k"
	if c := g.of(integers, true); c != "" {
		inner += ", " + c + " AS n"
	} else {
		inner += ", 1 AS n"
	}
	inner += g.read(s)
	g.cols, g.subs = []column{{"s.k", k, false, true}, {"s.n", integers, true, false}}, nil
	from := "(" + inner + ") s"
	if g.chance(40) {
		from += g.joined("s.k", k)
	}
	if g.chance(60) {
		sql := "SELECT s.k, " + g.aggregates() + " FROM " + from
		if g.chance(40) {
			sql += " WHERE s.k " + pick(g, []string{"=", ">=", "<>"}) + " " + g.constant(k)
		}
		return sql + " GROUP BY s.k"
	}
	return "SELECT " + g.aggregates() + " FROM " + from + " WHERE s.k = " + g.constant(k)
}

// joined joins constants on an expression.
func (g *generator) joined(on string, k kind) string {
	return pick(g, []string{" JOIN ", " JOIN ", " LEFT JOIN "}) + g.relation(k) + " AS x(k) ON x.k = " + on
}

// spine keeps the rows of a list, or of a public table, that no private row meets.
func (g *generator) spine() string {
	s := g.simple("a")
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	kept, key, on := g.relation(k)+" AS x(k)", "x.k", "x.k = "+g.expr(k, 1)
	switch g.IntN(5) {
	case 2:
		kept, key = pick(g, []string{"slots m", "(SELECT ci, i, j, d, tz FROM slots) m"}),
			pick(g, []string{"m.ci", "m.i", "m.d"})
		on = pick(g, []string{
			"m.ci = " + g.expr(texts, 1), "m.i = " + g.expr(integers, 1), "m.i <= " + g.expr(numerics, 1),
			"m.d = " + g.expr(dates, 1), "m.tz <= " + g.expr(instants, 1),
		})
	case 0:
		on = g.expr(k, 1) + pick(g, []string{" >= ", " > "}) + "x.k"
		if g.chance(50) {
			on += " AND " + g.expr(k, 1) + " < x.k"
		}
	case 1:
		kept, key = pick(g, []string{"moments m", "(SELECT DISTINCT label, day FROM moments) m"}),
			pick(g, []string{"m.label", "m.day"})
		on = pick(g, []string{"m.label = " + g.expr(texts, 1), "m.day <= " + g.expr(dates, 1), "m.day = " +
			g.expr(timestamps, 1)})
	}
	return "SELECT " + key + " AS k1, " + pick(g, []string{"count(" + s.unit + ")", "count(*) FILTER (WHERE " + s.unit +
		" IS NOT NULL)", "sum(" + g.number() + ")"}) +
		" FROM " + kept + " LEFT JOIN " + s.from + " ON " + on + " GROUP BY k1"
}

// byPrivate asks of public rows which private ones there are.
func (g *generator) byPrivate() string {
	s := g.simple("a")
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	from, key := g.relation(k)+" AS x(k)", "x.k"
	cond := g.expr(k, 1) + pick(g, []string{" = ", " = ", " >= "}) + key
	if g.chance(30) {
		from, key, cond = "moments m", "m.label", pick(g, []string{"m.label = " + g.expr(texts, 1), "m.day = " +
			g.expr(dates, 1), "m.at > a.tz AND m.at <= a.tk"})
	}
	if g.chance(40) {
		cond += " AND " + g.condition(1)
	}
	switch g.IntN(3) {
	case 0:
		return "SELECT " + key + " FROM " + from + " WHERE " + pick(g, []string{"", "NOT "}) + "EXISTS (SELECT 1 FROM " +
			s.from + " WHERE " + cond + ")"
	case 1:
		return "SELECT count(*) FROM " + from + " LEFT JOIN " + s.from + " ON " + cond + " WHERE " + s.unit + " IS NULL"
	}
	return "SELECT " + key + ", (SELECT " + pick(g, []string{"count(*)", "sum(" + g.number() + ")", "avg(" + g.number() +
		")"}) + " FROM " + s.from + " WHERE " + cond + ") FROM " + from
}

// aboveGroups filters released groups by their key.
func (g *generator) aboveGroups() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	key := g.caseOf(k, 2)
	return "SELECT count(*), avg(n) FROM (SELECT " + key + " AS k, count(*) AS n" + g.read(s) + " GROUP BY 1) s WHERE k " +
		pick(g, []string{"=", "<>", ">"}) + " " + g.constant(k)
}

// perUnit groups by the unit and aggregates above it.
func (g *generator) perUnit() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, []kind{integers, numerics, floats, dates, instants, timestamps, texts})
	value := pick(g, []string{"count(*)", "sum(" + g.number() + ")", "avg(" + g.number() + ")"})
	extreme := pick(g, []string{"min(", "max("}) + g.expr(k, 1) + ")"
	inner := "SELECT " + s.unit + " AS u, " + value + " AS n, " + extreme + " AS k" + g.read(s) + " GROUP BY " + s.unit
	if g.chance(25) {
		inner += " HAVING count(*) " + pick(g, []string{">", "="}) + " 1"
	}
	g.cols, g.subs = []column{{"s.n", integers, true, false}, {"s.k", k, false, false}}, nil
	from := "(" + inner + ") s"
	if g.chance(25) {
		from += " JOIN patients q ON q.id = s.u"
		g.cols = append(g.cols, column{"q.age", integers, true, true}, column{"q.diagnosis", texts, false, true})
	}
	sql := g.aggregates() + " FROM " + from
	if g.chance(30) {
		sql += " WHERE " + g.condition(1)
	}
	if g.chance(50) {
		return "SELECT " + g.key() + " AS k1, " + sql + " GROUP BY k1"
	}
	return "SELECT " + sql
}

// setOperation combines rows of two sources with their units.
func (g *generator) setOperation() string {
	k := pick(g, kinds)
	side := func() string {
		s := g.source()
		g.cols, g.subs = s.cols, s.subs
		x := g.expr(k, 1)
		if g.chance(30) {
			x = g.caseOf(k, 1)
		}
		return "SELECT " + s.unit + " AS u, " + x + " AS k, " + g.constant(integers) + " AS n" + g.read(s)
	}
	from := "(" + side() + pick(g, []string{" UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ", " EXCEPT ALL "}) +
		side() + ") s"
	g.cols, g.subs = []column{{"s.k", k, false, false}, {"s.n", integers, true, false}}, nil
	if g.chance(40) {
		return "SELECT " + g.key() + " AS k1, count(*) FROM " + from + " GROUP BY k1"
	}
	return "SELECT " + g.aggregates() + " FROM " + from
}

// windowed numbers the rows of a unit.
func (g *generator) windowed() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, []kind{integers, dates, texts, floats, instants})
	over := " OVER (PARTITION BY " + s.unit + " ORDER BY " + g.expr(k, 1) + ")"
	function := pick(g, []string{
		"row_number()", "rank()", "dense_rank()", "count(*)", "sum(" + g.number() + ")",
		"ntile(3)",
	})
	value := g.expr(k, 1)
	other := pick(g, []string{"lag(", "lead(", "first_value("}) + value + ")"
	from := "(SELECT " + s.unit + " AS u, " + value + " AS x, " + function + over + " AS n, " + other + over + " AS k" +
		g.read(s) + ") s"
	g.cols, g.subs = []column{{"s.n", integers, true, false}, {"s.k", k, false, false}, {"s.x", k, false, false}}, nil
	sql := g.aggregates() + " FROM " + from + pick(g, []string{
		"", " WHERE n <= 2", " WHERE n = 1",
		" WHERE s.x IS DISTINCT FROM s.k",
	})
	if g.chance(40) {
		return "SELECT " + g.caseOf(pick(g, kinds), 1) + " AS k1, " + sql + " GROUP BY k1"
	}
	return "SELECT " + sql
}

// distinct drops rows of a unit that are equal.
func (g *generator) distinct() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	value := g.expr(k, 2)
	if g.chance(40) {
		value = g.caseOf(k, 1)
	}
	if g.chance(25) {
		return "SELECT DISTINCT " + g.caseOf(k, 2) + g.read(s)
	}
	on := pick(g, []string{"", "", " ON (" + s.unit + ")"})
	inner := "SELECT DISTINCT" + on + " " + s.unit + " AS u, " + value + " AS k" + g.read(s)
	if on != "" {
		inner += " ORDER BY " + s.unit + ", " + g.expr(k, 1)
	}
	g.cols, g.subs = []column{{"s.k", k, false, false}}, nil
	if g.chance(50) {
		return "SELECT " + g.key() + " AS k1, count(*) FROM (" + inner + ") s GROUP BY k1"
	}
	return "SELECT count(*), count(s.k), count(DISTINCT s.k) FROM (" + inner + ") s"
}

// lateral reads, for each row, rows of the same unit.
func (g *generator) lateral() string {
	s, inner := g.source(), g.simple("y")
	g.cols, g.subs = inner.cols, nil
	k := pick(g, []kind{integers, numerics, dates, texts})
	what := pick(g, []string{"count(*) AS n, max(" + g.expr(k, 1) + ") AS k", g.number() + " AS n, " + g.expr(k, 1) +
		" AS k"})
	sub := "(SELECT " + what + g.read(inner)
	if strings.Contains(sub, " WHERE ") {
		sub += " AND " + inner.unit + " = " + s.unit + ")"
	} else {
		sub += " WHERE " + inner.unit + " = " + s.unit + ")"
	}
	s.from += pick(g, []string{" CROSS JOIN LATERAL " + sub + " l", " LEFT JOIN LATERAL " + sub + " l ON true"})
	s.cols = append(append([]column{}, s.cols...), column{"l.n", integers, false, false}, column{"l.k", k, false, false})
	g.cols, g.subs = s.cols, s.subs
	if g.chance(40) {
		return "SELECT " + g.key() + " AS k1, " + g.aggregates() + g.read(s) + " GROUP BY k1"
	}
	return "SELECT " + g.aggregates() + g.read(s)
}

package redteam_test

import (
	"fmt"
	"strings"
)

// split gives conditions of which most exclude each other, by what one expression is, or whether one condition holds.
// Some overlap.
func (g *generator) split() []string {
	k := pick(g, kinds)
	if len(g.cols) > 0 {
		k = pick(g, g.cols).kind
	}
	x := g.expr(k, 1)
	if c := g.of(k, false); c != "" && g.chance(75) {
		x = c
	}
	a, b, whole := g.constant(k), g.constant(k), g.condition(1)
	list := pick(g, [][]string{
		{x + " = " + a, x + " = " + b, x + " NOT IN (" + a + ", " + b + ")", x + " IS NULL"},
		{x + " < " + a, x + " >= " + a, x + " IS NULL"},
		{x + " < " + a, x + " BETWEEN " + a + " AND " + b, x + " > " + b},
		{x + " IN (" + a + ", " + b + ")", x + " IS DISTINCT FROM " + a + " AND " + x + " IS DISTINCT FROM " + b},
		{whole, "NOT (" + whole + ")", "(" + whole + ") IS NULL"},
		{whole, "(" + whole + ") IS NOT TRUE"},
	})
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	for i := range list {
		if g.chance(20) {
			list[i] = "(" + list[i] + ") AND " + g.condition(1)
		}
	}
	if g.chance(25) {
		list = append(list, g.condition(1))
	}
	return list
}

// pivot gives aggregates of the rows of each condition.
func (g *generator) pivot(conditions []string) string {
	var list []string
	for range 1 + g.IntN(2) {
		n, x := g.number(), g.expr(pick(g, kinds), 1)
		call := pick(g, []string{"count(*)", "count(*)", "sum(" + n + ")", "sum(" + n + ")", "avg(" + n + ")", "avg(" + n +
			")", "stddev(" + n + ")", "count(" + x + ")", "count(DISTINCT " + x + ")", "max(" + n + ")"})
		for _, c := range conditions {
			one := call + " FILTER (WHERE " + c + ")"
			if g.chance(30) {
				one = pick(g, []string{
					"sum(CASE WHEN " + c + " THEN " + n + " END)", "sum(CASE WHEN " + c + " THEN " + n +
						" ELSE 0 END)", "avg(CASE WHEN " + c + " THEN " + n + " END)", "sum(CASE WHEN " + c + " THEN 1 ELSE 0 END)",
					"count(CASE WHEN " + c + " THEN 1 END)",
				})
			}
			list = append(list, one)
		}
	}
	if g.chance(30) {
		list = append(list, g.aggregate())
	}
	g.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return strings.Join(list, ", ")
}

// pivoted aggregates rows that exclude each other side by side, mostly in several groups.
func (g *generator) pivoted() string {
	s := g.source()
	g.cols, g.subs = s.cols, s.subs
	aggregates := g.pivot(g.split())
	if g.chance(60) {
		return "SELECT " + g.key() + " AS k1, " + aggregates + g.read(s) + " GROUP BY k1"
	}
	return "SELECT " + aggregates + g.read(s)
}

// branches puts parts of one table, which exclude each other as a rule, below each other.
func (g *generator) branches() string {
	s := g.simple("a")
	g.cols, g.subs = s.cols, s.subs
	k := pick(g, kinds)
	x := g.expr(k, 1)
	var parts []string
	for i, c := range g.split() {
		from := pick(g, []string{s.from, s.from, s.from, "(SELECT * FROM " + s.from + ") a"})
		parts = append(parts, fmt.Sprintf("SELECT %s AS u, %s AS k, %d AS n FROM %s WHERE %s", s.unit, x, i, from, c))
	}
	from := "(" + strings.Join(parts, " UNION ALL ") + ") s"
	g.cols, g.subs = []column{{"s.n", integers, true, true}, {"s.k", k, false, false}}, nil
	aggregates := g.aggregates()
	if g.chance(40) {
		aggregates = g.pivot(g.split())
	}
	if g.chance(50) {
		return "SELECT " + pick(g, []string{"s.n", g.key()}) + " AS k1, " + aggregates + " FROM " + from + " GROUP BY k1"
	}
	return "SELECT " + aggregates + " FROM " + from
}

// symmetric sums a number once for each value of a key, as Looker writes it.
func symmetric(number, key string) string {
	hash := "('x' || MD5((" + key +
		")::varchar))::bit(64)::bigint::DECIMAL * 18446744073709551616 + ('x' || SUBSTR(MD5((" + key +
		")::varchar), 17))::bit(64)::bigint::DECIMAL"
	return "SUM(DISTINCT (CAST(FLOOR(COALESCE(" + number + ", 0) * (1000000*1.0)) AS DECIMAL)) + " + hash +
		") - SUM(DISTINCT " + hash + ")"
}

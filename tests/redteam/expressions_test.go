package redteam_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind is a type of the generator's expressions.
type kind string

const (
	integers   kind = "int8"
	numerics   kind = "numeric"
	floats     kind = "float8"
	texts      kind = "text"
	dates      kind = "date"
	timestamps kind = "timestamp"
	instants   kind = "timestamptz"
	intervals  kind = "interval"
	booleans   kind = "boolean"
)

var kinds = []kind{integers, numerics, floats, texts, dates, timestamps, instants, intervals, booleans}

// constants of each kind: values that are equal and look different, differ in their last digit, or lie where clocks
// jump.
var constants = map[kind][]string{
	integers: {"0", "1", "5", "30", "31", "65", "120", "-1", "2147483647", "9007199254740993"},
	numerics: {"0", "0.0", "0.1", "1.0", "1.000", "100.005", "NaN", "70.5"},
	floats: {
		"0", "-0", "0.1", "0.10000000000000002", "0.3", "0.30000000000000004", "NaN", "Infinity", "-Infinity",
		"5e-324", "1e308", "70.5",
	},
	texts: {"Ann", "ANN", "icu", "er", "flu", "", "é", "e\u0301", "1", "0.1", "2020-01-01"},
	dates: {"2020-01-01", "2020-06-15", "2020-11-01", "2021-12-31", "2020-03-08", "infinity"},
	timestamps: {
		"2020-01-01", "2020-03-08 02:30:00", "2020-11-01 01:30:00", "2020-04-05 01:45:00",
		"2021-06-01 23:59:59.999999", "infinity",
	},
	instants: {
		"2020-11-01 05:30:00+00", "2020-11-01 06:30:00+00", "2019-11-03 05:00:00+00", "2019-11-02 03:00:00+00",
		"2020-06-15 18:30:00+00", "2020-06-15 13:00:00+00", "2020-04-04 15:15:00+00", "infinity",
	},
	intervals: {"0", "24:00", "1 day", "30 days", "1 mon", "1 mon -30 days", "29 days 23:59:59.9"},
	booleans:  {"true", "false"},
}

// twins are constants that a session may print alike, or that are equal and look different.
var twins = map[kind][][]string{
	integers: {{"0", "1"}, {"30", "31"}, {"2147483647", "9007199254740993"}},
	numerics: {{"0", "0.0"}, {"1.0", "1.000"}, {"0.1", "100.005"}},
	floats: {
		{"0", "-0"},
		{"0.1", "0.10000000000000002"},
		{"0.3", "0.30000000000000004"},
		{"0.1", "0.30000000000000004", "0.3"},
	},
	texts: {{"Ann", "ANN"}, {"é", "e\u0301"}, {"icu", "er"}},
	dates: {{"2020-01-01", "2021-12-31"}, {"2019-11-03", "2000-01-01"}, {"2020-06-15", "2020-11-01"}},
	timestamps: {
		{"2020-03-08 02:30:00", "2020-03-08 03:30:00"},
		{"2020-11-01 01:30:00", "2020-11-01 00:30:00"},
		{"2020-04-05 01:45:00", "2020-04-05 02:15:00"},
	},
	instants: {
		{"2019-11-03 05:00:00+00", "2019-11-02 03:00:00+00"},
		{"2020-11-01 05:30:00+00", "2020-11-01 06:30:00+00"},
		{"2020-06-15 18:30:00+00", "2020-06-15 13:00:00+00", "2020-06-15 15:00:00+00"},
		{"2020-04-04 14:45:00+00", "2020-04-04 15:15:00+00"},
	},
	intervals: {{"24:00", "1 day"}, {"30 days", "1 mon"}, {"0", "1 mon -30 days"}},
	booleans:  {{"true", "false"}},
}

var zones = []string{
	"UTC", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "EST5CST-20,M3.2.0,M11.1.0",
	"<+1345>-13:45",
}

// column is what an expression may read.
type column struct {
	sql     string
	kind    kind
	bounded bool // its bounds are known, so that it may be added up
	key     bool // its values are declared
}

// generator writes one statement.
type generator struct {
	*rand.Rand
	values []*string         // of the parameters so far
	cols   []column          // what is in scope
	subs   []string          // conditions that are subqueries of the scope's unit
	theme  map[kind][]string // constants that this statement uses again and again, so that they meet
}

// newGenerator chooses a theme.
func newGenerator(random *rand.Rand) *generator {
	g := &generator{Rand: random, theme: map[kind][]string{}}
	for _, k := range kinds {
		g.theme[k] = pick(g, twins[k])
	}
	return g
}

// value is the text of a constant.
func (g *generator) value(k kind) string {
	if g.chance(70) {
		return pick(g, g.theme[k])
	}
	return pick(g, constants[k])
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// of is a column of a kind in scope; "" if there is none.
func (g *generator) of(k kind, bounded bool) string {
	var found []string
	for _, c := range g.cols {
		if c.kind == k && (c.bounded || !bounded) {
			found = append(found, c.sql)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return pick(g, found)
}

// constant is a literal, or now and then a parameter or NULL.
func (g *generator) constant(k kind) string {
	text := g.value(k)
	switch {
	case g.chance(12):
		g.values = append(g.values, &text)
		return fmt.Sprintf("$%d::%s", len(g.values), k)
	case g.chance(4):
		return "NULL::" + string(k)
	case g.chance(3):
		g.values = append(g.values, nil)
		return fmt.Sprintf("$%d::%s", len(g.values), k)
	case g.chance(6):
		return g.computed(k, g.literal(k, text))
	}
	return g.literal(k, text)
}

// computed is an operation on constants whose value is that of a constant.
func (g *generator) computed(k kind, literal string) string {
	forms := []string{
		"COALESCE(NULL, %s)", "NULLIF(%s, NULL)", "CASE WHEN length('ab') > 1 THEN %s END",
		"GREATEST(%s, NULL)",
	}
	switch k {
	case texts:
		forms = append(forms, "(%s || '')", "left(%s, 20)", "split_part(%s, '|', 1)")
	case integers, numerics, floats, dates:
		forms = append(forms, "(%s + 0)")
	case timestamps, instants:
		forms = append(forms, "(%s - interval '0')")
	}
	return fmt.Sprintf(pick(g, forms), literal)
}

func (g *generator) literal(k kind, text string) string {
	if k == integers && g.chance(80) {
		return text
	}
	return "'" + text + "'::" + string(k)
}

// expr is an expression of a kind over the scope.
func (g *generator) expr(k kind, depth int) string {
	if depth <= 0 || g.chance(35) {
		if c := g.of(k, false); c != "" && g.chance(75) {
			return c
		}
		return g.constant(k)
	}
	if g.chance(15) {
		return g.caseOf(k, depth)
	}
	if g.chance(6) {
		return "coalesce(" + g.expr(k, depth-1) + ", " + g.constant(k) + ")"
	}
	made := g.made(k, depth)
	if strings.Contains(made, "@") { // it needs a column that is not there
		return g.constant(k)
	}
	return made
}

// column is one of a kind with bounds, or @.
func (g *generator) column(k kind) string {
	if c := g.of(k, true); c != "" {
		return c
	}
	return "@"
}

// made is an expression of a kind made of others. Casts that may fail are over columns with bounds.
func (g *generator) made(k kind, depth int) string {
	sub := func(k kind) string { return g.expr(k, depth-1) }
	zone := "'" + pick(g, zones) + "'"
	switch k {
	case integers:
		return pick(g, []string{
			g.column(integers) + " % 7", g.column(integers) + " / 10", g.column(integers) + " + 1", g.column(floats) + "::int",
			g.column(numerics) + "::int",
			"width_bucket(" + g.column(numerics) + ", 0, 1000, 5)", "length(" + sub(texts) + ")", g.column(dates) +
				" - date '2020-01-01'", "extract(year FROM " + g.column(dates) + ")::int",
		})
	case numerics:
		return pick(g, []string{
			g.column(integers) + "::numeric", g.column(numerics) + " * 0.1", "round(" + g.column(numerics) + ", 1)", "floor(" +
				g.column(integers) + " / 10.0)", "trunc(" + g.column(numerics) + ")",
			g.column(floats) + "::numeric", "extract(hour FROM " + g.column(timestamps) + ")",
		})
	case floats:
		return pick(g, []string{
			g.column(integers) + "::float8", g.column(numerics) + "::float8", g.column(floats) + " * 0.1", g.column(integers) +
				" * 0.1::float8", g.column(integers) + " / 1e9 + 0.1::float8",
			"floor(" + g.column(floats) + ")", g.column(numerics) + "::float8 / 3", "sqrt(abs(" + g.column(integers) + "))",
			"date_part('minute', " + g.column(timestamps) + ")",
		})
	case texts:
		return pick(g, []string{
			"upper(" + sub(texts) + ")", "lower(" + sub(texts) + ")", "left(" + sub(texts) + ", 1)", sub(texts) + " || " +
				sub(texts), g.column(integers) + "::text", g.column(dates) + "::text",
			g.column(numerics) + "::text", g.column(floats) + "::text", "to_char(" + g.column(dates) + ", 'YYYY-MM')",
			sub(texts) + ` COLLATE "C"`, g.column(booleans) + "::text", g.column(instants) + "::text",
		})
	case dates:
		return pick(g, []string{
			g.column(instants) + "::date", g.column(timestamps) + "::date", g.column(dates) + " + 30",
			"(" + g.column(instants) + " AT TIME ZONE " + zone + ")::date", "date_trunc('month', " + g.column(dates) +
				")::date",
		})
	case timestamps:
		return pick(g, []string{
			g.column(dates) + "::timestamp", g.column(instants) + " AT TIME ZONE " + zone,
			"date_trunc('day', " + g.column(timestamps) + ")", g.column(instants) + "::timestamp", g.column(timestamps) +
				" + interval '1 day'",
		})
	case instants:
		return pick(g, []string{
			g.column(dates) + "::timestamptz", g.column(timestamps) + "::timestamptz", g.column(timestamps) + " AT TIME ZONE " +
				zone, "date_trunc('day', " + g.column(instants) + ")",
			"date_trunc('hour', " + g.column(instants) + ", " + zone + ")", g.column(instants) + " + interval '1 day'",
		})
	case intervals:
		return pick(g, []string{g.column(instants) + " - timestamptz '2020-01-01 00:00+00'", g.column(timestamps) +
			" - timestamp '2020-01-01'", "justify_hours(" + g.column(intervals) + ")", "make_interval(days => " +
			g.column(integers) + "::int)"})
	}
	return "(" + g.condition(depth) + ")"
}

// condition is a boolean that reads rows.
func (g *generator) condition(depth int) string {
	k := pick(g, kinds)
	if len(g.cols) > 0 && g.chance(85) {
		k = pick(g, g.cols).kind
	}
	operator := pick(g, []string{"=", "<>", "<", ">", ">=", "<=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"})
	a := g.expr(k, depth-1)
	if c := g.of(k, false); c != "" && g.chance(75) {
		a = c
	}
	switch g.IntN(12) {
	case 0:
		return a + " IS " + pick(g, []string{"", "NOT "}) + "NULL"
	case 1:
		return a + pick(g, []string{" IN (", " NOT IN ("}) + g.constant(k) + ", " + g.constant(k) + ", " + g.constant(k) + ")"
	case 2:
		return a + " BETWEEN " + g.constant(k) + " AND " + g.constant(k)
	case 3:
		if depth > 0 {
			return "(" + g.condition(depth-1) + pick(g, []string{" AND ", " OR "}) + g.condition(depth-1) + ")"
		}
	case 4:
		return g.expr(texts, depth-1) + " LIKE 'A%'"
	case 5:
		if len(g.subs) > 0 {
			return pick(g, g.subs)
		}
	case 6:
		return a + " " + pick(g, []string{"=", "<"}) + pick(g, []string{" ANY", " ALL"}) + " (SELECT k FROM " +
			g.relation(k) + " AS x(k))"
	case 7:
		return "(SELECT x.k FROM " + g.relation(k) + " AS x(k) WHERE x.k = " + a + ") IS NOT NULL"
	}
	return a + " " + operator + " " + g.expr(k, depth-1)
}

// relation is one of constants.
func (g *generator) relation(k kind) string {
	var list []string
	for _, text := range g.theme[k] {
		list = append(list, g.literal(k, text))
	}
	for _, n := range g.Perm(len(constants[k]))[:g.IntN(2)] {
		if !slices.Contains(g.theme[k], constants[k][n]) {
			list = append(list, g.literal(k, constants[k][n]))
		}
	}
	if g.chance(10) {
		list = append(list, list[0])
	}
	switch {
	case k == integers && g.chance(30):
		return "generate_series(0, 9, 3)"
	case k == instants && g.chance(30):
		return "generate_series(timestamptz '2020-11-01 04:30:00+00', timestamptz '2020-11-01 08:00:00+00', interval '30 min')"
	case k == timestamps && g.chance(30):
		return "generate_series(timestamp '2020-03-08', timestamp '2020-03-09', interval '30 min')"
	case g.chance(30):
		return "unnest(ARRAY[" + strings.Join(list, ", ") + "])"
	}
	return "(VALUES (" + strings.Join(list, "), (") + "))"
}

// caseOf is a CASE that decides by rows between constants, as a rule.
func (g *generator) caseOf(k kind, depth int) string {
	values := 0
	value := func() string {
		if g.chance(15) {
			return g.expr(k, depth-1)
		}
		values++
		if g.chance(70) {
			return g.literal(k, g.theme[k][values%len(g.theme[k])])
		}
		return g.literal(k, pick(g, constants[k]))
	}
	text := "CASE"
	for range 1 + g.IntN(2) {
		text += " WHEN " + g.condition(min(depth-1, 1)) + " THEN " + value()
	}
	if g.chance(85) {
		text += " ELSE " + value()
	}
	return text + " END"
}

// number is an expression that may be added up.
func (g *generator) number() string {
	k := pick(g, []kind{integers, integers, numerics, floats})
	c := g.of(k, true)
	if c == "" {
		return "LEAST(GREATEST(" + g.expr(integers, 1) + ", 0), 10)"
	}
	switch g.IntN(6) {
	case 0:
		return c + " + 1"
	case 1:
		return "CASE WHEN " + g.condition(1) + " THEN " + c + " END"
	case 2:
		return "LEAST(" + c + ", 50)"
	case 3:
		return "abs(" + c + ")"
	}
	return c
}

// aggregate is one that is released.
func (g *generator) aggregate() string {
	text := "count(*)"
	switch g.IntN(12) {
	case 9:
		return symmetric(g.number(), g.expr(pick(g, kinds), 1))
	case 0:
		text = "count(" + g.expr(pick(g, kinds), 1) + ")"
	case 1:
		text = "sum(" + g.number() + ")"
	case 2, 3:
		text = "avg(" + g.number() + ")"
	case 4:
		text = pick(g, []string{"min(", "max("}) + g.number() + ")"
	case 5:
		text = pick(g, []string{"stddev(", "var_pop("}) + g.number() + ")"
	case 6:
		text = "count(DISTINCT " + g.expr(pick(g, kinds), 1) + ")"
		if g.chance(50) {
			text = pick(g, []string{"sum", "avg", "stddev"}) + "(DISTINCT " + g.number() + ")"
		}
	case 7:
		text = pick(g, []string{"percentile_cont(0.5)", "percentile_disc(0.9)"}) + " WITHIN GROUP (ORDER BY " + g.number() +
			")"
	case 8:
		text = pick(g, []string{"bool_or(", "bool_and("}) + g.condition(1) + ")"
	}
	if g.chance(15) {
		text += " FILTER (WHERE " + g.condition(1) + ")"
	}
	return text
}

// key is a group key, mostly with a domain that is known.
func (g *generator) key() string {
	var declared []string
	for _, c := range g.cols {
		if c.key {
			declared = append(declared, c.sql)
		}
	}
	if len(declared) > 0 && g.chance(35) {
		c := pick(g, declared)
		return pick(g, []string{c, c, c, "coalesce(" + c + "::text, 'none')", "upper(" + c + "::text)", c + "::text"})
	}
	k := pick(g, kinds)
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		return g.caseOf(k, 2)
	case 4:
		return g.condition(1)
	case 5:
		return "(" + g.caseOf(k, 1) + ")::" + string(pick(g, castable[k]))
	case 6:
		if c := g.of(integers, true); c != "" {
			return pick(g, []string{c + " / 10", c + " * 0.1::float8", "floor(" + c + " / 10.0)", "round(" + c + ", -1)", c +
				" / 1e9 + 0.1::float8", c + "::float8", c + "::text"})
		}
	case 7:
		if c := g.of(pick(g, []kind{instants, timestamps, dates}), true); c != "" {
			return pick(g, []string{"date_trunc('month', " + c + ")", "date_trunc('quarter', " + c + ")", "extract(month FROM " +
				c + ")", "to_char(" + c + ", 'YYYY-MM')"})
		}
	case 8:
		if c := g.of(numerics, true); c != "" {
			return pick(g, []string{"width_bucket(" + c + ", 0, 1000, 5)", "trunc(" + c + " / 1000)", "(trunc(" + c +
				" / 1000))::float8 * 0.1", "round(" + c + ", -3)::text"})
		}
	}
	return g.expr(k, 1) // by partition selection, if at all
}

// castable says which casts between constants are worth a try.
var castable = map[kind][]kind{
	integers: {numerics, floats, texts}, numerics: {floats, texts, integers}, floats: {numerics, texts, integers},
	texts: {texts}, dates: {timestamps, instants, texts}, timestamps: {dates, instants, texts},
	instants: {dates, timestamps, texts}, intervals: {texts}, booleans: {texts},
}

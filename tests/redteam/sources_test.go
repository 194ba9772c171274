package redteam_test

import (
	"slices"
	"strings"
)

// tables are the private ones, with their columns under the alias @.
var tables = map[string]source{
	"patients": {unit: "@.id", cols: []column{
		{"@.name", texts, false, false},
		{"@.age", integers, true, true},
		{"@.income", numerics, true, false},
		{"@.weight", floats, true, false},
		{"@.height", floats, true, false},
		{"@.score", integers, true, true},
		{"@.diagnosis", texts, false, true},
		{"@.ward", texts, false, true},
		{"@.admitted", dates, true, false},
		{"@.seen", instants, true, false},
		{"@.stay", intervals, true, false},
		{"@.smoker", booleans, true, true},
		{"@.note", texts, false, false},
		{"@.stars", integers, true, true},
	}, subs: []string{
		"EXISTS (SELECT 1 FROM visits e WHERE e.patient_id = @.id AND e.urgent)", "@.id IN (SELECT patient_id FROM visits)",
		"@.id NOT IN (SELECT patient_id FROM samples WHERE b)",
		"(SELECT count(*) FROM visits e WHERE e.patient_id = @.id) > 2",
		"(SELECT max(e.tz) FROM samples e WHERE e.patient_id = @.id) > @.seen",
		"@.ward IN (SELECT ward FROM wards WHERE floor > 0)",
		"@.age > ALL (SELECT minutes FROM visits e WHERE e.patient_id = @.id)",
		"@.weight = ANY (SELECT e.f FROM samples e WHERE e.patient_id = @.id)",
	}},
	"visits": {unit: "@.patient_id", cols: []column{
		{"@.ward", texts, false, true},
		{"@.visited", dates, true, false},
		{"@.cost", numerics, true, false},
		{"@.minutes", integers, true, true},
		{"@.starts", timestamps, true, false},
		{"@.urgent", booleans, true, true},
	}, subs: []string{
		"EXISTS (SELECT 1 FROM lab_results e WHERE e.visit_id = @.visit_id)",
		"@.visit_id IN (SELECT e.visit_id FROM lab_results e GROUP BY 1 HAVING sum(e.value) > 20)",
		"EXISTS (SELECT 1 FROM visits e WHERE e.patient_id = @.patient_id AND e.visited > @.visited)",
		"(SELECT e.age FROM patients e WHERE e.id = @.patient_id) > 30", "@.ward IN (SELECT ward FROM wards WHERE beds > 10)",
		"@.cost > (SELECT avg(e.cost) FROM visits e WHERE e.urgent)",
		"@.cost > (SELECT avg(e.cost) FROM visits e WHERE e.ward = @.ward)",
		"@.ward IN (SELECT e.ward FROM visits e GROUP BY e.ward ORDER BY sum(e.cost) DESC LIMIT 2)",
	}},
	"samples": {unit: "@.patient_id", cols: []column{
		{"@.ci", texts, false, true},
		{"@.plain", texts, false, false},
		{"@.code", texts, false, true},
		{"@.f", floats, true, false},
		{"@.r", floats, true, false},
		{"@.n", numerics, true, false},
		{"@.d", dates, true, false},
		{"@.ts", timestamps, true, false},
		{"@.tz", instants, true, false},
		{"@.tk", instants, false, true},
		{"@.iv", intervals, true, false},
		{"@.big", integers, false, false},
		{"@.b", booleans, true, true},
	}, subs: []string{
		"EXISTS (SELECT 1 FROM moments e WHERE e.at = @.tk)", "@.tk IN (SELECT at FROM moments WHERE day > '2020-05-01')",
		"@.f IN (SELECT f FROM moments)", "@.ci IN (SELECT label FROM moments)",
	}},
	"faces": {unit: "@.patient_id", cols: []column{
		{"@.ci", texts, false, true},
		{"@.plain", texts, false, true},
		{"@.f", floats, true, false},
		{"@.tk", instants, false, true},
		{"@.tz", instants, true, false},
		{"@.lefty", booleans, true, true},
	}, subs: []string{
		"@.ci IN (SELECT label FROM moments)", "@.plain IN ('e', 'E')",
		"@.tk IN (SELECT at FROM moments WHERE f > 0.1)", "(SELECT e.f FROM moments e WHERE e.at = @.tk) > 0",
	}},
	"entries": {unit: "@.patient_id", cols: []column{
		{"@.ci", texts, false, true},
		{"@.padded", texts, false, false},
		{"@.note", texts, false, true},
		{"@.f", floats, true, false},
		{"@.r", floats, true, false},
		{"@.n", numerics, true, true},
		{"@.iv", intervals, true, false},
		{"@.tz", instants, true, false},
		{"@.ts", timestamps, true, false},
		{"@.d", dates, true, false},
		{"@.i", integers, true, true},
		{"@.b", booleans, true, true},
	}, subs: []string{
		"@.i IN (SELECT i FROM slots)", "@.ci IN (SELECT ci FROM slots WHERE b)",
		"(SELECT max(e.j) FROM slots e WHERE e.i = @.i) > 3",
	}},
	"lab_results": {unit: "", cols: []column{{"@.kind", texts, false, true}, {"@.value", floats, true, false}}},
	"profiles": {unit: "@.patient_id", cols: []column{
		{"@.city", texts, false, false},
		{"@.height", integers, true, true},
	}},
}

// table is one table under an alias.
func table(name, alias string) source {
	s := tables[name]
	s.from = name + " " + alias
	s.unit = strings.ReplaceAll(s.unit, "@", alias)
	s.cols, s.subs = slices.Clone(s.cols), slices.Clone(s.subs)
	for i := range s.cols {
		s.cols[i].sql = strings.ReplaceAll(s.cols[i].sql, "@", alias)
	}
	for i := range s.subs {
		s.subs[i] = strings.ReplaceAll(s.subs[i], "@", alias)
	}
	return s
}

// simple is one table that has a unit column.
func (g *generator) simple(alias string) source {
	return table(pick(g, []string{"patients", "patients", "visits", "samples", "samples", "faces", "entries", "entries"}),
		alias)
}

// source is a table, or a join of several.
func (g *generator) source() source {
	a := g.simple("a")
	join := func(b source, how string) source {
		b.from = a.from + " " + how + " JOIN " + b.from + " ON " + b.unit + " = " + a.unit
		if g.chance(30) {
			g.cols, g.subs = append(slices.Clone(a.cols), b.cols...), nil
			b.from += " AND " + g.condition(1)
		}
		b.unit, b.cols, b.subs = a.unit, append(slices.Clone(a.cols), b.cols...), append(slices.Clone(a.subs), b.subs...)
		return b
	}
	switch g.IntN(20) {
	case 0, 1:
		return join(g.simple("b"), "")
	case 2:
		return join(g.simple("b"), "LEFT")
	case 3:
		b := g.simple("b")
		unit := "coalesce(" + a.unit + ", " + b.unit + ")"
		b = join(b, "FULL")
		b.unit = unit
		return b
	case 4:
		a = table("visits", "a")
		b := table("lab_results", "b")
		b.from = a.from + " JOIN lab_results b ON b.visit_id = a.visit_id"
		b.unit, b.cols, b.subs = a.unit, append(slices.Clone(a.cols), b.cols...), a.subs
		return b
	case 5:
		return join(table("profiles", "b"), "")
	case 6:
		a = table(pick(g, []string{"patients", "visits"}), "a")
		a.from += pick(g, []string{" JOIN", " LEFT JOIN"}) + " wards w ON w.ward = a.ward"
		a.cols = append(a.cols, column{"w.floor", integers, false, true}, column{"w.name", texts, false, true})
		return a
	case 7:
		a = table("samples", "a")
		a.from += " JOIN moments m ON m.at = a.tk"
		a.cols = append(a.cols, column{"m.label", texts, false, true}, column{"m.f", floats, false, true},
			column{"m.day", dates, false, true}, column{"m.at", instants, false, true})
		return a
	case 10:
		a = table("visits", "a")
		a.from += pick(g, []string{" JOIN", " LEFT JOIN"}) + " shifts s ON s.ward = a.ward" +
			pick(g, []string{"", " AND a.visited >= s.begins AND a.visited < s.ends", " AND s.code = a.minutes"})
		a.cols = append(a.cols, column{"s.part", texts, false, true}, column{"s.begins", dates, false, true},
			column{"s.code", numerics, false, true})
		return a
	case 11:
		a = table("samples", "a")
		a.from += " JOIN moments m ON " + pick(g, []string{
			"m.label = a.ci", "m.day = a.d", "m.f <= a.f", "m.day = a.ts",
			"m.at > a.tz AND m.at <= a.tk",
		})
		a.cols = append(a.cols, column{"m.label", texts, false, true}, column{"m.day", dates, false, true})
		return a
	case 12, 13:
		a = table("entries", "a")
		a.from += pick(g, []string{" JOIN", " LEFT JOIN"}) + " slots s ON " + pick(g, []string{
			"s.i = a.i", "s.i <= a.i AND a.i < s.j", "s.i < a.i AND a.i <= s.j AND s.b = a.b", "s.n = a.n", "s.n = a.i",
			"s.f = a.f", "s.padded = a.padded", "s.note = a.padded", "s.note = a.note", "s.ci = a.ci", "s.ci = a.note",
			"s.iv = a.iv", "s.tz = a.tz", "s.ts = a.tz", "s.tz <= a.tz AND a.tz < s.until", "s.ts = a.ts", "s.ts = a.d",
			"s.d = a.ts", "s.d <= a.d AND a.d <= s.last", "s.d <= a.tz AND a.tz < s.last", "s.i + 1 = a.i", "s.i % 2 = a.i % 2",
			"s.mood = a.mood",
		})
		a.cols = append(a.cols, column{"s.slot_id", integers, false, true}, column{"s.note", texts, false, true},
			column{"s.ci", texts, false, true}, column{"s.n", numerics, false, true}, column{"s.j", integers, true, true},
			column{"s.tz", instants, false, true}, column{"s.d", dates, false, true}, column{"s.f", floats, false, true})
		return a
	case 8, 9:
		k := pick(g, kinds)
		g.cols, g.subs = a.cols, nil
		a.from += pick(g, []string{" JOIN ", " LEFT JOIN "}) + g.relation(k) + " AS x(k) ON x.k = " + g.expr(k, 1)
		a.cols = append(a.cols, column{"x.k", k, false, true})
		return a
	}
	return a
}

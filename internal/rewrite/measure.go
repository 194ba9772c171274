package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// measureText collects one measure query and its parameters: domains and seeds. The client's are printed as their values.
//
// A measure query is printed in four layers, from the inside (P12, P26):
//  1. rows, or the integers of each (unit, key);
//  2. numbered: keys become ordinals of the domain; a row whose key is in no domain is dropped;
//  3. bounded: at most C groups of a unit, its integers clamped. All that a sensitivity counts on is enforced here, on
//     (unit, ordinal) rows, so that no mistake about keys can multiply a unit;
//  4. the sum over units.
type measureText struct {
	b      *builder
	k      *block
	params []Parameter
}

func (t *measureText) param(oid uint32, value Canonical) string {
	t.params = append(t.params, Parameter{Type: oid, Value: &value})
	return fmt.Sprintf("$%d", len(t.params))
}

// measureSQL prints the query for all integers of a block, and the releases that its columns are.
func (b *builder) measureSQL(k *block) (SQL, []int) {
	if len(k.measured) == 0 && !k.selected {
		return SQL{}, nil
	}
	t := &measureText{b: b, k: k}
	var plain []measured
	var order []int
	for _, m := range k.measured {
		if m.distinct == "" {
			plain = append(plain, m)
			order = append(order, m.release)
		}
	}
	var parts []string
	width := len(k.measured)
	if len(plain) > 0 || k.selected {
		parts = append(parts, t.part(t.groupsOf(plain), 0, len(plain), true))
	}
	at := len(plain)
	for _, m := range k.measured {
		if m.distinct != "" {
			parts = append(parts, t.part(t.distinctOf(m), at, 1, false))
			order = append(order, m.release)
			at++
		}
	}
	text := parts[0]
	if len(parts) > 1 {
		text = t.add(parts, width)
	}
	return SQL{Text: t.totals(text, width), Parameters: t.params}, order
}

// keyNames are k1, k2… with a prefix.
func (t *measureText) keyNames(prefix string) []string {
	var out []string
	for i := range t.k.keys {
		out = append(out, fmt.Sprintf("%sk%d", prefix, i+1))
	}
	return out
}

// groupNames are what a group is known by once its keys are numbered: its ordinal, or under selection its keys.
func (t *measureText) groupNames(prefix string) []string {
	if t.k.selected {
		return t.keyNames(prefix)
	}
	if len(t.k.keys) == 0 {
		return nil
	}
	return []string{prefix + "o"}
}

func (t *measureText) keyOutputs() []string {
	var out []string
	for i, g := range t.k.keys {
		sql := g.SQL()
		if t.k.selected {
			sql = g.selection
		} else if g.Collation() != "" {
			sql += g.equality() // what is one group here is one value of the domain
		}
		out = append(out, fmt.Sprintf("%s AS k%d", sql, i+1))
	}
	return out
}

// named repeats columns under their own names.
func named(columns []string) []string {
	out := []string{}
	for _, c := range columns {
		_, name, _ := strings.Cut(c, ".")
		out = append(out, c+" AS "+name)
	}
	return out
}

// groupBy groups by the first n outputs.
func groupBy(n int) string {
	if n == 0 {
		return ""
	}
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i + 1)
	}
	return " GROUP BY " + strings.Join(list, ", ")
}

func columnNames(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return out
}

// groupsOf prints groups, under selection the number of units n, and integers m1… of every group.
func (t *measureText) groupsOf(ms []measured) string {
	k := t.k
	groups := named(t.groupNames("u."))
	if k.single() {
		rows := t.aggregated(t.keyOutputs(), t.keyNames("r."), "m", ms) + groupBy(len(k.keys))
		if k.selected || len(k.keys) == 0 {
			return rows
		}
		for i := range ms {
			groups = append(groups, fmt.Sprintf("sum(u.m%d) AS m%d", i+1, i+1))
		}
		return fmt.Sprintf("SELECT %s FROM (%s) AS u GROUP BY 1", strings.Join(groups, ", "), t.numbered(rows, columnNames("m", len(ms))))
	}
	units := t.aggregated(append([]string{k.src.unit + " AS u"}, t.keyOutputs()...), append([]string{"r.u"}, t.keyNames("r.")...), "s", ms) + groupBy(1+len(k.keys))
	units = t.numbered(units, append([]string{"u"}, columnNames("s", len(ms))...))
	where := ""
	if k.pick {
		units = fmt.Sprintf("SELECT u.*, row_number() OVER (PARTITION BY u.u ORDER BY %s) AS pick FROM (%s) AS u", t.pickOrder("u."), units)
		where = fmt.Sprintf(" WHERE u.pick <= %d", k.groups)
	}
	n := len(groups)
	if k.selected {
		groups = append(groups, "count(*) AS n")
	}
	for i, m := range ms {
		groups = append(groups, fmt.Sprintf("COALESCE(sum(%s), 0) AS m%d", k.ofUnit(ms, m, i), i+1))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS u%s%s", strings.Join(groups, ", "), units, where, groupBy(n))
}

// numbered replaces the keys of rows by the ordinal o of their combination in the domains, and keeps the columns named in rest.
// No key of a row leaves main (P10), and a row joins at most one ordinal, whatever the domains hold: equal values are one row of
// what is joined, grouped by the very equality that the join compares by (P26).
func (t *measureText) numbered(rows string, rest []string) string {
	k := t.k
	if k.selected || len(k.keys) == 0 {
		return rows
	}
	var ordinal, joins string
	var conds []string
	for i, g := range k.keys {
		d, key := fmt.Sprintf("d%d", i+1), fmt.Sprintf("q.k%d", i+1)
		how := "INNER"
		o := d + ".o"
		if g.null() {
			how = "LEFT"
			o = fmt.Sprintf("CASE WHEN %s IS NULL THEN %d ELSE %s.o END", key, len(g.values), d)
			conds = append(conds, fmt.Sprintf("(%s) IS NOT NULL", o))
		}
		joins += fmt.Sprintf(" %s JOIN (SELECT v.k%s AS k, min(v.o) AS o FROM pg_catalog.unnest(%s) WITH ORDINALITY AS v (k, o) GROUP BY 1) AS %s ON (%s%s OPERATOR(pg_catalog.=) %s.k%s)",
			how, g.equality(), t.domain(g), d, key, g.equality(), d, g.equality())
		if i == 0 {
			ordinal = fmt.Sprintf("(%s)", o)
		} else {
			ordinal = fmt.Sprintf("((%s - 1) * %d + (%s))", ordinal, len(g.values), o)
		}
	}
	where := ""
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	outputs := []string{ordinal + "::pg_catalog.int8 AS o"}
	for _, c := range rest {
		outputs = append(outputs, "q."+c+" AS "+c)
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS q%s%s", strings.Join(outputs, ", "), rows, joins, where)
}

// domain is the array of a key's values, in the key's type.
func (t *measureText) domain(g *groupKey) string {
	return g.array(t.param(pgtype.TextArrayOID, textArray(g.values)))
}

// ofUnit clamps the integer of one unit. A sum that is divided by a count shrinks as the count does where a unit has more rows than
// it may: a mean of its rows stays what it is.
func (k *block) ofUnit(ms []measured, m measured, i int) string {
	s := fmt.Sprintf("u.s%d", i+1)
	clamped := clampText(s, m.lo, m.hi)
	if n := slices.IndexFunc(ms, func(o measured) bool { return m.chained && o.release == m.count }); n >= 0 && !k.src.proven {
		fewer := fmt.Sprintf("pg_catalog.div(%s::pg_catalog.numeric * %d, u.s%d)", s, k.src.rows, n+1)
		return fmt.Sprintf("CASE WHEN u.s%d > %d THEN %s::pg_catalog.int8 ELSE %s END", n+1, k.src.rows, clampText(fewer, m.lo, m.hi), clamped)
	}
	return clamped
}

// clampText clamps an integer that is never NULL.
func clampText(x string, lo, hi int64) string {
	return fmt.Sprintf("LEAST(GREATEST(%s, (%d)), %d)", x, lo, hi)
}

// pickOrder orders a unit's groups by keyed hash, then by the group: a choice that depends on this unit's rows alone.
func (t *measureText) pickOrder(prefix string) string {
	seed := t.param(pgtype.Int8OID, t.b.hashSeed())
	groups := t.groupNames(prefix)
	text := prefix + "u::pg_catalog.text"
	for _, c := range groups {
		text += fmt.Sprintf(" || E'\\x1f' || COALESCE(%s::pg_catalog.text, E'\\x1e')", c)
	}
	return fmt.Sprintf("pg_catalog.hashtextextended(%s, %s), %s", text, seed, strings.Join(groups, ", "))
}

// distinctOf prints groups and the number of distinct values of every group; one unit adds at most m.hi values to a group.
func (t *measureText) distinctOf(m measured) string {
	k := t.k
	outputs := append(t.keyOutputs(), m.distinct+" AS v")
	src := *k.src
	src.where = append([]string{}, src.where...)
	if m.where != "" {
		src.where = append(src.where, m.where)
	}
	groups := t.groupNames("w.")
	if k.single() {
		outputs := append(named(t.keyNames("w.")), "count(DISTINCT w.v) AS m1")
		rows := fmt.Sprintf("SELECT %s FROM (%s) AS w%s", strings.Join(outputs, ", "), src.selectText(append(t.keyOutputs(), m.distinct+" AS v")), groupBy(len(k.keys)))
		if k.selected || len(k.keys) == 0 {
			return rows
		}
		return fmt.Sprintf("SELECT w.o AS o, sum(w.m1) AS m1 FROM (%s) AS w GROUP BY 1", t.numbered(rows, []string{"m1"}))
	}
	rows := "SELECT DISTINCT" + strings.TrimPrefix(src.selectText(append([]string{k.src.unit + " AS u"}, outputs...)), "SELECT")
	rows = t.numbered(rows, []string{"u", "v"})
	seed := t.param(pgtype.Int8OID, t.b.hashSeed())
	order := fmt.Sprintf("pg_catalog.hashtextextended(w.v::pg_catalog.text, %s), w.v", seed)
	ranked := t.ranked(rows, order, m.hi)
	return fmt.Sprintf("SELECT %s FROM (%s) AS w%s", strings.Join(append(named(groups), "count(DISTINCT w.v) AS m1"), ", "), ranked, groupBy(len(groups)))
}

// ranked keeps, of rows w that name their unit, the first of each unit in each group by order, in at most C groups.
func (t *measureText) ranked(rows, order string, first int64) string {
	partition := strings.Join(append([]string{"w.u"}, t.groupNames("w.")...), ", ")
	ranks := fmt.Sprintf("row_number() OVER (PARTITION BY %s ORDER BY %s) AS pick", partition, order)
	where := fmt.Sprintf("w.pick <= %d", first)
	if t.k.pick {
		ranks += fmt.Sprintf(", dense_rank() OVER (PARTITION BY w.u ORDER BY %s) AS pick_group", t.pickOrder("w."))
		where += fmt.Sprintf(" AND w.pick_group <= %d", t.k.groups)
	}
	return fmt.Sprintf("SELECT w.* FROM (SELECT w.*, %s FROM (%s) AS w) AS w WHERE %s", ranks, rows, where)
}

// part widens a query of count integers, from the block's at-th on, to all of the block's: zeros elsewhere. Under selection
// units says whether the query has the number of units n.
func (t *measureText) part(query string, at, count int, units bool) string {
	width := len(t.k.measured)
	if count == width && (units || !t.k.selected) {
		return query
	}
	outputs := named(t.groupNames("p."))
	if t.k.selected {
		n := "0"
		if units {
			n = "p.n"
		}
		outputs = append(outputs, n+" AS n")
	}
	for i := 0; i < width; i++ {
		v := "0"
		if i >= at && i < at+count {
			v = fmt.Sprintf("p.m%d", i-at+1)
		}
		outputs = append(outputs, fmt.Sprintf("%s AS m%d", v, i+1))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS p", strings.Join(outputs, ", "), query)
}

// add sums the parts per group.
func (t *measureText) add(parts []string, width int) string {
	groups := t.groupNames("p.")
	outputs := named(groups)
	if t.k.selected {
		outputs = append(outputs, "sum(p.n) AS n")
	}
	for i := 0; i < width; i++ {
		outputs = append(outputs, fmt.Sprintf("sum(p.m%d) AS m%d", i+1, i+1))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS p%s", strings.Join(outputs, ", "), strings.Join(parts, " UNION ALL "), groupBy(len(groups)))
}

// totals prints what main returns: the group, and its integers, kept within 2^62 so that they fit whatever main holds.
func (t *measureText) totals(query string, width int) string {
	outputs := t.groupNames("g.")
	switch {
	case t.k.selected:
		outputs = append(outputs, "g.n")
	case len(outputs) == 0:
		outputs = []string{theGroup}
	}
	for i := 0; i < width; i++ {
		outputs = append(outputs, clampText(fmt.Sprintf("COALESCE(g.m%d, 0)", i+1), -maxTotal, maxTotal))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS g", strings.Join(outputs, ", "), query)
}

// theGroup is the ordinal of the one group of a block without keys.
const theGroup = "1::pg_catalog.int8"

// histogramSQL prints the sparse histogram of a quantile's argument: group, grid step, rows; at most h.rows rows of a unit.
func (b *builder) histogramSQL(k *block, h histogram) SQL {
	t := &measureText{b: b, k: k}
	src := *k.src
	src.where = append([]string{}, src.where...)
	if h.where != "" {
		src.where = append(src.where, h.where)
	}
	outputs := append(t.keyOutputs(), h.sql+" AS z")
	groups := append(t.groupNames("h."), "h.z")
	if len(groups) == 1 {
		groups = []string{theGroup, "h.z"}
	}
	if k.single() {
		keys := append(t.keyNames("w."), "w.z")
		rows := fmt.Sprintf("SELECT %s, count(*) AS n FROM (%s) AS w%s", strings.Join(named(keys), ", "), src.selectText(outputs), groupBy(len(keys)))
		rows = t.numbered(rows, []string{"z", "n"})
		return SQL{Text: fmt.Sprintf("SELECT %s, sum(h.n) FROM (%s) AS h%s", strings.Join(groups, ", "), rows, groupBy(len(groups))), Parameters: t.params}
	}
	seed := t.param(pgtype.Int8OID, b.hashSeed())
	rows := t.numbered(src.selectText(append([]string{k.src.unit + " AS u"}, outputs...)), []string{"u", "z"})
	ranked := t.ranked(rows, fmt.Sprintf("pg_catalog.hashint8extended(w.z, %s), w.z", seed), h.rows)
	return SQL{Text: fmt.Sprintf("SELECT %s, count(*) FROM (%s) AS h%s", strings.Join(groups, ", "), ranked, groupBy(len(groups))), Parameters: t.params}
}

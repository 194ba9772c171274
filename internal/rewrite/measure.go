package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
)

// measureText collects one measure query and its parameters: domains and seeds. The client's are printed as their values.
type measureText struct {
	b      *builder
	k      *block
	params []Parameter
}

func (t *measureText) param(oid uint32, value string) string {
	t.params = append(t.params, Parameter{Type: oid, Value: &value})
	return fmt.Sprintf("$%d", len(t.params))
}

// measureSQL prints the query for all integers of a block (MEASURE-SQL.md), and the releases that its columns are.
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
		parts = append(parts, t.part(t.groupsOf(plain), 0, len(plain), width))
	}
	at := len(plain)
	for _, m := range k.measured {
		if m.distinct != "" {
			parts = append(parts, t.part(t.distinctOf(m), at, 1, width))
			order = append(order, m.release)
			at++
		}
	}
	text := parts[0]
	if len(parts) > 1 {
		text = t.add(parts, width)
	}
	return SQL{Text: t.ordinals(text, width), Parameters: t.params}, order
}

// keyNames are k1, k2… with a prefix.
func (t *measureText) keyNames(prefix string) []string {
	var out []string
	for i := range t.k.keys {
		out = append(out, fmt.Sprintf("%sk%d", prefix, i+1))
	}
	return out
}

func (t *measureText) keyOutputs() []string {
	var out []string
	for i, g := range t.k.keys {
		sql := g.SQL()
		if t.k.selected {
			sql = g.selection
		} else if g.alike != "" {
			sql = g.alike
		}
		out = append(out, fmt.Sprintf("%s AS k%d", sql, i+1))
	}
	return out
}

// groupsOf prints keys k1…, under selection the number of units n, and integers m1… of every group.
func (t *measureText) groupsOf(ms []measured) string {
	k := t.k
	if k.single() {
		return t.aggregated(t.keyOutputs(), t.keyNames("r."), "m", ms) + groupBy(k, 0)
	}
	units := t.aggregated(append([]string{k.src.unit + " AS u"}, t.keyOutputs()...), append([]string{"r.u"}, t.keyNames("r.")...), "s", ms) + groupBy(k, 1)
	where := ""
	if k.pick {
		units = fmt.Sprintf("SELECT u.*, row_number() OVER (PARTITION BY u.u ORDER BY %s) AS pick FROM (%s) AS u", t.pickOrder("u."), t.inDomain(units))
		where = fmt.Sprintf(" WHERE u.pick <= %d", k.groups)
	}
	outer := t.keyNames("u.")
	for i := range outer {
		outer[i] += fmt.Sprintf(" AS k%d", i+1)
	}
	if k.selected {
		outer = append(outer, "count(*) AS n")
	}
	for i, m := range ms {
		outer = append(outer, fmt.Sprintf("COALESCE(sum(%s), 0) AS m%d", k.ofUnit(ms, m, i), i+1))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS u%s%s", strings.Join(outer, ", "), units, where, groupBy(k, 0))
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

// groupBy groups by the keys, which are the outputs after the first skip.
func groupBy(k *block, skip int) string {
	var list []string
	for i := 0; i < skip+len(k.keys); i++ {
		list = append(list, fmt.Sprint(i+1))
	}
	if len(list) == 0 {
		return ""
	}
	return " GROUP BY " + strings.Join(list, ", ")
}

// pickOrder orders a unit's groups by keyed hash, then by key: a choice that depends on this unit's rows alone.
func (t *measureText) pickOrder(prefix string) string {
	seed := t.param(pgtype.Int8OID, t.b.hashSeed())
	keys := t.keyNames(prefix)
	text := prefix + "u::pg_catalog.text"
	for _, c := range keys {
		text += fmt.Sprintf(" || E'\\x1f' || COALESCE(%s::pg_catalog.text, E'\\x1e')", c)
	}
	return fmt.Sprintf("pg_catalog.hashtextextended(%s, %s), %s", text, seed, strings.Join(keys, ", "))
}

// inDomain drops rows outside the declared domains, so that they take no place in the selection (PRIVACY 11).
func (t *measureText) inDomain(units string) string {
	if t.k.selected {
		return units
	}
	var conds []string
	for i, g := range t.k.keys {
		name := fmt.Sprintf("d.k%d", i+1)
		cond := fmt.Sprintf("%s OPERATOR(pg_catalog.=) ANY (%s)", name, t.domain(g))
		if g.null() {
			cond = fmt.Sprintf("(%s IS NULL OR %s)", name, cond)
		}
		conds = append(conds, cond)
	}
	return fmt.Sprintf("SELECT d.* FROM (%s) AS d WHERE %s", units, strings.Join(conds, " AND "))
}

// domain is the array of a key's values, in the key's type.
func (t *measureText) domain(g *groupKey) string {
	return fmt.Sprintf("(%s::pg_catalog.text[])::%s[]", t.param(pgtype.TextArrayOID, textArray(g.values)), g.TypeName())
}

// distinctOf prints keys and the number of distinct values of every group; one unit adds at most m.hi values.
func (t *measureText) distinctOf(m measured) string {
	k := t.k
	outputs := append([]string{}, t.keyOutputs()...)
	outputs = append(outputs, m.distinct+" AS v")
	src := *k.src
	src.where = append([]string{}, src.where...)
	if m.where != "" {
		src.where = append(src.where, m.where)
	}
	keys := t.keyNames("w.")
	if k.single() {
		return fmt.Sprintf("SELECT %s FROM (%s) AS w%s", strings.Join(append(named(keys), "count(DISTINCT w.v) AS m1"), ", "), src.selectText(outputs), groupBy(k, 0))
	}
	outputs = append([]string{k.src.unit + " AS u"}, outputs...)
	rows := strings.Replace(src.selectText(outputs), "SELECT ", "SELECT DISTINCT ", 1)
	seed := t.param(pgtype.Int8OID, t.b.hashSeed())
	partition := strings.Join(append([]string{"w.u"}, keys...), ", ")
	ranks := fmt.Sprintf("row_number() OVER (PARTITION BY %s ORDER BY pg_catalog.hashtextextended(w.v::pg_catalog.text, %s), w.v) AS pick", partition, seed)
	where := fmt.Sprintf("w.pick <= %d", m.hi)
	if k.pick {
		rows = t.inDomain(rows)
		ranks += fmt.Sprintf(", dense_rank() OVER (PARTITION BY w.u ORDER BY %s) AS pick_group", t.pickOrder("w."))
		where += fmt.Sprintf(" AND w.pick_group <= %d", k.groups)
	}
	ranked := fmt.Sprintf("SELECT w.*, %s FROM (%s) AS w", ranks, rows)
	return fmt.Sprintf("SELECT %s FROM (%s) AS w WHERE %s%s", strings.Join(append(named(keys), "count(DISTINCT w.v) AS m1"), ", "), ranked, where, groupBy(k, 0))
}

func named(keys []string) []string {
	out := []string{}
	for i, k := range keys {
		out = append(out, fmt.Sprintf("%s AS k%d", k, i+1))
	}
	return out
}

// part widens a query of some integers to all of the block's: zeros elsewhere.
func (t *measureText) part(query string, at, count, width int) string {
	if count == width {
		return query
	}
	outputs := named(t.keyNames("p."))
	if t.k.selected {
		n := "0"
		if at == 0 {
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
	outputs := named(t.keyNames("p."))
	if t.k.selected {
		outputs = append(outputs, "sum(p.n) AS n")
	}
	for i := 0; i < width; i++ {
		outputs = append(outputs, fmt.Sprintf("sum(p.m%d) AS m%d", i+1, i+1))
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS p%s", strings.Join(outputs, ", "), strings.Join(parts, " UNION ALL "), groupBy(t.k, 0))
}

// ordinals replaces keys by their ordinal in the domain (PRIVACY 10): no key of a row leaves main. Integers are kept
// within 2^62, so that they fit whatever main holds.
func (t *measureText) ordinals(query string, width int) string {
	var outputs []string
	for i := 0; i < width; i++ {
		outputs = append(outputs, clampText(fmt.Sprintf("COALESCE(g.m%d, 0)", i+1), -maxTotal, maxTotal))
	}
	k := t.k
	if k.selected {
		keys := t.keyNames("g.")
		return fmt.Sprintf("SELECT %s FROM (%s) AS g", strings.Join(append(append(keys, "g.n"), outputs...), ", "), query)
	}
	ordinal, joins, where := t.ordinal()
	return fmt.Sprintf("SELECT %s FROM (%s) AS g%s%s", strings.Join(append([]string{ordinal}, outputs...), ", "), query, joins, where)
}

// ordinal prints the number of a group, and the joins with the domains that it needs.
func (t *measureText) ordinal() (ordinal, joins, where string) {
	ordinal = "1::pg_catalog.int8"
	var conds []string
	for i, g := range t.k.keys {
		joins += fmt.Sprintf(" LEFT JOIN pg_catalog.unnest(%s) WITH ORDINALITY AS d%d (k, o) ON (g.k%d OPERATOR(pg_catalog.=) d%d.k)", t.domain(g), i+1, i+1, i+1)
		o := fmt.Sprintf("d%d.o", i+1)
		if g.null() {
			o = fmt.Sprintf("CASE WHEN g.k%d IS NULL THEN %d ELSE %s END", i+1, len(g.values), o)
		}
		if i == 0 {
			ordinal = fmt.Sprintf("(%s)::pg_catalog.int8", o)
		} else {
			ordinal = fmt.Sprintf("((%s - 1) * %d + (%s))", ordinal, len(g.values), o)
		}
		conds = append(conds, fmt.Sprintf("(%s) IS NOT NULL", o))
	}
	if len(conds) > 0 {
		where = " WHERE " + strings.Join(conds, " AND ")
	}
	return ordinal, joins, where
}

// histogramSQL prints the sparse histogram of a quantile's argument: group, grid step, rows; at most h.rows rows of a unit.
func (b *builder) histogramSQL(k *block, h histogram) SQL {
	t := &measureText{b: b, k: k}
	src := *k.src
	src.where = append([]string{}, src.where...)
	if h.where != "" {
		src.where = append(src.where, h.where)
	}
	outputs := append(t.keyOutputs(), h.sql+" AS z")
	var query string
	if k.single() {
		query = src.selectText(outputs)
	} else {
		seed := t.param(pgtype.Int8OID, b.hashSeed())
		outputs = append([]string{k.src.unit + " AS u"}, outputs...)
		rows := src.selectText(outputs)
		keys := t.keyNames("w.")
		partition := strings.Join(append([]string{"w.u"}, keys...), ", ")
		ranks := fmt.Sprintf("row_number() OVER (PARTITION BY %s ORDER BY pg_catalog.hashint8extended(w.z, %s), w.z) AS pick", partition, seed)
		where := fmt.Sprintf("w.pick <= %d", h.rows)
		if k.pick {
			rows = t.inDomain(rows)
			ranks += fmt.Sprintf(", dense_rank() OVER (PARTITION BY w.u ORDER BY %s) AS pick_group", t.pickOrder("w."))
			where += fmt.Sprintf(" AND w.pick_group <= %d", k.groups)
		}
		query = fmt.Sprintf("SELECT w.* FROM (SELECT w.*, %s FROM (%s) AS w) AS w WHERE %s", ranks, rows, where)
	}
	names := append(t.keyNames("h."), "h.z")
	grouped := fmt.Sprintf("SELECT %s, h.z AS z, count(*) AS n FROM (%s) AS h GROUP BY %s", strings.Join(named(t.keyNames("h.")), ", "), query, strings.Join(names, ", "))
	grouped = strings.Replace(grouped, "SELECT , ", "SELECT ", 1)
	if k.selected {
		return SQL{Text: fmt.Sprintf("SELECT %s FROM (%s) AS g", strings.Join(append(t.keyNames("g."), "g.z", "g.n"), ", "), grouped), Parameters: t.params}
	}
	ordinal, joins, where := t.ordinal()
	return SQL{Text: fmt.Sprintf("SELECT %s, g.z, g.n FROM (%s) AS g%s%s", ordinal, grouped, joins, where), Parameters: t.params}
}

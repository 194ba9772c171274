package rewrite

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// A measure query has four layers, from the inside (P12, P26):
//  1. rows, or the integers of each (unit, key);
//  2. numbered: keys become ordinals of the domain; a row whose key is in no domain is dropped;
//  3. bounded: at most C groups of a unit, its integers clamped. All that a sensitivity counts on is enforced here, on
//     (unit, ordinal) rows, so that no mistake about keys can multiply a unit;
//  4. the sum over units.
type measurement struct {
	b *builder
	k *block
}

// Names of the query levels of a measure query.
var (
	unitsAlias   = query.Named("u") // the integers of each unit in each group
	keyedAlias   = query.Named("q") // rows that are about to be numbered
	rankedAlias  = query.Named("w") // rows of one unit that are ranked
	partAlias    = query.Named("p") // one part of several that are added
	groupsAlias  = query.Named("g") // the groups of the answer
	sparseAlias  = query.Named("h") // steps of a histogram
	elementAlias = query.Named("v") // values of a domain
)

// measureSQL is the query for all integers of a block, and the releases that its columns are.
func (b *builder) measureSQL(k *block) (query.Query, []int) {
	if len(k.measured) == 0 && !k.selected {
		return nil, nil
	}
	t := &measurement{b: b, k: k}
	var plain []measured
	var order []int
	for _, m := range k.measured {
		if m.distinct == nil {
			plain = append(plain, m)
			order = append(order, m.release)
		}
	}
	var parts []query.Query
	width := len(k.measured)
	if len(plain) > 0 || k.selected {
		parts = append(parts, t.part(t.groupsOf(plain), 0, len(plain), true))
	}
	at := len(plain)
	for _, m := range k.measured {
		if m.distinct != nil {
			parts = append(parts, t.part(t.distinctOf(m), at, 1, false))
			order = append(order, m.release)
			at++
		}
	}
	total := parts[0]
	if len(parts) > 1 {
		total = t.add(parts, width)
	}
	return t.totals(total, width), order
}

// keyNames are k1, k2….
func (t *measurement) keyNames() []string { return numbered("k", len(t.k.keys)) }

// groupNames are what a group is known by once its keys are numbered: its ordinal, or under selection its keys.
func (t *measurement) groupNames() []string {
	if t.k.selected {
		return t.keyNames()
	}
	if len(t.k.keys) == 0 {
		return nil
	}
	return []string{"o"}
}

// keyOutputs are the keys of a row.
func (t *measurement) keyOutputs() []query.Output {
	var out []query.Output
	for i, g := range t.k.keys {
		sql := g.SQL()
		if t.k.selected {
			sql = g.selection
		} else if g.Collation() != "" {
			sql = query.F("{}{}", sql, g.equality()) // what is one group here is one value of the domain
		}
		out = append(out, query.Output{X: sql, Name: fmt.Sprintf("k%d", i+1)})
	}
	return out
}

// unitOutput is the unit of a row.
func (t *measurement) unitOutput() query.Output { return query.Output{X: t.k.src.unit, Name: "u"} }

// named are columns of an item, under their own names.
func named(of *query.Alias, names ...string) []query.Output {
	out := make([]query.Output, len(names))
	for i, n := range names {
		out[i] = query.Output{X: of.Column(n), Name: n}
	}
	return out
}

func columns(of *query.Alias, names []string) []query.Scalar {
	out := make([]query.Scalar, len(names))
	for i, n := range names {
		out[i] = of.Column(n)
	}
	return out
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%d", prefix, i+1)
	}
	return out
}

// groupsOf gives groups, under selection the number of units n, and integers m1… of every group.
func (t *measurement) groupsOf(ms []measured) query.Query {
	k := t.k
	groups := named(unitsAlias, t.groupNames()...)
	if k.single() {
		rows := t.aggregated(t.keyOutputs(), "m", ms)
		if k.selected || len(k.keys) == 0 {
			return rows
		}
		for _, m := range numbered("m", len(ms)) {
			groups = append(groups, query.Output{X: query.F("sum({})", unitsAlias.Column(m)), Name: m})
		}
		return &query.Select{Outputs: groups, From: &query.Derived{Query: t.numbered(rows, numbered("m", len(ms))), As: unitsAlias}, Groups: 1}
	}
	units := t.numbered(t.aggregated(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), "s", ms), append([]string{"u"}, numbered("s", len(ms))...))
	var where []query.Scalar
	if k.pick {
		all := append(append([]string{"u"}, t.groupNames()...), numbered("s", len(ms))...)
		pick := query.Pick{Partition: []query.Scalar{unitsAlias.Column("u")}, Order: t.pickOrder(unitsAlias)}
		units = &query.Select{Outputs: append(named(unitsAlias, all...), query.Output{X: pick, Name: "pick"}), From: &query.Derived{Query: units, As: unitsAlias}}
		where = []query.Scalar{query.First{Rank: unitsAlias.Column("pick"), N: k.groups}}
	}
	n := len(groups)
	if k.selected {
		groups = append(groups, query.Output{X: query.Raw("count(*)"), Name: "n"})
	}
	for i, m := range ms {
		groups = append(groups, query.Output{X: query.F("COALESCE(sum({}), 0)", k.ofUnit(ms, m, i)), Name: fmt.Sprintf("m%d", i+1)})
	}
	return &query.Select{Outputs: groups, From: &query.Derived{Query: units, As: unitsAlias}, Where: where, Groups: n}
}

// numbered replaces the keys of rows by the ordinal o of their combination in the domains, and keeps the columns named in rest.
// No key of a row leaves main (P10), and a row joins at most one ordinal, whatever the domains hold: equal values are one row of
// what is joined, grouped by the very equality that the join compares by (P26).
func (t *measurement) numbered(rows query.Query, rest []string) query.Query {
	k := t.k
	if k.selected || len(k.keys) == 0 {
		return rows
	}
	var ordinal query.Scalar
	from := query.Source(&query.Derived{Query: rows, As: keyedAlias})
	var where []query.Scalar
	for i, g := range k.keys {
		d, key := query.Named(fmt.Sprintf("d%d", i+1)), keyedAlias.Column(fmt.Sprintf("k%d", i+1))
		kind, o := "INNER", query.Scalar(d.Column("o"))
		if g.null() {
			kind = "LEFT"
			o = query.F("CASE WHEN {} IS NULL THEN {} ELSE {} END", key, len(g.values), d.Column("o"))
			where = append(where, query.F("({}) IS NOT NULL", o))
		}
		same := query.F("{}{} OPERATOR(pg_catalog.=) {}{}", key, g.equality(), d.Column("k"), g.equality())
		from = &query.Join{Kind: kind, Left: from, Right: &query.Derived{Query: &query.Ordinals{Values: g.domain(), Equality: g.equality()}, As: d}, On: []query.Scalar{same}}
		if i == 0 {
			ordinal = query.F("({})", o)
		} else {
			ordinal = query.F("(({} - 1) * {} + ({}))", ordinal, len(g.values), o)
		}
	}
	outputs := append([]query.Output{{X: query.F("{}::pg_catalog.int8", ordinal), Name: "o"}}, named(keyedAlias, rest...)...)
	return &query.Select{Outputs: outputs, From: from, Where: where}
}

// ofUnit clamps the integer of one unit. A sum that is divided by a count shrinks as the count does where a unit has more rows than
// it may: a mean of its rows stays what it is.
func (k *block) ofUnit(ms []measured, m measured, i int) query.Scalar {
	s := unitsAlias.Column(fmt.Sprintf("s%d", i+1))
	if !m.chained || k.src.proven {
		return m.clamped(s)
	}
	for n, o := range ms {
		if o.release != m.count {
			continue
		}
		count := unitsAlias.Column(fmt.Sprintf("s%d", n+1))
		fewer := query.F("pg_catalog.div({}::pg_catalog.numeric * {}, {})", s, k.src.rows, count)
		return query.F("CASE WHEN {} > {} THEN {}::pg_catalog.int8 ELSE {} END", count, k.src.rows, m.clamped(fewer), m.clamped(s))
	}
	return m.clamped(s)
}

// clamped clamps the integer of one unit.
func (m *measured) clamped(x query.Scalar) query.Scalar {
	return query.UnitClamp{X: x, Lo: m.lo, Hi: m.hi}
}

// pickOrder orders a unit's groups by keyed hash, then by the group: a choice that depends on this unit's rows alone.
func (t *measurement) pickOrder(of *query.Alias) []query.Scalar {
	groups := columns(of, t.groupNames())
	text := query.Scalar(query.F("{}::pg_catalog.text", of.Column("u")))
	for _, c := range groups {
		text = query.F(`{} || E'\x1f' || COALESCE({}::pg_catalog.text, E'\x1e')`, text, c)
	}
	return append([]query.Scalar{t.hashed("hashtextextended", text)}, groups...)
}

// hashed is a keyed hash of a value.
func (t *measurement) hashed(function string, x query.Scalar) query.Scalar {
	return query.F("pg_catalog.{}({}, {})", function, x, parameter(pgtype.Int8OID, t.b.hashSeed()))
}

// distinctOf gives groups and the number of distinct values of every group; one unit adds at most m.hi values to a group.
func (t *measurement) distinctOf(m measured) query.Query {
	k := t.k
	value := query.Output{X: m.distinct, Name: "v"}
	src := k.src.filteredBy(m.where)
	count := query.Output{X: query.F("count(DISTINCT {})", rankedAlias.Column("v")), Name: "m1"}
	if k.single() {
		rows := &query.Select{
			Outputs: append(named(rankedAlias, t.keyNames()...), count),
			From:    &query.Derived{Query: src.selects(append(t.keyOutputs(), value)...), As: rankedAlias}, Groups: len(k.keys),
		}
		if k.selected || len(k.keys) == 0 {
			return rows
		}
		return &query.Select{
			Outputs: append(named(rankedAlias, "o"), query.Output{X: query.F("sum({})", rankedAlias.Column("m1")), Name: "m1"}),
			From:    &query.Derived{Query: t.numbered(rows, []string{"m1"}), As: rankedAlias}, Groups: 1,
		}
	}
	rows := src.selects(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), value)...)
	rows.Distinct = true
	v := rankedAlias.Column("v")
	ranked := t.ranked(t.numbered(rows, []string{"u", "v"}), "v", []query.Scalar{t.hashed("hashtextextended", query.F("{}::pg_catalog.text", v)), v}, m.hi)
	groups := t.groupNames()
	return &query.Select{Outputs: append(named(rankedAlias, groups...), count), From: &query.Derived{Query: ranked, As: rankedAlias}, Groups: len(groups)}
}

// ranked keeps, of rows that name their unit, the first of each unit in each group by order, in at most C groups. column is what a row
// has beside its unit and its group.
func (t *measurement) ranked(rows query.Query, column string, order []query.Scalar, first int64) query.Query {
	w, groups := rankedAlias, t.groupNames()
	unit := w.Column("u")
	outputs := append(named(w, append(append([]string{"u"}, groups...), column)...),
		query.Output{X: query.Pick{Partition: append([]query.Scalar{unit}, columns(w, groups)...), Order: order}, Name: "pick"})
	where := []query.Scalar{query.First{Rank: w.Column("pick"), N: first}}
	if t.k.pick {
		pick := query.Pick{Partition: []query.Scalar{unit}, Order: t.pickOrder(w), Groups: true}
		outputs = append(outputs, query.Output{X: pick, Name: "pick_group"})
		where = append(where, query.First{Rank: w.Column("pick_group"), N: t.k.groups})
	}
	inner := &query.Select{Outputs: outputs, From: &query.Derived{Query: rows, As: w}}
	return &query.Select{Outputs: named(w, append(groups, column)...), From: &query.Derived{Query: inner, As: w}, Where: where}
}

// part widens a query of count integers, from the block's at-th on, to all of the block's: zeros elsewhere. Under selection
// units says whether the query has the number of units n.
func (t *measurement) part(of query.Query, at, count int, units bool) query.Query {
	width := len(t.k.measured)
	if count == width && (units || !t.k.selected) {
		return of
	}
	outputs := named(partAlias, t.groupNames()...)
	if t.k.selected {
		n := query.Integer(0)
		if units {
			n = partAlias.Column("n")
		}
		outputs = append(outputs, query.Output{X: n, Name: "n"})
	}
	for i := range width {
		v := query.Integer(0)
		if i >= at && i < at+count {
			v = partAlias.Column(fmt.Sprintf("m%d", i-at+1))
		}
		outputs = append(outputs, query.Output{X: v, Name: fmt.Sprintf("m%d", i+1)})
	}
	return &query.Select{Outputs: outputs, From: &query.Derived{Query: of, As: partAlias}}
}

// add sums the parts per group.
func (t *measurement) add(parts []query.Query, width int) query.Query {
	groups := t.groupNames()
	outputs := named(partAlias, groups...)
	sums := numbered("m", width)
	if t.k.selected {
		sums = append([]string{"n"}, sums...)
	}
	for _, name := range sums {
		outputs = append(outputs, query.Output{X: query.F("sum({})", partAlias.Column(name)), Name: name})
	}
	all := &query.Derived{Query: &query.SetOp{Op: "UNION ALL", Of: parts}, As: partAlias}
	return &query.Select{Outputs: outputs, From: all, Groups: len(groups)}
}

// totals is what main returns: the group, and its integers, kept within 2^62 so that they fit whatever main holds.
func (t *measurement) totals(of query.Query, width int) query.Query {
	outputs := unnamed(columns(groupsAlias, t.groupNames()))
	switch {
	case t.k.selected:
		outputs = append(outputs, query.Output{X: groupsAlias.Column("n")})
	case len(outputs) == 0:
		outputs = []query.Output{{X: theGroup}}
	}
	for _, m := range numbered("m", width) {
		total := query.F("COALESCE({}, 0)", groupsAlias.Column(m))
		outputs = append(outputs, query.Output{X: query.Clamp{X: total, Lo: query.F("({})", -maxTotal), Hi: query.Integer(maxTotal)}})
	}
	return &query.Select{Outputs: outputs, From: &query.Derived{Query: of, As: groupsAlias}}
}

// theGroup is the ordinal of the one group of a block without keys.
const theGroup = query.Raw("1::pg_catalog.int8")

// histogramSQL is the sparse histogram of a quantile's argument: group, grid step, rows; at most h.rows rows of a unit.
func (b *builder) histogramSQL(k *block, h histogram) query.Query {
	t := &measurement{b: b, k: k}
	src, step := k.src.filteredBy(h.where), query.Output{X: h.sql, Name: "z"}
	outputs := unnamed(columns(sparseAlias, append(t.groupNames(), "z")))
	groups := len(outputs)
	if groups == 1 {
		outputs, groups = append([]query.Output{{X: theGroup}}, outputs...), 2
	}
	var rows query.Query
	number := query.Scalar(query.Raw("count(*)"))
	if k.single() {
		keys := append(t.keyNames(), "z")
		rows = &query.Select{
			Outputs: append(named(rankedAlias, keys...), query.Output{X: number, Name: "n"}),
			From:    &query.Derived{Query: src.selects(append(t.keyOutputs(), step)...), As: rankedAlias}, Groups: len(keys),
		}
		rows, number = t.numbered(rows, []string{"z", "n"}), query.F("sum({})", sparseAlias.Column("n"))
	} else {
		rows = t.numbered(src.selects(append(append([]query.Output{t.unitOutput()}, t.keyOutputs()...), step)...), []string{"u", "z"})
		z := rankedAlias.Column("z")
		rows = t.ranked(rows, "z", []query.Scalar{t.hashed("hashint8extended", z), z}, h.rows)
	}
	return &query.Select{Outputs: append(outputs, query.Output{X: number}), From: &query.Derived{Query: rows, As: sparseAlias}, Groups: groups}
}

// filteredBy is the relation's rows where a condition holds, too; nil: all of them.
func (r *relation) filteredBy(where query.Scalar) *relation {
	if where == nil {
		return r
	}
	out := *r
	out.where = append(append([]query.Scalar{}, r.where...), where)
	return &out
}

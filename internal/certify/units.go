package certify

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// combine is the inner join of factors under conditions.
//
// Rule: private factors are of one kind of unit, and each is tied to the others, if only through others, by an equality
// that puts rows into one unit (oneUnit), or all to the row of a query around. Then the join is split. A table whose
// unit a key leads to needs a tie to one that has its unit. A nested or grouped factor stands alone among public ones.
// Proof: joined rows fulfil all conditions, so each is made of rows of one unit and public ones. Equal units are not
// NULL; a value that belongs to one unit is of its rows alone (Facts), so no row without a unit meets one of x by it,
// and bounds on rows of a unit hold for what meets.
func (c *checker) combine(factors []factor, on []*pg.Node, outer *scope) (factor, error) {
	var items []item
	for _, f := range factors {
		items = append(items, f.items...)
	}
	eq, s := c.equations(items, on, outer)
	if _, err := s.conditions(on); err != nil {
		return factor{}, err
	}
	out := &relation{}
	for _, f := range factors {
		eq.lists = append(eq.lists, c.meetings(f, s, on))
	}
	if len(factors) == 1 {
		out.list, out.alike, out.scan = factors[0].list, factors[0].alike, factors[0].scan
	}
	private, others := []int{}, 0
	lateral := false
	for i, f := range factors {
		lateral = lateral || f.bound
		for _, r := range f.reads {
			if !slices.ContainsFunc(factors, func(o factor) bool { return o.has(r) }) {
				out.bound, out.reads = true, append(out.reads, r)
			}
		}
		switch f.kind {
		case split:
			private = append(private, i)
		case nested, grouped:
			others++
			out.kind = f.kind
		}
	}
	if others > 1 || others > 0 && len(private) > 0 || others > 0 && lateral {
		return factor{}, missing(-1, "join of aggregated rows", "%d with %d split", others, len(private))
	}
	if len(private) > 0 {
		out.kind = split
		if err := tied(factors, private, eq, out); err != nil {
			return factor{}, err
		}
		if len(factors) > 1 {
			c.note("combine", said("each row is of one unit"), on...)
		}
	}
	chosen(factors, on, s)
	count(factors, eq, out)
	if len(private) == 1 && out.tie == nil && !out.bound {
		out.source = factors[private[0]].source.under(s.each(on), rowsFrom(factors, eq, private[0]))
	}
	items = settle(factors, eq, out, on)
	if out.kind == split {
		out.rows = least(out.rows, out.room())
	}
	if len(factors) > 1 {
		c.note("count", out, on...)
	}
	return factor{items, out}, nil
}

// tied is the rule of combine on units.
func tied(factors []factor, private []int, eq equations, out *relation) error {
	const around, several = -1, -2 // the row of a query around; not one
	owner := func(columns ...*id) int {
		all := map[int]bool{}
		at := several
		for _, c := range columns {
			at = slices.IndexFunc(factors, func(f factor) bool { return f.has(c) })
			all[at] = true
		}
		if len(all) != 1 {
			return several
		}
		return at
	}
	// the one value of the row around by which all is tied to it, as another may be of another unit: its columns
	var to []*id
	here := func(columns ...*id) bool {
		at := owner(columns...)
		if at != around {
			return at >= 0
		}
		if to == nil {
			to = columns
		}
		return slices.Equal(to, columns)
	}
	reached := map[int]bool{}
	var grow func(i int)
	grow = func(i int) {
		if reached[i] {
			return
		}
		reached[i] = true
		for _, t := range eq.ties {
			a, b := owner(t.a...), owner(t.b...)
			if a == i && i >= 0 && here(t.b...) {
				grow(b)
			}
			if b == i && i >= 0 && here(t.a...) {
				grow(a)
			}
		}
		for _, j := range private {
			switch t := factors[j].tie; {
			case t == nil:
			case j == i && here(t...):
				grow(owner(t...))
			case owner(t...) == i && here(t...):
				grow(j)
			}
		}
	}
	grow(private[0])
	if reached[around] { // what is tied to the row around is tied together
		for _, t := range eq.ties {
			if a, b := owner(t.a...), owner(t.b...); max(a, b) >= 0 && min(a, b) == around && here(t.a...) && here(t.b...) {
				grow(max(a, b))
			}
		}
		out.tie = to
	}
	out.unsure = true
	out.via = factors[private[0]].via
	for _, i := range private {
		f := factors[i]
		if !reached[i] {
			return missing(-1, "join of private tables without equality of units", "%s", f.items[0].name)
		}
		if f.home != factors[private[0]].home {
			return missing(-1, "join of two kinds of units", "%s", f.items[0].name)
		}
		out.home = f.home
		if f.via == nil {
			out.via = nil
		}
		out.unsure = out.unsure && f.unsure
	}
	out.unsure = out.unsure && !slices.ContainsFunc(eq.ties, func(t tie) bool {
		return t.units && (owner(t.a...) >= 0 || owner(t.b...) >= 0)
	})
	return nil
}

// settle notes what conditions say of columns: which are not NULL, which are public since they equal public ones, and
// which are the same in all rows of a unit.
//
// Rule: a private column that equals a public one in every row left has its values; so has one that a LEFT JOIN
// compared, where «a IS NULL OR b IS NOT NULL» holds: it is NULL, or met the row that it mirrors. A factor whose key is
// equated with ofUnit columns is so too, and a column that equals such a one. Proof: both are exact; a unit meets one
// row of that factor.
func settle(factors []factor, eq equations, out *relation, on []*pg.Node) []item {
	constant := map[*id]bool{}
	pub := map[*id]bool{}
	for _, f := range factors {
		for _, i := range f.items {
			for _, c := range i.columns {
				constant[c.value.id] = c.value.ofUnit
				pub[c.value.id] = c.value.public && f.kind == public && !out.bound
			}
		}
	}
	for range factors {
		for _, p := range eq.pairs {
			if p.bytes && (constant[p.a.id] || constant[p.b.id]) {
				constant[p.a.id], constant[p.b.id] = true, true
			}
		}
		columns := eq.equated(func(c *id) bool { return constant[c] })
		for _, f := range factors {
			if !f.bound && f.unique(columns, func(c *id) bool { return f.notNull(c) || eq.strictly(c) }) {
				for _, c := range f.columns {
					constant[c.value.id] = true
				}
			}
		}
	}
	for _, p := range eq.pairs {
		if p.same && (pub[p.a.id] || pub[p.b.id]) {
			pub[p.a.id], pub[p.b.id] = true, true
		}
	}
	for _, c := range kept(factors, on) {
		pub[c] = true
	}
	var items []item
	out.columns = make([]column, 0, len(constant))
	for _, f := range factors {
		for _, i := range f.items {
			o := *i.relation
			o.columns = append([]column(nil), o.columns...)
			for k := range o.columns {
				v := &o.columns[k].value
				v.present = v.present || slices.Contains(eq.present, v.id)
				v.public = !out.bound && (v.public || pub[v.id])
				v.ofUnit = constant[v.id]
				out.columns = append(out.columns, o.columns[k])
			}
			items = append(items, item{i.name, &o})
		}
	}
	return items
}

// kept finds the columns that are NULL or have met a row of the right side of a LEFT JOIN.
func kept(factors []factor, on []*pg.Node) (columns []*id) {
	find := func(n *pg.Node) (value, bool) {
		fields := n.GetColumnRef().GetFields()
		for _, f := range factors {
			for _, i := range f.items {
				if len(fields) == 2 && fields[0].GetString_().GetSval() == i.name {
					c, ok := i.at(fields[1].GetString_().GetSval())
					return c.value, ok
				}
			}
		}
		return value{}, false
	}
	for _, n := range on {
		if h := meets.of(n); h != nil {
			a, okA := find(h["_a"])
			b, okB := find(h["_b"])
			if okA && okB && b.mirrors == a.id && b.public && b.mirrors != nil {
				columns = append(columns, a.id)
			}
		}
	}
	return columns
}

var meets = newForm(`_a IS NULL OR _b IS NOT NULL`)

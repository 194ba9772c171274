package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// pair says that two values are equal in every row that is left.
type pair struct {
	a, b  value
	same  bool // and of one type and exact, so they have one spelling
	nulls bool // or both are NULL
}

// equations is what conditions say in conjunction.
type equations struct {
	pairs   []pair
	fixed   []*id // columns that equal a constant
	present []*id // columns that are not NULL
}

// nullSafe is what = of two columns that may be NULL is printed as: two conditions.
var nullSafeA, nullSafeB = newForm(`(_a IS NULL) OPERATOR(pg_catalog.=) (_b IS NULL)`), newForm(`COALESCE(_a, _c) OPERATOR(pg_catalog.=) COALESCE(_b, _c)`)

// equations reads the conditions that equate columns.
//
// Rule: a = b of columns, both exact and of one type or both integers, makes them equal and not NULL; (a IS NULL) = (b IS NULL) AND
// COALESCE(a, c) = COALESCE(b, c) makes them equal or both NULL. Proof: of the second, if one is NULL so is the other; if none
// is, COALESCE gives them. Types whose equality is coarser than their bytes are left out, as an index may see it another way.
func (c *checker) equations(items []item, on []*pg.Node, outer *scope) (equations, *scope) {
	s := &scope{checker: c, outer: outer, items: items}
	eq := equations{}
	var halves []holes
	for _, n := range on {
		if h := nullSafeA.of(n); h != nil {
			halves = append(halves, h)
		}
		if t := n.GetNullTest(); t != nil && t.Nulltesttype == pg.NullTestType_IS_NOT_NULL {
			if v, err := s.expr(t.Arg); err == nil && v.id != nil {
				eq.present = append(eq.present, v.id)
			}
		}
		e := n.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
			continue
		}
		if op, ok := name(e.Name); !ok || op != "=" {
			continue
		}
		a, errA := s.expr(bare(e.Lexpr))
		b, errB := s.expr(bare(e.Rexpr))
		if errA != nil || errB != nil {
			continue
		}
		eq.add(a, b, e.Lexpr, e.Rexpr, false)
	}
	for _, n := range on {
		h := nullSafeB.of(uncollated(n))
		if h == nil || !slices.ContainsFunc(halves, func(o holes) bool { return same(o["_a"], h["_a"]) && same(o["_b"], h["_b"]) }) {
			continue
		}
		a, errA := s.expr(h["_a"])
		b, errB := s.expr(h["_b"])
		if errA == nil && errB == nil {
			eq.add(a, b, n, n, true)
		}
	}
	return eq, s
}

// add notes that two values are equal, if their equality is that of their bytes.
func (eq *equations) add(a, b value, left, right *pg.Node, nulls bool) {
	exact := func(v value, n *pg.Node) bool {
		return v.exact || n.GetCollateClause() != nil && v.typ == "text" || nulls && v.exact
	}
	if !exact(a, left) || !exact(b, right) || a.array || b.array || a.typ != b.typ && !(isInteger(a.typ) && isInteger(b.typ)) {
		return
	}
	switch {
	case a.id != nil && b.id != nil:
		eq.pairs = append(eq.pairs, pair{a, b, a.typ == b.typ, nulls})
		if !nulls {
			eq.present = append(eq.present, a.id, b.id)
		}
	case a.id != nil && b.ofUnit && b.public:
		eq.fixed = append(eq.fixed, a.id)
	case b.id != nil && a.ofUnit && a.public:
		eq.fixed = append(eq.fixed, b.id)
	}
}

// bare is a column without COLLATE of a deterministic collation: its equality is that of bytes.
func bare(n *pg.Node) *pg.Node {
	if c := n.GetCollateClause(); c != nil {
		if collation, ok := name(c.Collname); ok && len(c.Collname) == 2 && (collation == "default" || collation == "C") {
			return c.Arg
		}
	}
	return n
}

// uncollated is an equation without the collations of its sides.
func uncollated(n *pg.Node) *pg.Node {
	e := n.GetAExpr()
	if e == nil || e.Lexpr == nil || e.Rexpr == nil {
		return n
	}
	return &pg.Node{Node: &pg.Node_AExpr{AExpr: &pg.A_Expr{Kind: e.Kind, Name: e.Name, Lexpr: bare(e.Lexpr), Rexpr: bare(e.Rexpr)}}}
}

// equated are the columns that equal one of those, or a constant. NULL-safe pairs count too: a key of a domain takes NULLs for equal.
func (eq equations) equated(have func(*id) bool) (columns []*id, safe bool) {
	columns = append(columns, eq.fixed...)
	for _, p := range eq.pairs {
		if have(p.a.id) {
			columns = append(columns, p.b.id)
		}
		if have(p.b.id) {
			columns = append(columns, p.a.id)
		}
	}
	return columns, true
}

// strictly reports whether a column is in an equation that NULL does not fulfil.
func (eq equations) strictly(c *id) bool {
	return slices.Contains(eq.present, c) || slices.Contains(eq.fixed, c)
}

// oneUnit reports whether equality of two values puts their rows into one unit.
//
// Rule: both are units, or both are of one name whose equal values belong to one unit. Proof: the policy's meaning.
func (p pair) oneUnit() bool {
	return !p.nulls && (p.a.unit && p.b.unit && p.a.home == p.b.home || p.a.ident != "" && p.a.ident == p.b.ident)
}

// combine is the inner join of factors under conditions.
//
// Rule: private factors are of one kind of unit, and each is tied to the others, directly or through more of them, by an
// equality that puts rows into one unit (oneUnit), or all are tied to the row of a query around. Then the join is split: each of
// its rows is made of rows of one unit, and of public ones. A table whose unit a key leads to needs such a tie to one that has
// its unit. A nested or grouped factor stands alone among public ones. Proof: rows that are joined fulfil all conditions.
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
	private, others := []int{}, 0
	for i, f := range factors {
		out.bound = out.bound || f.bound
		switch f.kind {
		case split:
			private = append(private, i)
		case nested, grouped:
			others++
			out.kind = f.kind
		}
	}
	if others > 1 || others > 0 && len(private) > 0 || others > 0 && out.bound {
		return factor{}, missing(-1, "join of aggregated rows", "%d with %d split", others, len(private))
	}
	if len(private) > 0 {
		out.kind = split
		if err := tied(factors, private, eq, out); err != nil {
			return factor{}, err
		}
	}
	chosen(factors, on, s)
	count(factors, eq, out)
	items = settle(factors, eq, out, on)
	if out.kind == split {
		out.rows = least(out.rows, out.room())
	}
	return factor{items, out}, nil
}

// tied is the rule of combine on units.
func tied(factors []factor, private []int, eq equations, out *relation) error {
	owner := func(c *id) int {
		return slices.IndexFunc(factors, func(f factor) bool {
			return slices.ContainsFunc(f.items, func(i item) bool {
				return slices.ContainsFunc(i.columns, func(o column) bool { return o.value.id == c })
			})
		})
	}
	const around = -1 // the row of a query around
	reached := map[int]bool{}
	var grow func(i int)
	grow = func(i int) {
		if reached[i] {
			return
		}
		reached[i] = true
		for _, p := range eq.pairs {
			if !p.oneUnit() {
				continue
			}
			a, b := owner(p.a.id), owner(p.b.id)
			if a == i && i >= 0 {
				grow(b)
			}
			if b == i && i >= 0 {
				grow(a)
			}
		}
		for _, j := range private {
			switch tie := factors[j].tie; {
			case tie == nil:
			case j == i:
				grow(owner(tie))
			case owner(tie) == i:
				grow(j)
			}
		}
	}
	grow(private[0])
	if reached[around] { // what is tied to the row around is tied together
		for _, p := range eq.pairs {
			if a, b := owner(p.a.id), owner(p.b.id); p.oneUnit() && (a < 0) != (b < 0) {
				if out.tie = p.a.id; a >= 0 {
					out.tie = p.b.id
				}
				grow(max(a, b))
			}
		}
		for _, j := range private {
			if tie := factors[j].tie; tie != nil && owner(tie) == around {
				out.tie = tie
			}
		}
	}
	out.unsure = out.tie == nil
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
		if f.via == nil || out.tie != nil {
			out.via = nil
		}
		out.unsure = out.unsure && f.unsure
	}
	for _, p := range eq.pairs {
		if p.oneUnit() && p.a.unit && p.b.unit {
			out.unsure = false
		}
	}
	return nil
}

// chosen bounds the rows of a factor whose rows of a unit are numbered.
//
// Rule: row_number() OVER (PARTITION BY unit …) <= C, or = C, leaves C rows, or 1. Proof: numbers differ within a unit.
func chosen(factors []factor, on []*pg.Node, s *scope) {
	for _, n := range on {
		e := n.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
			continue
		}
		op, _ := name(e.Name)
		v, err := s.expr(e.Lexpr)
		k, ok := integerConstant(e.Rexpr)
		if err != nil || !ok || v.window == nil || v.window.fn != "row_number" {
			continue
		}
		for i, f := range factors {
			if !slices.ContainsFunc(f.columns, func(c column) bool { return c.value.id == v.id }) || f.kind != split {
				continue
			}
			r := *f.relation
			switch op {
			case "<=":
				r.rows = least(r.rows, most(k, zero))
			case "=":
				r.rows = least(r.rows, one)
			}
			factors[i].relation = &r
		}
	}
}

// rowsFrom bounds how many rows of the others meet one row of a factor (-1: none of these, but the row around).
//
// Rule: one, of a factor whose equated columns hold a key of it (within a unit, if it is private: all are of one unit); else as many
// as a unit has, or all, of a public one. Equated are columns that equal a constant or a column of a factor that was counted before.
// Proof: a key has at most one row for the values that it has to have.
func rowsFrom(factors []factor, eq equations, start ...int) *big.Rat {
	counted := map[int]bool{}
	for _, i := range start {
		counted[i] = true
	}
	r := one
	have := func(c *id) bool {
		for i, f := range factors {
			if slices.ContainsFunc(f.columns, func(o column) bool { return o.value.id == c }) {
				return counted[i] && !f.bound // it may differ from one row to the next of those that it stands beside
			}
		}
		return true // of the row around
	}
	for {
		next := -1
		columns, _ := eq.equated(have)
		for i, f := range factors {
			if !counted[i] && f.unique(columns, func(c *id) bool { return f.notNull(c) || eq.strictly(c) }) {
				next = i
				break
			}
		}
		if next < 0 {
			break
		}
		counted[next] = true
	}
	for i, f := range factors {
		if !counted[i] {
			r = times(r, f.rows)
		}
	}
	return r
}

// count bounds the rows that one unit has in a join, and finds its keys.
//
// Rule: a unit has as many rows as in a factor, times those of the others that meet each. Where that is one, keys of the factor are
// keys of the unit's rows. So are one key of each factor together, or of each public factor, where one row of the others meets
// each combination of these. Proof: a row of the join is one of each factor.
func count(factors []factor, eq equations, out *relation) {
	if len(factors) == 0 {
		out.rows = one
		return
	}
	if out.tie != nil {
		out.rows = rowsFrom(factors, eq)
	}
	var open []int
	for i := range factors {
		f := &factors[i]
		if f.kind == public && !f.bound {
			open = append(open, i)
		}
		var each *big.Rat
		if !f.bound {
			each = rowsFrom(factors, eq, i)
		}
		if f.kind == out.kind && !f.bound {
			out.rows = least(out.rows, times(f.rows, each))
		}
		if each != nil && each.Cmp(one) <= 0 {
			if f.kind == out.kind || out.kind == split && f.kind == public {
				out.keys = append(out.keys, f.keys...)
			}
			continue
		}
		forget(f)
	}
	all := make([]int, len(factors))
	for i := range all {
		all[i] = i
	}
	out.keys = append(out.keys, joint(factors, all)...)
	if each := rowsFrom(factors, eq, open...); out.kind == split && each != nil && each.Cmp(one) <= 0 {
		out.keys = append(out.keys, joint(factors, open)...)
	}
}

// joint makes keys of one key of each of some factors.
func joint(factors []factor, some []int) []key {
	const limit = 64 // of them
	if len(some) < 2 {
		return nil
	}
	all := []key{{nulls: true}}
	for _, i := range some {
		var next []key
		for _, a := range all {
			for _, k := range factors[i].keys {
				if len(next) < limit {
					next = append(next, key{append(a.columns[:len(a.columns):len(a.columns)], k.columns...), a.nulls && k.nulls})
				}
			}
			if f := factors[i]; len(f.keys) == 0 && f.rows != nil && f.rows.Cmp(one) <= 0 {
				next = append(next, a)
			}
		}
		all = next
	}
	return all
}

// forget drops what is known of sums over the rows of a factor, since its rows are repeated.
func forget(f *factor) {
	r := *f.relation
	f.relation = &r
	items := append([]item(nil), f.items...)
	for i := range items {
		o := *items[i].relation
		o.columns = append([]column(nil), o.columns...)
		for k := range o.columns {
			v := &o.columns[k].value
			v.total, v.window = nil, nil
			if v.influence != nil {
				v.influence = &Influence{}
			}
		}
		items[i].relation = &o
	}
	f.items = items
}

// settle notes what conditions say of columns: which are not NULL, which are public since they equal public ones, and which are
// the same in all rows of a unit.
//
// Rule: a private column that equals a public one in every row that is left has its values, and where a LEFT JOIN compared it, so it is
// where «a IS NULL OR b IS NOT NULL» holds. A factor whose key is equated with columns that are the same in all rows of a unit is
// so too. Proof: both exact; of the last, the unit meets the same row with each of its rows.
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
		columns, _ := eq.equated(func(c *id) bool { return constant[c] })
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

package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// chosen bounds the rows of a factor whose rows of a unit are numbered.
//
// Rule: row_number() OVER (PARTITION BY unit …) <= C, or = C, leaves C rows, or 1; dense_rank() <= C leaves C values of
// its order. Proof: numbers differ within a unit; ranks differ where these values do.
func chosen(factors []factor, on []*pg.Node, s *scope) {
	for _, n := range on {
		e := n.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
			continue
		}
		op, _ := name(e.Name)
		v, err := s.expr(e.Lexpr)
		k, ok := integerConstant(e.Rexpr)
		if err != nil || !ok || v.window == nil {
			continue
		}
		for i, f := range factors {
			if !slices.ContainsFunc(f.columns, func(c column) bool { return c.value.id == v.id }) || f.kind != split {
				continue
			}
			r := *f.relation
			switch fn := v.window.fn; {
			case fn == "row_number" && op == "<=":
				r.rows = least(r.rows, most(k, zero))
			case fn == "row_number" && op == "=":
				r.rows = least(r.rows, one)
			case fn == "dense_rank" && op == "<=":
				few(factors[i].items, v.window.order, most(k, zero))
			}
			factors[i].relation = &r
			s.note("chosen", &r, n)
		}
	}
}

// few notes that columns have so many values at most in the rows of a unit.
func few(items []item, columns []*id, most *big.Rat) {
	for k, i := range items {
		o := *i.relation
		o.columns = append([]column(nil), o.columns...)
		for k := range o.columns {
			if v := &o.columns[k].value; slices.Contains(columns, v.id) {
				v.few = least(v.few, most)
			}
		}
		items[k].relation = &o
	}
}

// rowsFrom bounds how many rows of the others meet one row of a factor (-1: none of these, but the row around).
//
// Rule: one, of a factor whose equated columns hold a key of it (within a unit, if private: all are of one unit); else
// as many as are alike in such columns, as VALUES meet, as a unit has, or all, of a public one. Equated are columns
// that equal a constant, or what factors counted before give. Proof: a key's values have at most one row.
func rowsFrom(factors []factor, eq equations, start ...int) *big.Rat {
	counted := map[int]bool{}
	for _, i := range start {
		counted[i] = true
	}
	r := one
	have := func(c *id) bool {
		for i, f := range factors {
			if f.has(c) {
				return counted[i] && !f.bound // it may differ from one row to the next of those that it stands beside
			}
		}
		return true // of the row around
	}
	for {
		next, rows := -1, (*big.Rat)(nil)
		columns := eq.equated(have)
		strict := func(f factor, c *id) bool { return f.notNull(c) || eq.strictly(c) }
		for i, f := range factors {
			if counted[i] {
				continue
			}
			n := f.rows
			for _, a := range f.alike {
				if !slices.ContainsFunc(a.columns, func(c *id) bool {
					return !slices.Contains(columns, c) || !a.nulls &&
						!strict(f, c)
				}) {
					n = least(n, a.most)
				}
			}
			if i < len(eq.lists) {
				n = least(n, meet(eq.lists[i], have))
			}
			if f.unique(columns, func(c *id) bool { return strict(f, c) }) {
				n = least(n, one)
			}
			if next < 0 || n != nil && (rows == nil || n.Cmp(rows) < 0) {
				next, rows = i, n
			}
		}
		if next < 0 {
			return r
		}
		counted[next], r = true, times(r, rows)
	}
}

// count bounds the rows that one unit has in a join, and finds its keys.
//
// Rule: a unit, or one row around, has as many rows as factors have together, or as a factor has times those of the
// others that meet each. Where that is one, the factor's keys are keys of the unit's rows. So are one key of each
// factor together, or of each public factor where one row of the others meets each combination. Proof: a row of the
// join is one of each factor.
func count(factors []factor, eq equations, out *relation) {
	if len(factors) == 0 {
		out.rows = one
		return
	}
	if out.kind == public || out.kind == split {
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
			v.total, v.squares, v.moves, v.window, v.pieces = nil, nil, nil, nil, nil
			if v.influence != nil {
				v.influence = &Influence{}
			}
		}
		items[i].relation = &o
	}
	f.items = items
}

package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

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
			v.total, v.moves, v.window = nil, nil, nil
			if v.influence != nil {
				v.influence = &Influence{}
			}
		}
		items[i].relation = &o
	}
	f.items = items
}

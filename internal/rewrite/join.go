package rewrite

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// solve makes one relation of the items of inner joins. where adds equalities of the WHERE clause, which join as ON does.
//
// Every private item has to have the same unit as the others in every joined row (PRIVACY 3). Rows per unit multiply,
// except for items of which a unique index lets through at most one row per row of the others.
func (b *builder) solve(j *joined, where *equalities) (*relation, error) {
	equal := j.equal
	if where != nil {
		equal.merge(*where)
	}
	out := j.items[0]
	if len(j.items) > 1 {
		if slices.ContainsFunc(j.items, func(r *relation) bool { return r.preserved != nil }) {
			return nil, errPreserved
		}
		class := equal.classes()
		if err := b.sameUnit(j.items, class); err != nil {
			return nil, err
		}
		var err error
		if out, err = b.combine(j, class, equal.fixed); err != nil {
			return nil, err
		}
	}
	b.begun.filters(j.conds)
	out.filters(j.items, j.conds)
	out.cols = append(j.cols, hiddenColumns(out, j.cols)...)
	out.where = append(out.where, expr.Conjuncts(j.conds...)...)
	out.conds = append(out.conds, j.conds...)
	return out, nil
}

// errPreserved refuses what would read the rows that an outer join of a public table adds.
var errPreserved = pgerr.New(pgerr.FeatureNotSupported, "an outer join that keeps the rows of a public table can only be aggregated, without conditions that hold where the private columns are NULL",
	pgerr.Hint("Put the conditions into ON, or use an inner join."))

// hiddenColumns keeps the nameless columns that carry unit and order of derived items.
func hiddenColumns(r *relation, shown []*column) []*column {
	var hidden []*column
	for _, c := range r.cols {
		if !slices.Contains(shown, c) {
			hidden = append(hidden, c)
		}
	}
	return hidden
}

func itemName(r *relation) string {
	for _, c := range r.cols {
		if c.table != "" {
			return c.table
		}
	}
	if len(r.tables) == 0 {
		return "VALUES"
	}
	return r.tables[0].Name.Relation
}

// combine orders the items so that the fewest factors multiply the rows per unit, and joins them.
func (b *builder) combine(j *joined, class map[*column]int, fixed []*column) (*relation, error) {
	var best *relation
	var failed error
	for i, root := range j.items {
		if root.lateral || !root.private() && hasPrivate(j.items) {
			continue
		}
		r, err := b.combineFrom(j.items, i, class, fixed)
		if err != nil {
			failed = err
		} else if best == nil || r.rows < best.rows || r.rows == best.rows && r.proven && !best.proven {
			best = r
		}
	}
	if best == nil {
		return nil, failed
	}
	return best, nil
}

func hasPrivate(items []*relation) bool {
	return slices.ContainsFunc(items, func(r *relation) bool { return r.private() })
}

func (b *builder) combineFrom(items []*relation, start int, class map[*column]int, fixed []*column) (*relation, error) {
	root := items[start]
	out := &relation{
		unit: root.unit, unitCols: slices.Clone(root.unitCols), kind: root.kind, rows: root.rows, proven: root.proven, max: root.max,
		extent: root.extent, steps: root.steps, unique: slices.Clone(root.unique), order: root.order, orderProofs: root.orderProofs,
	}
	perUnit := map[*column]bool{}
	placed := map[int]bool{}
	place := func(r *relation) {
		for _, c := range r.cols {
			if class[c] != 0 {
				placed[class[c]] = true
			}
		}
	}
	place(root)
	left := slices.Delete(slices.Clone(items), start, start+1)
	for len(left) > 0 {
		next, set, det := pickItem(left, class, placed, fixed, out)
		r := left[next]
		if set == nil && r.rows == 0 && out.private() {
			return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("the join with public table %s may multiply private rows", itemName(r)),
				pgerr.Hint("Join public tables on their primary key or another unique key."))
		}
		out.joins(r, set)
		out.multiply(r, set)
		if set == nil || !det {
			for _, c := range r.cols {
				perUnit[c] = c.perUnit && r.private() && !r.lateral
			}
		}
		if det && set != nil {
			for _, c := range r.cols {
				perUnit[c] = true
			}
		}
		place(r)
		left = slices.Delete(left, next, next+1)
	}
	for c, v := range perUnit {
		c.perUnit = v || c.isUnit
	}
	var from query.Product
	var inputs []step
	for _, r := range items {
		from, inputs = append(from, r.from), append(inputs, r.plan)
		out.where = append(out.where, r.where...)
		out.conds = append(out.conds, r.conds...)
		out.cols = append(out.cols, r.cols...)
		out.tables = append(out.tables, r.tables...)
		out.proofs = append(out.proofs, r.proofs...)
		out.correlated = append(out.correlated, r.correlated...)
		out.empty = out.empty || r.empty
		if r != root {
			out.unitCols = append(out.unitCols, r.unitCols...)
		}
	}
	out.from, out.plan = from, planned("join, "+out.rowBound(), inputs...)
	return out, nil
}

// pickItem takes an item that adds no row if there is one, and a lateral one after all that it may read. det: what it adds is a
// function of the unit.
func pickItem(left []*relation, class map[*column]int, placed map[int]bool, fixed []*column, out *relation) (int, *uniqueSet, bool) {
	for i, r := range left {
		if r.lateral && i > 0 {
			continue
		}
		covered := map[*column]bool{}
		for _, c := range r.cols {
			if class[c] != 0 && placed[class[c]] || slices.Contains(fixed, c) {
				covered[c] = true
			}
		}
		if out.private() && r.private() {
			for _, c := range r.unitCols {
				covered[c] = true // equal by sameUnit
			}
		}
		if set := r.uniqueOver(covered); set != nil {
			det := out.rows == 1 && out.proven || onUnit(set, r) && !r.lateral
			return i, set, det
		}
	}
	for i, r := range left {
		if r.rows > 0 && (!r.lateral || i == 0) {
			return i, nil, false
		}
	}
	return 0, nil, false
}

func onUnit(set *uniqueSet, r *relation) bool {
	return len(set.cols) == 1 && slices.Contains(r.unitCols, set.cols[0])
}

// multiply accounts for one more item; set is the unique set that lets at most one of its rows through, nil for none.
func (r *relation) multiply(o *relation, set *uniqueSet) {
	if !r.private() && o.private() {
		r.unit, r.kind, r.rows, r.proven = o.unit, o.kind, o.rows, o.proven
		r.unitCols = append(r.unitCols, o.unitCols...)
		r.unique, r.order, r.max = nil, nil, 0
		return
	}
	if set != nil {
		if set.proof != nil {
			r.proofs = append(r.proofs, *set.proof)
		}
		return
	}
	single := r.rows == 1 && r.proven && o.private()
	r.rows, r.extent = saturatingMul(r.rows, o.rows), saturatingMul(r.extent, o.extent)
	r.proven = r.proven && o.proven
	if r.max > 0 {
		r.max = saturatingMul(r.max, o.rows)
	}
	r.unique = nil
	if single { // each row of the other meets at most one
		r.unique = o.unique
	}
	if r.order == nil || o.order == nil {
		r.order = nil
	} else {
		r.order = append(slices.Clone(r.order), o.order...)
		r.orderProofs = append(slices.Clone(r.orderProofs), o.orderProofs...)
	}
}

// rowsLimit keeps products of row bounds within what a sensitivity can be computed from.
const rowsLimit = 1 << 40

func saturatingMul(a, b int64) int64 {
	if b != 0 && a > rowsLimit/b {
		return rowsLimit
	}
	return a * b
}

// saturatingAdd adds row bounds; of public rows, 0 says that none is known.
func saturatingAdd(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return min(rowsLimit, a+b)
}

// rowBound words the row bound for EXPLAIN.
func (r *relation) rowBound() string {
	switch {
	case !r.private():
		return "public"
	case r.rows == 1 && r.proven:
		return "one row per unit (proven)"
	case r.proven:
		return fmt.Sprintf("at most %d rows per unit (proven)", r.rows)
	}
	return fmt.Sprintf("at most %d rows per unit (clamped)", r.rows)
}

package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// outerJoin makes the relation of a LEFT, RIGHT or FULL join (PRIVACY 3 to 5).
func (b *builder) outerJoin(n *pg_query.Node, kind pg_query.JoinType, l, r *relation, conds []*expr.Expr, equal equalities, using []string) (*relation, error) {
	shown := append(slices.Clone(l.cols), r.cols...)
	if kind == pg_query.JoinType_JOIN_RIGHT {
		l, r = r, l
	}
	if l.preserved != nil || r.preserved != nil {
		return nil, errPreserved
	}
	if kind != pg_query.JoinType_JOIN_FULL && !l.private() && r.private() {
		return b.publicLeftJoin(n, l, r, conds, equal, shown, using)
	}
	if kind == pg_query.JoinType_JOIN_FULL && l.private() != r.private() {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, "an outer join that keeps the rows of a public table cannot be counted",
			"Use an inner join: GROUP BY a declared domain returns every key, empty ones too.")
	}
	class := equal.classes()
	if l.private() && r.private() {
		if err := b.sameUnitOuter(kind, l, r, class); err != nil {
			return nil, err
		}
	}
	covered := map[*column]bool{}
	for _, c := range r.cols {
		if class[c] != 0 && slices.ContainsFunc(l.cols, func(d *column) bool { return class[d] == class[c] }) {
			covered[c] = true
		}
	}
	if l.private() && r.private() {
		for _, c := range r.unitCols {
			covered[c] = true
		}
	}
	set := r.uniqueOver(covered)
	if l.private() && r.rows == 0 && set == nil {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("the join with public table %s may multiply private rows", itemName(r)), "Join public tables on their primary key or another unique key.")
	}
	if kind == pg_query.JoinType_JOIN_FULL {
		return b.fullJoin(l, r, conds, equal, shown, using)
	}
	out := &relation{
		unit: l.unit, unitCols: l.unitCols, kind: l.kind, rows: l.rows, proven: l.proven, max: l.max, unique: slices.Clone(l.unique), order: l.order, orderProofs: l.orderProofs,
		extent: l.extent, steps: l.steps, empty: l.empty, where: l.where, conds: l.conds, cols: shown, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...),
	}
	out.joins(r, set)
	out.multiply(r, set)
	b.begun.filters(conds)
	out.filters([]*relation{l, r}, conds)
	on := append(expr.Conjuncts(conds...), r.where...)
	if r.empty {
		on = append(on, never)
	}
	if len(on) == 0 {
		on = []query.Scalar{always}
	}
	out.from = &query.Join{Kind: "LEFT", Left: l.from, Right: r.from, On: on}
	out.cols = append(out.cols, append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	nullExtend(r.cols)
	out.hideMerged(using, r)
	out.plan = planned("left join, "+out.rowBound(), l.plan, r.plan)
	return out, nil
}

// sameUnitOuter is sameUnit where a side's rows may stay without a partner: there the other side's unit is NULL, so a side
// that is kept reaches its unit by a join of its own.
func (b *builder) sameUnitOuter(kind pg_query.JoinType, l, r *relation, class map[*column]int) error {
	kept := []*relation{l}
	if kind == pg_query.JoinType_JOIN_FULL {
		kept = append(kept, r)
	}
	chains := make([]*chain, len(kept))
	for i, side := range kept {
		chains[i] = side.chain
	}
	before := []query.Source{l.from, r.from}
	if err := b.sameUnit([]*relation{l, r}, class); err != nil {
		return err
	}
	for i, side := range kept {
		if chains[i] == nil || side.from != before[i] {
			continue
		}
		side.unit, side.chain = nil, chains[i]
		if err := b.reach(side); err != nil {
			return err
		}
	}
	return nil
}

// nullExtend makes columns those of an outer join's optional side: nullable, and no unit any more (PRIVACY 4).
func nullExtend(cols []*column) {
	for _, c := range cols {
		c.x.OfUnit = c.x.OfUnit || c.x.Unit
		c.x.Nullable, c.isUnit, c.perUnit, c.x.Unit = true, false, false, false
	}
}

// hideMerged leaves one of the two columns of USING visible: that of the preserved side.
func (r *relation) hideMerged(using []string, optional *relation) {
	for _, name := range using {
		for _, c := range optional.cols {
			if c.name == name {
				c.hidden = true
			}
		}
	}
}

// fullJoin keeps both sides' rows: a unit has at most max(a·b, a+b), and a·b if all its rows match each other.
func (b *builder) fullJoin(l, r *relation, conds []*expr.Expr, equal equalities, shown []*column, using []string) (*relation, error) {
	if !l.private() {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "a FULL JOIN of public tables cannot stand beside private tables")
	}
	merged, err := b.mergeColumns(l, r, using)
	if err != nil {
		return nil, b.refusal(err)
	}
	out := &relation{
		kind: l.kind, proven: l.proven && r.proven, steps: l.steps, empty: l.empty && r.empty, cols: append(merged, shown...),
		tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...),
	}
	if out.rows = saturatingMul(l.rows, r.rows); !onlyUnits(conds, equal) {
		out.rows = max(out.rows, saturatingAdd(l.rows, r.rows))
	}
	out.unit = query.F("COALESCE({}, {})", l.unit, r.unit)
	out.takes(expr.Work{Row: expr.MulSteps(r.rows, pairSteps), Once: r.steps}, l.rows)
	out.does(out.rows, conds...)
	out.from = &query.Join{Kind: "FULL", Left: b.filtered(l), Right: b.filtered(r), On: expr.Conjuncts(conds...)}
	out.cols = append(out.cols, append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	nullExtend(l.cols)
	nullExtend(r.cols)
	for _, c := range merged {
		if c.isUnit {
			out.unitCols = append(out.unitCols, c)
		}
	}
	out.where = []query.Scalar{query.F("({} IS NOT NULL)", out.unit)}
	out.plan = planned("full join, "+out.rowBound(), l.plan, r.plan)
	return out, nil
}

// onlyUnits says that the conditions of a join equate units and nothing else.
func onlyUnits(conds []*expr.Expr, equal equalities) bool {
	return len(conds) == len(equal.pairs) && !slices.ContainsFunc(equal.pairs, func(p [2]*column) bool { return !p[0].isUnit || !p[1].isUnit })
}

// mergeColumns makes the columns that USING shows in a full join: the value of the side that has one. Merged of two units, a
// column is the unit of every row.
func (b *builder) mergeColumns(l, r *relation, using []string) ([]*column, error) {
	var merged []*column
	for _, name := range using {
		a, err := l.find("", name)
		if err != nil {
			return nil, err
		}
		c, err := r.find("", name)
		if err != nil {
			return nil, err
		}
		x, y, col, err := expr.Unify(&scope{b: b}, a.written(), c.written())
		if err != nil {
			return nil, err
		}
		unit := a.isUnit && c.isUnit && a.keptBy(x) && c.keptBy(y)
		col.Ref, col.Name, col.Unit = query.F("COALESCE({}, {})", x.SQL(), y.SQL()), name, unit
		n := &column{name: name, x: col, isUnit: unit, holdsUnit: unit, perUnit: unit}
		col.Source = n
		a.hidden, c.hidden = true, true
		merged = append(merged, n)
	}
	return merged, nil
}

// filtered prints a side of a full join with its conditions, which are not the join's. A join with one row keeps the names of
// its columns, as a subselect would not.
func (b *builder) filtered(r *relation) query.Source {
	where := r.where
	if r.empty {
		where = append(slices.Clone(where), never)
	}
	if len(where) == 0 {
		return r.from
	}
	return &query.Join{Kind: "INNER", Left: r.from, Right: oneValue(b.newAlias()), On: where}
}

// oneValue is a FROM item of one row.
func oneValue(as *query.Alias) query.Source {
	return &query.Values{Rows: [][]query.Scalar{{query.Integer(1)}}, As: as}
}

// Conditions without columns.
const (
	never  = query.Raw("FALSE")
	always = query.Raw("TRUE")
)

package relation

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// OuterJoin makes the relation of a LEFT, RIGHT or FULL join (docs/privacy.md P5, P6).
func (b *Base) OuterJoin(n *pg_query.Node, kind pg_query.JoinType, l, r *Relation, conds []*expr.Expr, equal Equalities,
	using []string,
) (*Relation, error) {
	shown := append(slices.Clone(l.Columns), r.Columns...)
	if kind == pg_query.JoinType_JOIN_RIGHT {
		l, r = r, l
	}
	switch {
	case r.Preserved != nil || l.Preserved != nil && kind == pg_query.JoinType_JOIN_FULL:
		return nil, ErrPreserved
	case l.Preserved != nil:
		return b.afterPreserved(n, l, keptJoin{nil, r, conds, equal, using}, shown)
	case kind != pg_query.JoinType_JOIN_FULL && !l.Private() && r.Private():
		return b.publicLeftJoin(n, keptJoin{l, r, conds, equal, using}, shown)
	}
	if kind == pg_query.JoinType_JOIN_FULL && l.Private() != r.Private() {
		return nil,
			b.Refuse(refusal.PublicRowsKept, n, "an outer join that keeps the rows of a public table cannot be counted",
				"Use an inner join: GROUP BY a declared domain returns every key, empty ones too.")
	}
	set, ties, err := b.matchedOnce(kind, l, r, equal)
	if err != nil {
		return nil, err
	}
	if set == nil && l.Private() && r.mayMultiply() {
		if r, err = b.boundMultiplicity(r, equal.equated(r, equal.classes(), l), conds, l); err != nil {
			return nil, b.Located(err, n)
		}
	}
	if kind == pg_query.JoinType_JOIN_FULL {
		return b.fullJoin(l, r, conds, ties, equal, shown, using)
	}
	r.Where = slices.Concat(r.Where, ties) // of ON
	return b.leftJoin(l, r, conds, equal, set, shown, using), nil
}

// matchedOnce proves that both sides of an outer join have one unit in every joined row, with ties among its
// conditions. It gives the unique set by which a row of l meets at most one of r; nil where it may meet several.
func (b *Base) matchedOnce(kind pg_query.JoinType, l, r *Relation, equal Equalities) (once *UniqueSet,
	ties []query.Scalar, err error,
) {
	class := equal.classes()
	bothPrivate := l.Private() && r.Private()
	if bothPrivate {
		if ties, err = b.sameUnitOuter(kind, l, r, class); err != nil {
			return nil, nil, err
		}
	}
	covered := equal.equated(r, class, l)
	if bothPrivate {
		for _, c := range r.UnitColumns {
			covered[c] = true
		}
	}
	return r.UniqueOver(covered), ties, nil
}

// leftJoin keeps the rows of l. set is the unique set by which each meets at most one of r; nil: it may meet several.
func (b *Base) leftJoin(l, r *Relation, conds []*expr.Expr, equal Equalities, set *UniqueSet, shown []*Column,
	using []string,
) *Relation {
	out := &Relation{
		Unit: l.Unit, ToUnit: l.ToUnit, UnitColumns: l.UnitColumns, UnitName: l.UnitName, MaxRowsPerUnit: l.MaxRowsPerUnit,
		Proven: l.Proven, RowsOf: l.RowsOf, MaxRows: l.MaxRows,
		Unique: slices.Clone(l.Unique), Order: l.Order, OrderProofs: l.OrderProofs, publicRows: l.publicRows, Steps: l.Steps,
		Empty: l.Empty,
		Where: l.Where, Conditions: l.Conditions, Columns: shown, Tables: append(slices.Clone(l.Tables), r.Tables...),
		Proofs: append(slices.Clone(l.Proofs), r.Proofs...),
	}
	out.addJoinWork(r, set)
	out.multiply(r, set)
	if set == nil && l.Private() {
		out.MaxRows = saturatingMul(l.MaxRows, r.MaxRowsPerUnit) // rows without a partner are among them
	}
	b.NoteConditions(conds)
	out.AddFilterWork([]*Relation{l, r}, conds)
	on := append(expr.Conjuncts(conds...), r.Where...)
	if r.Empty {
		on = append(on, never)
	}
	if len(on) == 0 {
		on = []query.Scalar{always}
	}
	out.From = &query.Join{Kind: "LEFT", Left: l.From, Right: r.From, On: on}
	out.Columns = append(out.Columns, append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	if b.matchesAll(l, r, conds, equal) {
		r.matchAll(l, conds, equal, out)
	} else {
		out.public = l.publicPart().leftJoined(r.publicPart(), conds, r.Private())
		nullExtend(r.Columns)
	}
	out.hideMerged(using, r)
	out.Plan = NewPlanNode("left join, "+out.RowBound(), l.Plan, r.Plan)
	return out
}

// sameUnitOuter does what sameUnit does where a side's rows may stay without a partner: there the other side's unit is
// NULL, so a side that is kept reaches its unit by a join of its own.
func (b *Base) sameUnitOuter(kind pg_query.JoinType, l, r *Relation, class map[*Column]int) (ties []query.Scalar,
	err error,
) {
	kept := []*Relation{l}
	if kind == pg_query.JoinType_JOIN_FULL {
		kept = append(kept, r)
	}
	chains := make([]*ForeignKeyStep, len(kept))
	for i, side := range kept {
		chains[i] = side.ToUnit
	}
	before := []query.Source{l.From, r.From}
	if ties, err = b.sameUnit([]*Relation{l, r}, class); err != nil {
		return nil, err
	}
	for i, side := range kept {
		if chains[i] == nil || side.From != before[i] {
			continue
		}
		side.Unit, side.ToUnit = nil, chains[i]
		if err := b.ReachUnit(side); err != nil {
			return nil, err
		}
	}
	return ties, nil
}

// nullExtend makes columns those of an outer join's optional side: nullable, and no unit any more (docs/privacy.md P5).
func nullExtend(cols []*Column) {
	for _, c := range cols {
		c.Value.OfUnit = c.Value.OfUnit || c.Value.Unit
		c.Value.Nullable, c.Value.Filled, c.IsUnit, c.PerUnit, c.Value.Unit = true, false, false, false, false
	}
}

// hideMerged leaves one of the two columns of USING visible: that of the preserved side.
func (r *Relation) hideMerged(using []string, optional *Relation) {
	for _, name := range using {
		for _, c := range optional.Columns {
			if c.Name == name {
				c.Hidden = true
			}
		}
	}
}

// fullJoin keeps both sides' rows: a unit has at most max(a·b, a+b), and a·b if all its rows match each other.
func (b *Base) fullJoin(l, r *Relation, conds []*expr.Expr, ties []query.Scalar, equal Equalities, shown []*Column,
	using []string,
) (*Relation, error) {
	if !l.Private() {
		return nil, refusal.New(refusal.FromItem, "a FULL JOIN of public tables cannot be combined with private tables")
	}
	merged, err := b.mergeColumns(l, r, using)
	if err != nil {
		return nil, b.Refusal(err)
	}
	out := &Relation{
		UnitName: l.UnitName, Proven: l.Proven && r.Proven, Steps: l.Steps, Empty: l.Empty &&
			r.Empty, Columns: append(merged, shown...),
		Tables: append(slices.Clone(l.Tables), r.Tables...), Proofs: append(slices.Clone(l.Proofs), r.Proofs...),
	}
	if out.MaxRowsPerUnit = saturatingMul(l.MaxRowsPerUnit, r.MaxRowsPerUnit); !onlyUnits(conds, equal) {
		out.MaxRowsPerUnit = max(out.MaxRowsPerUnit, saturatingAdd(l.MaxRowsPerUnit, r.MaxRowsPerUnit))
	}
	out.Unit = query.F("COALESCE({}, {})", l.Unit, r.Unit)
	out.AddWork(expr.Work{Row: expr.MulSteps(r.MaxRowsPerUnit, PairSteps), Once: r.Steps}, l.MaxRowsPerUnit)
	out.AddExpressionWork(out.MaxRowsPerUnit, conds...)
	out.From = &query.Join{
		Kind: "FULL", Left: b.filtered(l), Right: b.filtered(r),
		On: slices.Concat(expr.Conjuncts(conds...), ties),
	}
	out.Columns = append(out.Columns, append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	nullExtend(l.Columns)
	nullExtend(r.Columns)
	for _, c := range merged {
		if c.IsUnit {
			out.UnitColumns = append(out.UnitColumns, c)
		}
	}
	out.Where = []query.Scalar{query.F("({} IS NOT NULL)", out.Unit)}
	out.Plan = NewPlanNode("full join, "+out.RowBound(), l.Plan, r.Plan)
	return out, nil
}

// onlyUnits says that the conditions of a join equate units and nothing else.
func onlyUnits(conds []*expr.Expr, equal Equalities) bool {
	return len(conds) == len(equal.pairs) && !slices.ContainsFunc(equal.pairs, func(p [2]*Column) bool {
		return !p[0].IsUnit || !p[1].IsUnit
	})
}

// mergeColumns makes the columns that USING shows in a full join: the value of the side that has one. Merged of two
// units, a column is the unit of every row.
func (b *Base) mergeColumns(l, r *Relation, using []string) ([]*Column, error) {
	var merged []*Column
	for _, name := range using {
		a, err := l.Find("", name)
		if err != nil {
			return nil, err
		}
		c, err := r.Find("", name)
		if err != nil {
			return nil, err
		}
		x, y, col, err := expr.Unify(ConstantScope{b}, a.Written(), c.Written())
		if err != nil {
			return nil, err
		}
		unit := a.IsUnit && c.IsUnit && a.KeptBy(x) && c.KeptBy(y)
		col.Ref, col.Name, col.Unit = query.F("COALESCE({}, {})", x.SQL(), y.SQL()), name, unit
		if insideX, insideY := expr.InsideOf(x, y); insideX != nil {
			col.InBounds = query.F("CASE WHEN ({}) IS NOT NULL THEN {} ELSE {} END", x.SQL(), insideX, insideY)
		}
		n := &Column{Name: name, Value: col, IsUnit: unit, HoldsUnit: unit, PerUnit: unit}
		col.Source = n
		a.Hidden, c.Hidden = true, true
		merged = append(merged, n)
	}
	return merged, nil
}

// filtered prints a side of a full join with its conditions, which are not the join's. A join with one row keeps the
// names of its columns, as a subselect would not.
func (b *Base) filtered(r *Relation) query.Source {
	where := r.Where
	if r.Empty {
		where = append(slices.Clone(where), never)
	}
	if len(where) == 0 {
		return r.From
	}
	return &query.Join{Kind: "INNER", Left: r.From, Right: oneValue(b.NewAlias()), On: where}
}

package bind

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// rows binds a query whose rows are private or public.
func (b *Binder) rows(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	e = WithCTEs(s.WithClause, e)
	if err := b.plainSubquery(s); err != nil {
		return nil, err
	}
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		return b.setOperation(s, e)
	}
	if len(s.ValuesLists) > 0 {
		return b.valuesList(s)
	}
	src, err := b.Source(s, e)
	if err != nil {
		return nil, err
	}
	if src.Preserved != nil {
		return nil, relation.ErrPreserved
	}
	if err := b.oneUnitKeys(s, src); err != nil {
		return nil, err
	}
	if sqltree.Aggregates(s) {
		r, err := b.groupedRows(s, src, e)
		if err != nil || len(s.DistinctClause) == 0 {
			return r, err
		}
		return b.distinctGroups(s, r)
	}
	if s, src, err = b.withWindows(s, src, e); err != nil {
		return nil, err
	}
	if sqltree.DistinctOn(s) != nil && !src.Private() {
		return nil, b.Refuse(refusal.Distinct, s.DistinctClause[0],
			"DISTINCT ON over public tables cannot be combined with private tables", "Use DISTINCT.")
	}
	if sqltree.DistinctOn(s) != nil && src.Private() {
		if src, err = b.firstRows(s, src, e); err != nil {
			return nil, err
		}
	}
	r, err := b.project(s, src, e)
	if err != nil || len(s.DistinctClause) == 0 || sqltree.DistinctOn(s) != nil && src.Private() {
		return r, err
	}
	return b.DistinctRows(r)
}

// distinctGroups binds SELECT DISTINCT … GROUP BY; groups of private rows have to name the unit.
func (b *Binder) distinctGroups(s *pg_query.SelectStmt, r *relation.Relation) (*relation.Relation, error) {
	if sqltree.DistinctOn(s) != nil || r.Private() && !slices.ContainsFunc(r.Visible(), b.DeterminesUnit) {
		return nil, b.Refuse(refusal.Distinct, sqltree.FirstTarget(s), "DISTINCT merges rows of different persons",
			fmt.Sprintf("Select the %s too, or leave DISTINCT out.", r.UnitName))
	}
	return b.DistinctRows(r)
}

// plainSubquery refuses the clauses that choose among rows.
func (b *Binder) plainSubquery(s *pg_query.SelectStmt) error {
	switch {
	case b.partOfRead && (s.LimitCount != nil || s.LimitOffset != nil):
		return refusal.New(refusal.Limit, "LIMIT and OFFSET beside private rows choose among rows of public tables alone",
			pgerr.Hint("Write them in a query that reads public tables of the policy, and no row around it."))
	case !b.choosesNothing(s.LimitCount, false) || !b.choosesNothing(s.LimitOffset, true):
		return refusal.New(refusal.Limit, "LIMIT and OFFSET choose among rows of different persons",
			pgerr.Hint(
				"Put LIMIT above the aggregate, or keep some rows of each unit: row_number() OVER (PARTITION BY unit ORDER BY …) <= 3."))
	case len(s.LockingClause) > 0:
		return refusal.New(refusal.ReadOnly, "row locks are not available")
	case s.IntoClause != nil:
		return refusal.New(refusal.ReadOnly, "SELECT INTO writes")
	}
	return nil
}

// choosesNothing reports whether there is no LIMIT or OFFSET, or a parameter that is NULL or OFFSET 0. An analysis
// knows no values: there every parameter passes, and each plan looks again. Constants that choose nothing are gone
// (sqltree.DropLimits).
func (b *Binder) choosesNothing(n *pg_query.Node, offset bool) bool {
	if n == nil {
		return true
	}
	if n.GetParamRef() == nil {
		return false
	}
	_, value, known := b.Parameter(int(n.GetParamRef().Number))
	return !known || value == nil || offset && *value == "0"
}

// Source binds FROM and WHERE.
func (b *Binder) Source(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	if err := b.countLevel(); err != nil {
		return nil, err
	}
	s = pushedDown(s)
	all := &relation.JoinGraph{}
	if len(s.FromClause) == 0 {
		all.Items = []*relation.Relation{b.OneRow()}
	}
	for _, n := range s.FromClause {
		j, err := b.fromItem(n, e, all)
		if err != nil {
			return nil, err
		}
		all.Add(j)
	}
	sc := NewScope(b, all.AsRelation(), e)
	var where relation.Equalities
	conds := sqltree.Conjuncts(s.WhereClause)
	for _, q := range conds {
		sc.noteEquality(q, &where)
		if len(all.Items) > 1 {
			sc.noteOrder(q, &where)
		}
	}
	r, err := b.SolveJoins(all, &where)
	if err != nil {
		return nil, b.Located(err, s.FromClause[0])
	}
	if r.Private() {
		if err := b.ReachUnit(r); err != nil {
			return nil, err
		}
		if b.unitName != "" && b.unitName != r.UnitName {
			return nil, refusal.New(refusal.MixedUnits, relation.MixedUnits(b.unitName, r.UnitName))
		}
		b.unitName = r.UnitName
	}
	sc.rel = r
	r.Correlated = append(slices.Clone(r.Correlated), sc.correlations(conds)...)
	r.Fix(append(slices.Clone(all.Equal.Fixed), where.Fixed...), sc.outer)
	if len(s.FromClause) > 0 {
		if err := b.CheckWork(r, s.FromClause[0]); err != nil {
			return nil, err
		}
	}
	if err := b.where(s, sc, all.Items, r); err != nil {
		return nil, err
	}
	return r, nil
}

// where applies the WHERE clause to the join of items.
func (b *Binder) where(s *pg_query.SelectStmt, sc *Scope, items []*relation.Relation, r *relation.Relation) error {
	var conditions []*expr.Expr
	for _, q := range sqltree.Conjuncts(s.WhereClause) {
		c, err := sc.Condition(q)
		if err != nil {
			return err
		}
		if holds, known := sc.constant(c); known {
			if !holds {
				r.Empty, r.Preserved = true, nil
			}
			continue
		}
		conditions = append(conditions, c)
	}
	if err := b.PreservedWhere(r, conditions); err != nil {
		return err
	}
	b.NoteConditions(conditions)
	if len(items) == 1 && r.FoundByIndex() {
		r.AddExpressionWork(1, conditions...)
	} else {
		r.AddFilterWork(items, conditions)
	}
	if err := b.CheckConditionWork(r, conditions, s.WhereClause); err != nil {
		return err
	}
	r.Where = append(r.Where, expr.Conjuncts(conditions...)...)
	r.Conditions = append(r.Conditions, conditions...)
	r.Narrow()
	return nil
}

// project applies a subquery's SELECT list.
func (b *Binder) project(s *pg_query.SelectStmt, src *relation.Relation, e *Env) (*relation.Relation, error) {
	sc := NewScope(b, src, e)
	list, err := sc.Targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	plain := true
	cols, names := make([]*relation.Column, len(list)), make([]string, len(list))
	for i := range list {
		if list[i].Column == nil {
			list[i].Column = sc.bare(list[i].Node)
		}
		cols[i], names[i] = list[i].Column, list[i].Name
		plain = plain && list[i].Column != nil
	}
	if plain {
		return src.Project(cols, names), nil
	}
	d := relation.NewDerived(b.Base, src)
	var computed []*expr.Expr
	for _, t := range list {
		if t.Column != nil {
			d.Pass(t.Column, t.Name)
			continue
		}
		x, err := sc.Expression(t.Node)
		if err != nil {
			return nil, err
		}
		computed = append(computed, x)
		if c := d.Add(x, t.Name); x.Untyped() {
			c.Literal = x
		}
	}
	r := d.Relation()
	d.KeepIndexedRows()
	if src.Foldable(computed) {
		return b.FoldConstants(r.From, r.Columns)
	}
	return r, nil
}

package rewrite

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// lateral binds a LATERAL subquery that reads columns of the items beside it. Over a private table it has to equate the units of
// both sides, so that every row of the others meets rows of its own unit alone (P4c). Its row bound is per row of the items
// before it; combineFrom and nullExtend hold nothing of it for a fact about a unit.
func (b *builder) lateral(sub *pg_query.SelectStmt, e *env, beside *joined) (*relation, error) {
	around := &scope{b: b, rel: beside.view(), env: e, outer: e.enclosing()}
	inner := &env{outer: e, scope: around}
	k, err := b.kindOf(sub, inner)
	if err != nil {
		return nil, err
	}
	if k == released && len(sub.GroupClause) == 0 && aggregates(sub) {
		return b.lateralAggregates(sub, around)
	}
	var r *relation
	if sub.LimitCount != nil {
		r, err = b.lateralFirst(sub, inner, around)
	} else {
		r, err = b.mustRelation(sub, inner)
	}
	if err != nil {
		return nil, err
	}
	if len(around.read) == 0 {
		return r, nil // LATERAL changes nothing
	}
	if r.private() && !around.semiJoined(r) {
		return nil, b.refuseLateral(sub)
	}
	if err := around.sameKind(firstTarget(sub), r); err != nil {
		return nil, err
	}
	// A sub level of its own, so that LATERAL stands before all that reads the items beside it.
	d := newDerived(b, r)
	for _, c := range r.cols {
		d.pass(c, c.name)
		d.moved[c].hidden = c.hidden
	}
	out := d.relation()
	out.from.(*query.Derived).Lateral, out.lateral = true, true
	out.plan = planned("lateral, "+r.rowBound(), r.plan)
	return out, nil
}

func (b *builder) refuseLateral(sub *pg_query.SelectStmt) error {
	return b.refuse(pgerr.FeatureNotSupported, firstTarget(sub), "a LATERAL subquery over a private table must equate the units of both sides",
		"Add WHERE inner.unit = outer.unit to it.")
}

// lateralAggregates is a subquery that aggregates to one row: a row of scalar subqueries.
func (b *builder) lateralAggregates(sub *pg_query.SelectStmt, around *scope) (*relation, error) {
	d := newDerived(b, b.oneRow())
	for _, t := range sub.TargetList {
		one := clone(sub)
		one.TargetList, one.SortClause = []*pg_query.Node{t}, nil
		x, err := around.unitScalar(t, one)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return nil, b.refuseLateral(sub)
		}
		d.add(x, outputName(t.GetResTarget()))
	}
	r := d.relation()
	r.from.(*query.Derived).Lateral, r.lateral = true, true
	r.tables, r.proofs = around.rel.tables, around.rel.proofs
	r.plan = planned("lateral aggregates")
	return r, nil
}

// lateralFirst is ORDER BY … LIMIT 1: the first row of a unit, since all rows are of one (PRIVACY 7).
func (b *builder) lateralFirst(sub *pg_query.SelectStmt, e *env, around *scope) (*relation, error) {
	one := sub.LimitCount.GetAConst().GetIval().GetIval() == 1 && sub.LimitOffset == nil && sub.LimitOption == pg_query.LimitOption_LIMIT_OPTION_COUNT
	plain := clone(sub)
	plain.LimitCount = nil
	if !one || sub.Op != pg_query.SetOperation_SETOP_NONE || len(sub.GroupClause)+len(sub.DistinctClause)+len(sub.ValuesLists) > 0 || sub.WithClause != nil || plainSubquery(plain) != nil {
		return nil, b.refuse(pgerr.FeatureNotSupported, sub.LimitCount, "a LATERAL subquery can only have LIMIT 1, over a plain SELECT", "Use LIMIT 1, or number the rows per unit.")
	}
	src, err := b.source(plain, e)
	if err != nil {
		return nil, err
	}
	if !src.private() || !around.semiJoined(src) {
		return nil, b.refuseLateral(sub)
	}
	if src, err = b.firstRows(plain, src, e); err != nil {
		return nil, err
	}
	return b.project(plain, src, e)
}

// correlation is a condition inner column = outer column of a subquery, which holds in every row.
type correlation struct {
	inner, outer *column
	scope        *scope // that the outer column is of
}

// besides says that a LATERAL item has the unit of the item that it reads.
func (b *builder) besides(a, c *relation) bool {
	return slices.ContainsFunc(a.correlated, func(q correlation) bool {
		_, ok := b.unitEqual(q.inner, q.outer)
		return ok && slices.Contains(c.cols, q.outer)
	})
}

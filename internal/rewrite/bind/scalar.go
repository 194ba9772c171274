package bind

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// maxScalarText bounds a printed subquery in bytes: expressions print a value more than once, so nesting multiplies.
const maxScalarText = 16 << 10

// unitScalar binds a scalar subquery that aggregates private rows of the outer row's own unit:
// (SELECT count(*) FROM visits v WHERE v.patient_id = p.id). It reads one unit's rows (docs/privacy.md P7), and the SQL
// enforces the bounds of its value. nil: the subquery has another form.
func (s *Scope) unitScalar(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	if sub.Op != pg_query.SetOperation_SETOP_NONE || sub.HavingClause != nil || sub.WithClause != nil ||
		len(sub.GroupClause)+len(sub.DistinctClause)+len(sub.SortClause) > 0 || len(sub.TargetList) != 1 ||
		!sqltree.Aggregates(sub) || s.binder.plainSubquery(sub) != nil {
		return nil, nil
	}
	inner := *s.binder
	inner.unitName = ""
	e := &Env{outer: s.env, scope: s}
	r, err := inner.Source(sub, e)
	if err != nil || !r.Private() {
		return nil, err
	}
	sc := &Scope{binder: s.binder, rel: r, env: e, outer: s}
	if !s.semiJoined(r) {
		return nil, nil
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	d := relation.NewDerived(s.binder.Base, r)
	d.Outputs = nil // no unit: one row
	c := NewAggregateSplitter(s.binder, sc, d.Table(), nil)
	output, err := c.Replace(sub.TargetList[0].GetResTarget().Val)
	if err != nil {
		return nil, err
	}
	for i, f := range c.Calls {
		call, err := aggregate.NewGroupCall(s.binder.Base, f, sc)
		if err != nil {
			return nil, err
		}
		if err := aggregate.AddUnitAggregate(s.binder.Base, d, call, fmt.Sprintf("a%d", i+1), false, false); err != nil {
			return nil, aggregate.LocatedCall(s.binder.Base, s.binder.Refusal(err), call)
		}
		d.Result.AddWork(call.Work(), r.Size())
	}
	d.KeepIndexedRows()
	x, err := (&Scope{binder: s.binder, rel: d.Result, env: e}).Expression(output)
	if err != nil {
		return nil, err
	}
	s.use(r)
	subquery := func(x query.Scalar) query.Subquery {
		return query.Subquery{Query: &query.Select{Outputs: []query.Output{{X: x}}, From: &query.Derived{
			Query: r.Select(d.Outputs...), As: d.Alias,
		}}}
	}
	clamped := x.Read() // its bounds are enforced where the outer expression relies on them
	if !x.ReadsBeyond() {
		x = clamped
	}
	sql := subquery(x.SQL())
	if len(query.Key(sql)) > maxScalarText {
		return nil, s.binder.Refuse(refusal.TooComplex, node, "the subquery is too complex",
			"Join on the unit with a GROUP BY subquery instead.")
	}
	value := asColumn(x, sql)
	if inside := x.AllInside(); inside != nil {
		value.Column().InBounds = subquery(inside)
	}
	value.Column().Clamped = subquery(clamped.SQL())
	value.Column().Work, value.Column().Subquery = x.Work().Plus(
		expr.Work{Row: d.Result.CorrelatedSteps() + relation.PairSteps}), true
	return value, nil
}

// asColumn wraps printed SQL with the type and bounds of an expression, as a column that expr can read.
func asColumn(x *expr.Expr, sql query.Scalar) *expr.Expr {
	c := x.AsColumn(sql, x.Text())
	c.Domain, c.Unit, c.Source = nil, false, nil // the value of a subquery is a number of its own
	return expr.Read(c, x.Location())
}

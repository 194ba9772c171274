package rewrite

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// maxScalarText bounds a printed subquery in bytes: expressions print a value more than once, so nesting multiplies.
const maxScalarText = 16 << 10

// unitScalar is a scalar subquery that aggregates private rows of the outer row's own unit:
// (SELECT count(*) FROM visits v WHERE v.patient_id = p.id). It reads one unit's rows (PRIVACY 6), and the SQL enforces the
// bounds of its value. nil: the subquery has another form.
func (s *scope) unitScalar(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	if sub.Op != pg_query.SetOperation_SETOP_NONE || len(sub.GroupClause) > 0 || sub.HavingClause != nil || len(sub.DistinctClause) > 0 ||
		sub.WithClause != nil || len(sub.SortClause) > 0 || len(sub.TargetList) != 1 || !aggregates(sub) || plainSubquery(sub) != nil {
		return nil, nil
	}
	inner := *s.b
	inner.kind = ""
	e := &env{outer: s.env, scope: s}
	r, err := inner.source(sub, e)
	s.absorb(&inner)
	if err != nil || !r.private() {
		return nil, err
	}
	if !s.semiJoined(r) {
		return nil, nil
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	sc := &scope{b: s.b, rel: r, env: e, outer: s}
	d := newDerived(s.b, r)
	d.outputs = nil // no unit: one row
	c := newCut(s.b, sc, d.table(), nil)
	output, err := c.node(sub.TargetList[0].GetResTarget().Val)
	if err != nil {
		return nil, err
	}
	for i, f := range c.calls {
		call, err := s.b.newCall(f, sc)
		if err != nil {
			return nil, err
		}
		if err := s.b.unitAggregate(d, call, fmt.Sprintf("a%d", i+1), false, false); err != nil {
			return nil, s.b.locatedCall(s.b.refusal(err), call)
		}
		d.out.takes(call.work(), r.size())
	}
	x, err := (&scope{b: s.b, rel: d.out, env: e}).expression(output)
	if err != nil {
		return nil, err
	}
	s.use(r)
	x = x.Read() // its bounds are enforced where the outer expression relies on them
	sql := query.Subquery{Query: &query.Select{Outputs: []query.Output{{X: x.SQL()}}, From: &query.Derived{Query: r.selects(d.outputs...), As: d.alias}}}
	if len(query.Key(sql)) > maxScalarText {
		return nil, s.b.refuse(pgerr.StatementTooComplex, node, "the subquery is too complex", "Join on the unit with a GROUP BY subquery instead.")
	}
	value := asColumn(x, sql)
	value.Column().Work, value.Column().Subquery = x.Work().Plus(expr.Work{Row: d.out.steps + pairSteps}), true
	return value, nil
}

// asColumn wraps printed SQL with the type and bounds of an expression, as a column that expr can read.
func asColumn(x *expr.Expr, sql query.Scalar) *expr.Expr {
	c := x.AsColumn(sql, x.Text())
	c.Domain, c.Unit, c.Source = nil, false, nil // the value of a subquery is a number of its own
	return expr.Read(c, x.Location())
}

package bind

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// groupedRows plans a subquery that groups private rows by the unit, and perhaps by more: rows that are again one unit's each,
// with aggregates whose bounds the SQL enforces. Public rows may be grouped by anything.
func (b *Binder) groupedRows(s *pg_query.SelectStmt, src *relation.Relation, e *Env) (*relation.Relation, error) {
	sc := NewScope(b, src, e)
	groups, err := b.GroupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	d := relation.NewDerived(b.Base, src)
	c := NewAggregateSplitter(b, sc, d.Table(), groups)
	list, err := sc.Targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].Column != nil {
			list[i].Node = sqltree.ColumnRef(list[i].Column.Table, list[i].Column.Name)
		}
		if list[i].Node, err = c.Replace(list[i].Node); err != nil {
			return nil, err
		}
	}
	windowClause := make([]*pg_query.Node, len(s.WindowClause))
	for i, n := range s.WindowClause {
		if windowClause[i], err = c.Replace(n); err != nil {
			return nil, err
		}
	}
	having, err := c.Replace(s.HavingClause)
	if err != nil {
		return nil, err
	}
	inner, err := b.groupedSubselect(c, d, sc)
	if err != nil {
		return nil, err
	}
	if having != nil {
		hs := &Scope{binder: b, rel: inner, env: e}
		var conds []*expr.Expr
		for _, q := range sqltree.Conjuncts(having) {
			x, err := hs.Condition(q)
			if err != nil {
				return nil, err
			}
			conds = append(conds, x)
		}
		inner.Where = append(inner.Where, expr.Conjuncts(conds...)...)
		inner.Conditions = append(inner.Conditions, conds...)
		b.NoteConditions(conds)
		inner.AddExpressionWork(inner.Size(), conds...)
		inner.Narrow()
	}
	out := &pg_query.SelectStmt{WindowClause: windowClause}
	for _, t := range list {
		out.TargetList = append(out.TargetList, &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: t.Name, Val: t.Node}}})
	}
	if out, inner, err = b.withWindows(out, inner, e); err != nil {
		return nil, err
	}
	r, err := b.project(out, inner, e)
	if err != nil {
		return nil, err
	}
	label := "group by " + src.UnitName
	if !src.Private() {
		label = "group"
	}
	r.Plan = relation.NewPlanNode(label+", "+r.RowBound(), src.Plan)
	return r, nil
}

// groupedSubselect prints SELECT unit, keys, aggregates … GROUP BY unit, keys.
func (b *Binder) groupedSubselect(c *AggregateSplitter, d *relation.Derived, sc *Scope) (*relation.Relation, error) {
	src := d.Source
	perUnit := src.Private()
	out := d.Result
	out.MaxRows = src.MaxRows
	for i, n := range c.groups {
		name := fmt.Sprintf("k%d", i+1)
		if col := sc.bare(n); col != nil {
			if err := d.PassKey(col, name); err != nil {
				return nil, b.Located(err, n)
			}
			perUnit = perUnit && col.PerUnit
			out.AddWork(col.Value.Work, src.Size())
		} else {
			x, err := sc.Expression(n)
			if err != nil {
				return nil, err
			}
			out.AddExpressionWork(src.Size(), x)
			col, err := d.AddKey(x, name)
			if err != nil {
				return nil, b.Located(err, n)
			}
			perUnit = perUnit && col.PerUnit
		}
	}
	keys, groups := slices.Clone(out.Columns), len(d.Outputs)
	if len(c.Intervals) > 0 || len(c.Withins) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "the rows of one person carry no noise", pgerr.Hint("Use dpproxy's functions on the released aggregates above."))
	}
	add := aggregate.AddUnitAggregate
	if !src.Private() {
		add = aggregate.AddPublicAggregate
	}
	for i, f := range c.Calls {
		call, err := aggregate.NewCall(b.Base, f, sc)
		if err != nil {
			return nil, err
		}
		if err := add(b.Base, d, call, fmt.Sprintf("a%d", i+1), perUnit, true); err != nil {
			return nil, aggregate.LocatedCall(b.Base, b.Refusal(err), call)
		}
		out.AddWork(call.Work(), src.Size())
	}
	for _, col := range out.Columns {
		col.Table = d.Table()
	}
	out.Unique = []relation.UniqueSet{{Columns: keys}}
	out.Order = []query.Scalar{}
	for _, k := range keys {
		out.Order = append(out.Order, k.Value.Ref)
	}
	if perUnit {
		out.SetOneRowPerUnit()
	}
	d.Inherit()
	out.AddWork(expr.Work{Row: relation.GroupSteps}, src.Size())
	rows := src.Select(d.Outputs...)
	if rows.Groups = groups; groups == 0 {
		out.Empty = false // no rows make one group
	}
	out.From = &query.Derived{Query: rows, As: d.Alias}
	return out, nil
}

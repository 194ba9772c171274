package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// groupedRows plans a subquery that groups private rows by the unit, and perhaps by more: rows that are again one unit's each,
// with aggregates whose bounds the SQL enforces. Public rows may be grouped by anything.
func (b *builder) groupedRows(s *pg_query.SelectStmt, src *relation, e *env) (*relation, error) {
	sc := &scope{b: b, rel: src, env: e, outer: e.enclosing()}
	groups, err := b.groupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	d := newDerived(b, src)
	c := newCut(b, sc, d.table(), groups)
	list, err := sc.targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].col != nil {
			list[i].node = columnRef(list[i].col.table, list[i].col.name)
		}
		if list[i].node, err = c.node(list[i].node); err != nil {
			return nil, err
		}
	}
	windowClause := make([]*pg_query.Node, len(s.WindowClause))
	for i, n := range s.WindowClause {
		if windowClause[i], err = c.node(n); err != nil {
			return nil, err
		}
	}
	having, err := c.node(s.HavingClause)
	if err != nil {
		return nil, err
	}
	inner, err := b.groupedSubselect(c, d, sc)
	if err != nil {
		return nil, err
	}
	if having != nil {
		hs := &scope{b: b, rel: inner, env: e}
		var conds []*expr.Expr
		for _, q := range conjuncts(having) {
			x, err := hs.condition(q)
			if err != nil {
				return nil, err
			}
			conds = append(conds, x)
		}
		inner.where = append(inner.where, expr.Conjuncts(conds...)...)
		inner.conds = append(inner.conds, conds...)
		b.begun.filters(conds)
		inner.does(inner.size(), conds...)
		inner.narrow()
	}
	out := &pg_query.SelectStmt{WindowClause: windowClause}
	for _, t := range list {
		out.TargetList = append(out.TargetList, &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: t.name, Val: t.node}}})
	}
	if out, inner, err = b.windowed(out, inner, e); err != nil {
		return nil, err
	}
	r, err := b.project(out, inner, e)
	if err != nil {
		return nil, err
	}
	label := "group by " + src.kind
	if !src.private() {
		label = "group"
	}
	r.plan = planned(label+", "+r.rowBound(), src.plan)
	return r, nil
}

// groupedSubselect prints SELECT unit, keys, aggregates … GROUP BY unit, keys.
func (b *builder) groupedSubselect(c *cut, d *derived, sc *scope) (*relation, error) {
	src := d.src
	perUnit := src.private()
	out := d.out
	out.max = src.max
	for i, n := range c.nodes {
		name := fmt.Sprintf("k%d", i+1)
		if col := sc.bare(n); col != nil {
			if err := d.passKey(col, name); err != nil {
				return nil, b.located(err, n)
			}
			perUnit = perUnit && col.perUnit
			out.takes(col.x.Work, src.size())
		} else {
			x, err := sc.expression(n)
			if err != nil {
				return nil, err
			}
			out.does(src.size(), x)
			col, err := d.addKey(x, name)
			if err != nil {
				return nil, b.located(err, n)
			}
			perUnit = perUnit && col.perUnit
		}
	}
	keys, groups := slices.Clone(out.cols), len(d.outputs)
	if len(c.intervals) > 0 || len(c.withins) > 0 {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "the rows of one person carry no noise", pgerr.Hint("Use dpproxy's functions on the released aggregates above."))
	}
	aggregate := b.unitAggregate
	if !src.private() {
		aggregate = b.publicAggregate
	}
	for i, f := range c.calls {
		call, err := b.newCall(f, sc)
		if err != nil {
			return nil, err
		}
		if err := aggregate(d, call, fmt.Sprintf("a%d", i+1), perUnit, true); err != nil {
			return nil, b.locatedCall(b.refusal(err), call)
		}
		out.takes(call.work(), src.size())
	}
	for _, col := range out.cols {
		col.table = d.table()
	}
	out.unique = []uniqueSet{{cols: keys}}
	out.order = []query.Scalar{}
	for _, k := range keys {
		out.order = append(out.order, k.x.Ref)
	}
	if perUnit {
		out.oneRow()
	}
	d.inherit()
	out.takes(expr.Work{Row: groupSteps}, src.size())
	rows := src.selects(d.outputs...)
	if rows.Groups = groups; groups == 0 {
		out.empty = false // no rows make one group
	}
	out.from = &query.Derived{Query: rows, As: d.alias}
	return out, nil
}

package bind

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// groupedRows plans a subquery that groups private rows by the unit or by a key that determines it, and perhaps by
// more: rows that are again one unit's each, with aggregates whose bounds the SQL enforces. Public rows may be grouped
// by anything.
func (b *Binder) groupedRows(s *pg_query.SelectStmt, src *relation.Relation, e *Env) (*relation.Relation, error) {
	sc := NewScope(b, src, e)
	groups, err := b.GroupNodes(s, sc)
	if err != nil {
		return nil, err
	}
	d := relation.NewDerived(b.Base, src)
	c := NewAggregateSplitter(b, sc, d.Table(), groups)
	c.oneSet = true
	c.OnSubquery = sc.keepStage
	list, err := sc.Targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	for i := range list {
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
	if err := b.having(having, inner, e); err != nil {
		return nil, err
	}
	out := &pg_query.SelectStmt{WindowClause: windowClause}
	for _, t := range list {
		out.TargetList = append(out.TargetList, sqltree.Target(t.Name, t.Node))
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

// oneUnitKeys refuses groups by a key of one unit that may be NULL and no other that determines the unit: those of NULL
// would be rows of several units (docs/privacy.md P4f).
func (b *Binder) oneUnitKeys(s *pg_query.SelectStmt, src *relation.Relation) error {
	if !src.Private() || !sqltree.Aggregates(s) && len(s.DistinctClause) == 0 {
		return nil
	}
	keys, err := b.groupColumns(s, src)
	if err != nil || slices.ContainsFunc(keys, func(c *relation.Column) bool { return c != nil && b.DeterminesUnit(c) }) {
		return err
	}
	for _, c := range keys {
		if c == nil {
			continue
		}
		if _, declared := b.OneUnitKey(c); declared {
			return b.Refuse(refusal.UnitKey, sqltree.FirstTarget(s),
				fmt.Sprintf("%s may be NULL, and the group of NULL would hold rows of more than one %s", c.Name, src.UnitName),
				fmt.Sprintf("Add to the WHERE: %s IS NOT NULL.", strings.TrimPrefix(c.Table+"."+c.Name, ".")))
		}
	}
	return nil
}

// having filters the groups by a condition over the columns that hold them.
func (b *Binder) having(condition *pg_query.Node, groups *relation.Relation, e *Env) error {
	if condition == nil {
		return nil
	}
	sc := &Scope{binder: b, rel: groups, env: e}
	var conds []*expr.Expr
	for _, q := range sqltree.Conjuncts(condition) {
		x, err := sc.Condition(q)
		if err != nil {
			return err
		}
		conds = append(conds, x)
	}
	groups.Where = append(groups.Where, expr.Conjuncts(conds...)...)
	groups.Conditions = append(groups.Conditions, conds...)
	b.NoteConditions(conds)
	groups.AddExpressionWork(groups.Size(), conds...)
	groups.Narrow()
	return nil
}

// groupedSubselect prints SELECT unit, keys, aggregates … GROUP BY unit, keys.
func (b *Binder) groupedSubselect(c *AggregateSplitter, d *relation.Derived, sc *Scope) (*relation.Relation, error) {
	src, out := d.Source, d.Result
	out.MaxRows = src.MaxRows
	perUnit, err := b.addKeys(c, d, sc)
	if err != nil {
		return nil, err
	}
	keys, groups := slices.Clone(out.Columns), len(d.Outputs)
	if err := b.addAggregates(c, d, sc, perUnit); err != nil {
		return nil, err
	}
	for _, col := range out.Columns {
		col.Table = d.Table()
	}
	out.Unique = c.uniqueGroups(d, keys)
	out.Order = []query.Scalar{}
	for _, k := range keys {
		out.Order = append(out.Order, k.Value.Ref)
	}
	if perUnit {
		out.SetOneRowPerUnit()
	}
	d.Inherit()
	d.KeepIndexedRows()
	out.AddWork(expr.Work{Row: relation.GroupSteps}, src.Size())
	rows := src.Select(d.Outputs...)
	if rows.Groups = groups; groups == 0 {
		out.Empty = false // no rows make one group
	}
	out.From = &query.Derived{Query: rows, As: d.Alias}
	return out, nil
}

// addKeys adds the group expressions as columns k1, k2…, and says whether all are functions of the unit.
func (b *Binder) addKeys(c *AggregateSplitter, d *relation.Derived, sc *Scope) (perUnit bool, err error) {
	src, out := d.Source, d.Result
	perUnit = src.Private()
	for i, n := range c.Groups {
		name := fmt.Sprintf("k%d", i+1)
		if col := sc.bare(n); col != nil {
			if err := d.PassKey(b.Base, col, name); err != nil {
				return false, b.Located(err, n)
			}
			perUnit = perUnit && col.PerUnit
			out.AddWork(col.Value.Work, src.Size())
			continue
		}
		x, err := sc.Expression(n)
		if err != nil {
			return false, err
		}
		out.AddExpressionWork(src.Size(), x)
		col, err := d.AddKey(b.Base, x, name)
		if err != nil {
			return false, b.Located(err, n)
		}
		perUnit = perUnit && col.PerUnit
	}
	return perUnit, nil
}

// addAggregates adds the aggregate calls as columns a1, a2…
func (b *Binder) addAggregates(c *AggregateSplitter, d *relation.Derived, sc *Scope, perUnit bool) error {
	if len(c.Intervals) > 0 || len(c.Withins) > 0 {
		return refusal.New(refusal.Interval, "the rows of one person carry no noise",
			pgerr.Hint("Use dpproxy's functions on the released aggregates above."))
	}
	add := aggregate.AddUnitAggregate
	if !d.Source.Private() {
		add = aggregate.AddPublicAggregate
	}
	var calls []*aggregate.Call
	var columns []*expr.Column
	for i, f := range c.Calls {
		call, err := aggregate.NewGroupCall(b.Base, f, sc)
		if err != nil {
			return err
		}
		if err := add(b.Base, d, call, fmt.Sprintf("a%d", i+1), perUnit, true); err != nil {
			return aggregate.LocatedCall(b.Base, b.Refusal(err), call)
		}
		d.Result.AddWork(call.Work(), d.Source.Size())
		calls, columns = append(calls, call), append(columns, d.Result.Columns[len(d.Result.Columns)-1].Value)
	}
	if d.Source.Private() {
		aggregate.NoteParts(calls, columns)
	}
	return nil
}

package finish

import (
	"fmt"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// rewriteBlock plans a release block and makes the query read its placeholder.
func (b *finisher) rewriteBlock(s *pg_query.SelectStmt, e *bind.Env) error {
	b.outermost = b.outermost || s == b.root
	rows := &pg_query.SelectStmt{FromClause: s.FromClause, WhereClause: s.WhereClause}
	src, err := b.Source(rows, e)
	if err != nil {
		return err
	}
	sc := bind.NewScope(b.Binder, src, e)
	if err := expandStars(s, sc); err != nil {
		return err
	}
	sets, err := b.groupingSets(s, sc)
	if err != nil {
		return err
	}
	b.aliases++
	alias := fmt.Sprintf("dp%d", b.aliases)
	c := bind.NewAggregateSplitter(b.Binder, sc, alias, sets.keys)
	c.Answer = true
	c.OnSubquery = func(l *pg_query.SubLink) error { return b.rewriteSubLink(l, e) }
	switch err := b.splitClauses(s, c, e); {
	case refusal.Is(err, refusal.Ungrouped) && sqltree.DistinctOn(s) != nil && !sqltree.Aggregates(s) && !b.aggregate:
		return b.refuseRows(s) // the first of each group
	case err != nil:
		return err
	}
	sets.addToAll(c.Groups[len(sets.keys):])
	// Subqueries of the target list may have added blocks of their own: this block's place comes after them.
	l := &level{
		rows: rows, env: e, groups: sets, calls: c.Calls, withins: c.Withins, intervals: c.Intervals,
		grouping: c.Grouping, compared: b.compare[s], every: b.every[s],
	}
	if len(s.TargetList) == 1 && len(c.Calls) == 1 {
		l.written = b.written[s.TargetList[0].GetResTarget().Name]
	}
	if !e.Inside() && !b.stage && l.written == "" {
		l.outputs = outputs(s, alias)
	}
	if !b.stage && !b.compare[s] {
		b.chosen(s, alias, l, !e.Inside() && (s == b.root || b.around[s] != nil))
	}
	s.FromClause, s.WhereClause = []*pg_query.Node{{Node: &pg_query.Node_RangeVar{RangeVar: &pg_query.RangeVar{
		Relname: placeholder(len(b.reads)), Inh: true, Relpersistence: "p", Alias: &pg_query.Alias{Aliasname: alias},
	}}}}, s.HavingClause
	b.addGroups(s, alias, l)
	s.HavingClause, s.GroupClause, s.GroupDistinct = nil, nil, false
	b.levels = append(b.levels, l)
	return b.add(l, src, sc)
}

// outputs finds the columns of a query that are an aggregate and nothing else.
func outputs(s *pg_query.SelectStmt, alias string) map[int]string {
	found := map[int]string{}
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		ref := sqltree.StringList(r.Val.GetColumnRef().GetFields())
		if len(ref) != 2 || ref[0] != alias || ref[1][0] != 'a' {
			continue
		}
		if call, err := strconv.Atoi(ref[1][1:]); err == nil {
			found[call-1] = r.Name
		}
	}
	return found
}

// expandStars names the columns of * and every output, whose name would change with its expression.
func expandStars(s *pg_query.SelectStmt, sc *bind.Scope) error {
	list, err := sc.Targets(s.TargetList)
	if err != nil {
		return err
	}
	s.TargetList = nil
	for _, t := range list {
		s.TargetList = append(s.TargetList, sqltree.Target(t.Name, t.Node))
	}
	return nil
}

// splitClauses replaces keys and aggregates in everything above the grouping.
func (b *finisher) splitClauses(s *pg_query.SelectStmt, c *bind.AggregateSplitter, e *bind.Env) error {
	names := map[string]bool{}
	for _, t := range s.TargetList {
		names[t.GetResTarget().Name] = true
	}
	for _, t := range s.TargetList {
		if err := rewriteAt(c.Replace, &t.GetResTarget().Val); err != nil {
			return err
		}
	}
	// ORDER BY and DISTINCT ON prefer output names to input columns (parse_clause.c).
	byName := func(n *pg_query.Node) (*pg_query.Node, error) {
		plain := n
		if o := n.GetSortBy(); o != nil {
			plain = o.Node
		}
		if r := plain.GetColumnRef(); r != nil && len(r.Fields) == 1 && names[r.Fields[0].GetString_().GetSval()] ||
			plain.GetAConst() != nil {
			return n, nil
		}
		return c.Replace(n)
	}
	if err := sqltree.RewriteEach(s.DistinctClause, byName); err != nil {
		return err
	}
	if err := sqltree.RewriteEach(s.WindowClause, c.Replace); err != nil {
		return err
	}
	if err := rewriteAt(c.Replace, &s.HavingClause); err != nil {
		return err
	}
	if err := sqltree.RewriteEach(s.SortClause, byName); err != nil {
		return err
	}
	limit := func(n *pg_query.Node) (*pg_query.Node, error) { return b.rewriteExpression(n, e) }
	return rewriteAt(limit, &s.LimitCount, &s.LimitOffset)
}

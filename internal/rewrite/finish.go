package rewrite

import (
	"fmt"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// placeholder names a block in the finish tree; Plan replaces it by the text that reads the released values.
func placeholder(block int) string { return fmt.Sprintf("dpproxy_block_%d", block+1) }

// finishQuery turns a query (a copy of the client's tree) into its finish form, in place: every release block becomes a
// read of its placeholder.
func (b *builder) finishQuery(s *pg_query.SelectStmt, e *env) error {
	if s == nil {
		return pgerr.New(pgerr.InsufficientPrivilege, "only SELECT is available")
	}
	k, err := b.kindOf(s, e)
	if err != nil {
		return err
	}
	if k == private {
		return b.refuse(pgerr.InsufficientPrivilege, firstTarget(s), "rows of a private table are never returned",
			"Aggregate them: count(*), sum, avg, min, max or a percentile, GROUP BY columns with a declared domain.")
	}
	switch {
	case s.IntoClause != nil:
		return pgerr.New(pgerr.InsufficientPrivilege, "SELECT INTO writes")
	case len(s.LockingClause) > 0:
		return pgerr.New(pgerr.InsufficientPrivilege, "row locks are not available")
	}
	inner, err := b.finishCTEs(s, e)
	if err != nil {
		return err
	}
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		if err := b.finishQuery(s.Larg, inner); err != nil {
			return err
		}
		if err := b.finishQuery(s.Rarg, inner); err != nil {
			return err
		}
		return b.finishClauses(s, inner, func(n *pg_query.Node) (*pg_query.Node, error) { return b.finishExpression(n, inner) })
	}
	for _, n := range s.FromClause {
		item, err := b.kindOfItem(n, inner)
		if err != nil {
			return err
		}
		if item == private {
			return b.finishBlock(s, inner)
		}
	}
	for _, n := range s.FromClause {
		if err := b.finishItem(n, inner); err != nil {
			return err
		}
	}
	return b.finishExpressions(s, inner)
}

func firstTarget(s *pg_query.SelectStmt) *pg_query.Node {
	for s.Op != pg_query.SetOperation_SETOP_NONE {
		s = s.Larg
	}
	if len(s.TargetList) > 0 {
		return s.TargetList[0]
	}
	return nil
}

// finishCTEs keeps the CTEs that are computed from released values and drops the private ones, which are expanded where
// they are used.
func (b *builder) finishCTEs(s *pg_query.SelectStmt, e *env) (*env, error) {
	if s.WithClause == nil {
		return e, nil
	}
	original := clone(s.WithClause)
	inner := withCTEs(original, e)
	var kept []*pg_query.Node
	before := e
	for i, n := range s.WithClause.Ctes {
		c := n.GetCommonTableExpr()
		query := c.Ctequery.GetSelectStmt()
		if query == nil {
			return nil, b.refuse(pgerr.InsufficientPrivilege, n, "data-modifying WITH is not available", "")
		}
		k, err := b.kindOf(original.Ctes[i].GetCommonTableExpr().Ctequery.GetSelectStmt(), before)
		if err != nil {
			return nil, err
		}
		if k != private {
			if err := b.finishQuery(query, before); err != nil {
				return nil, err
			}
			kept = append(kept, n)
		}
		before = withCTEs(&pg_query.WithClause{Ctes: original.Ctes[i : i+1]}, before)
	}
	s.WithClause.Ctes = kept
	if len(kept) == 0 {
		s.WithClause = nil
	}
	return inner, nil
}

// finishItem turns a FROM item without private rows into its finish form.
func (b *builder) finishItem(n *pg_query.Node, e *env) error {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeSubselect:
		return b.finishQuery(v.RangeSubselect.Subquery.GetSelectStmt(), e)
	case *pg_query.Node_JoinExpr:
		if err := b.finishItem(v.JoinExpr.Larg, e); err != nil {
			return err
		}
		if err := b.finishItem(v.JoinExpr.Rarg, e); err != nil {
			return err
		}
		var err error
		v.JoinExpr.Quals, err = b.finishExpression(v.JoinExpr.Quals, e)
		return err
	case *pg_query.Node_RangeVar:
		if v.RangeVar.Schemaname == "" && e.cte(v.RangeVar.Relname) != nil {
			return nil
		}
		if t := b.table(v.RangeVar); t != nil && t.Public {
			return nil
		}
		if w := b.view(v.RangeVar); w != nil {
			return b.finishView(n, v.RangeVar, w)
		}
		return b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("relation %q cannot stand beside released aggregates", v.RangeVar.Relname), "Only tables of the policy can.")
	case *pg_query.Node_RangeFunction:
		return b.finishFunction(n, e)
	}
	return b.refuse(pgerr.FeatureNotSupported, n, "this kind of FROM item cannot stand beside released aggregates", "")
}

// finishView expands a view that is computed from released values or public tables.
func (b *builder) finishView(n *pg_query.Node, v *pg_query.RangeVar, w *Relation) error {
	query, err := viewQuery(w)
	if err != nil {
		return err
	}
	alias := v.Alias
	if alias == nil {
		alias = &pg_query.Alias{Aliasname: v.Relname}
	}
	n.Node = &pg_query.Node_RangeSubselect{RangeSubselect: &pg_query.RangeSubselect{
		Alias: alias, Subquery: &pg_query.Node{Node: &pg_query.Node_SelectStmt{SelectStmt: query}},
	}}
	return withoutPosition(b.finishQuery(query, nil))
}

// finishFunction allows generate_series and unnest in FROM.
func (b *builder) finishFunction(n *pg_query.Node, e *env) error {
	var failed error
	visit(n, func(n *pg_query.Node) bool {
		if f := n.GetFuncCall(); f != nil && failed == nil {
			if name := functionName(f); name != "generate_series" && name != "unnest" {
				failed = b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("function %s cannot stand in FROM beside released aggregates", name), "Use generate_series and unnest.")
			}
		}
		return failed == nil
	})
	return failed
}

// finishExpression handles the subqueries of an expression over released values.
func (b *builder) finishExpression(n *pg_query.Node, e *env) (*pg_query.Node, error) {
	return rewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if l := n.GetSubLink(); l != nil {
			if l.Testexpr != nil {
				var err error
				if l.Testexpr, err = b.finishExpression(l.Testexpr, e); err != nil {
					return nil, false, err
				}
			}
			return n, false, b.finishSubLink(l, e)
		}
		return n, true, nil
	})
}

func (b *builder) finishSubLink(l *pg_query.SubLink, e *env) error {
	return b.finishQuery(l.Subselect.GetSelectStmt(), e)
}

// finishExpressions handles every expression of a query level without private rows.
func (b *builder) finishExpressions(s *pg_query.SelectStmt, e *env) error {
	f := func(n *pg_query.Node) (*pg_query.Node, error) { return b.finishExpression(n, e) }
	for _, list := range [][]*pg_query.Node{s.TargetList, s.GroupClause, s.WindowClause, s.ValuesLists, s.DistinctClause} {
		if err := each(list, f); err != nil {
			return err
		}
	}
	var err error
	if s.WhereClause, err = f(s.WhereClause); err != nil {
		return err
	}
	if s.HavingClause, err = f(s.HavingClause); err != nil {
		return err
	}
	return b.finishClauses(s, e, f)
}

// finishClauses applies f to ORDER BY, LIMIT and OFFSET.
func (b *builder) finishClauses(s *pg_query.SelectStmt, e *env, f func(*pg_query.Node) (*pg_query.Node, error)) error {
	if err := each(s.SortClause, f); err != nil {
		return err
	}
	var err error
	if s.LimitCount, err = f(s.LimitCount); err != nil {
		return err
	}
	s.LimitOffset, err = f(s.LimitOffset)
	return err
}

func each(list []*pg_query.Node, f func(*pg_query.Node) (*pg_query.Node, error)) error {
	for i, n := range list {
		if n.GetNode() == nil {
			continue // DISTINCT without ON is a list of one empty node
		}
		r, err := f(n)
		if err != nil {
			return err
		}
		list[i] = r
	}
	return nil
}

// finishBlock plans a release block and makes the query read its placeholder.
func (b *builder) finishBlock(s *pg_query.SelectStmt, e *env) error {
	src, err := b.source(s, e)
	if err != nil {
		return err
	}
	sc := &scope{b: b, rel: src, env: e, outer: e.enclosing()}
	if err := expandStars(s, sc); err != nil {
		return err
	}
	sets, err := b.groupingSets(s, sc)
	if err != nil {
		return err
	}
	alias := fmt.Sprintf("dpt%d", b.newAlias().ID)
	c := newCut(b, sc, alias, sets.keys)
	c.sub = func(l *pg_query.SubLink) error { return b.finishSubLink(l, e) }
	if err := b.cutClauses(s, c); err != nil {
		return err
	}
	// Subqueries of the target list may have added blocks of their own: this block's place comes after them.
	if err := b.addBlocks(c, src, sets); err != nil {
		return err
	}
	if e == nil {
		b.nameOutputs(s, alias)
	}
	s.FromClause = []*pg_query.Node{{Node: &pg_query.Node_RangeVar{RangeVar: &pg_query.RangeVar{
		Relname: placeholder(len(b.unions) - 1), Inh: true, Relpersistence: "p", Alias: &pg_query.Alias{Aliasname: alias},
	}}}}
	s.WhereClause, s.HavingClause = s.HavingClause, nil
	s.GroupClause, s.GroupDistinct = nil, false
	return nil
}

// nameOutputs notes which result columns of the statement are an aggregate and nothing else.
func (b *builder) nameOutputs(s *pg_query.SelectStmt, alias string) {
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		ref := stringList(r.Val.GetColumnRef().GetFields())
		if len(ref) != 2 || ref[0] != alias || ref[1][0] != 'a' {
			continue
		}
		call, err := strconv.Atoi(ref[1][1:])
		if err != nil {
			continue
		}
		for _, block := range b.unions[len(b.unions)-1].blocks {
			b.blocks[block].columns[call-1].Output = r.Name
		}
	}
}

// expandStars names the columns of * and gives every output its name, which replacing the expression would change.
func expandStars(s *pg_query.SelectStmt, sc *scope) error {
	list, err := sc.targets(s.TargetList)
	if err != nil {
		return err
	}
	s.TargetList = nil
	for _, t := range list {
		if t.col != nil {
			t.node = columnRef(t.col.table, t.col.name)
		}
		s.TargetList = append(s.TargetList, &pg_query.Node{Node: &pg_query.Node_ResTarget{ResTarget: &pg_query.ResTarget{Name: t.name, Val: t.node}}})
	}
	return nil
}

// cutClauses replaces keys and aggregates in everything above the grouping.
func (b *builder) cutClauses(s *pg_query.SelectStmt, c *cut) error {
	names := map[string]bool{}
	for _, t := range s.TargetList {
		names[t.GetResTarget().Name] = true
	}
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		var err error
		if r.Val, err = c.node(r.Val); err != nil {
			return err
		}
	}
	// ORDER BY and DISTINCT ON prefer output names to input columns (parse_clause.c).
	byName := func(n *pg_query.Node) (*pg_query.Node, error) {
		plain := n
		if o := n.GetSortBy(); o != nil {
			plain = o.Node
		}
		if r := plain.GetColumnRef(); r != nil && len(r.Fields) == 1 && names[r.Fields[0].GetString_().GetSval()] || plain.GetAConst() != nil {
			return n, nil
		}
		return c.node(n)
	}
	if err := each(s.DistinctClause, byName); err != nil {
		return err
	}
	if err := each(s.WindowClause, c.node); err != nil {
		return err
	}
	var err error
	if s.HavingClause, err = c.node(s.HavingClause); err != nil {
		return err
	}
	if err := each(s.SortClause, byName); err != nil {
		return err
	}
	limit := func(n *pg_query.Node) (*pg_query.Node, error) { return b.finishExpression(n, c.sc.env) }
	if s.LimitCount, err = limit(s.LimitCount); err != nil {
		return err
	}
	s.LimitOffset, err = limit(s.LimitOffset)
	return err
}

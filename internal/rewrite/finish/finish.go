package finish

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// finisher turns a copy of the client's tree into its finish form, in place: every release block becomes a read of its
// placeholder.
type finisher struct {
	*Planned
	*correlated
	levels  []*level // by placeholder
	aliases int
	rows    int  // of different groups that a column may be of (Formula.Row)
	stage   bool // the query is a stage's: the client does not see its columns
	root    *pg_query.SelectStmt

	values    map[string]bool // names of outputs that are computed of aggregates; nil: nothing has asked
	choosing  choices         // of the queries around
	aggregate bool            // a query around aggregates what this one returns
	outermost bool            // root is a release block
	overShown bool            // groups that are shown are aggregated
}

// placeholder names a block in the finish tree; Plan replaces it by the text that reads the released values.
func placeholder(block int) string { return fmt.Sprintf(blockPrefix+"%d", block+1) }

const blockPrefix = "dpproxy_block_"

// rewrite turns a query (a copy of the client's tree) into its finish form, in place: every release block becomes a
// read of its placeholder.
func (b *finisher) rewrite(s *pg_query.SelectStmt, e *bind.Env) error {
	if s == nil {
		return refusal.New(refusal.ReadOnly, "only SELECT is available")
	}
	k, err := b.KindOf(s, e)
	if err != nil {
		return err
	}
	if k == bind.Private {
		return b.refuseRows(s)
	}
	switch {
	case s.IntoClause != nil:
		return refusal.New(refusal.ReadOnly, "SELECT INTO writes")
	case len(s.LockingClause) > 0:
		return refusal.New(refusal.ReadOnly, "row locks are not available")
	}
	around, aggregate := b.choosing, b.aggregate
	defer func() { b.choosing, b.aggregate = around, aggregate }()
	if s.WithClause != nil {
		b.choosing = around.and(b.anyChoices(s))
	}
	inner, err := b.rewriteCTEs(s, e)
	if err != nil {
		return err
	}
	b.choosing = around
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		b.choosing = around.and(b.choicesOf(s))
		if err := b.rewrite(s.Larg, inner); err != nil {
			return err
		}
		if err := b.rewrite(s.Rarg, inner); err != nil {
			return err
		}
		return b.rewriteExpressions(s, inner)
	}
	for _, n := range s.FromClause {
		item, err := b.KindOfItem(n, inner)
		if err != nil {
			return err
		}
		if item == bind.Private {
			return b.rewriteBlock(s, inner)
		}
	}
	b.choosing, b.aggregate = around.and(b.choicesOf(s)), aggregate || sqltree.Aggregates(s)
	b.overShown = b.overShown || !b.single[s] && aggregatesGroups(s, inner)
	for _, n := range s.FromClause {
		if err := b.rewriteItem(n, inner); err != nil {
			return err
		}
	}
	return b.rewriteExpressions(s, inner)
}

// refuseRows refuses an answer of private rows, or of groups that are one unit's each.
func (b *finisher) refuseRows(s *pg_query.SelectStmt) error {
	if sqltree.Aggregates(s) {
		return b.Refuse(refusal.UnitKey, sqltree.FirstTarget(s),
			"each of these groups holds rows of one person alone, and is never returned",
			"Aggregate the groups: SELECT avg(n) FROM (SELECT key, count(*) AS n … GROUP BY key) t. Or group by columns with a declared domain.")
	}
	return b.Refuse(refusal.Rows, sqltree.FirstTarget(s), "rows of a private table are never returned",
		"Aggregate them: count(*), sum, avg, min, max or a percentile, GROUP BY columns with a declared domain.")
}

// rewriteItem turns a FROM item without private rows into its finish form.
func (b *finisher) rewriteItem(n *pg_query.Node, e *bind.Env) error {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeSubselect:
		return b.rewrite(v.RangeSubselect.Subquery.GetSelectStmt(), e)
	case *pg_query.Node_JoinExpr:
		if err := b.rewriteItem(v.JoinExpr.Larg, e); err != nil {
			return err
		}
		if err := b.rewriteItem(v.JoinExpr.Rarg, e); err != nil {
			return err
		}
		var err error
		v.JoinExpr.Quals, err = b.rewriteExpression(v.JoinExpr.Quals, e)
		return err
	case *pg_query.Node_RangeVar:
		if v.RangeVar.Schemaname == "" && e.FindCTE(v.RangeVar.Relname) != nil {
			return nil
		}
		if t := b.Table(v.RangeVar); t != nil && t.Public {
			return nil
		}
		if w := b.View(v.RangeVar); w != nil {
			return b.rewriteView(n, v.RangeVar, w)
		}
		return b.Refuse(refusal.BesideReleased, n, fmt.Sprintf("relation %q cannot be combined with released aggregates",
			v.RangeVar.Relname), "Only tables of the policy can.")
	case *pg_query.Node_RangeFunction:
		return b.checkFunctions(n)
	}
	return b.Refuse(refusal.BesideReleased, n, "this kind of FROM item cannot be combined with released aggregates", "")
}

// checkFunctions allows generate_series and unnest in FROM. What they are given is computed like any expression over
// released values, but for subqueries, which have no functions.
func (b *finisher) checkFunctions(n *pg_query.Node) error {
	given := map[*pg_query.FuncCall]bool{}
	for _, item := range n.GetRangeFunction().GetFunctions() {
		for _, argument := range item.GetList().GetItems()[0].GetFuncCall().GetArgs() {
			sqltree.Visit(argument, func(n *pg_query.Node) bool {
				if f := n.GetFuncCall(); f != nil {
					given[f] = true
				}
				return n.GetSubLink() == nil
			})
		}
	}
	var failed error
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if f := n.GetFuncCall(); f != nil && failed == nil && !given[f] {
			if name := sqltree.FunctionName(f); name != "generate_series" && name != "unnest" {
				failed = b.Refuse(refusal.BesideReleased, n, fmt.Sprintf(
					"function %s in FROM cannot be combined with released aggregates", name), "Use generate_series and unnest.")
			}
		}
		return failed == nil
	})
	return failed
}

// rewriteExpression handles the subqueries of an expression over released values.
func (b *finisher) rewriteExpression(n *pg_query.Node, e *bind.Env) (*pg_query.Node, error) {
	return sqltree.RewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if l := n.GetSubLink(); l != nil {
			if l.Testexpr != nil {
				var err error
				if l.Testexpr, err = b.rewriteExpression(l.Testexpr, e); err != nil {
					return nil, false, err
				}
			}
			return n, false, b.rewriteSubLink(l, e)
		}
		return n, true, nil
	})
}

func (b *finisher) rewriteSubLink(l *pg_query.SubLink, e *bind.Env) error {
	return b.rewrite(l.Subselect.GetSelectStmt(), e)
}

// rewriteExpressions handles every expression of a query level without private rows.
func (b *finisher) rewriteExpressions(s *pg_query.SelectStmt, e *bind.Env) error {
	f := func(n *pg_query.Node) (*pg_query.Node, error) { return b.rewriteExpression(n, e) }
	for _, list := range [][]*pg_query.Node{
		s.TargetList, s.GroupClause, s.WindowClause, s.ValuesLists, s.DistinctClause, s.SortClause,
	} {
		if err := sqltree.RewriteEach(list, f); err != nil {
			return err
		}
	}
	return rewriteAt(f, &s.WhereClause, &s.HavingClause, &s.LimitCount, &s.LimitOffset)
}

// rewriteAt rewrites expressions in their places.
func rewriteAt(f func(*pg_query.Node) (*pg_query.Node, error), places ...**pg_query.Node) (err error) {
	for _, at := range places {
		if *at, err = f(*at); err != nil {
			return err
		}
	}
	return nil
}

package bind

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// stageRows binds a query over released values, whose rows the private rows around it read (docs/privacy.md P28).
func (b *Binder) stageRows(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	if b.stages == nil {
		return nil, refusal.New(refusal.AgainstReleased, "released aggregates cannot be joined with private rows here")
	}
	query, err := standalone(s, e)
	if err != nil {
		return nil, err
	}
	stage, err := b.stages.Stage(b.Base, query)
	if err != nil {
		return nil, err
	}
	return b.StageRows(stage), nil
}

// stageValue binds a scalar subquery over released values. Its stage is SELECT (subquery): one row, or PostgreSQL's own
// error where the subquery has several.
func (s *Scope) stageValue(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	if n := sub.LimitCount.GetAConst().GetIval(); len(sub.GroupClause) > 0 && n.GetIval() != 1 {
		return nil, s.binder.Refuse(refusal.SeveralRows, node, "this subquery may return more than one row",
			"Leave GROUP BY out, or write IN or LIMIT 1.")
	}
	r, err := s.binder.stageRows(selectOf(node), s.env)
	if err != nil {
		return nil, s.binder.Located(err, node)
	}
	return s.valueOf(node, r)
}

// keepStage lets a scalar subquery over released values be among the aggregates of one unit.
func (s *Scope) keepStage(l *pg_query.SubLink) error {
	k, correlated, err := s.kindOfSubquery(l.Subselect.GetSelectStmt())
	if err != nil || k == Released && !correlated {
		return err
	}
	return s.binder.Refuse(refusal.SubqueryForm, &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}},
		"a subquery cannot be used here over private rows", "Join on the unit instead.")
}

// selectOf makes SELECT x.
func selectOf(x *pg_query.Node) *pg_query.SelectStmt { return sqltree.NewSelect(sqltree.Target("", x)) }

// hoisted computes with released values where no noise is needed and no row can make it fail: what an expression
// computes of scalar subqueries over released values and of constants alone becomes one such subquery.
func (s *Scope) hoisted(n *pg_query.Node) *pg_query.Node {
	if !hasScalarSubquery(n) {
		return n
	}
	return sqltree.Replace(sqltree.Clone(n), func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetSubLink() != nil {
			return n, false
		}
		if !Computes(n) || !s.ofReleasedValues(n) {
			return n, true
		}
		return sqltree.SubLink(pg_query.SubLinkType_EXPR_SUBLINK, selectOf(n), int32(sqltree.LocationOf(n))), false
	})
}

func hasScalarSubquery(n *pg_query.Node) bool {
	return sqltree.AnyOutside(n, func(n *pg_query.Node) bool {
		return n.GetSubLink().GetSubLinkType() == pg_query.SubLinkType_EXPR_SUBLINK
	})
}

// Computes reports whether a node is an operation of its operands.
func Computes(n *pg_query.Node) bool {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_AExpr:
		return v.AExpr.Kind == pg_query.A_Expr_Kind_AEXPR_OP
	case *pg_query.Node_FuncCall, *pg_query.Node_TypeCast, *pg_query.Node_CoalesceExpr, *pg_query.Node_MinMaxExpr:
		return true
	}
	return false
}

// ofReleasedValues reports whether an expression has scalar subqueries over released values, and reads nothing else but
// constants.
func (s *Scope) ofReleasedValues(n *pg_query.Node) bool {
	found, alone := false, true
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if l := n.GetSubLink(); l != nil {
			k, correlated, err := s.kindOfSubquery(l.Subselect.GetSelectStmt())
			released := err == nil && k == Released && !correlated && l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK
			found, alone = found || released, alone && released
			return false
		}
		alone = alone && n.GetColumnRef() == nil
		return alone
	})
	return found && alone
}

// ComparedAs reports whether an expression over another level equals at most one of several values of n that differ
// (docs/privacy.md P4).
func (s *Scope) ComparedAs(n *pg_query.Node, other *Scope, x *pg_query.Node) bool {
	value, err := s.Expression(n)
	if err != nil {
		return false
	}
	compared, err := other.Expression(x)
	return err == nil && expr.ComparedAs(value, compared)
}

// kindOfSubquery says what the rows of a subquery are, and whether its FROM or WHERE reads a column of this level.
func (s *Scope) kindOfSubquery(sub *pg_query.SelectStmt) (k Kind, correlated bool, err error) {
	before := len(s.read)
	k, err = s.binder.KindOf(sub, &Env{outer: s.env, scope: s})
	correlated = len(s.read) > before
	s.read = s.read[:before]
	return k, correlated, err
}

package finish

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// rewriteCTEs keeps the CTEs that are computed from released values and drops the private ones, which are expanded
// where they are used.
func (b *finisher) rewriteCTEs(s *pg_query.SelectStmt, e *bind.Env) (*bind.Env, error) {
	if s.WithClause == nil {
		return e, nil
	}
	original := sqltree.Clone(s.WithClause)
	inner := bind.WithCTEs(original, e)
	var kept []*pg_query.Node
	before := e
	for i, n := range s.WithClause.Ctes {
		c := n.GetCommonTableExpr()
		query := c.Ctequery.GetSelectStmt()
		if query == nil {
			return nil, b.Refuse(refusal.ReadOnly, n, "data-modifying WITH is not available", "")
		}
		k, err := b.KindOf(original.Ctes[i].GetCommonTableExpr().Ctequery.GetSelectStmt(), before)
		if err != nil {
			return nil, err
		}
		if k != bind.Private {
			within := before
			if k == bind.Public && s.WithClause.Recursive { // it may read itself
				within = bind.WithCTEs(&pg_query.WithClause{Recursive: true, Ctes: original.Ctes[i : i+1]}, before)
			}
			if err := b.rewrite(query, within); err != nil {
				return nil, err
			}
			kept = append(kept, n)
		}
		before = bind.WithCTEs(&pg_query.WithClause{Ctes: original.Ctes[i : i+1]}, before)
	}
	s.WithClause.Ctes = kept
	if len(kept) == 0 {
		s.WithClause = nil
	}
	return inner, nil
}

// rewriteView expands a view that is computed from released values or public tables.
func (b *finisher) rewriteView(n *pg_query.Node, v *pg_query.RangeVar, w *schema.Relation) error {
	query, err := bind.ViewQuery(w)
	if err != nil {
		return err
	}
	alias := v.Alias
	if alias == nil {
		alias = &pg_query.Alias{Aliasname: v.Relname}
	}
	n.Node = &pg_query.Node_RangeSubselect{RangeSubselect: &pg_query.RangeSubselect{
		Alias: alias, Subquery: sqltree.SelectNode(query),
	}}
	return sqltree.WithoutPosition(b.rewrite(query, nil))
}

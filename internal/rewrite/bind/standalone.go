package bind

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// standalone makes a query of its own of one at a place of the statement: with the CTEs that it reads.
func standalone(s *pg_query.SelectStmt, e *Env) (*pg_query.SelectStmt, error) {
	out := sqltree.Clone(s)
	ctes, recursive, err := ctesOf(out, e)
	if err != nil || len(ctes) == 0 {
		return out, err
	}
	if out.WithClause == nil {
		out.WithClause = &pg_query.WithClause{}
	}
	out.WithClause.Ctes = append(ctes, out.WithClause.Ctes...)
	out.WithClause.Recursive = out.WithClause.Recursive || recursive
	if out.WithClause.Recursive && !recursesAlone(out.WithClause.Ctes, len(ctes), e) {
		return nil,
			refusal.New(refusal.Recursive,
				"WITH RECURSIVE names queries in an order that would mean another one beside private rows",
				pgerr.Hint("Give each query of WITH a name of its own, and write what it reads before it."))
	}
	return out, nil
}

// ctesOf lists the CTEs around a query that it reads, and says whether one of them reads itself.
func ctesOf(query *pg_query.SelectStmt, e *Env) (ctes []*pg_query.Node, recursive bool, err error) {
	needed := tablesOf(sqltree.SelectNode(query))
	for ; e != nil; e = e.outer {
		for name, c := range e.ctes {
			if !needed[name] {
				continue
			}
			if slices.ContainsFunc(ctes, func(n *pg_query.Node) bool { return n.GetCommonTableExpr().Ctename == name }) {
				return nil, false, refusal.New(refusal.AgainstReleased,
					"WITH names two queries alike, and an aggregate that private rows are compared with reads them",
					pgerr.Hint("Give each of them a name of its own."))
			}
			cte := &pg_query.CommonTableExpr{
				Ctename: name, Ctematerialized: pg_query.CTEMaterialize_CTEMaterializeDefault,
				Ctequery: sqltree.SelectNode(sqltree.Clone(c.query)),
			}
			for _, column := range c.columns {
				cte.Aliascolnames = append(cte.Aliascolnames, pg_query.MakeStrNode(column))
			}
			node := &pg_query.Node{Node: &pg_query.Node_CommonTableExpr{CommonTableExpr: cte}}
			ctes, recursive = append([]*pg_query.Node{node}, ctes...), recursive || c.early
			for name := range tablesOf(node) {
				needed[name] = true
			}
		}
	}
	return ctes, recursive, nil
}

// recursesAlone reports whether the first so many CTEs mean the same under WITH RECURSIVE: each names those before it,
// and itself where it did so before.
func recursesAlone(ctes []*pg_query.Node, added int, e *Env) bool {
	for i, n := range ctes[:added] {
		names := tablesOf(n)
		for j, o := range ctes[i:] {
			name := o.GetCommonTableExpr().Ctename
			if names[name] && (j > 0 || !e.FindCTE(name).early) {
				return false
			}
		}
	}
	return true
}

// tablesOf names the relations that a tree reads without naming their schema.
func tablesOf(n *pg_query.Node) map[string]bool {
	names := map[string]bool{}
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if v := n.GetRangeVar(); v != nil && v.Schemaname == "" {
			names[v.Relname] = true
		}
		return true
	})
	return names
}

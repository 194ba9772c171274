package bind

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Env says what names of relations mean at a place of the statement.
type Env struct {
	ctes  map[string]*CTE
	outer *Env
	scope *Scope // columns of the enclosing query, inside a subquery expression
}

type CTE struct {
	query   *pg_query.SelectStmt
	columns []string
	env     *Env
	early   bool // it reads itself or one behind it, as WITH RECURSIVE allows
}

func (e *Env) FindCTE(name string) *CTE {
	for ; e != nil; e = e.outer {
		if c := e.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// Inlined returns the query of a CTE that means the same in its place; nil: there is none.
func (e *Env) Inlined(name string) *pg_query.SelectStmt {
	c := e.FindCTE(name)
	if c == nil || c.early || len(c.columns) > 0 || c.query == nil {
		return nil
	}
	if sqltree.Any(sqltree.SelectNode(c.query), func(n *pg_query.Node) bool {
		v := n.GetRangeVar()
		return v != nil && v.Schemaname == "" && e.FindCTE(v.Relname) != c.env.FindCTE(v.Relname)
	}) {
		return nil
	}
	return c.query
}

// Inside reports whether a query is in an expression of another.
func (e *Env) Inside() bool { return e.enclosing() != nil }

// enclosing returns the scope of the query around a subquery expression.
func (e *Env) enclosing() *Scope {
	if e == nil {
		return nil
	}
	return e.scope
}

// WithCTEs adds a WITH clause to the environment. A CTE sees those before it.
func WithCTEs(w *pg_query.WithClause, outer *Env) *Env {
	if w == nil {
		return outer
	}
	e := outer
	for i, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		early := w.Recursive && readsAnyOf(c.Ctequery, w.Ctes[i:])
		e = &Env{outer: e, ctes: map[string]*CTE{c.Ctename: {query: c.Ctequery.GetSelectStmt(), columns: sqltree.StringList(
			c.Aliascolnames), env: e, early: early}}}
	}
	if e != outer && outer != nil {
		e.scope = outer.scope
	}
	return e
}

// readsAnyOf reports whether a query names one of these CTEs, or a table of such a name without its schema.
func readsAnyOf(query *pg_query.Node, ctes []*pg_query.Node) bool {
	return sqltree.Any(query, func(n *pg_query.Node) bool {
		v := n.GetRangeVar()
		return v != nil && v.Schemaname == "" && slices.ContainsFunc(ctes, func(c *pg_query.Node) bool {
			return c.GetCommonTableExpr().Ctename == v.Relname
		})
	})
}

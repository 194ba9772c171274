package bind

import (
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
}

func (e *Env) FindCTE(name string) *CTE {
	for ; e != nil; e = e.outer {
		if c := e.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// enclosing gives the scope of the query around a subquery expression.
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
	for _, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		e = &Env{outer: e, ctes: map[string]*CTE{c.Ctename: {query: c.Ctequery.GetSelectStmt(), columns: sqltree.StringList(c.Aliascolnames), env: e}}}
	}
	if e != outer && outer != nil {
		e.scope = outer.scope
	}
	return e
}

package bind

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// publicRows returns the rows of a query over public tables alone: a relation, or where it binds to none, as with
// windows and LIMIT, the rows themselves, which are read when the statement is planned (docs/privacy.md P4g). What is
// read is as much as can be read at once.
func (b *Binder) publicRows(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	if b.stages == nil || b.partOfRead {
		return b.rows(s, e)
	}
	q, err := b.read(s, e, false)
	if err != nil {
		return nil, err
	}
	if q != nil {
		return b.ReadRows(q)
	}
	whole := *b
	whole.partOfRead = true
	r, refused := whole.rows(s, e)
	if refused == nil {
		return r, nil
	}
	if q, err = b.read(s, e, true); err != nil {
		return nil, err
	}
	if q != nil {
		return b.ReadRows(q)
	}
	if r, err := b.rows(s, e); err == nil { // it reads a row around it, which a query inside it may not
		return r, nil
	}
	return nil, refused
}

// read finds what was made of a public query that reads no row around it; where nothing was, it is made if it is
// wanted. nil: it cannot be read.
func (b *Binder) read(s *pg_query.SelectStmt, e *Env, wanted bool) (*relation.PublicQuery, error) {
	query, err := standalone(s, e)
	if err != nil {
		return nil, nil //nolint:nilerr // the query is bound as it is, or refused
	}
	return b.stages.Read(b.Base, query, wanted)
}

// readItem reads a FROM item that binds to no relation: refused says why.
func (b *Binder) readItem(n *pg_query.Node, e *Env, refused error) (*relation.Relation, error) {
	if b.stages == nil || b.partOfRead {
		return nil, refused
	}
	q, err := b.read(allOf(n), e, true)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return nil, refused
	}
	return b.ReadRows(q)
}

// allOf makes SELECT * FROM item.
func allOf(item *pg_query.Node) *pg_query.SelectStmt {
	s := selectOf(sqltree.AllColumns())
	s.FromClause = []*pg_query.Node{item}
	return s
}

package bind

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Binder turns the client's queries into relations: it is the one recursion over the client's tree.
type Binder struct {
	*relation.Base
	work  *int             // query levels bound so far, shared by all copies
	kinds map[kindKey]kind // what kindOf has found, shared too
	kind  string           // the one unit kind of the query
}

func New(b *relation.Base) *Binder {
	return &Binder{Base: b, work: new(int), kinds: map[kindKey]kind{}}
}

// kindKey names a query at a place.
type kindKey struct {
	query *pg_query.SelectStmt
	env   *Env
}

// maxWork bounds the query levels that one statement may be expanded into: CTEs and views that use each other twice double
// at every step.
const maxWork = 1500

// step counts one query level.
func (b *Binder) step() error {
	*b.work++
	if *b.work > maxWork {
		return sqltree.TooComplex("its subqueries, CTEs and views expand into too many")
	}
	return nil
}

package bind

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Binder turns the client's queries into relations: it is the one recursion over the client's tree.
type Binder struct {
	*relation.Base
	levels   *int   // query levels bound so far, shared by all copies
	kinds    Kinds  // what KindOf has found, shared too
	known    Kinds  // what the analysis has found
	unitName string // the one unit kind of the query
	stages   Stages

	partOfRead bool // of a public query that is read as a whole if it cannot be bound
}

// Stages plans the queries that are answered before the measures that read their rows. None reads a row around it.
type Stages interface {
	// Stage plans one over released values (docs/privacy.md P28), or finds the one that was planned before.
	Stage(b *relation.Base, query *pg_query.SelectStmt) (*relation.Stage, error)
	// Read does so for one over public tables alone (docs/privacy.md P4g), and plans none that is not wanted; nil where
	// there is none.
	Read(b *relation.Base, query *pg_query.SelectStmt, wanted bool) (*relation.PublicQuery, error)
}

// New begins to bind the queries of a statement.
func New(b *relation.Base, stages Stages) *Binder {
	return &Binder{Base: b, levels: new(int), kinds: Kinds{}, stages: stages}
}

// kindKey names a query at a place.
type kindKey struct {
	query *pg_query.SelectStmt
	env   *Env
}

// maxLevels bounds the query levels that one statement may be expanded into: CTEs and views that each read another in
// two places double at every step.
const maxLevels = 1500

// levelSteps is what a level takes at least.
const levelSteps = 150

// countLevel counts one query level.
func (b *Binder) countLevel() error {
	*b.levels++
	b.Take(levelSteps)
	if *b.levels > maxLevels {
		return sqltree.TooComplex("its subqueries, CTEs and views expand into too many")
	}
	return nil
}

// Kinds are what queries of a statement are, each at its place.
type Kinds map[kindKey]Kind

// Kinds are those found so far.
func (b *Binder) Kinds() Kinds { return b.kinds }

// Know takes over what another planning of the same statement has found. No kind depends on the values of parameters.
func (b *Binder) Know(k Kinds) { b.known = k }

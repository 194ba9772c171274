package bind

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// firstRows binds DISTINCT ON with the unit among its expressions: it keeps the first row of each unit, or of each key
// of it, in the analyst's order and then by a key of the rows, so that the choice depends on the unit's rows alone
// (docs/privacy.md P8).
func (b *Binder) firstRows(s *pg_query.SelectStmt, src *relation.Relation, e *Env) (*relation.Relation, error) {
	on := sqltree.DistinctOn(s)
	order, proofs, work, err := src.TotalOrder()
	if err != nil {
		return nil, b.Located(err, sqltree.FirstTarget(s))
	}
	keys, err := b.firstRowKeys(s, on, src, e)
	if err != nil {
		return nil, err
	}
	d := relation.NewDerived(b.Base, src)
	d.PassAll()
	r := d.Relation()
	r.AddColumnWork(src.Size(), src.Columns)
	r.AddExpressionWork(src.Size(), keys.sorted...)
	r.AddWork(work.Plus(keys.beyond).Plus(expr.Work{Row: relation.WindowSteps}), src.Size())
	first := src.Select(d.Outputs...)
	first.DistinctOn, first.OrderBy = keys.distinct, append(keys.order, order...)
	r.From = &query.Derived{Query: first, As: d.Alias}
	r.Proofs = append(slices.Clone(r.Proofs), proofs...)
	switch unit := d.UnitColumn(); {
	case keys.perUnit:
		r.SetOneRowPerUnit()
	case keys.bare && unit != nil:
		set := relation.UniqueSet{Columns: []*relation.Column{unit}}
		for _, c := range keys.columns {
			set.Columns = append(set.Columns, d.Passed[c])
		}
		r.Unique = append(r.Unique, set)
	}
	r.Plan = relation.NewPlanNode("distinct on, "+r.RowBound(), src.Plan)
	return r, nil
}

// distinctKeys are the keys of a DISTINCT ON over the rows of units.
type distinctKeys struct {
	distinct, order []query.Scalar // the unit first
	sorted          []*expr.Expr   // what they compute
	beyond          expr.Work      // of asking for values beyond bounds, for each row
	columns         []*relation.Column
	bare            bool // all expressions of DISTINCT ON are columns
	perUnit         bool // and functions of the unit
}

// firstRowKeys binds the expressions of DISTINCT ON, then those of ORDER BY. A constant orders nothing, and PostgreSQL
// would read it as the place of a column: it is left out.
func (b *Binder) firstRowKeys(s *pg_query.SelectStmt, on []*pg_query.Node, src *relation.Relation, e *Env) (
	*distinctKeys, error,
) {
	sc := NewScope(b, src, e)
	keys := &distinctKeys{distinct: []query.Scalar{src.Unit}, order: []query.Scalar{src.Unit}, bare: true, perUnit: true}
	for _, n := range on {
		n, err := b.GroupNode(n, s, sc)
		if err != nil {
			return nil, err
		}
		x, err := sc.Expression(n)
		if err != nil {
			return nil, err
		}
		if _, constant := x.Constant(); constant {
			continue
		}
		c, inside := sc.bare(n), x.AllInside()
		keys.bare = keys.bare && c != nil && inside == nil
		keys.perUnit = keys.perUnit && keys.bare && c.PerUnit
		keys.columns, keys.sorted = append(keys.columns, c), append(keys.sorted, x)
		by := []query.Scalar{query.F("({})", x.SQL())}
		if inside != nil { // of rows beyond another one is the first
			by, keys.beyond = append(by, query.F("({})", inside)), keys.beyond.Plus(x.InsideWork())
		}
		keys.distinct, keys.order = append(keys.distinct, by...), append(keys.order, by...)
	}
	for _, n := range s.SortClause {
		key, err := b.GroupNode(n.GetSortBy().Node, s, sc)
		if err != nil {
			return nil, err
		}
		text, err := sc.sortKey(n, key)
		if err != nil {
			return nil, err
		}
		x, err := sc.Expression(key)
		if err != nil {
			return nil, err
		}
		if _, constant := x.Constant(); constant {
			continue
		}
		keys.sorted, keys.order = append(keys.sorted, x), append(keys.order, text)
	}
	return keys, nil
}

// sortKey prints an ORDER BY item, whose expression is key.
func (s *Scope) sortKey(n, key *pg_query.Node) (query.Scalar, error) {
	by := n.GetSortBy()
	if by.SortbyDir == pg_query.SortByDir_SORTBY_USING {
		return nil, s.binder.Refuse(refusal.Construct, n, "ORDER BY … USING is not supported", "Use ASC or DESC.")
	}
	x, err := s.Expression(key)
	if err != nil {
		return nil, err
	}
	return query.F("({}){}", x.SQL(), sortOptions(by)), nil
}

func sortOptions(by *pg_query.SortBy) string {
	text := ""
	if by.SortbyDir == pg_query.SortByDir_SORTBY_DESC {
		text = " DESC"
	}
	switch by.SortbyNulls {
	case pg_query.SortByNulls_SORTBY_NULLS_FIRST:
		return text + " NULLS FIRST"
	case pg_query.SortByNulls_SORTBY_NULLS_LAST:
		return text + " NULLS LAST"
	}
	return text
}

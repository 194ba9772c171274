package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// SubLink answers a subquery in a condition on private rows: membership in a public relation, or a semi-join on the unit.
// Anything else would compare persons with each other.
func (s *scope) SubLink(l *pg_query.SubLink, test *expr.Expr) (*expr.Expr, error) {
	s.subqueries++
	node := &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}}
	query := l.Subselect.GetSelectStmt()
	if query == nil {
		return nil, s.b.refuse(pgerr.InsufficientPrivilege, node, "only SELECT is available", "")
	}
	if l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
		if x, err := s.unitScalar(node, query); x != nil || err != nil {
			return x, err
		}
	}
	k, err := s.b.kindOf(query, &env{outer: s.env, scope: s})
	if err != nil {
		return nil, err
	}
	if k == released {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "private rows cannot be compared with an aggregate over private rows",
			"Ask for the aggregate first and write its value as a constant.")
	}
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return s.exists(node, query)
	case pg_query.SubLinkType_ANY_SUBLINK:
		if len(l.OperName) > 1 || len(l.OperName) == 1 && l.OperName[0].GetString_().GetSval() != "=" {
			return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "only = ANY (SELECT …) is supported", "Use IN.")
		}
		return s.in(node, query, test)
	}
	return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "scalar subqueries cannot be used on private rows", "Join on the unit, or write the value as a constant.")
}

// semiJoined says that a correlated subquery reads rows of the outer row's unit alone: a condition of it equates columns
// that make the units equal.
func (s *scope) semiJoined(r *relation) bool {
	for _, q := range r.correlated {
		if proof, ok := s.b.unitEqual(q[0], q[1]); ok {
			r.proofs = append(slices.Clone(r.proofs), proof...)
			return true
		}
	}
	return false
}

// subquery binds the subquery of EXISTS, whose SELECT list may be anything; its scope may refer to this one.
func (s *scope) subquery(query *pg_query.SelectStmt) (*relation, error) {
	inner := *s.b
	inner.kind = ""
	e := &env{outer: s.env, scope: s}
	if query.Op != pg_query.SetOperation_SETOP_NONE || aggregates(query) || len(query.DistinctClause) > 0 || query.WithClause != nil || len(query.ValuesLists) > 0 {
		return s.project(query)
	}
	if err := plainSubquery(query); err != nil {
		return nil, err
	}
	r, err := inner.source(query, e)
	s.absorb(&inner)
	return r, err
}

func (s *scope) absorb(inner *builder) {
	s.b.aliases, s.b.domains = inner.aliases, inner.domains
}

// in is test IN (SELECT …): membership in a public relation, or a semi-join on the unit (PRIVACY 6), by the columns compared
// or by a condition of the subquery.
func (s *scope) in(node *pg_query.Node, query *pg_query.SelectStmt, test *expr.Expr) (*expr.Expr, error) {
	s.read = nil
	r, err := s.project(query)
	if err != nil {
		return nil, err
	}
	columns := append(slices.Clone(test.Columns()), s.read...)
	v := r.visible()
	if len(v) != 1 {
		return nil, s.b.refuse(pgerr.SyntaxError, node, "subquery has too many columns", "")
	}
	if v[0].x.Type != test.Type() && !(isInteger(v[0].x.Type) && isInteger(test.Type())) && !(isText(v[0].x.Type) && isText(test.Type())) {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "both sides of IN must have the same type", "Cast one side.")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	if !r.private() || s.semiJoined(r) {
		s.use(r)
		sql := fmt.Sprintf("(%s %s ANY (%s))", test.SQL(), opEquals, r.selectText([]string{v[0].x.Ref}))
		return expr.Predicate(sql, test.Nullable() || v[0].x.Nullable, columns, locationOf(node)), nil
	}
	outer := sourceOf(test)
	if outer == nil {
		return nil, s.refuseIn(node)
	}
	proof, ok := s.b.unitEqual(v[0], outer)
	if !ok {
		return nil, s.refuseIn(node)
	}
	r.proofs = append(slices.Clone(r.proofs), proof...)
	r.where = append(slices.Clone(r.where), fmt.Sprintf("(%s %s %s)", v[0].x.Ref, opEquals, outer.x.Ref))
	s.use(r)
	// Not = ANY: a NULL of another unit's row must not decide.
	sql := "EXISTS (" + r.selectText([]string{"1"}) + ")"
	if test.Nullable() {
		sql = fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN %s END", outer.x.Ref, sql)
	}
	return expr.Predicate(sql, test.Nullable(), columns, locationOf(node)), nil
}

// sourceOf is the column that an expression is; nil for any other expression.
func sourceOf(x *expr.Expr) *column {
	if x.Column() == nil {
		return nil
	}
	c, _ := x.Column().Source.(*column)
	return c
}

func (s *scope) refuseIn(node *pg_query.Node) error {
	return s.b.refuse(pgerr.FeatureNotSupported, node, "IN (SELECT …) over a private table must compare the units of both tables",
		"Compare their unit columns or a key that determines the unit, or add WHERE inner.unit = outer.unit to the subquery.")
}

// sameKind refuses a subquery over tables that protect another kind of unit.
func (s *scope) sameKind(node *pg_query.Node, r *relation) error {
	if !s.rel.private() || !r.private() || r.kind == s.rel.kind {
		return nil
	}
	return s.b.refuse(pgerr.FeatureNotSupported, node, mixedUnits(s.rel.kind, r.kind), "")
}

// project binds a subquery with its SELECT list.
func (s *scope) project(query *pg_query.SelectStmt) (*relation, error) {
	inner := *s.b
	inner.kind = ""
	r, err := inner.mustRelation(query, &env{outer: s.env, scope: s})
	s.absorb(&inner)
	return r, err
}

// exists is EXISTS of a public subquery, or of a private one that is semi-joined on the unit (PRIVACY 6).
func (s *scope) exists(node *pg_query.Node, query *pg_query.SelectStmt) (*expr.Expr, error) {
	s.read = nil
	r, err := s.subquery(query)
	if err != nil {
		return nil, err
	}
	if r.private() && !s.semiJoined(r) {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "EXISTS over a private table must equate the units of both tables",
			"Add WHERE inner.unit = outer.unit, or equate a key that determines the unit.")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	s.use(r)
	return expr.Predicate("EXISTS ("+r.selectText([]string{"1"})+")", false, s.read, locationOf(node)), nil
}

// use counts the tables of a subquery among those of the query.
func (s *scope) use(r *relation) {
	s.rel.tables = append(slices.Clone(s.rel.tables), r.tables...)
	s.rel.proofs = append(slices.Clone(s.rel.proofs), r.proofs...)
}

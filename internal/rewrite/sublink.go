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
		return s.exists(node, query, nil)
	case pg_query.SubLinkType_ANY_SUBLINK:
		if len(l.OperName) > 1 || len(l.OperName) == 1 && l.OperName[0].GetString_().GetSval() != "=" {
			return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "only = ANY (SELECT …) is supported", "Use IN.")
		}
		if k == private {
			return s.exists(node, query, test)
		}
		return s.inPublic(node, query, test)
	}
	return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "scalar subqueries cannot be used on private rows", "Join on the unit, or write the value as a constant.")
}

// unitEqual says that equality of an inner and an outer column makes the units of their rows equal: both are the unit, or
// one refers to the row of the other through the policy's foreign-key chain.
func (b *builder) unitEqual(a, c *column) bool {
	return a.isUnit && c.isUnit || b.refers(a, c) || b.refers(c, a)
}

func (b *builder) refers(from, to *column) bool {
	t := b.schema.Policy.Table(from.origin.Table)
	if t == nil || t.Unit == nil || t.Unit.Via == nil {
		return false
	}
	v := t.Unit.Via
	return v.Column == from.origin.Column && v.References == to.origin.Table && v.ReferencesColumn == to.origin.Column
}

// subquery binds a subquery expression; its scope may refer to this one. plain: without its SELECT list.
func (s *scope) subquery(query *pg_query.SelectStmt) (r *relation, plain bool, err error) {
	inner := *s.b
	inner.kind = ""
	e := &env{outer: s.env, scope: s}
	if query.Op != pg_query.SetOperation_SETOP_NONE || aggregates(query) || len(query.DistinctClause) > 0 || query.WithClause != nil {
		r, err = inner.mustRelation(query, e)
		s.absorb(&inner)
		return r, false, err
	}
	if err := plainSubquery(query); err != nil {
		return nil, false, err
	}
	r, err = inner.source(query, e)
	s.absorb(&inner)
	return r, true, err
}

func (s *scope) absorb(inner *builder) {
	s.b.aliases, s.b.domains = inner.aliases, inner.domains
}

// inPublic is test IN (SELECT … FROM public tables).
func (s *scope) inPublic(node *pg_query.Node, query *pg_query.SelectStmt, test *expr.Expr) (*expr.Expr, error) {
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
	s.use(r)
	sql := fmt.Sprintf("(%s %s ANY (%s))", test.SQL(), opEquals, r.selectText([]string{v[0].x.Ref}))
	return expr.Predicate(sql, test.Nullable() || v[0].x.Nullable, columns, test.Parameters(), locationOf(node)), nil
}

// project binds a subquery with its SELECT list.
func (s *scope) project(query *pg_query.SelectStmt) (*relation, error) {
	inner := *s.b
	inner.kind = ""
	r, err := inner.mustRelation(query, &env{outer: s.env, scope: s})
	s.absorb(&inner)
	return r, err
}

// exists is EXISTS, or unit IN, of a private subquery: a semi-join on the unit (PRIVACY 6).
func (s *scope) exists(node *pg_query.Node, query *pg_query.SelectStmt, test *expr.Expr) (*expr.Expr, error) {
	s.read = nil
	r, plain, err := s.subquery(query)
	if err != nil {
		return nil, err
	}
	columns := s.read
	if test != nil {
		if plain {
			if r, err = s.project(query); err != nil {
				return nil, err
			}
		}
		v := r.visible()
		c := test.Column()
		if len(v) != 1 || !v[0].isUnit || c == nil || !c.Unit || !sameEquality(v[0].x, c) {
			return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "IN (SELECT …) over a private table must compare the unit columns of both tables", "Write unit IN (SELECT unit FROM …).")
		}
		r.where = append(slices.Clone(r.where), fmt.Sprintf("(%s %s %s)", v[0].x.Ref, opEquals, c.Ref))
		columns = append(columns, c)
	} else if r.private() {
		if !slices.ContainsFunc(r.correlated, func(q [2]*column) bool { return s.b.unitEqual(q[0], q[1]) }) {
			return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "EXISTS over a private table must equate the units of both tables", "Add WHERE inner.unit = outer.unit.")
		}
	}
	if r.private() && s.rel.private() && r.kind != s.rel.kind {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("tables that protect a %s and tables that protect a %s cannot be used in one query", s.rel.kind, r.kind), "")
	}
	s.use(r)
	return expr.Predicate("EXISTS ("+r.selectText([]string{"1"})+")", false, columns, nil, locationOf(node)), nil
}

// use counts the tables of a subquery among those of the query.
func (s *scope) use(r *relation) {
	s.rel.tables = append(slices.Clone(s.rel.tables), r.tables...)
	s.rel.proofs = append(slices.Clone(s.rel.proofs), r.proofs...)
}

package rewrite

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// SubLink answers a subquery in an expression on private rows: what it reads is public, or of the row's own unit. Anything else
// would compare persons with each other.
func (s *scope) SubLink(l *pg_query.SubLink, test []*expr.Expr) (*expr.Expr, error) {
	s.subqueries++
	node := &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}}
	x, err := s.subLink(node, l, test)
	if err != nil {
		return nil, err
	}
	return x, s.boundedSubquery(x, node)
}

func (s *scope) subLink(node *pg_query.Node, l *pg_query.SubLink, test []*expr.Expr) (*expr.Expr, error) {
	sub := l.Subselect.GetSelectStmt()
	if sub == nil {
		return nil, s.b.refuse(pgerr.InsufficientPrivilege, node, "only SELECT is available", "")
	}
	if l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
		if x, err := s.unitScalar(node, sub); x != nil || err != nil {
			return x, err
		}
	}
	k, err := s.b.kindOf(sub, &env{outer: s.env, scope: s})
	if err != nil {
		return nil, err
	}
	if k == released {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "private rows cannot be compared with an aggregate over private rows",
			"Ask for the aggregate first and write its value as a constant.")
	}
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return s.exists(node, sub)
	case pg_query.SubLinkType_ANY_SUBLINK, pg_query.SubLinkType_ALL_SUBLINK:
		return s.quantified(node, l, sub, test)
	case pg_query.SubLinkType_EXPR_SUBLINK:
		return s.lookup(node, sub)
	}
	return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "this kind of subquery cannot be used on private rows", "Write IN, EXISTS, ANY or ALL, or a scalar subquery.")
}

// semiJoined says that a correlated subquery reads rows of the outer row's unit alone: a condition of it equates columns
// that make the units equal.
func (s *scope) semiJoined(r *relation) bool {
	for _, q := range r.correlated {
		if proof, ok := s.b.unitEqual(q.inner, q.outer); ok && q.scope == s {
			r.proofs = append(slices.Clone(r.proofs), proof...)
			return true
		}
	}
	return false
}

// subquery binds the subquery of EXISTS, whose SELECT list may be anything; its scope may refer to this one.
func (s *scope) subquery(sub *pg_query.SelectStmt) (*relation, error) {
	inner := *s.b
	inner.kind = ""
	e := &env{outer: s.env, scope: s}
	if sub.Op != pg_query.SetOperation_SETOP_NONE || aggregates(sub) || len(sub.DistinctClause) > 0 || sub.WithClause != nil || len(sub.ValuesLists) > 0 {
		return s.project(sub)
	}
	if err := plainSubquery(sub); err != nil {
		return nil, err
	}
	r, err := inner.source(sub, e)
	s.absorb(&inner)
	return r, err
}

func (s *scope) absorb(inner *builder) {
	s.b.aliases, s.b.domains = inner.aliases, inner.domains
}

// quantified is test IN (SELECT …), or another comparison with ANY or ALL of the rows: those of a public relation, or of the
// row's own unit, by a condition of the subquery or, for IN, by the columns compared (PRIVACY 6).
func (s *scope) quantified(node *pg_query.Node, l *pg_query.SubLink, sub *pg_query.SelectStmt, test []*expr.Expr) (*expr.Expr, error) {
	s.read = nil
	r, err := s.project(sub)
	if err != nil {
		return nil, err
	}
	name, word := "=", "ANY"
	if n := len(l.OperName); n > 0 {
		name = l.OperName[n-1].GetString_().GetSval()
	}
	if l.SubLinkType == pg_query.SubLinkType_ALL_SUBLINK {
		word = "ALL"
	}
	v := r.visible()
	if len(v) != len(test) {
		return nil, s.b.refuse(pgerr.SyntaxError, node, "subquery has too many or too few columns", "")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	columns, nullable := s.read, false
	inner := make([]*expr.Expr, len(v))
	for i, c := range v {
		inner[i] = expr.Read(c.x, locationOf(node))
		columns = append(columns, test[i].Columns()...)
		nullable = nullable || test[i].Nullable() || c.x.Nullable
	}
	left, right, err := expr.Compared(name, test, inner, s, locationOf(node))
	if err != nil {
		return nil, s.b.refusal(err)
	}
	compare := func() query.Scalar {
		return query.Compared{Left: left, Op: name, Word: word, Query: r.selects(unnamed(right)...)}
	}
	compared := expr.ComparedWork(name, test, inner)
	if !r.private() || s.semiJoined(r) {
		s.use(r)
		work := s.subqueryWork(r, len(s.read) > 0, name == "=" && word == "ANY", compared)
		return expr.Predicate(compare(), nil, nullable, columns, work, locationOf(node)), nil
	}
	outer := s.joinUnits(r, test)
	if outer == nil || name != "=" || word != "ANY" {
		return nil, s.refuseIn(node)
	}
	s.use(r)
	// The rows of other units are not equal, and a NULL in one of them must not decide.
	sql, joined := existing(r, true)
	if len(test) > 1 {
		sql, joined = compare(), nil
	}
	if outer.x.Nullable {
		known := func(sql query.Scalar) query.Scalar {
			return query.F("CASE WHEN {} IS NOT NULL THEN {} END", outer.x.Ref, sql)
		}
		if sql = known(sql); joined != nil {
			joined = known(joined)
		}
	}
	work := s.subqueryWork(r, true, false, compared)
	return expr.Predicate(sql, joined, outer.x.Nullable || nullable && len(test) > 1, columns, work, locationOf(node)), nil
}

// unnamed are outputs that nothing refers to.
func unnamed(list []query.Scalar) []query.Output {
	out := make([]query.Output, len(list))
	for i, x := range list {
		out[i] = query.Output{X: x}
	}
	return out
}

// joinUnits restricts a subquery to the unit of the outer row, where a compared column does it, and gives the outer one; nil if none does.
func (s *scope) joinUnits(r *relation, test []*expr.Expr) *column {
	for i, c := range r.visible() {
		outer := sourceOf(test[i])
		if outer == nil {
			continue
		}
		if proof, ok := s.b.unitEqual(c, outer); ok {
			r.proofs = append(slices.Clone(r.proofs), proof...)
			r.where = append(slices.Clone(r.where), equals(c.x.Ref, outer.x.Ref))
			return outer
		}
	}
	return nil
}

// lookup is a scalar subquery that gives a column of one row, of a public relation or of the outer row's own unit. That it has at
// most one is proven; it is printed as an aggregate all the same, since a second row would be an error that a private row raises.
func (s *scope) lookup(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	s.read = nil
	r, err := s.project(sub)
	if err != nil {
		return nil, err
	}
	v := r.visible()
	if len(v) != 1 {
		return nil, s.b.refuse(pgerr.SyntaxError, node, "subquery must return only one column", "")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	if r.private() && !s.semiJoined(r) {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "a scalar subquery over a private table must equate the units of both tables",
			"Add WHERE inner.unit = outer.unit, or equate a key that determines the unit.")
	}
	one := r.uniqueOver(nil)
	if one == nil {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "this subquery may return more than one row", "Equate a unique key in its WHERE, aggregate with max or min, or write IN.")
	}
	if one.proof != nil {
		r.proofs = append(slices.Clone(r.proofs), *one.proof)
	}
	s.use(r)
	c, value, ok := onlyValue(v[0])
	if !ok {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, node, "a value of this type cannot be looked up", "Write EXISTS, or join the table on its key.")
	}
	c.x.Ref, c.x.Nullable = query.Subquery{Query: r.selects(query.Output{X: value})}, true
	c.x.Work, c.x.Subquery = c.x.Work.Plus(s.subqueryWork(r, len(s.read) > 0, false, 0)), true
	c.isUnit, c.perUnit = false, false
	if len(query.Key(c.x.Ref)) > maxScalarText {
		return nil, s.b.refuse(pgerr.StatementTooComplex, node, "the subquery is too complex", "Join the table on its key instead.")
	}
	return expr.Read(c.x, locationOf(node)), nil
}

// onlyValue prints an aggregate that gives the value of a column's one row, and describes it; a domain's is of its base type, since
// NULL may be no value of the domain. min knows neither booleans nor uuids, and of a text it gives a text.
func onlyValue(c *column) (*column, query.Scalar, bool) {
	v := c.copied()
	x := v.x
	if x.Base != 0 {
		x.Type, x.Typmod, x.TypeName, x.Base = x.Base, x.BaseTypmod, typeName(x.Base), 0
	}
	ref := query.F("({})", c.x.Ref)
	if x.TypeName != c.x.TypeName {
		ref = query.F("({})::{}", c.x.Ref, x.TypeName)
	}
	switch {
	case x.Type == pgtype.BoolOID:
		return v, query.F("bool_and({})", ref), true
	case x.Type == pgtype.UUIDOID:
		return v, query.F("(min({}::pg_catalog.text))::pg_catalog.uuid", ref), true
	case x.Type == pgtype.VarcharOID || x.Type == pgtype.NameOID:
		return v, query.F("(min({}))::{}", ref, x.TypeName), true
	case schema.IsNumber(x.Type), schema.IsTime(x.Type), x.Type == pgtype.DateOID, x.Type == pgtype.TextOID, x.Type == pgtype.BPCharOID, len(x.EnumLabels) > 0:
		return v, query.F("min({})", ref), true
	}
	return nil, nil, false
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
	return s.b.refuse(pgerr.FeatureNotSupported, node, "a comparison with a private subquery must compare the units of both tables",
		"Write IN of their unit columns, or of a key that determines the unit, or add WHERE inner.unit = outer.unit to the subquery.")
}

// sameKind refuses a subquery over tables that protect another kind of unit.
func (s *scope) sameKind(node *pg_query.Node, r *relation) error {
	if !s.rel.private() || !r.private() || r.kind == s.rel.kind {
		return nil
	}
	return s.b.refuse(pgerr.FeatureNotSupported, node, mixedUnits(s.rel.kind, r.kind), "")
}

// project binds a subquery with its SELECT list.
func (s *scope) project(sub *pg_query.SelectStmt) (*relation, error) {
	inner := *s.b
	inner.kind = ""
	r, err := inner.mustRelation(sub, &env{outer: s.env, scope: s})
	s.absorb(&inner)
	return r, err
}

// exists is EXISTS of a public subquery, or of a private one that is semi-joined on the unit (PRIVACY 6).
func (s *scope) exists(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	s.read = nil
	r, err := s.subquery(sub)
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
	sql, joined := existing(r, len(s.read) > 0)
	return expr.Predicate(sql, joined, false, s.read, s.subqueryWork(r, len(s.read) > 0, false, 0), locationOf(node)), nil
}

// existing is EXISTS of a relation's rows: anywhere, and as a condition of a WHERE. OFFSET 0 keeps PostgreSQL from answering one
// row's question with a hash table of all rows of the relation's tables, which it would build when the first row asks, and whose time
// would tell that one did (P22a). A condition of a WHERE becomes a join.
func existing(r *relation, correlated bool) (sql, joined query.Scalar) {
	plain := r.selects(query.Output{X: query.Integer(1)})
	if !correlated {
		return query.Exists{Query: plain}, nil
	}
	fenced := *plain
	fenced.Fence = query.FenceAll
	return query.Exists{Query: &fenced}, query.Exists{Query: plain}
}

// use counts the tables of a subquery among those of the sub.
func (s *scope) use(r *relation) {
	s.rel.tables = append(slices.Clone(s.rel.tables), r.tables...)
	s.rel.proofs = append(slices.Clone(s.rel.proofs), r.proofs...)
}

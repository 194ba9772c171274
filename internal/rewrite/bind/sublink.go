package bind

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// SubLink answers a subquery in an expression on private rows: what it reads is public, or of the row's own unit.
// Anything else would compare persons with each other.
func (s *Scope) SubLink(l *pg_query.SubLink, test []*expr.Expr) (*expr.Expr, error) {
	s.subqueries++
	node := &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}}
	x, err := s.answer(node, l, test)
	if err != nil {
		return nil, err
	}
	return x, s.checkSubqueryWork(x, node)
}

func (s *Scope) answer(node *pg_query.Node, l *pg_query.SubLink, test []*expr.Expr) (*expr.Expr, error) {
	sub := l.Subselect.GetSelectStmt()
	if sub == nil {
		return nil, s.binder.Refuse(refusal.ReadOnly, node, "only SELECT is available", "")
	}
	if l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
		if x, err := s.unitScalar(node, sub); x != nil || err != nil {
			return x, err
		}
	}
	k, correlated, err := s.kindOfSubquery(sub)
	if err != nil {
		return nil, err
	}
	if k == Released && correlated {
		return nil, s.binder.Refuse(refusal.AgainstReleased, node,
			"this aggregate over private rows reads the row that it is compared with",
			"Aggregate by itself: WHERE x > (SELECT avg(x) FROM t). Or tie them by nothing but equal keys: WHERE inner.key = outer.key.")
	}
	if k == Released && l.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
		return s.stageValue(node, sub)
	}
	switch l.SubLinkType {
	case pg_query.SubLinkType_EXISTS_SUBLINK:
		return s.exists(node, sub)
	case pg_query.SubLinkType_ANY_SUBLINK, pg_query.SubLinkType_ALL_SUBLINK:
		return s.quantified(node, l, sub, test)
	case pg_query.SubLinkType_EXPR_SUBLINK:
		return s.lookup(node, sub)
	}
	return nil, s.binder.Refuse(refusal.SubqueryForm, node, "this kind of subquery cannot be used on private rows",
		"Write IN, EXISTS, ANY or ALL, or a scalar subquery.")
}

// semiJoined reports whether a correlated subquery reads rows of the outer row's unit alone: a condition of it equates
// columns that make the units equal.
func (s *Scope) semiJoined(r *relation.Relation) bool {
	for _, q := range r.Correlated {
		if proof, ok := s.binder.UnitEqual(q.Inner, q.Outer); ok && q.Scope == s {
			r.Proofs = append(slices.Clone(r.Proofs), proof...)
			return true
		}
	}
	for i, q := range r.Correlated {
		if q.Scope == s && s.binder.RestrictToUnitOf(s.rel, r, q.Inner, q.Outer) {
			r.Correlated = slices.Clone(r.Correlated)
			r.Correlated[i].Tied = true
			return true
		}
	}
	return false
}

// existsRows binds the subquery of EXISTS, whose SELECT list may be anything; its scope may refer to this one.
func (s *Scope) existsRows(sub *pg_query.SelectStmt) (*relation.Relation, error) {
	inner := *s.binder
	inner.unitName = ""
	e := &Env{outer: s.env, scope: s}
	if sub.Op != pg_query.SetOperation_SETOP_NONE || sqltree.Aggregates(sub) || len(sub.DistinctClause) > 0 ||
		sub.WithClause != nil || len(sub.ValuesLists) > 0 {
		return s.subqueryRows(sub)
	}
	if sub.LimitCount.GetAConst().GetIval().GetIval() > 0 && sub.LimitOffset == nil { // one row is as good as all
		sub = sqltree.Clone(sub)
		sub.LimitCount = nil
	}
	if err := inner.plainSubquery(sub); err != nil {
		return nil, err
	}
	r, err := inner.Source(sub, e)
	return r, err
}

// quantified binds test IN (SELECT …), or another comparison with ANY or ALL of the rows: those of a public relation,
// or of the row's own unit, by a condition of the subquery or, for IN, by the columns compared (docs/privacy.md P7).
func (s *Scope) quantified(node *pg_query.Node, l *pg_query.SubLink, sub *pg_query.SelectStmt, test []*expr.Expr) (
	*expr.Expr, error,
) {
	s.read = nil
	r, err := s.subqueryRows(sub)
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
	v := r.Visible()
	if len(v) != len(test) {
		return nil, s.binder.Error(pgerr.SyntaxError, node, "subquery has too many or too few columns", "")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	q := &comparison{node: node, name: name, word: word, rows: r, columns: s.read}
	inner := make([]*expr.Expr, len(v))
	for i, c := range v {
		inner[i] = expr.Read(c.Value, sqltree.LocationOf(node))
		q.columns = append(q.columns, test[i].Columns()...)
		q.nullable = q.nullable || test[i].Nullable() || c.Value.Nullable
	}
	if q.left, q.right, err = expr.Compared(name, test, inner, s, sqltree.LocationOf(node)); err != nil {
		return nil, s.binder.Refusal(err)
	}
	q.work = expr.ComparedWork(name, test, inner)
	if !r.Private() || s.semiJoined(r) {
		s.use(r)
		work := relation.SubqueryWork(r, len(s.read) > 0, name == "=" && word == "ANY", q.work)
		return expr.Predicate(q.sql(), nil, q.nullable, q.columns, work, sqltree.LocationOf(node)), nil
	}
	outer := s.joinUnits(r, test)
	if outer == nil || name != "=" || word != "ANY" {
		return nil, s.refuseIn(node)
	}
	s.use(r)
	return q.inUnit(outer, len(test)), nil
}

// comparison is a comparison of expressions with the rows of a subquery.
type comparison struct {
	node       *pg_query.Node
	name, word string // = and ANY
	left       []query.Scalar
	rows       *relation.Relation
	right      []query.Scalar // what the rows select
	columns    []*expr.Column // that it reads
	nullable   bool
	work       int64 // of comparing with one row
}

// sql prints the comparison.
func (q *comparison) sql() query.Scalar {
	return query.Compared{
		Left: q.left, Op: q.name, Word: q.word,
		Query: q.rows.Select(relation.UnnamedOutputs(q.right)...),
	}
}

// inUnit prints IN of rows that joinUnits has restricted to the unit of the outer row. The rows of other units are not
// equal, and a NULL in one of them must not decide.
func (q *comparison) inUnit(outer *relation.Column, width int) *expr.Expr {
	sql, joined := relation.ExistsRows(q.rows, true)
	if width > 1 {
		sql, joined = q.sql(), nil
	}
	if outer.Value.Nullable {
		known := func(sql query.Scalar) query.Scalar {
			return query.F("CASE WHEN {} IS NOT NULL THEN {} END", outer.Value.Ref, sql)
		}
		if sql = known(sql); joined != nil {
			joined = known(joined)
		}
	}
	work := relation.SubqueryWork(q.rows, true, false, q.work)
	return expr.Predicate(sql, joined, outer.Value.Nullable || q.nullable &&
		width > 1, q.columns, work, sqltree.LocationOf(q.node))
}

// joinUnits restricts a subquery to the unit of the outer row, where a compared column does it, and returns the outer
// one; nil if none does.
func (s *Scope) joinUnits(r *relation.Relation, test []*expr.Expr) *relation.Column {
	for i, c := range r.Visible() {
		outer := relation.SourceOf(test[i])
		if outer == nil {
			continue
		}
		proof, ok := s.binder.UnitEqual(c, outer)
		if ok || s.binder.RestrictToUnitOf(s.rel, r, c, outer) {
			r.Proofs = append(slices.Clone(r.Proofs), proof...)
			r.Where = append(slices.Clone(r.Where), relation.Equals(c.Value.Ref, outer.Value.Ref))
			r.Correlated = append(slices.Clone(r.Correlated), relation.Correlation{Inner: c, Outer: outer, Scope: s})
			return outer
		}
	}
	return nil
}

// expressionOf returns the value of a subquery that is nothing but an expression: (SELECT TIMESTAMP '2024-01-01'). nil:
// it is more than that, or an untyped literal, which is a text in a SELECT list and nowhere else.
func (s *Scope) expressionOf(sub *pg_query.SelectStmt) (*expr.Expr, error) {
	bare := &pg_query.SelectStmt{TargetList: sub.TargetList, LimitOption: sub.LimitOption, Op: sub.Op}
	if len(sub.TargetList) != 1 || sub.Op != pg_query.SetOperation_SETOP_NONE || !proto.Equal(sub, bare) ||
		sqltree.Aggregates(sub) {
		return nil, nil
	}
	x, err := s.Expression(sub.TargetList[0].GetResTarget().Val)
	if err != nil || x.Type() == pgtype.UnknownOID {
		return nil, err
	}
	return x, nil
}

// lookup binds a scalar subquery that gives a column of one row, of a public relation or of the outer row's own unit.
// That it has at most one is proven; it is printed as an aggregate all the same, since a second row would be an error
// that a private row raises.
func (s *Scope) lookup(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	if x, err := s.expressionOf(sub); x != nil || err != nil {
		return x, err
	}
	s.read = nil
	r, err := s.subqueryRows(sub)
	if err != nil {
		return nil, err
	}
	v := r.Visible()
	if len(v) != 1 {
		return nil, s.binder.Error(pgerr.SyntaxError, node, "subquery must return only one column", "")
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	if r.Private() && !s.semiJoined(r) {
		return nil, s.binder.Refuse(refusal.SubqueryOnUnit, node,
			"a scalar subquery over a private table must equate the units of both tables",
			s.tieHint(r))
	}
	one := r.UniqueOver(nil)
	if one == nil && !r.Private() {
		x, err := s.readValue(node)
		if x != nil || err != nil {
			return x, err
		}
	}
	if one == nil && s.binder.MayBeOneRow(r) {
		one = &relation.UniqueSet{}
	}
	if one == nil {
		return nil, s.binder.Refuse(refusal.SeveralRows, node, "this subquery may return more than one row",
			"Equate a unique key in its WHERE, aggregate with max or min, or write IN.")
	}
	if one.Proof != nil {
		r.Proofs = append(slices.Clone(r.Proofs), *one.Proof)
	}
	return s.valueOf(node, r)
}

// readValue reads a scalar subquery over public tables, which reads no row around it, when the statement is planned, as
// SELECT (subquery): one row, or PostgreSQL's own error where the subquery has several (docs/privacy.md P4g). nil: it
// cannot be read.
func (s *Scope) readValue(node *pg_query.Node) (*expr.Expr, error) {
	if s.binder.stages == nil || s.binder.partOfRead {
		return nil, nil
	}
	q, err := s.binder.read(selectOf(node), s.env, true)
	if q == nil || err != nil {
		return nil, err
	}
	r, err := s.binder.ReadRows(q)
	if err != nil {
		return nil, s.binder.Located(err, node)
	}
	s.read = nil
	return s.valueOf(node, r)
}

// valueOf reads the one column of a relation of one row at most.
func (s *Scope) valueOf(node *pg_query.Node, r *relation.Relation) (*expr.Expr, error) {
	s.use(r)
	c, value, ok := relation.SingleValue(r.Visible()[0])
	if !ok {
		return nil, s.binder.Refuse(refusal.SubqueryForm, node, "a value of this type cannot be looked up",
			"Write EXISTS, or join the table on its key.")
	}
	c.Value.Ref, c.Value.Nullable, c.Value.Filled = query.Subquery{Query: r.Select(query.Output{X: value})}, true, false
	if inside := c.Value.InBounds; inside != nil {
		c.Value.InBounds = query.Subquery{Query: r.Select(query.Output{X: query.F("bool_and({})", inside)})}
	}
	c.Value.Work, c.Value.Subquery = c.Value.Work.Plus(relation.SubqueryWork(r, len(s.read) > 0, false, 0)), true
	c.IsUnit, c.PerUnit = false, false
	if len(query.Key(c.Value.Ref)) > maxScalarText {
		return nil, s.binder.Refuse(refusal.TooComplex, node, "the subquery is too complex",
			"Join the table on its key instead.")
	}
	return expr.Read(c.Value, sqltree.LocationOf(node)), nil
}

func (s *Scope) refuseIn(node *pg_query.Node) error {
	return s.binder.Refuse(refusal.SubqueryOnUnit, node,
		"a comparison with a private subquery must compare the units of both tables",
		"Write IN of their unit columns, or of a key that determines the unit, or add WHERE inner.unit = outer.unit to the subquery.")
}

// tieHint says how a subquery's rows are tied to the unit of the row outside.
func (s *Scope) tieHint(r *relation.Relation) string {
	if !s.rel.Private() {
		return "Count the private rows by the key of the public table in a subquery of FROM, and compare the counts above it."
	}
	return relation.EquateUnits("Add to the subquery's WHERE", s.rel, r)
}

// sameKind refuses a subquery over tables that protect another kind of unit.
func (s *Scope) sameKind(node *pg_query.Node, r *relation.Relation) error {
	if !s.rel.Private() || !r.Private() || r.UnitName == s.rel.UnitName {
		return nil
	}
	return s.binder.Refuse(refusal.MixedUnits, node, relation.MixedUnits(s.rel.UnitName, r.UnitName), "")
}

// subqueryRows binds a subquery with its SELECT list.
func (s *Scope) subqueryRows(sub *pg_query.SelectStmt) (*relation.Relation, error) {
	inner := *s.binder
	inner.unitName = ""
	r, err := inner.mustRelation(sub, &Env{outer: s.env, scope: s})
	return r, err
}

// exists binds EXISTS of a public subquery, or of a private one that is semi-joined on the unit (docs/privacy.md P7).
func (s *Scope) exists(node *pg_query.Node, sub *pg_query.SelectStmt) (*expr.Expr, error) {
	s.read = nil
	r, err := s.existsRows(sub)
	if err != nil {
		return nil, err
	}
	if r.Private() && !s.semiJoined(r) {
		return nil, s.binder.Refuse(refusal.SubqueryOnUnit, node,
			"EXISTS over a private table must equate the units of both tables",
			s.tieHint(r))
	}
	if err := s.sameKind(node, r); err != nil {
		return nil, err
	}
	s.use(r)
	sql, joined := relation.ExistsRows(r, len(s.read) > 0)
	return expr.Predicate(sql, joined, false, s.read, relation.SubqueryWork(r, len(s.read) > 0, false, 0),
		sqltree.LocationOf(node)), nil
}

// use counts what a subquery reads among what this level reads.
func (s *Scope) use(r *relation.Relation) {
	s.rel.Tables = append(slices.Clone(s.rel.Tables), r.Tables...)
	s.rel.Proofs = append(slices.Clone(s.rel.Proofs), r.Proofs...)
}

// checkSubqueryWork refuses an expression whose subqueries are too much work.
func (s *Scope) checkSubqueryWork(x *expr.Expr, n *pg_query.Node) error {
	w := x.Work()
	return s.binder.CheckSteps(w.Times(s.rel.Size()), s.rel.Tables, n, "this subquery",
		"Equate a unique key in it, or list fewer constants.")
}

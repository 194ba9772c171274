package bind

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Key is equal only for expressions that mean the same in the scope. Names below a subquery may be its own, so they
// stay.
func (s *Scope) Key(n *pg_query.Node) string {
	var resolve func(n *pg_query.Node) (*pg_query.Node, bool)
	resolve = func(n *pg_query.Node) (*pg_query.Node, bool) {
		if col := s.bare(n); col != nil {
			return sqltree.ColumnRef("", fmt.Sprintf("%p", col)), false
		}
		if l := n.GetSubLink(); l != nil {
			l.Testexpr = sqltree.Replace(l.Testexpr, resolve)
			return n, false
		}
		return n, true
	}
	return sqltree.TreeKey(sqltree.Replace(sqltree.Clone(n), resolve))
}

// Scope resolves the names of one query level for expr.
type Scope struct {
	binder     *Binder
	rel        *relation.Relation
	env        *Env
	outer      *Scope
	subqueries int            // subquery expressions seen
	read       []*expr.Column // columns of this level that subquery expressions have read
}

// NewScope makes the scope of a query level over a relation, in an environment. Inside a subquery expression it is
// nested in that of the query around it.
func NewScope(b *Binder, rel *relation.Relation, e *Env) *Scope {
	return &Scope{binder: b, rel: rel, env: e, outer: e.enclosing()}
}

func (s *Scope) Column(fields []string, location int) (*expr.Column, error) {
	c, err := s.resolve(fields)
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Position == 0 {
			pe.Position = int32(s.binder.Position(location))
		}
		return nil, err
	}
	if c == nil && s.outer != nil {
		x, err := s.outer.Column(fields, location)
		if err == nil {
			s.outer.read = append(s.outer.read, x)
		}
		return x, err
	}
	if c == nil {
		return nil, s.binder.RefuseAt(refusal.SubqueryForm, location, fmt.Sprintf("column %q cannot be used here",
			fields[len(fields)-1]),
			"A subquery over private rows cannot refer to a row outside. Join on the unit, or write FROM public LEFT JOIN private … GROUP BY the key of the public table.")
	}
	return c.Value, nil
}

// resolve finds a column at this level; nil if there is none.
func (s *Scope) resolve(fields []string) (*relation.Column, error) {
	name, table := fields[len(fields)-1], ""
	if len(fields) > 1 {
		table = fields[len(fields)-2]
	}
	s.binder.Take(10 + len(s.rel.Columns)/16)
	c, err := s.rel.Find(table, name)
	if err != nil {
		return nil, err
	}
	if c != nil {
		s.binder.Rely(c.Origin)
		return c, nil
	}
	if s.binder.Named != nil && !s.binder.Named[name] { // a table may have it all the same
		return nil, pgerr.New(pgerr.InternalError, fmt.Sprintf("the statement does not name the column %q", name))
	}
	if len(fields) == 1 {
		for _, c := range s.rel.Columns {
			if c.Table == name {
				return nil, refusal.New(refusal.Rows, "whole rows of a private table are never returned",
					pgerr.Hint("Name the columns to aggregate."))
			}
		}
	}
	return nil, nil
}

// Parameter, Literal, Compute and Prints are the same at every level.
func (s *Scope) Parameter(n int) (uint32, *string, bool) { return s.binder.Parameter(n) }

func (s *Scope) Literal(oid uint32, text string) (string, bool, error) {
	return s.binder.Literal(oid, text)
}

func (s *Scope) Compute(n *pg_query.Node, oid uint32, sql query.Scalar) (*string, bool, error) {
	return s.binder.Compute(n, oid, sql)
}

func (s *Scope) DomainNamed(schema, name string) *expr.Domain {
	return s.binder.DomainNamed(schema, name)
}

func (s *Scope) Prints(oid uint32) bool { return s.binder.Prints(oid) }

// Condition builds a boolean expression over the scope. It reads numbers of one unit as they are, where that is total.
func (s *Scope) Condition(n *pg_query.Node) (*expr.Expr, error) {
	exact := &expr.Reading{As: expr.AsExact}
	x, err := s.build(n, exact.BuildBoolean)
	if err == nil || !exact.Beyond {
		return x, err
	}
	if x, err = s.build(n, expr.BuildBoolean); err == nil && x.Cuts() {
		s.binder.CutConditions = append(s.binder.CutConditions, x.Text())
	}
	return x, err
}

// wholeKeys is how many values an expression over numbers of one unit may have, whatever these are, for all of them to
// be groups of a key.
var wholeKeys = expr.Limits{Listed: 1000, Computed: 1000}

// Expression builds a row-level expression over the scope. Where it computes with numbers of one unit it is a column of
// its own: of what they are, where that is total, with the bounds of what they count as (docs/privacy.md P8e).
func (s *Scope) Expression(n *pg_query.Node) (*expr.Expr, error) {
	reading := &expr.Reading{As: expr.AsExact}
	exact, err := s.build(n, reading.Build)
	if !reading.Beyond {
		return exact, err
	}
	x, refused := s.build(n, expr.Build)
	switch {
	case err != nil, refused == nil && x.Column() != nil:
		return x, refused
	case refused != nil || !x.Cuts() || x.Covers(exact):
		return exact, nil
	}
	listed := exact
	if _, err := expr.Keys(exact, wholeKeys); err != nil {
		if listed, err = s.build(n, (&expr.Reading{As: expr.AsListed}).Build); err != nil {
			listed = x
		}
	}
	c := &relation.Column{Value: x.ExactColumn(exact, listed), PerUnit: relation.PerUnit(exact)}
	c.Value.Source = c
	return expr.Read(c.Value, x.Location()), nil
}

// Bounded builds an expression which the caller wants to have bounds.
func (s *Scope) Bounded(n *pg_query.Node) (*expr.Expr, error) {
	e, err := s.Expression(n)
	if err != nil || !relation.IsUnbounded(e) || !s.rel.Private() {
		return e, err // what is computed of public rows alone gets its bounds where it is read
	}
	if bounded, err := s.boundPublic(n); err != nil || !bounded {
		return e, err
	}
	return s.Expression(n)
}

// build builds an expression. Where it is refused, public columns in it get the bounds of their rows first.
func (s *Scope) build(n *pg_query.Node, build func(*pg_query.Node, expr.Scope) (*expr.Expr, error)) (
	*expr.Expr, error,
) {
	n = s.hoisted(n)
	e, err := build(n, s)
	var refused *expr.Refusal
	if errors.As(err, &refused) {
		bounded, failed := s.boundPublic(n)
		if failed != nil {
			return nil, failed
		}
		if bounded {
			e, err = build(n, s)
		}
	}
	return e, s.binder.Refusal(err)
}

// boundPublic sets the bounds of public columns that an expression reads to those of their rows, and reports whether
// one has new ones.
func (s *Scope) boundPublic(n *pg_query.Node) (bounded bool, failed error) {
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		for at := s; at != nil && failed == nil; at = at.outer {
			c := at.bare(n)
			if c == nil {
				continue
			}
			var changed bool
			changed, failed = s.binder.BoundPublic(at.rel, c)
			bounded = bounded || changed
			break
		}
		return failed == nil
	})
	return bounded, failed
}

// constant evaluates a condition that reads no column.
func (s *Scope) constant(c *expr.Expr) (holds, known bool) {
	if len(c.Columns()) > 0 || s.subqueries > 0 {
		return false, false
	}
	return s.binder.Holds(c)
}

// correlations finds conditions inner column = outer column whose = is an equivalence.
func (s *Scope) correlations(conds []*pg_query.Node) []relation.Correlation {
	var out []relation.Correlation
	for _, q := range conds {
		sides := sqltree.Equality(q)
		if s.outer == nil || sides == nil {
			continue
		}
		for _, pair := range [][2]*pg_query.Node{{sides[0], sides[1]}, {sides[1], sides[0]}} {
			in := s.bare(pair[0])
			if in != nil && s.bare(pair[1]) == nil {
				if around := s.outer.bare(pair[1]); around != nil && expr.SameEquality(in.Value, around.Value) {
					out = append(out, relation.Correlation{Inner: in, Outer: around, Scope: s.outer})
				}
			}
		}
	}
	return out
}

// Target is one output of a SELECT list.
type Target struct {
	Name   string
	Node   *pg_query.Node
	Column *relation.Column // of * and table.*
}

// Targets expands stars.
func (s *Scope) Targets(list []*pg_query.Node) ([]Target, error) {
	var out []Target
	for _, n := range list {
		t := n.GetResTarget()
		ref := t.Val.GetColumnRef()
		if !sqltree.Star(t.Val) {
			out = append(out, Target{Name: sqltree.OutputName(t), Node: t.Val})
			continue
		}
		columns := s.rel.Visible()
		if len(ref.Fields) > 1 {
			columns = s.rel.OfTable(ref.Fields[len(ref.Fields)-2].GetString_().GetSval())
		}
		for _, c := range columns {
			if c.Name != "" {
				out = append(out, Target{Name: c.Name, Node: sqltree.ColumnRef(c.Table, c.Name), Column: c})
			}
		}
	}
	return out, nil
}

// constantInteger reads a constant or parameter of at least least; least itself while the value is not known.
func (s *Scope) constantInteger(n *pg_query.Node, what string, least int64) (int64, error) {
	x, err := s.Expression(n)
	if err != nil {
		return 0, err
	}
	if x.Provisional() {
		return least, nil
	}
	v := x.Bounds()
	if len(x.Columns()) > 0 || !pgresolve.IsInt(x.Type()) || !v.Finite() || v.Lo.Cmp(v.Hi) != 0 {
		return 0, s.binder.Refuse(refusal.ConstantNeeded, n, what+" must be a constant integer", "")
	}
	if i := bounds.FloorInt(v.Lo); i >= least && i <= maxWindowOffset {
		return i, nil
	}
	return 0, s.binder.Error(pgerr.InvalidParameterValue, n, fmt.Sprintf("%s must lie between %d and %d", what, least,
		maxWindowOffset), "")
}

// maxWindowOffset bounds constants of windows. No unit has that many rows.
const maxWindowOffset = 1 << 30

// noteEquality notes a condition column = column.
func (s *Scope) noteEquality(n *pg_query.Node, q *relation.Equalities) {
	sides := sqltree.Equality(n)
	if sides == nil {
		return
	}
	l, r := s.bare(sides[0]), s.bare(sides[1])
	switch {
	case l != nil && r != nil:
		q.Add(l, r)
	case l != nil && s.fixes(l, sides[1]):
		q.Fixed = append(q.Fixed, l)
	case r != nil && s.fixes(r, sides[0]):
		q.Fixed = append(q.Fixed, r)
	case l != nil:
		s.noteComputed(l, sides[1], q)
	case r != nil:
		s.noteComputed(r, sides[0], q)
	}
}

// noteComputed notes a condition column = expression. What cannot be built is refused where the condition is.
func (s *Scope) noteComputed(c *relation.Column, n *pg_query.Node, q *relation.Equalities) {
	if x := s.computed(n); x != nil {
		q.AddComputed(c, x)
	}
}

// noteOrder notes a condition that compares by order.
func (s *Scope) noteOrder(n *pg_query.Node, q *relation.Equalities) {
	between := n.GetAExpr().GetKind() == pg_query.A_Expr_Kind_AEXPR_BETWEEN
	if sqltree.Equality(n) != nil || !between && sqltree.Operator(n) == "" {
		return
	}
	if x := s.computed(n); x != nil {
		q.Ordered = append(q.Ordered, x)
	}
}

// computed builds an expression without subqueries; nil: it cannot be built.
func (s *Scope) computed(n *pg_query.Node) *expr.Expr {
	if sqltree.Any(n, func(n *pg_query.Node) bool { return n.GetSubLink() != nil }) {
		return nil
	}
	x, err := s.Expression(n)
	if err != nil {
		return nil
	}
	return x
}

// fixes reports whether = with this constant lets one value of the column through. Where the operator converts the
// column first, several may pass: 2^53 and 2^53+1 are one float8, and two local times of one night one timestamptz.
func (s *Scope) fixes(c *relation.Column, n *pg_query.Node) bool {
	if !sqltree.ConstantNode(n) || !c.Value.DeterministicCollation {
		return false
	}
	if n.GetAConst().GetSval() != nil {
		return true // takes the column's type
	}
	x, err := s.Expression(n)
	if err != nil {
		return false
	}
	exact := func(oid uint32) bool { return pgresolve.IsInt(oid) || oid == pgtype.NumericOID }
	column := c.Value.Type
	if c.Value.Base != 0 {
		column = c.Value.Base
	}
	return x.Type() == column || exact(x.Type()) && exact(column) || pgresolve.IsText(x.Type()) && pgresolve.IsText(column)
}

// bare returns the column of this level that a node is, if it is nothing but a column.
func (s *Scope) bare(n *pg_query.Node) *relation.Column {
	ref := n.GetColumnRef()
	if ref == nil {
		return nil
	}
	for _, f := range ref.Fields {
		if f.GetString_() == nil {
			return nil
		}
	}
	c, err := s.resolve(sqltree.StringList(ref.Fields))
	if err != nil {
		return nil
	}
	return c
}

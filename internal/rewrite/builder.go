package rewrite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// builder carries one planning of one statement: with values and a lookup at Bind, without at Analyze.
type builder struct {
	schema   *Schema
	settings Settings
	desc     Description
	sql      string // the statement's text, for positions
	values   Values
	known    bool   // values are known
	lookup   Lookup // nil at Analyze
	opts     Options

	literals map[literalKey]Canonical // what the shadow has read, shared too: the clock stands still within a statement

	work    *int             // query levels bound so far, shared by all copies of the builder
	begun   *begun           // what main may begin lazily, shared too
	kinds   map[kindKey]kind // what kindOf has found, shared too
	aliases int
	blocks  []*block
	unions  []union  // by placeholder
	kind    string   // the one unit kind of the query
	domains []string // what Distinct gave, for the fingerprint
}

// kindKey names a query at a place.
type kindKey struct {
	query *pg_query.SelectStmt
	env   *env
}

// literalKey names a constant to be read.
type literalKey struct {
	oid  uint32
	text string
}

// maxWork bounds the query levels that one statement may be expanded into: CTEs and views that use each other twice double
// at every step.
const maxWork = 1500

// step counts one query level.
func (b *builder) step() error {
	*b.work++
	if *b.work > maxWork {
		return tooComplex("its subqueries, CTEs and views expand into too many")
	}
	return nil
}

// env is what names of relations mean at a place of the statement.
type env struct {
	ctes  map[string]*cte
	outer *env
	scope *scope // columns of the enclosing query, inside a subquery expression
}

type cte struct {
	query   *pg_query.SelectStmt
	columns []string
	env     *env
}

func (e *env) cte(name string) *cte {
	for ; e != nil; e = e.outer {
		if c := e.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// newAlias names one more FROM item.
func (b *builder) newAlias() *query.Alias {
	b.aliases++
	return &query.Alias{ID: b.aliases}
}

func (b *builder) usesDomain(c policy.ColumnOf, values []Canonical) {
	b.domains = append(b.domains, fmt.Sprintf("%q %q", c, values))
}

// position turns a byte offset into PostgreSQL's 1-based count of characters; 0 if unknown.
func (b *builder) position(location int) int {
	if location < 0 || location > len(b.sql) {
		return 0
	}
	return utf8.RuneCountInString(b.sql[:location]) + 1
}

// refuse is an error at a node.
func (b *builder) refuse(code string, n *pg_query.Node, message, hint string) error {
	return b.refuseAt(code, locationOf(n), message, hint)
}

func (b *builder) refuseAt(code string, location int, message, hint string) error {
	options := []pgerr.Option{pgerr.At(b.position(location))}
	if hint != "" {
		options = append(options, pgerr.Hint("%s", hint))
	}
	return pgerr.New(code, message, options...)
}

// located gives an error without a position the position of n.
func (b *builder) located(err error, n *pg_query.Node) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Position == 0 {
		copied := *pe
		copied.Position = int32(b.position(locationOf(n)))
		return &copied
	}
	return err
}

// resolved binds a relation's name as the backend's search_path does: public first, the other schemas of the policy by
// name. Views and tables are one name space.
func (b *builder) resolved(v *pg_query.RangeVar) policy.Name {
	var found policy.Name
	if v.Catalogname != "" && v.Catalogname != b.settings.Database {
		return found
	}
	if v.Schemaname != "" {
		return policy.Name{Schema: v.Schemaname, Relation: v.Relname}
	}
	consider := func(n policy.Name) {
		if n.Relation != v.Relname || found.Schema == "public" {
			return
		}
		if found == (policy.Name{}) || n.Schema == "public" || n.Schema < found.Schema {
			found = n
		}
	}
	for _, t := range b.schema.Policy.Tables {
		consider(t.Name)
	}
	for _, n := range b.schema.Policy.Views {
		consider(n)
	}
	return found
}

// table finds a listed table by the name that the analyst wrote; nil when the policy does not list it.
func (b *builder) table(v *pg_query.RangeVar) *policy.Table {
	return b.schema.Policy.Table(b.resolved(v))
}

// view finds a listed view; nil when there is none.
func (b *builder) view(v *pg_query.RangeVar) *Relation {
	if n := b.resolved(v); slices.Contains(b.schema.Policy.Views, n) {
		return b.schema.Relations[n]
	}
	return nil
}

// scope resolves the names of one query level for expr.
type scope struct {
	b          *builder
	rel        *relation
	env        *env
	outer      *scope
	subqueries int            // subquery expressions seen
	read       []*expr.Column // columns of this level that subquery expressions have read
}

func (s *scope) Column(fields []string, location int) (*expr.Column, error) {
	c, err := s.resolve(fields)
	if err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Position == 0 {
			pe.Position = int32(s.b.position(location))
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
		return nil, s.b.refuseAt(pgerr.FeatureNotSupported, location, fmt.Sprintf("column %q cannot be used here", fields[len(fields)-1]),
			"A subquery over private rows cannot refer to a row outside. Join on the unit, or write FROM public LEFT JOIN private … GROUP BY the key of the public table.")
	}
	return c.x, nil
}

// resolve finds a column at this level; nil if there is none.
func (s *scope) resolve(fields []string) (*column, error) {
	name, table := fields[len(fields)-1], ""
	if len(fields) > 1 {
		table = fields[len(fields)-2]
	}
	c, err := s.rel.find(table, name)
	if c != nil || err != nil {
		return c, err
	}
	if len(fields) == 1 {
		for _, c := range s.rel.cols {
			if c.table == name {
				return nil, pgerr.New(pgerr.InsufficientPrivilege, "whole rows of a private table are never returned", pgerr.Hint("Name the columns to aggregate."))
			}
		}
	}
	return nil, nil
}

func (s *scope) Parameter(n int) (uint32, *string, bool) {
	if n < 1 || n > len(s.b.desc.ParameterTypes) {
		return 0, nil, false
	}
	if !s.b.known || n > len(s.b.values) {
		return s.b.desc.ParameterTypes[n-1], nil, false
	}
	return s.b.desc.ParameterTypes[n-1], (*string)(s.b.values[n-1]), true
}

// Literal has the shadow read a constant, once per statement.
func (s *scope) Literal(oid uint32, text string) (string, bool, error) {
	if s.b.lookup == nil {
		return "", false, nil
	}
	key := literalKey{oid, text}
	if value, ok := s.b.literals[key]; ok {
		return string(value), true, nil
	}
	value, err := s.b.lookup.Literal(oid, text)
	if err == nil {
		s.b.literals[key] = value
	}
	return string(value), true, err
}

// Prints compares the session's styles with main's.
func (s *scope) Prints(oid uint32) bool {
	switch oid {
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID:
		return strings.HasPrefix(strings.ToUpper(s.b.settings.DateStyle), "ISO")
	case pgtype.IntervalOID:
		return strings.EqualFold(s.b.settings.IntervalStyle, "postgres")
	}
	return true
}

// condition builds a boolean expression over the scope.
func (s *scope) condition(n *pg_query.Node) (*expr.Expr, error) {
	e, err := expr.BuildBoolean(n, s)
	return e, s.b.refusal(err)
}

// expression builds a row-level expression over the scope.
func (s *scope) expression(n *pg_query.Node) (*expr.Expr, error) {
	e, err := expr.Build(n, s)
	return e, s.b.refusal(err)
}

// refusal gives an expression's refusal its position in the client's text.
func (b *builder) refusal(err error) error {
	var r *expr.Refusal
	if !errors.As(err, &r) {
		return err
	}
	e := *r.Err
	if e.Position == 0 {
		e.Position = int32(b.position(r.Location))
	}
	return &e
}

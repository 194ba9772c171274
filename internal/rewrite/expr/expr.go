package expr

import (
	"math/big"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Column is a column that an expression may read. R owns the values; Build keeps the pointer as the column's identity.
type Column struct {
	Ref        query.Scalar     // the column as a query for main reads it
	Name       string           // as messages name it
	Type       uint32           // type OID, possibly a domain's or an enum's
	Typmod     int32            // −1: none
	TypeName   string           // format_type(Type, Typmod), as SQL prints it
	Base       uint32           // a domain's base type; 0: Type is no domain
	BaseTypmod int32            // a domain's typmod (with Base)
	Nullable   bool             // by schema, or made so by a join
	Bounds     bounds.Interval  // declared or derived; ends may be open
	Enforced   bool             // values lie in Bounds already (a derived table's column): no clamp where it is read
	Held       *bounds.Interval // with Enforced: where values lie, once a condition has narrowed Bounds (see Narrow); nil: in Bounds
	Domain     []string         // declared values in text form; nil: none
	EnumLabels []string         // Type (or Base) is an enum: its labels in order
	Unit       bool             // identifies the privacy unit
	OfUnit     bool             // computed from such a column
	Scale      int              // with Enforced: digits after the point of a numeric (see Expr.Scale); −1: unknown
	Collation  string           // quoted and qualified; empty: the type's default
	// DeterministicCollation: equality is byte equality. True for types without collation.
	DeterministicCollation bool
	Source                 any   // R's own: what the column came from
	Chars                  int64 // of a public text: how many it has on average; 0: unknown
	Work                   Work  // of computing it, where a subselect or a subquery does
	Subquery               bool  // a subquery computes it, for one row

	choices     []*Expr // the column holds values of these expressions, each over its own columns; nil: not computed
	provisional bool    // they wait for parameter values
}

// Interval is what bounds an expression.
type Interval = bounds.Interval

// Between makes an interval of two integers.
func Between(lo, hi int64) Interval { return bounds.Between(lo, hi) }

// Scope resolves what an expression names.
type Scope interface {
	// Column resolves a column reference. fields are its parts, location is the byte offset in the parsed text.
	Column(fields []string, location int) (*Column, error)
	// Parameter gives the type of $n and, if known, its value in PostgreSQL's canonical text form; nil is NULL.
	Parameter(n int) (oid uint32, value *string, known bool)
	// Literal has PostgreSQL read a constant as the session would, and gives its value in canonical text form. What depends on
	// the clock ("today", "now") is the same wherever it stands in a statement, and is read anew for each one. It is not
	// known before parameter values are.
	Literal(oid uint32, text string) (value string, known bool, err error)
	// Prints says whether the session prints values of a type as main does, whose settings never change: dates as ISO, intervals
	// in PostgreSQL's own style.
	Prints(oid uint32) bool
	// SubLink answers a subquery expression (EXISTS, IN, ANY, ALL, scalar), usually with Predicate. test is the built left-hand
	// side of IN, ANY and ALL, several expressions if it is a row; nil for the others. It may refuse with Refuse.
	SubLink(link *pg_query.SubLink, test []*Expr) (*Expr, error)
}

// Build types and proves one row-level expression. Errors are *Refusal, or what the Scope returned.
func Build(node *pg_query.Node, scope Scope) (*Expr, error) {
	return newBuilder(scope).root(node)
}

// BuildBoolean is Build for WHERE, ON, HAVING and FILTER conditions: the result is coerced to boolean.
func BuildBoolean(node *pg_query.Node, scope Scope) (*Expr, error) {
	return newBuilder(scope).rootBoolean(node)
}

// Read is a bare column as an expression. location is what refusals point to.
func Read(c *Column, location int) *Expr { return columnExpr(c, location) }

// Expr is a typed, bounded, total expression. Immutable.
type Expr struct {
	typ         uint32
	typmod      int32
	typeName    string // as a cast prints it; built-in types are qualified
	nullable    bool
	bounds      bounds.Interval
	scale       int // digits after the point that values may have; −1: unknown
	quantum     int // floats: values are multiples of 2^-quantum; −1: unknown
	maxLen      int // text: most characters; −1: unknown
	nonzero     bool
	provisional bool
	collation   string           // quoted and qualified; empty: default
	fuzzy       bool             // the collation is not deterministic: equality is not byte equality
	monthless   bool             // an interval whose months are 0
	spread      *big.Rat         // intervals: at most this many microseconds in its fields, whatever their signs, a month counting 31 days
	distance    *bounds.Interval // of age(): microseconds between its operands
	regex       bool             // a pattern that SIMILAR TO made, validated
	labels      []string
	untyped     bool // a literal without a type, taken for text
	location    int
	text        string // as messages name it
	weight      int    // nodes that print; 0: not counted yet

	tmpl        string // how it prints; {0}, {1}… are args, {T} is typeName; empty for leaves
	elementwise string // the operator that ANY or ALL applies to each element
	cost        cost   // of the operation itself
	op          string // AND, OR, NOT or a comparison: prints in canonical order (canonical.go)
	args        []*Expr
	verbatim    query.Scalar // SQL of the caller's
	joined      query.Scalar // verbatim, as a condition of a WHERE
	subquery    Work         // of verbatim
	col         *Column      // column read
	clamp       bool         // the column is read clamped
	flush       bool         // the float column is read with tiny values flushed to zero
	value       *constant
	param       int // $n, 0: none

	series *series // values can be listed without listing the columns read
	test   *test   // what a condition says of columns; nil: nothing known
}

// Type is the type OID that PostgreSQL's row description gives to the expression: a domain's base type.
func (e *Expr) Type() uint32 { return e.baseType() }

// Typmod is the type modifier, −1 where PostgreSQL gives none.
func (e *Expr) Typmod() int32 { return e.relabelled().typmod }

// TypeName is the type as a cast prints it.
func (e *Expr) TypeName() string { return e.typeName }

// Nullable says whether a value may be NULL.
func (e *Expr) Nullable() bool { return e.nullable }

// Bounds holds every value but NULL, in canonical units (see the package comment). Open ends: no bound is known.
func (e *Expr) Bounds() bounds.Interval { return e.bounds }

// Collatable says that the expression's equality is that of a collation.
func (e *Expr) Collatable() bool { return pgresolve.IsString(e.baseType()) && !e.isEnum() }

// Collation is the expression's, quoted and qualified; empty: the database's default.
func (e *Expr) Collation() string { return e.collation }

// Scale is the most digits after the decimal point that a value may have: 0 for integers; −1: unknown.
func (e *Expr) Scale() int { return e.scale }

// Provisional says that a proof waits for parameter values.
func (e *Expr) Provisional() bool { return e.provisional }

// Location is the byte offset of the expression in the parsed text, −1 if unknown.
func (e *Expr) Location() int { return e.location }

// Text names the expression in messages, close to what the analyst wrote.
func (e *Expr) Text() string { return e.text }

// Column is the column that the expression is, bare or clamped by Read; nil for anything else. The SQL of a bare column is not
// clamped: whoever makes a column of its own of it prints Read, or leaves Enforced unset.
func (e *Expr) Column() *Column { return e.col }

// Untyped says that the expression is a literal to which nothing but its place would give a type: 'a' or NULL, taken for text.
func (e *Expr) Untyped() bool { return e.untyped }

// Constant gives the value of a constant expression in text form; nil is NULL. ok is false for anything that reads a
// column or a parameter without a value, and for operations on constants.
func (e *Expr) Constant() (value *string, ok bool) {
	if e.value == nil {
		return nil, false
	}
	return e.value.text, true
}

// Columns lists the columns that the expression reads, in order, each once.
func (e *Expr) Columns() []*Column { return e.columns(func(*Expr) bool { return true }) }

// Direct lists the columns that the expression computes with: Columns without those that only its subqueries read, of which
// it knows nothing but whether the predicate holds.
func (e *Expr) Direct() []*Column { return e.columns(func(x *Expr) bool { return x.verbatim == nil }) }

func (e *Expr) columns(below func(*Expr) bool) []*Column {
	var out []*Column
	seen := map[*Column]bool{}
	e.walk(func(x *Expr) bool {
		if x.col != nil && !seen[x.col] {
			seen[x.col] = true
			out = append(out, x.col)
		}
		return below(x)
	})
	return out
}

// OfUnit says that the expression computes with a column that identifies the privacy unit.
func (e *Expr) OfUnit() bool {
	return slices.ContainsFunc(e.Direct(), func(c *Column) bool { return c.Unit || c.OfUnit })
}

// walk visits the expression top down; f says whether to go on below.
func (e *Expr) walk(f func(*Expr) bool) {
	if !f(e) {
		return
	}
	for _, a := range e.args {
		a.walk(f)
	}
}

// SQL is the expression for main. It is canonical: what differs in the order of operands, or in writing a value as a
// literal or as a parameter, is equal, so it can be part of a fingerprint. A parameter is its value; $n only while that is not
// known.
func (e *Expr) SQL() query.Scalar { return (&printer{}).print(e) }

// Conjuncts are the conditions that all have to hold for e to hold, in canonical order.
func Conjuncts(conditions ...*Expr) []query.Scalar {
	var out []query.Scalar
	for _, e := range conditions {
		switch {
		case e.op == "AND":
			out = append(out, Conjuncts(e.args...)...)
		case e.joined != nil:
			out = append(out, e.joined)
		case e.op == "NOT" && e.args[0].joined != nil:
			out = append(out, query.F("(NOT {})", e.args[0].joined))
		default:
			out = append(out, e.SQL())
		}
	}
	return query.Sorted(out)
}

// Predicate makes a boolean expression of SQL that the caller made itself, for subqueries. columns are those of the outer query
// that sql reads, work is what main does for it. joined is the SQL where the expression is one of the conditions of a WHERE, and
// PostgreSQL may make a join of it; nil: the same.
func Predicate(sql, joined query.Scalar, nullable bool, columns []*Column, work Work, location int) *Expr {
	e := newExpr(pgtype.BoolOID, location)
	e.nullable, e.subquery = nullable, work
	e.verbatim, e.joined, e.text = sql, joined, "subquery"
	for _, c := range columns {
		e.args = append(e.args, columnExpr(c, location))
	}
	return e
}

// And joins conditions; nil if there are none.
func And(conditions ...*Expr) *Expr { return join("AND", conditions) }

// Narrowing is what a condition that holds says of a column.
type Narrowing struct {
	Bounds  bounds.Interval // to be intersected with the column's
	NotNull bool
	Domain  []string   // the only values left, in text form; nil: no such knowledge
	not     []*big.Rat // values that it does not have
}

// Narrow collects what must hold of columns wherever condition is true. For a WHERE: build the WHERE first, narrow copies
// of the columns, and build the rest with those.
func Narrow(condition *Expr) map[*Column]Narrowing { return narrow(condition) }

// GridRule asks Measured for a grid. Zero: by type (PRIVACY, Grids).
type GridRule struct {
	Step    *big.Rat // in canonical units; nil: by type
	Foreign bool     // print CASE ladders, which postgres_fdw pushes down, and never LEAST and GREATEST
}

// Measure is an aggregated argument as main computes it: an integer number of grid steps per row.
type Measure struct {
	SQL       query.Scalar // NULL where the argument is NULL, else an integer in [Lo, Hi]
	Unguarded query.Scalar // faster, and wrong for NULL: for sum(Unguarded) FILTER (WHERE Guard)
	Guard     query.Scalar // condition that the argument is not NULL; nil: it never is
	Type      uint32       // int4 or int8, of both
	Lo, Hi    int64        // in grid steps
	Step      *big.Rat     // canonical units per step: value = Step × z. Origin is 0 (1970-01-01 for dates and timestamps)

	arg *Expr
}

// Measured prints the clamped, grid-rounded integer of an aggregated argument. It refuses arguments without finite bounds.
func Measured(e *Expr, rule GridRule) (*Measure, error) { return measured(e, rule) }

// KeyList is a query whose first column, k, lists every value that a key expression may take, each once, in a fixed order, NULL
// last. It reads no table and can run on the shadow.
type KeyList struct {
	SQL   string
	Size  int64 // upper bound of the number of rows
	Exact bool  // the key was computed of its columns' values: else NULL may be in the list or not, whether the key has it or not
}

// Keys lists a key expression's values where they follow from domains, bounds or the expression itself; an error says why
// they do not and what would help. limit bounds the rows that the query may produce. Values are left out that would contradict
// the conditions that hold in every row.
func Keys(e *Expr, limit int64, holds ...*Expr) (*KeyList, error) { return keys(e, limit, holds) }

// SelectionKey prints a key for partition selection: equal values, and only those, have equal text, and
// casting it to TypeName gives the value. It refuses types without such a form (PRIVACY 10).
func SelectionKey(e *Expr) (query.Scalar, error) { return selectionKey(e) }

// HasSubquery says that a subquery computes a part of the expression.
func (e *Expr) HasSubquery() bool {
	found := false
	e.walk(func(x *Expr) bool {
		_, literal := x.verbatim.(query.Raw)
		found = found || x.verbatim != nil && !literal || x.col != nil && x.col.Subquery
		return !found
	})
	return found
}

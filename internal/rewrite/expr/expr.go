package expr

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Expr is a typed, bounded, total expression. Nobody changes one once it is built.
type Expr struct {
	typ      uint32
	typmod   int32
	typeName string // as a cast prints it; built-in types are qualified
	nullable bool
	// not nullable, and NULL where PostgreSQL computes it for rows that a condition drops (see Column.NullBefore)
	nullBefore       bool
	bounds           bounds.Interval
	scale            int // digits after the point that values may have; −1: unknown
	quantum          int // floats: values are multiples of 2^-quantum; −1: unknown
	maxLen           int // text: most characters; −1: unknown
	nonzero          bool
	provisional      bool
	collation        string           // quoted and qualified; empty: default
	nondeterministic bool             // the collation is not deterministic: equality is not byte equality
	monthless        bool             // an interval of days and time of one sign
	year             bool             // the year of a date or timestamp, args[1]
	distance         *bounds.Interval // of age(): microseconds between its operands
	pattern          *string          // what PostgreSQL makes of the pattern of a SIMILAR TO
	labels           []string
	untyped          bool // a literal without a type, taken for text
	location         int
	text             string // as messages name it
	weight           int    // nodes that print; 0: not counted yet

	tmpl        string // how it prints; {0}, {1}… are args, {T} is typeName; empty for leaves
	elementwise string // the operator that ANY or ALL applies to each element
	cost        cost   // of the operation itself
	op          string // AND, OR, NOT or a comparison: prints in canonical order (canonical.go)
	args        []*Expr
	verbatim    query.Scalar // SQL that the caller made
	joined      query.Scalar // verbatim, as a condition of a WHERE
	subquery    Work         // of verbatim
	col         *Column      // column read
	clamp       bool         // the column is read clamped
	// that has clamped columns where this one has them as they are; nil: it is no such one (see stored)
	read  *Expr
	flush bool // the float column is read with tiny values flushed to zero
	value *constant
	param int // $n, 0: none

	local  *localRange // of a local time whose bounds are wider, since no zone is known for certain
	series *series     // values can be listed without listing the columns read
	said   []said      // what a condition says of columns where it is not read below (see claims)
}

// Type is the type OID that PostgreSQL's row description gives to the expression: a domain's base type.
func (e *Expr) Type() uint32 { return e.baseType() }

// Typmod is the type modifier, −1 where PostgreSQL gives none.
func (e *Expr) Typmod() int32 { return e.relabelled().typmod }

// TypeName is the type as a cast prints it: of a domain, which may refuse NULL, the type that it is over.
func (e *Expr) TypeName() string {
	if e.col != nil && e.typ == e.col.Type {
		return e.col.BaseName()
	}
	return e.typeName
}

// Nullable says whether a value may be NULL.
func (e *Expr) Nullable() bool { return e.nullable }

// mayBeNull says whether the SQL gives NULL anywhere, for rows that a condition drops too. No proof that nothing raises
// rests on less.
func (e *Expr) mayBeNull() bool { return e.nullable || e.nullBefore }

// Bounds holds every value but NULL, in canonical units (see the package comment); of a range, its ends. Open ends: no
// bound is known.
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

// Column is the column that the expression is, bare or clamped by Read; nil for anything else. The SQL of a bare column
// is not clamped: whoever makes a column of its own of it prints Read, or leaves Enforced unset.
func (e *Expr) Column() *Column {
	if e.col != nil && e.col.of != nil {
		return nil // an end of a range is computed
	}
	return e.col
}

// Untyped says that the expression is a literal to which nothing but its place would give a type: 'a' or NULL, taken
// for text.
func (e *Expr) Untyped() bool { return e.untyped }

// Constant gives the value of a constant expression in text form; nil is NULL. ok is false for anything that reads a
// column or a parameter without a value, and for operations on constants.
func (e *Expr) Constant() (value *string, ok bool) {
	if e.value == nil {
		return nil, false
	}
	return e.value.text, true
}

// Columns lists the columns that the expression reads, in order, each once: of the ends of a range, the range.
func (e *Expr) Columns() []*Column { return e.columns(func(*Expr) bool { return true }, false) }

// direct lists the columns that the expression computes with: Columns without those that only its subqueries read, of
// which it knows nothing but whether the predicate holds.
func (e *Expr) direct() []*Column {
	return e.columns(func(x *Expr) bool { return x.verbatim == nil }, false)
}

// columns lists columns; apart: the ends of a range as columns of their own.
func (e *Expr) columns(below func(*Expr) bool, apart bool) []*Column {
	var out []*Column
	seen := map[*Column]bool{}
	e.walk(func(x *Expr) bool {
		c := x.col
		if c != nil && c.of != nil && !apart {
			c = c.of
		}
		if c != nil && !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
		return below(x)
	})
	return out
}

// OfUnit says that the expression computes with a column that identifies the privacy unit.
func (e *Expr) OfUnit() bool {
	return slices.ContainsFunc(e.direct(), func(c *Column) bool { return c.Unit || c.OfUnit })
}

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
// literal or as a parameter, is equal, so it can be part of a fingerprint. A parameter is its value; $n only while that
// is not known.
func (e *Expr) SQL() query.Scalar { return (&printer{}).print(e) }

func newExpr(oid uint32, location int) *Expr {
	return &Expr{
		typ: oid, typmod: -1, typeName: pgresolve.Qualified(oid, -1), location: location, scale: -1, quantum: -1,
		maxLen: -1,
	}
}

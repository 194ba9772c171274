package expr

import (
	"math/big"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// A number of one unit, such as how many rows it has, is computed from all of them, and may lie beyond what the policy
// lets a unit add. Bounds of its column are what it counts as where it is added up; the column itself holds the number
// (docs/privacy.md P8e).

// Beyond says of a column that values lie beyond its Bounds.
type Beyond struct {
	Most   bounds.Interval // what values beyond count as, where they are added up; an end is open where none lie beyond
	Listed bounds.Interval // a value that lies beyond these is no group of a key
	Whole  bool            // all values are groups
}

// As says how columns with values beyond their bounds are read by more than a comparison.
type As byte

const (
	AsClamped As = iota // to their bounds
	AsListed            // to the values that groups have
	AsExact             // as they are
)

// Reading builds expressions that read such columns in one way, and notes whether there are any.
type Reading struct {
	As     As
	Beyond bool
}

// Build is as the function.
func (r *Reading) Build(node *pg_query.Node, scope Scope) (*Expr, error) {
	return build(node, &builder{scope: scope, rules: allRules, built: new(int), reading: r})
}

// BuildBoolean is as the function.
func (r *Reading) BuildBoolean(node *pg_query.Node, scope Scope) (*Expr, error) {
	return buildBoolean(node, &builder{scope: scope, rules: allRules, built: new(int), reading: r})
}

// read gives a column the bounds with which this builder reads it.
func (b *builder) read(e *Expr) *Expr {
	if b.reading == nil || e.col == nil || e.col.Beyond == nil {
		return e
	}
	b.reading.Beyond = true
	out := *e
	switch b.reading.As {
	case AsExact:
		held, _ := e.heldBounds()
		out.bounds = representable(e.baseType(), held)
	case AsListed:
		out.bounds = representable(e.baseType(), e.col.Beyond.Listed)
	}
	return &out
}

// Reach notes that values lie in held, and which of them are groups.
func (c *Column) Reach(held, listed bounds.Interval) {
	if c.setHeldBounds(held, true); c.Held == nil {
		return
	}
	c.Beyond = &Beyond{Listed: listed}
	if held.Lo == nil || held.Lo.Cmp(c.Bounds.Lo) < 0 {
		c.Beyond.Most.Lo = c.Bounds.Lo
	}
	if held.Hi == nil || held.Hi.Cmp(c.Bounds.Hi) > 0 {
		c.Beyond.Most.Hi = c.Bounds.Hi
	}
}

// NarrowBeyond takes what a condition of a WHERE says of all values, those beyond the bounds among them.
func (c *Column) NarrowBeyond(said bounds.Interval) {
	if c.Beyond == nil {
		return
	}
	narrow := *c.Beyond
	if said.Lo != nil && narrow.Most.Lo != nil && said.Lo.Cmp(narrow.Most.Lo) >= 0 {
		narrow.Most.Lo = nil
	}
	if said.Hi != nil && narrow.Most.Hi != nil && said.Hi.Cmp(narrow.Most.Hi) <= 0 {
		narrow.Most.Hi = nil
	}
	if both := narrow.Listed.Intersect(said); !both.Empty() {
		narrow.Listed = both
	}
	c.Beyond = &narrow
}

// GoesBeyond says that values may lie beyond the bounds.
func (c *Column) GoesBeyond() bool { return c.Beyond != nil && !c.Beyond.Most.Open() }

// Computed says that the column is an expression over others.
func (c *Column) Computed() bool { return c.choices != nil }

// cut says that what is read of a column may be less than what it holds, or more.
func (e *Expr) cut() bool {
	if e.col == nil || e.col.Beyond == nil {
		return false
	}
	at := func(end, most *big.Rat) bool { return most != nil && end != nil && end.Cmp(most) == 0 }
	return at(e.bounds.Lo, e.col.Beyond.Most.Lo) || at(e.bounds.Hi, e.col.Beyond.Most.Hi)
}

// Cuts says that the value of an expression may be another since it reads a column clamped; of a bare column, that its
// value is clamped where it is added up.
func (e *Expr) Cuts() bool {
	found := e.cut()
	e.walk(func(x *Expr) bool {
		found = found || x.clamp && x.cut()
		return !found
	})
	return found
}

// ReadsBeyond says that an expression reads a column with values beyond its bounds, clamped or not.
func (e *Expr) ReadsBeyond() bool {
	found := false
	e.walk(func(x *Expr) bool {
		found = found || x.col != nil && x.col.Beyond != nil
		return !found
	})
	return found
}

// Exact reads a bare column as it is.
func (e *Expr) Exact() *Expr { return (&builder{reading: &Reading{As: AsExact}}).read(e) }

// Covers says that the bounds of a number hold the same expression that reads columns as they are.
func (e *Expr) Covers(exact *Expr) bool {
	base := e.baseType()
	return (pgresolve.IsNumber(base) || pgresolve.IsTime(base)) && e.bounds.Finite() && exact.bounds.Within(e.bounds)
}

// ExactColumn makes a column of an expression: exact is what it holds, e has the bounds that it counts with, and listed
// those of a key.
func (e *Expr) ExactColumn(exact, listed *Expr) *Column {
	c := exact.AsColumn(exact.SQL(), e.text)
	c.Bounds, c.choices, c.provisional = e.bounds, []*Expr{listed}, e.provisional || exact.provisional
	c.InBounds, c.Work = exact.AllInside(), c.Work.Plus(exact.InsideWork())
	held := exact.bounds
	if c.Reach(held, listed.bounds); c.Beyond == nil { // no number
		c.Beyond = &Beyond{}
	}
	c.Beyond.Whole = exact == listed
	return c
}

// sameEnds says that two intervals are one.
func sameEnds(a, b bounds.Interval) bool { return a.Within(b) && b.Within(a) }

// clampedAs gives what computes a column clamped to its bounds, where it brings that along.
func (e *Expr) clampedAs() query.Scalar {
	if e.col.Clamped == nil || !e.clamp || !sameEnds(e.bounds, representable(e.baseType(), e.col.Bounds)) {
		return nil
	}
	return e.col.Clamped
}

// Listed gives the values of a column that are groups of a key; of another expression, its bounds.
func (e *Expr) Listed() bounds.Interval {
	c, base := e.col, e.baseType()
	if c == nil || c.Beyond == nil || e.clamp || !c.Beyond.Listed.Finite() ||
		!sameEnds(e.bounds, representable(base, c.Bounds)) {
		return e.bounds
	}
	return representable(base, c.Beyond.Listed)
}

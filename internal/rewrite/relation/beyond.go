package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// Use says what becomes of a value beyond its column's bounds (docs/privacy.md P3b).
type Use int

const (
	NoGroup    Use = iota // the row is in no group
	Nearest               // an aggregate has the nearest bound
	Condition             // a condition reads the nearest bound
	NearestKey            // a key of what a subquery adds up has the nearest bound
	// a subquery that merges or compares rows leaves the row out, which groups of the answer would not
	Dropped
)

// Beyond are the columns of which a statement uses values beyond their bounds so.
type Beyond struct {
	Use     Use
	Columns []string
	Share   *float64 // of the rows, at most; nil: nobody knows
}

// NoteBeyond notes a use of values beyond bounds.
func (b *Base) NoteBeyond(use Use, columns []expr.OutOfBounds) {
	for _, c := range columns {
		c.Scan = nil // what is said of a column is said once
		b.beyond[use] = expr.MergeOutOfBounds(b.beyond[use], []expr.OutOfBounds{c})
	}
}

// Within keeps the rows of a relation in which a key reads no value beyond its bounds: what merges equal rows, or
// compares them, would take others for equal. The work is done for another relation, which is made of it and has a
// column c for the key: of which columns that may still have values beyond, and of which no more, is noted.
func (b *Base) Within(r, of *Relation, key *expr.Expr, c *expr.Column) {
	inside := key.AllInside()
	if inside == nil {
		c.OutOfBounds = expr.MergeOutOfBounds(c.OutOfBounds, key.OutOfBounds())
		return
	}
	c.Within = expr.MergeOutOfBounds(c.Within, key.Clamped())
	r.Where = append(slices.Clone(r.Where), inside)
	of.AddWork(key.InsideWork(), r.Size())
	b.NoteBeyond(NoGroup, key.Clamped())
	b.dropped = expr.MergeOutOfBounds(b.dropped, key.Clamped())
}

// NoteDropped notes the rows that subqueries leave out for values beyond bounds, but those that groups by these keys
// leave out too, and says whether there may be any.
func (b *Base) NoteDropped(keys []*expr.Expr) bool {
	dropped := slices.DeleteFunc(slices.Clone(b.dropped), func(o expr.OutOfBounds) bool {
		return !o.Possible() ||
			slices.ContainsFunc(keys, func(key *expr.Expr) bool { return slices.Contains(key.Within(), o) })
	})
	b.NoteBeyond(Dropped, dropped)
	return len(dropped) > 0
}

// Uses says that the statement may use values beyond their bounds so.
func (b *Base) Uses(use Use) bool {
	return slices.ContainsFunc(b.beyond[use], expr.OutOfBounds.Possible)
}

// Beyond lists the uses, but of columns that have no value beyond their bounds.
func (b *Base) Beyond() (out []Beyond) {
	for use, columns := range b.beyond {
		of := Beyond{Use: Use(use), Share: expr.OutOfBoundsShare(columns)}
		for _, c := range columns {
			name := c.Column
			if slices.ContainsFunc(columns, func(o expr.OutOfBounds) bool {
				return o.Column == c.Column &&
					o.Table != c.Table
			}) {
				name = c.Table + "." + name
			}
			if c.Possible() {
				of.Columns = append(of.Columns, name)
			}
		}
		if of.Columns != nil {
			out = append(out, of)
		}
	}
	return out
}

package expr

import (
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// A column of a range type is used as it is by operators and tests that are total for every range, and by its ends,
// lower() and upper(): each is a column of its own, which the policy's bounds of the range hold (docs/privacy.md P3a).

// isRange says that the column's type is one of ranges, or a domain over one.
func (c *Column) isRange() bool { return isRange(c.Equality().Type) }

// The places of a range's ends.
const (
	lowerEnd = iota
	upperEnd
)

var endNames = [...]string{lowerEnd: "lower", upperEnd: "upper"}

// end gives one end of a range column, the same column each time. A copy of a range column has ends of its own, of
// which is known what was known of those that it was copied from.
func (c *Column) end(which int) *Column {
	base := c.Equality().Type
	ref := query.F("pg_catalog.{}({})", endNames[which], c.Ref)
	if c.Base != 0 {
		ref = query.F("pg_catalog.{}(({})::{})", endNames[which], c.Ref, pgresolve.Qualified(base, -1))
	}
	old := c.ends[which]
	if old != nil && old.of == c && query.Equal(old.Ref, ref) && (old.Nullable || !c.Nullable) {
		return old
	}
	element := rangeTypes[base]
	e := &Column{
		Ref: ref, Name: endNames[which] + "(" + c.Name + ")", Type: element, Typmod: -1, TypeName: pgresolve.Qualified(
			element, -1), Nullable: true,
		Bounds: c.Bounds, Scale: -1, DeterministicCollation: true, Work: c.Work.Plus(Work{Row: rangeSteps}),
		Subquery: c.Subquery, OutOfBounds: c.OutOfBounds, of: c, which: which,
	}
	if old != nil {
		e.Bounds, e.Nullable, e.NullBefore = old.Bounds, old.Nullable || c.Nullable, old.NullBefore
	}
	c.ends[which] = e
	return e
}

// rangeSteps is the work of a function or an operator of ranges: it unpacks them.
const rangeSteps = 20

// HasBoundedEnds says that the policy bounds the ends of a range column.
func (c *Column) HasBoundedEnds() bool { return c.isRange() && c.Bounds.Finite() }

// NarrowEnds gives a range column of whose ends is known what conditions say of them; the column itself where they say
// nothing. No range ends before it begins, so the least beginning is one of the ends too, and the last end one of the
// beginnings.
func (c *Column) NarrowEnds(known map[*Column]Narrowing) *Column {
	var ends [2]*Column
	found := false
	for i := range c.ends {
		if !c.isRange() || c.ends[i] == nil || c.ends[i].of != c {
			continue
		}
		n, ok := known[c.ends[i]]
		if !ok {
			continue
		}
		x := *c.ends[i]
		if both := x.Bounds.Intersect(n.Bounds); !both.Empty() {
			x.Narrow(both)
		}
		if n.NotNull {
			x.KeepOutNull()
		}
		ends[i], found = &x, true
	}
	if !found {
		return c
	}
	out := *c
	out.ends = [2]*Column{}
	for i := range ends {
		if ends[i] == nil {
			x := *c.end(i)
			ends[i] = &x
		}
		if !ends[i].Nullable && out.Nullable {
			out.KeepOutNull()
		}
	}
	lower, upper := ends[lowerEnd], ends[upperEnd]
	if up := upper.Bounds.Intersect(bounds.Interval{Lo: lower.Bounds.Lo}); !up.Empty() {
		upper.Narrow(up)
	}
	if down := lower.Bounds.Intersect(bounds.Interval{Hi: upper.Bounds.Hi}); !down.Empty() {
		lower.Narrow(down)
	}
	lower.of, upper.of = &out, &out
	out.ends = ends
	return &out
}

// spanned leaves what is negative out of the bounds of upper(r) - lower(r): no range ends before it begins, and clamps
// keep that order if those of the end are no lower than those of the beginning (docs/privacy.md P3a).
func (c *call) spanned(i bounds.Interval) bounds.Interval {
	x, y := c.args[0], c.args[1]
	if c.cand.Name != "-" || x.col == nil || y.col == nil || x.col.of == nil || y.col.of == nil ||
		!query.Equal(x.col.of.Ref, y.col.of.Ref) || x.col.which != upperEnd || y.col.which != lowerEnd ||
		!i.Finite() || y.bounds.Lo.Cmp(x.bounds.Lo) > 0 || y.bounds.Hi.Cmp(x.bounds.Hi) > 0 {
		return i
	}
	return bounds.New(bounds.Max(i.Lo, bounds.Zero), i.Hi)
}

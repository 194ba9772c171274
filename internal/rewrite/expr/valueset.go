package expr

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// point is a place in the order of a type's values: numbers in canonical units (see the package comment), texts by
// their bytes. PostgreSQL orders −infinity below every number, and infinity and then NaN above.
type point struct {
	beyond int8 // −1: −infinity, 1: infinity, 2: NaN
	number *big.Rat
	text   string
}

func numberPoint(r *big.Rat) *point { return &point{number: r} }

func (p *point) compare(q *point) int {
	switch {
	case p.beyond != q.beyond:
		return cmp.Compare(p.beyond, q.beyond)
	case p.number != nil && q.number != nil && p.number.IsInt() && q.number.IsInt(): // Rat.Cmp multiplies
		return p.number.Num().Cmp(q.number.Num())
	case p.number != nil && q.number != nil:
		return p.number.Cmp(q.number)
	}
	return strings.Compare(p.text, q.text)
}

// end is one end of a segment; nil is open to all that lies there.
type end struct {
	at       *point
	excluded bool
}

// segment holds the points between two ends.
type segment struct{ lo, hi end }

// only is the segment of one point.
func only(p *point) segment { return segment{lo: end{at: p}, hi: end{at: p}} }

// between is the segment of an interval.
func between(i bounds.Interval) (s segment) {
	if i.Lo != nil {
		s.lo.at = numberPoint(i.Lo)
	}
	if i.Hi != nil {
		s.hi.at = numberPoint(i.Hi)
	}
	return s
}

// point is the only one of a segment; nil where there are more.
func (s segment) point() *point {
	if s.lo.at == nil || s.hi.at == nil || s.lo.at.compare(s.hi.at) != 0 {
		return nil
	}
	return s.lo.at
}

// compareLow orders lower ends: which segment begins first.
func compareLow(a, b end) int {
	switch {
	case a.at == nil || b.at == nil:
		return btoi(b.at == nil) - btoi(a.at == nil)
	case a.at.compare(b.at) != 0:
		return a.at.compare(b.at)
	}
	return btoi(a.excluded) - btoi(b.excluded)
}

// compareHigh orders upper ends: which segment stops first.
func compareHigh(a, b end) int {
	switch {
	case a.at == nil || b.at == nil:
		return btoi(a.at == nil) - btoi(b.at == nil)
	case a.at.compare(b.at) != 0:
		return a.at.compare(b.at)
	}
	return btoi(b.excluded) - btoi(a.excluded)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s segment) empty() bool {
	if s.lo.at == nil || s.hi.at == nil {
		return false
	}
	c := s.lo.at.compare(s.hi.at)
	return c > 0 || c == 0 && (s.lo.excluded || s.hi.excluded)
}

// contains says whether a point lies in the segment.
func (s segment) contains(p *point) bool {
	at := end{at: p}
	return compareLow(s.lo, at) <= 0 && compareHigh(at, s.hi) <= 0
}

// whole moves the ends of a segment of whole numbers to the first and the last of them.
func (s segment) whole() segment {
	if p := s.lo.at; p != nil && p.number != nil {
		n := bounds.Ceil(p.number)
		if s.lo.excluded && p.number.IsInt() {
			n = add(n, bounds.One)
		}
		s.lo = end{at: numberPoint(n)}
	}
	if p := s.hi.at; p != nil && p.number != nil {
		n := bounds.Floor(p.number)
		if s.hi.excluded && p.number.IsInt() {
			n = sub(n, bounds.One)
		}
		s.hi = end{at: numberPoint(n)}
	}
	return s
}

// valueSet holds values of an expression: segments in order, none of which touches another, and perhaps NULL.
type valueSet struct {
	segments []segment
	null     bool
}

func (s valueSet) empty() bool { return len(s.segments) == 0 && !s.null }

// everything is what an expression may be of which nothing is known but whether it may be NULL.
func everything(null bool) valueSet { return valueSet{segments: []segment{{}}, null: null} }

// intersect gives what both hold.
func (s valueSet) intersect(o valueSet) valueSet {
	out := valueSet{null: s.null && o.null}
	for i, j := 0, 0; i < len(s.segments) && j < len(o.segments); {
		a, b := s.segments[i], o.segments[j]
		both := a
		if compareLow(a.lo, b.lo) < 0 {
			both.lo = b.lo
		}
		if compareHigh(a.hi, b.hi) > 0 {
			both.hi = b.hi
		}
		if !both.empty() {
			out.segments = append(out.segments, both)
		}
		if compareHigh(a.hi, b.hi) <= 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

// joined puts segments into order and joins those that touch.
func joined(all []segment) []segment {
	slices.SortFunc(all, func(a, b segment) int { return compareLow(a.lo, b.lo) })
	var out []segment
	for _, next := range all {
		if next.empty() {
			continue
		}
		if len(out) > 0 {
			last := &out[len(out)-1]
			if last.hi.at == nil || next.lo.at == nil || last.hi.at.compare(next.lo.at) > 0 ||
				last.hi.at.compare(next.lo.at) == 0 && !(last.hi.excluded && next.lo.excluded) {
				if compareHigh(last.hi, next.hi) < 0 {
					last.hi = next.hi
				}
				continue
			}
		}
		out = append(out, next)
	}
	return out
}

// compared gives the points p of which p operator q may be true where q lies in a segment.
func compared(operator string, q segment) []segment {
	below, above := segment{hi: end{q.hi.at, true}}, segment{lo: end{q.lo.at, true}}
	switch operator {
	case "=":
		return []segment{q}
	case "<":
		return []segment{below}
	case "<=":
		return []segment{{hi: q.hi}}
	case ">":
		return []segment{above}
	case ">=":
		return []segment{{lo: q.lo}}
	}
	if q.point() != nil { // <>
		return []segment{below, above}
	}
	return []segment{{}}
}

// complement gives the points of no segment of a set.
func complement(set []segment) []segment {
	var all []segment
	next := segment{}
	for _, s := range set {
		if s.lo.at != nil {
			next.hi = end{s.lo.at, !s.lo.excluded}
			all = append(all, next)
		}
		if s.hi.at == nil {
			return all
		}
		next = segment{lo: end{s.hi.at, !s.hi.excluded}}
	}
	return append(all, next)
}

// values lists the points of a set that has few, in order; ok is false where it has others.
func (s valueSet) values() (list []*point, ok bool) {
	for _, x := range s.segments {
		p := x.point()
		if p == nil {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

// hull gives the least interval that holds all numbers of the set. granule is what all of them are multiples of; nil:
// unknown.
func (s valueSet) hull(granule *big.Rat) bounds.Interval {
	var out bounds.Interval
	if len(s.segments) == 0 {
		return out
	}
	next := func(e end, round func(*big.Rat) *big.Rat, by *big.Rat) *big.Rat {
		switch {
		case e.at == nil || e.at.number == nil:
			return nil
		case !e.excluded || granule == nil:
			return e.at.number
		}
		n := quo(e.at.number, granule)
		if n.IsInt() {
			n = add(n, by)
		}
		return mul(round(n), granule)
	}
	out.Lo = next(s.segments[0].lo, bounds.Ceil, bounds.One)
	out.Hi = next(s.segments[len(s.segments)-1].hi, bounds.Floor, rat(-1))
	return out
}

// beforeClamp gives the values that a clamp to limits takes into the set: NULL stays NULL, and NaN becomes the upper
// end.
func (s valueSet) beforeClamp(limits bounds.Interval) valueSet {
	inner := between(limits)
	has := func(at *point) bool {
		return at != nil && slices.ContainsFunc(s.segments, func(x segment) bool { return x.contains(at) })
	}
	all := s.intersect(valueSet{segments: []segment{inner}}).segments
	if has(inner.lo.at) {
		all = append(all, segment{hi: inner.lo})
	}
	if has(inner.hi.at) {
		all = append(all, segment{lo: inner.hi})
	}
	return valueSet{segments: joined(all), null: s.null}
}

package mechanism

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// Quantiles of the same rows are drawn jointly (jointquantiles.go), or by halving (Kaplan, Schnapp and Stemmer 2022;
// docs/mechanisms.md, section 9): the middle one first, then those below it from the rows and the grid below it, and
// those above from the rest. A row is in one part of each level, so a level costs what one quantile does. The point
// that is drawn may have many rows: each point has cells, and the cell that is drawn says how many of these rows are
// below.

const (
	cellBits = 16
	mostBits = 60 // of the cells of a whole grid
	// farthest is the exponent at which all distances are the same, so that a point with many rows is cut where the target
	// is near, and has a run of cells on either side: even 2^60 cells that far away have a weight of 10^−16 together.
	farthest = 80
)

// cutBy chooses the cells of a point, for a grid of so many points.
func (s *rankSampler) cutBy(points float64) {
	s.cells = 1 << cellBits
	for s.cells > 1 && points*float64(s.cells) > 1<<mostBits {
		s.cells /= 2
	}
	s.far = uint64(math.Min(1<<62, math.Ceil(farthest/s.kappa)))
}

// rank is the fraction in 2^−20: rounded outwards where it is an end.
func (r Release) rank() uint64 {
	q := r.Fraction * (1 << rankBits)
	switch {
	case r.End < 0:
		return uint64(math.Floor(q))
	case r.End > 0:
		return uint64(math.Ceil(q))
	}
	return uint64(math.Round(q))
}

// Extreme says whether a quantile is the least or the greatest value.
func (r Release) Extreme() bool {
	return r.Kind == Quantile && r.End == 0 && (r.rank() == 0 || r.rank() == 1<<rankBits)
}

// InFamily says whether a release is a quantile that is drawn with others of its family. The least and the greatest
// value are not.
func (r Release) InFamily() bool {
	return r.Kind == Quantile && r.Family > 0 && r.End == 0 && !r.Extreme()
}

// Levels is how many levels halving has for so many quantiles: ⌈log₂(k+1)⌉.
func Levels(quantiles int) int { return bits.Len(uint(quantiles)) }

// byFraction sorts members of a list by their fractions.
func byFraction(list []Release, members []int) []int {
	members = slices.Clone(members)
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(list[a].rank(), list[b].rank()) })
	return members
}

// prepareFamily prepares the quantiles of a family, sorted by their fractions, that lie between the ranks lo and hi of
// all rows, in 2^−20 of them. g is for every way down: the middle one takes an equal part of what is left on the
// longest way below it.
func prepareFamily(list []Release, sorted []int, lo, hi uint64, g Guarantee, out []*Prepared) error {
	if len(sorted) == 0 {
		return nil
	}
	middle := len(sorted) / 2
	r := list[sorted[middle]]
	at := r.rank()
	// no ranks are between equal ones
	fraction := math.Round(float64(at-lo) / math.Max(1, float64(hi-lo)) * (1 << rankBits))
	r.Fraction = math.Min(math.Max(fraction, 1), 1<<rankBits-1) / (1 << rankBits) // of the part
	own, rest := g, g
	own.Epsilon = g.Epsilon / float64(Levels(len(sorted)))
	rest.Epsilon -= own.Epsilon
	p, err := Prepare(r, own)
	if err != nil {
		return err
	}
	out[sorted[middle]] = p
	if err := prepareFamily(list, sorted[:middle], lo, at, rest, out); err != nil {
		return err
	}
	return prepareFamily(list, sorted[middle+1:], at, hi, rest, out)
}

// FamilyCurve is what the quantiles of a family cost, sorted by their fractions, as they are drawn.
func FamilyCurve(sorted []int, prepared []*Prepared) Curve {
	if joint := prepared[sorted[0]].joint; joint != nil {
		return joint.count.Curve().Add(joint.cuts.max(halvingCurve(sorted, prepared)))
	}
	return halvingCurve(sorted, prepared)
}

// halvingCurve is what they cost where they are drawn by halving: at every order the dearest way down.
func halvingCurve(sorted []int, prepared []*Prepared) Curve {
	if len(sorted) == 0 {
		return Curve{}
	}
	middle := len(sorted) / 2
	below, above := halvingCurve(sorted[:middle], prepared), halvingCurve(sorted[middle+1:], prepared)
	return prepared[sorted[middle]].Curve().Add(below.max(above))
}

// Families lists the members of each family in a list, sorted by their fractions, in the order of the list.
func Families(list []Release) (out [][]int) {
	at := map[int]int{}
	for i, r := range list {
		if !r.InFamily() {
			continue
		}
		k, known := at[r.Family]
		if !known {
			k, at[r.Family] = len(out), len(out)
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	for k := range out {
		out[k] = byFraction(list, out[k])
	}
	return out
}

// Together is how many quantiles of a list are drawn together with the i-th, itself among them; 0: it is drawn alone.
func Together(list []Release, i int) (n int) {
	for _, r := range list {
		if list[i].InFamily() && r.InFamily() && r.Family == list[i].Family {
			n++
		}
	}
	return n
}

// DrawFamily releases the quantiles of one family: of a list of releases those that members names, with the mechanisms
// that PrepareVector has made of them, from the histogram that they share. What it releases rises with the fractions.
// How many random words it takes follows from released values and public quantities: three for each by halving, as
// alone.
func DrawFamily(src *Source, list []Release, members []int, prepared []*Prepared, h Histogram) []int64 {
	sorted := byFraction(list, members)
	root := prepared[sorted[len(sorted)/2]]
	h, values := h.within(root.rank.v.hull()), map[int]int64{}
	if !root.joint.draw(src, sorted, h, values) {
		drawFamily(src, sorted, prepared, part{h, root.rank.v}, values)
	}
	out := make([]int64, len(members))
	for k, i := range members {
		out[k] = values[i]
	}
	return out
}

// part is what is left of the rows, and of the grid.
type part struct {
	h Histogram
	v Range
}

func drawFamily(src *Source, sorted []int, prepared []*Prepared, in part, out map[int]int64) {
	if len(sorted) == 0 {
		return
	}
	middle := len(sorted) / 2
	s := prepared[sorted[middle]].rank
	if len(sorted) == 1 {
		r, offset := s.choose(src, s.runs(in.h, in.v))
		out[sorted[middle]] = r.lo + int64(offset)
		return
	}
	r, offset := s.choose(src, s.cuts(in.h, in.v))
	at, below := r.lo, int64(0)
	if r.rows > 0 {
		below = int64(s.below(r.cell+offset, r.rows))
	} else {
		at += int64(offset / s.cells)
	}
	out[sorted[middle]] = at
	lower, upper := in.cut(at, below)
	drawFamily(src, sorted[:middle], prepared, lower, out)
	drawFamily(src, sorted[middle+1:], prepared, upper, out)
}

// cut cuts a part at a point, so many rows of which belong to the lower one.
func (p part) cut(at, below int64) (lower, upper part) {
	for _, b := range p.h {
		switch {
		case b.Step < at:
			lower.h = append(lower.h, b)
		case b.Step > at:
			upper.h = append(upper.h, b)
		default:
			if below > 0 {
				lower.h = append(lower.h, Bin{at, below})
			}
			if b.Count > below {
				upper.h = append(upper.h, Bin{at, b.Count - below})
			}
		}
	}
	for _, i := range p.v {
		if i.Lo <= at {
			lower.v = append(lower.v, Interval{i.Lo, min(i.Hi, at)})
		}
		if i.Hi >= at {
			upper.v = append(upper.v, Interval{max(i.Lo, at), i.Hi})
		}
	}
	return lower, upper
}

// cuts cuts the grid into cells. Those of a point with c rows and #< below it have the ranks from #< + ⌊uc/S⌋ to #< +
// ⌈(u+1)c/S⌉; those of any other point have one rank.
func (s *rankSampler) cuts(h Histogram, v Range) []run {
	target := s.target(h.rows())
	list := make([]run, 0, 4*len(h)+len(v))
	empty := func(lo, hi int64, rank uint64) {
		dist := min(distance(target, rank, rank), s.far)
		for _, i := range v {
			if a, b := max(lo, i.Lo), min(hi, i.Hi); a <= b {
				list = append(list, run{lo: a, n: (uint64(b-a) + 1) * s.cells, dist: dist})
			}
		}
	}
	hull, below := v.hull(), uint64(0)
	next := hull.Lo
	for _, bin := range h {
		if next < bin.Step {
			empty(next, bin.Step-1, below)
		}
		if v.has(bin.Step) {
			list = s.cellsOf(list, bin.Step, uint64(bin.Count), below, target)
		}
		below += uint64(bin.Count)
		next = bin.Step + 1
	}
	if next <= hull.Hi {
		empty(next, hull.Hi, below)
	}
	return list
}

// cellsOf appends the cells of a point that rows have.
func (s *rankSampler) cellsOf(list []run, at int64, rows, below, target uint64) []run {
	first, end := s.near(rows, below, target)
	if first > 0 {
		list = append(list, run{at, first, s.far, rows, 0})
	}
	for u := first; u < end; {
		low, high := s.ranks(u, rows)
		next := min(ceil((low+1)*s.cells, rows), high*s.cells/rows, end)
		list = append(list, run{at, next - u, min(distance(target, below+low, below+high), s.far), rows, u})
		u = next
	}
	if end < s.cells {
		list = append(list, run{at, s.cells - end, s.far, rows, end})
	}
	return list
}

// ranks are the rows of a point at the ends of a cell.
func (s *rankSampler) ranks(cell, rows uint64) (low, high uint64) {
	return cell * rows / s.cells, ceil((cell+1)*rows, s.cells)
}

// below is how many rows of a point a cell puts into the lower part: those up to the middle of the cell.
func (s *rankSampler) below(cell, rows uint64) uint64 {
	return ((2*cell+1)*rows + s.cells) / (2 * s.cells)
}

// near gives the cells of a point whose distance is less than far, from first up to end.
func (s *rankSampler) near(rows, below, target uint64) (first, end uint64) {
	end = s.cells
	if from := (target - min(s.far, target)) >> rankBits; target > s.far && from > below {
		first = min(s.cells, (from-below)*s.cells/rows)
	}
	if to := ceil(target+s.far, 1<<rankBits); to <= below {
		end = first
	} else if to-below < rows {
		end = max(first, ceil((to-below)*s.cells, rows))
	}
	return first, end
}

func ceil(a, b uint64) uint64 { return (a + b - 1) / b }

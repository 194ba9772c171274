package mechanism

import (
	"fmt"
	"math"
)

// JointDistributions enumerates what the cuts of quantiles that are drawn jointly may be, of small histograms and with
// few cells: it goes through all cuts and counts the rows between them one by one, without the sums that are drawn
// from.
type JointDistributions struct {
	q     jointQuantiles
	known map[string]map[string]float64 // by histogram and released number of rows
}

// NewJointDistributions is for a family that is drawn jointly, but with 2^digits cells per point; false where it is
// drawn by halving.
func NewJointDistributions(p *Prepared, digits uint) (*JointDistributions, bool) {
	if p.joint == nil {
		return nil, false
	}
	q := *p.joint
	q.grid = newFineGrid(q.grid.v, digits)
	return &JointDistributions{q, map[string]map[string]float64{}}, true
}

// Curve is what is charged for the cuts, or for what halving draws instead.
func (l *JointDistributions) Curve() Curve { return l.q.cuts }

// Of is the probability of each list of values, as text, given the released number of rows.
func (l *JointDistributions) Of(h Histogram, count int64) map[string]float64 {
	key := fmt.Sprint(h, count)
	if law := l.known[key]; law != nil {
		return law
	}
	law, total := map[string]float64{}, 0.0
	for values, w := range l.weights(h, count) {
		law[values] = w
		total += w
	}
	for values := range law {
		law[values] /= total
	}
	l.known[key] = law
	return law
}

func (l *JointDistributions) weights(h Histogram, count int64) map[string]float64 {
	below := l.below(h)
	rows := below[len(below)-1]
	out := map[string]float64{}
	var next func(j, from int, last, rank, score float64, values string, ways, same float64)
	next = func(j, from int, last, rank, score float64, values string, ways, same float64) {
		if j == len(l.q.fractions) {
			score += math.Abs(rows - last - (float64(count) - rank))
			out[values] += ways * math.Pow(l.q.base, score)
			return
		}
		at := math.Round(float64(l.q.fractions[j]) * float64(count) / (1 << rankBits))
		for cell := from; cell < len(below)-1; cell++ {
			times := 1.0 // of all orders of labelled cuts those with equal cells are one
			if cell == from {
				times += same
			}
			part := math.Abs(below[cell] - last - (at - rank))
			text := fmt.Sprintf("%s%d ", values, l.q.grid.point(uint64(cell)))
			next(j+1, cell, below[cell], at, score+part, text, ways/times, times)
		}
	}
	next(0, 0, 0, 0, 0, "", 1, 0)
	return out
}

// below counts the rows in lower cells than each, and at last all of them.
func (l *JointDistributions) below(h Histogram) []float64 {
	out := make([]float64, l.q.grid.end+1)
	for _, b := range h.within(l.q.grid.v.hull()) {
		for i := range b.Count {
			from := uint64(0) // the first cell that the row is below
			for _, v := range l.q.grid.v {
				for z := v.Lo; z <= v.Hi; z++ {
					if z < b.Step {
						from += 1 << l.q.grid.bits
					} else if z == b.Step {
						from += 1 + cellOf(i, l.q.grid.bits)
					}
				}
			}
			for c := from; c < uint64(len(out)); c++ {
				out[c]++
			}
		}
	}
	return out
}

// cellOf is the cell of the i-th row of a point, by halves of halves.
func cellOf(i int64, digits uint) (cell uint64) {
	for d := digits; d > 0; d-- {
		if i&1 == 1 != (d == digits) {
			cell += 1 << (d - 1)
		}
		i >>= 1
	}
	return cell
}

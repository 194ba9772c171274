package mechanism

import (
	"fmt"
	"math"
)

// FamilyDistributions enumerates what DrawFamily releases of small histograms. It goes through the cells of every point
// one by one, without the runs that are drawn from.
type FamilyDistributions struct {
	sorted   []int
	prepared []*Prepared
	known    map[string]map[string]float64 // by part
}

// NewFamilyDistributions is for the quantiles of a list that members names.
func NewFamilyDistributions(list []Release, members []int, prepared []*Prepared) *FamilyDistributions {
	return &FamilyDistributions{byFraction(list, members), prepared, map[string]map[string]float64{}}
}

// Of is the probability of each list of values, as text, in the order of the fractions.
func (l *FamilyDistributions) Of(h Histogram) map[string]float64 {
	v := l.prepared[l.sorted[len(l.sorted)/2]].rank.v
	return l.distribution(l.sorted, part{h.within(v.hull()), v})
}

func (l *FamilyDistributions) distribution(sorted []int, in part) map[string]float64 {
	if len(sorted) == 0 {
		return map[string]float64{"": 1}
	}
	key := fmt.Sprint(sorted, in)
	if law := l.known[key]; law != nil {
		return law
	}
	middle, law := len(sorted)/2, map[string]float64{}
	for c, p := range l.prepared[sorted[middle]].rank.cutDistribution(in, len(sorted) > 1) {
		lower, upper := in.cut(c.at, c.below)
		above := l.distribution(sorted[middle+1:], upper)
		for a, pa := range l.distribution(sorted[:middle], lower) {
			for b, pb := range above {
				law[fmt.Sprintf("%s%d %s", a, c.at, b)] += p * pa * pb
			}
		}
	}
	l.known[key] = law
	return law
}

// cutAt is a point, and how many of its rows belong to the lower part.
type cutAt struct{ at, below int64 }

// cutDistribution enumerates the points of a part, and their cells where it is cut.
func (s *rankSampler) cutDistribution(in part, cut bool) map[cutAt]float64 {
	cells, count := map[cutAt]map[uint64]uint64{}, map[int64]uint64{} // how many of which distance
	for _, b := range in.h {
		count[b.Step] += uint64(b.Count)
	}
	add := func(c cutAt, dist, n uint64) {
		if cells[c] == nil {
			cells[c] = map[uint64]uint64{}
		}
		cells[c][dist] += n
	}
	target, below, hull := s.target(in.h.rows()), uint64(0), in.v.hull()
	for z := hull.Lo; z <= hull.Hi; z++ {
		rows := count[z]
		switch {
		case !in.v.has(z):
		case !cut:
			add(cutAt{at: z}, distance(target, below, below+rows), 1)
		case rows == 0:
			add(cutAt{at: z}, min(distance(target, below, below), s.far), s.cells)
		default:
			for u := range s.cells {
				low, high := s.ranks(u, rows)
				add(cutAt{z, int64(s.below(u, rows))}, min(distance(target, below+low, below+high), s.far), 1)
			}
		}
		below += rows
	}
	law, total := map[cutAt]float64{}, 0.0
	for c, distances := range cells {
		for dist, n := range distances {
			w := float64(n) * math.Exp(-s.kappa*float64(dist))
			law[c] += w
			total += w
		}
	}
	for c := range law {
		law[c] /= total
	}
	return law
}

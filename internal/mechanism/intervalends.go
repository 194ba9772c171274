package mechanism

import (
	"fmt"
	"math"
	"sort"
)

// An end of the interval of a quantile is drawn after the quantile, from bands of grid points: the further from what is
// released of it, the wider they are. Few bands need few ranks to tell them apart (docs/mechanisms.md, section 9).

// bandGrowth is the distance over the width of a band.
const bandGrowth = 8

// bands holds the least distance of each band from the quantile. The first has all points on its other side too.
type bands []int64

// bandsOver are bands for distances up to span.
func bandsOver(span int64) bands {
	list := bands{0}
	for next := int64(1); next <= span; next += max(1, next/bandGrowth) {
		list = append(list, next)
	}
	return list
}

// of is the band of a distance, or of a point on the other side.
func (b bands) of(distance int64) int {
	return max(0, sort.Search(len(b), func(i int) bool { return b[i] > distance })-1)
}

// furthest is the greatest distance in a band.
func (b bands) furthest(band int) int64 {
	if band+1 == len(b) {
		return math.MaxInt64
	}
	return b[band+1] - 1
}

// prepareEnd aims so many ranks further out than the fraction that all bands on the wrong side of the quantile have a
// weight of 2.5% together.
func (s *rankSampler) prepareEnd(over Interval, rank float64) error {
	s.over, s.bands = over, bandsOver(over.Hi-over.Lo)
	s.v = Range{{0, int64(len(s.bands)) - 1}}
	aside := math.Ceil((math.Log(float64(len(s.bands)))+math.Log(2/(1-confidence)))/rank) + 1
	if aside > 1<<40 {
		return fmt.Errorf("the interval of a quantile is too wide: %g ranks to either side", aside)
	}
	s.aside = uint64(aside)
	return nil
}

// inBands counts rows by bands around the released quantile, in the order of values.
func (s *rankSampler) inBands(h Histogram, quantile int64) Histogram {
	out := make(Histogram, 0, len(h))
	for _, bin := range h.within(s.over) {
		at := int64(s.bands.of(bin.Step - quantile))
		if s.end < 0 {
			at = s.v[0].Hi - int64(s.bands.of(quantile-bin.Step))
		}
		out = append(out, Bin{at, bin.Count})
	}
	return out.within(s.v.hull())
}

// endOf is the end of a band that is further from the released quantile.
func (s *rankSampler) endOf(band, quantile int64) int64 {
	if s.end > 0 {
		return quantile + min(s.bands.furthest(int(band)), s.over.Hi-quantile)
	}
	return quantile - min(s.bands.furthest(int(s.v[0].Hi-band)), quantile-s.over.Lo)
}

// DrawEnd releases an end of the interval of a quantile of which that much is released: a grid point. It draws as many
// random words as DrawQuantile.
func (p *Prepared) DrawEnd(src *Source, h Histogram, quantile int64) int64 {
	s := p.rank
	quantile = s.over.clamp(quantile)
	r, offset := s.choose(src, s.runs(s.inBands(h, quantile), s.v))
	return s.endOf(r.lo+int64(offset), quantile)
}

package mechanism

import (
	"math/bits"
	"sort"
)

// fineGrid is a range whose points have cells: all of them, numbered from 0 in their order. The rows of a point are
// spread over its cells in an order that is public: each row that is added takes the next cell, and no other row moves
// (docs/mechanisms.md, section 9).
type fineGrid struct {
	v     Range
	first []uint64 // of each interval: its first cell
	end   uint64   // one behind the last
	bits  uint     // a point has 2^bits cells
}

func newFineGrid(v Range, cellBits uint) fineGrid {
	f := fineGrid{v: v, bits: cellBits}
	for _, i := range v {
		f.first = append(f.first, f.end)
		f.end += (i.span() + 1) << cellBits
	}
	return f
}

// point is that of a cell.
func (f fineGrid) point(cell uint64) int64 {
	i := sort.Search(len(f.first), func(i int) bool { return f.first[i] > cell }) - 1
	return f.v[i].Lo + int64((cell-f.first[i])>>f.bits)
}

// at is the first cell of a point of the hull; where the range has a gap there, false and the first cell behind it.
func (f fineGrid) at(z int64) (uint64, bool) {
	i := sort.Search(len(f.v), func(i int) bool { return f.v[i].Hi >= z })
	if z < f.v[i].Lo {
		return f.first[i], false
	}
	return f.first[i] + uint64(z-f.v[i].Lo)<<f.bits, true
}

// gap is a run of cells with the same rows below them.
type gap struct {
	below    uint64 // rows in cells before it
	first, n uint64 // its cells
}

// gaps cuts the grid behind each cell that has rows, which are within its hull.
func (f fineGrid) gaps(h Histogram) []gap {
	list, next, below := make([]gap, 0, 2*len(h)+1), uint64(0), uint64(0)
	rows := func(before, n uint64) { // n more rows are below this cell and those behind it
		if before > next {
			list = append(list, gap{below, next, before - next})
			next = before
		}
		below += n
	}
	for _, b := range h {
		cell, in := f.at(b.Step)
		if !in {
			rows(cell, uint64(b.Count))
			continue
		}
		f.distribute(uint64(b.Count), func(c, n uint64) { rows(cell+c+1, n) })
	}
	rows(f.end, 0)
	return list
}

// distribute tells how many of the rows of a point are in each of its cells that has any, in order. The i-th row is in
// the cell whose number is that of i with its digits in the reverse order, and the first one changed: the middle, the
// beginning, the quarters, and so on.
func (f fineGrid) distribute(rows uint64, put func(cell, n uint64)) {
	// the cells that are in use are multiples of this many digits less
	digits := min(f.bits, max(1, uint(bits.Len64(rows-1))))
	half := uint64(1) << f.bits >> 1
	for a := range uint64(1) << digits {
		cell := a << (f.bits - digits)
		if i := bits.Reverse64(cell^half) >> (64 - f.bits); i < rows {
			put(cell, (rows-1-i)>>f.bits+1)
		}
	}
}

package mechanism

import (
	"container/heap"
	"math"
)

// cell is a run of positions [p, q] of a true value s with the values at its ends and an upper bound on all of it.
type cell struct{ p, q, atP, atQ, bound float64 }

type cells []cell

func (c cells) Len() int           { return len(c) }
func (c cells) Less(i, j int) bool { return c[i].bound > c[j].bound }
func (c cells) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cells) Push(x any)        { *c = append(*c, x.(cell)) }
func (c *cells) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// search bounds the maximum of a function over the integer positions of an interval from above.
type search struct {
	at        func(s float64) float64 // the function
	bound     func(x cell) float64    // an upper bound on a cell of more than one position
	steps     int                     // cells that may be split
	tolerance float64                 // relative distance to the maximum at which to stop
	enough    float64                 // a bound that is known anyway: no need to look further once it is reached
}

// upper splits the cell with the largest bound until that bound is close to the largest value seen. What it returns is an
// upper bound however early it stops.
func (f search) upper(p, q float64) float64 {
	first := f.cell(cell{p: p, q: q, atP: f.at(p), atQ: f.at(q)})
	best := math.Max(first.atP, first.atQ)
	queue := cells{first}
	for range f.steps {
		top := queue[0]
		if top.bound <= best*(1+f.tolerance) || top.q-top.p < 1 || best >= f.enough {
			break
		}
		heap.Pop(&queue)
		mid := math.Floor((top.p + top.q) / 2)
		left := f.cell(cell{p: top.p, q: mid, atP: top.atP, atQ: f.at(mid)})
		heap.Push(&queue, left)
		best = math.Max(best, left.atQ)
		if mid+1 <= top.q {
			right := f.cell(cell{p: mid + 1, q: top.q, atP: f.at(mid + 1), atQ: top.atQ})
			heap.Push(&queue, right)
			best = math.Max(best, right.atP)
		}
	}
	return math.Min(math.Max(best, queue[0].bound), f.enough)
}

func (f search) cell(x cell) cell {
	x.bound = math.Max(x.atP, x.atQ)
	if x.q-x.p > 1 {
		x.bound = math.Max(x.bound, f.bound(x))
	}
	return x
}

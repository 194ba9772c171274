package loss

import "math"

// Cell is a run of positions [P, Q] of a true value with what a function is at its ends, and an upper bound on all of
// it.
type Cell struct{ P, Q, AtP, AtQ, bound float64 }

// Search bounds the maximum of a function over the whole positions of an interval from above.
type Search struct {
	At        func(s float64) float64 // the function
	Bound     func(x Cell) float64    // an upper bound on a cell of more than two positions
	Steps     int                     // cells that may be split
	Tolerance float64                 // relative distance to the maximum at which to stop
	Enough    float64                 // a bound that is known anyway: no need to look further once it is reached
}

// Upper splits the cell with the largest bound until that bound is close to the largest value seen. What it returns is
// an upper bound however early it stops.
func (f Search) Upper(p, q float64) float64 {
	first := f.cell(Cell{P: p, Q: q, AtP: f.At(p), AtQ: f.At(q)})
	best := math.Max(first.AtP, first.AtQ)
	rest := []Cell{first} // all that has not been split
	top := 0              // the one with the largest bound
	for range f.Steps {
		x := rest[top]
		if x.bound <= best*(1+f.Tolerance) || x.Q-x.P < 1 || best >= f.Enough {
			break
		}
		mid := math.Floor((x.P + x.Q) / 2)
		rest[top] = f.cell(Cell{P: x.P, Q: mid, AtP: x.AtP, AtQ: f.At(mid)})
		right := f.cell(Cell{P: mid + 1, Q: x.Q, AtP: f.At(mid + 1), AtQ: x.AtQ})
		best = math.Max(best, math.Max(rest[top].AtQ, right.AtP))
		rest = append(rest, right)
		for i, y := range rest {
			if y.bound > rest[top].bound {
				top = i
			}
		}
	}
	return math.Min(math.Max(best, rest[top].bound), f.Enough)
}

func (f Search) cell(x Cell) Cell {
	x.bound = math.Max(x.AtP, x.AtQ)
	if x.Q-x.P > 1 {
		x.bound = math.Max(x.bound, f.Bound(x))
	}
	return x
}

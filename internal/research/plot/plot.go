// Package plot draws lines over common axes: as text for a terminal, and as SVG.
package plot

import "math"

// Figure is a set of lines over common axes.
type Figure struct {
	Name, Title, X, Y string
	LogX, LogY        bool
	MaxY              float64  // 0: as the data
	FromZero          bool     // the y axis begins at 0
	YNames            []string // heights 1, 2, … are these, and nothing else
	Bands             []Band
	Lines             []Line
}

// Line is one curve. It is broken where Y is NaN.
type Line struct {
	Name   string // "": none in the legend
	X, Y   []float64
	Dashed bool
	Color  int // lines of one number > 0 have one colour; 0: its place among the lines
}

// Band is a shaded part of the x axis.
type Band struct {
	Name   string // "": none in the legend
	Lo, Hi float64
}

// height is what is drawn of a y: at most MaxY, and NaN where a logarithmic axis has no place for it.
func (f Figure) height(y float64) float64 {
	switch {
	case f.LogY && y <= 0:
		return math.NaN()
	case f.MaxY > 0:
		return math.Min(y, f.MaxY)
	}
	return y
}

// axes are as long as the lines.
func (f Figure) axes() (x, y axis) {
	x, y = emptyAxis(f.LogX), emptyAxis(f.LogY)
	for _, l := range f.Lines {
		for i := range l.X {
			if v := f.height(l.Y[i]); !math.IsNaN(v) {
				x.include(l.X[i])
				y.include(v)
			}
		}
	}
	switch {
	case f.YNames != nil:
		y.lo, y.hi = .5, float64(len(f.YNames))+.5
	case f.FromZero:
		y.lo = 0
	}
	return x, y
}

// axis is a linear or logarithmic scale from lo to hi.
type axis struct {
	log    bool
	lo, hi float64
}

func emptyAxis(log bool) axis { return axis{log, math.Inf(1), math.Inf(-1)} }

func (a *axis) include(v float64) { a.lo, a.hi = math.Min(a.lo, v), math.Max(a.hi, v) }

// share is a value's place on the axis: 0 at its beginning, 1 at its end.
func (a axis) share(v float64) float64 {
	if a.log {
		return math.Log(v/a.lo) / math.Log(a.hi/a.lo)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// value is the one at a share.
func (a axis) value(share float64) float64 {
	if a.log {
		return a.lo * math.Pow(a.hi/a.lo, share)
	}
	return a.lo + share*(a.hi-a.lo)
}

// ticks are multiples of 1, 2 or 5 times a power of ten, or, on a logarithmic axis, those numbers themselves; of an
// axis over more than three decades the powers alone.
func (a axis) ticks() (list []float64) {
	if !a.log {
		step := math.Pow(10, math.Floor(math.Log10((a.hi-a.lo)/5)))
		for _, m := range []float64{2, 2.5, 2} {
			if (a.hi-a.lo)/step > 8 {
				step *= m
			}
		}
		for i := math.Ceil(a.lo/step - 1e-9); i*step <= a.hi+1e-9*step; i++ {
			list = append(list, i*step+0) // + 0: not −0
		}
		return list
	}
	factors := []float64{1, 2, 5}
	if math.Log10(a.hi/a.lo) > 3 {
		factors = factors[:1]
	}
	for power := math.Floor(math.Log10(a.lo)); power <= math.Log10(a.hi); power++ {
		for _, m := range factors {
			if v := m * math.Pow(10, power); v >= a.lo*(1-1e-9) && v <= a.hi*(1+1e-9) {
				list = append(list, v)
			}
		}
	}
	return list
}

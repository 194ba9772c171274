package console

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// law is the distribution of a released value over a window of its valid range, as EXPLAIN has it.
type law struct {
	Lo     float64  `json:"lo"`
	Hi     float64  `json:"hi"`
	Points int      `json:"points"` // grid points of each weight but the last
	Last   int      `json:"last_points"`
	Inside weights  `json:"inside"`
	End    *weights `json:"end"` // nil: the range has no lower end
}

// weights are the probabilities of the parts of the window, if the true value is True.
type weights struct {
	True    float64   `json:"true"`
	Weights []float64 `json:"weights"`
}

// density is its drawing, in units of 1/100 of the figure's width and 1/40 of its height.
type density struct {
	Inside, AtEnd string // outlines: where the true value lies well inside of the range, and at its end
	Lo, Hi        string // ends of the window
	Bar           [2]float64
	True          float64 // where the true value of Inside is
	Value, End    string
	Alt           string
}

const (
	height = 40.0
	most   = .97 // of the height
	spike  = 2.0 // how far what a bounding puts on one value stands above its surroundings, which it would flatten
)

// densityOf is nil where EXPLAIN has no law.
func densityOf(r release) *density {
	l, m := r.Density, *r.Margin
	if l == nil {
		return nil
	}
	at, n := l.Inside.True, l.points()
	d := &density{Lo: number(l.Lo), Hi: number(l.Hi), Value: number(at), True: l.x(at)}
	from, to := l.x(math.Max(l.Lo, at-m))-50/n, l.x(math.Min(l.Hi, at+m))+50/n
	d.Bar = [2]float64{from, to - from}
	top := l.top(l.Inside)
	if l.End != nil {
		top = math.Max(top, l.top(*l.End))
		d.AtEnd, d.End = l.outline(*l.End, top), number(l.End.True)
	}
	d.Inside = l.outline(l.Inside, top)
	d.Alt = fmt.Sprintf(
		"Distribution of the released value between %s and %s if the true value is %s: 95%% of it lies within %s of that. It never leaves %s.",
		d.Lo, d.Hi, d.Value, number(m), r.Range)
	return d
}

// points is how many grid points the window has.
func (l *law) points() float64 { return float64(l.Points*(len(l.Inside.Weights)-1) + l.Last) }

// x is where a value is drawn: in the middle of its grid point.
func (l *law) x(v float64) float64 {
	return 100 * ((v-l.Lo)/(l.Hi-l.Lo)*(l.points()-1) + .5) / l.points()
}

// heights are probabilities of one grid point, on average over each part.
func (l *law) heights(w weights) []float64 {
	list := slices.Clone(w.Weights)
	for i := range list {
		points := l.Points
		if i == len(list)-1 {
			points = l.Last
		}
		list[i] /= float64(points)
	}
	return list
}

// top is the greatest height. Where parts are several points it is at most twice the third: a clamp puts much on either
// end.
func (l *law) top(w weights) float64 {
	list := l.heights(w)
	slices.Sort(list)
	n := len(list)
	if l.Points == 1 || n < 3 || list[n-3] == 0 {
		return list[n-1]
	}
	return math.Min(list[n-1], spike*list[n-3])
}

// outline is the closed path of steps over the window.
func (l *law) outline(w weights, top float64) string {
	var b strings.Builder
	b.WriteString("M0 " + coordinate(height))
	for i, h := range l.heights(w) {
		right := math.Min(1, float64((i+1)*l.Points)/l.points())
		b.WriteString("V" + coordinate(height*(1-most*math.Min(1, h/top))) + "H" + coordinate(100*right))
	}
	return b.String() + "V" + coordinate(height) + "Z"
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

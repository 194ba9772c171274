package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// density is a drawing of the released value's distribution, in units of 1/100 of the figure's width and 1/40 of its height.
type density struct {
	Inside, AtEnd string  // outlines: where the true value lies well inside of the range, and at its end
	Spike         float64 // height of the noise that the range's end takes up; 0: none
	Lo, Hi        string  // ends of the window
	Bar           [2]float64
	True          float64 // where the true value of Inside is
	Value, End    string
	Ends          bool // the window begins at the range's end
	Alt           string
}

const (
	points    = 120
	height    = 40.0
	windowOf  = 5 // margins on either side of the true value
	spikeMost = 0.97
)

// densityOf draws noise whose shape EXPLAIN's words determine; nil: they do not.
func densityOf(r release) *density {
	noise, bounding, ok := strings.Cut(r.Mechanism, " ")
	lo, hi, single := ends(r.Range)
	if !ok || !single || r.Scale <= 0 || noise != "gaussian" && noise != "laplace" || bounding != "clamp" && bounding != "truncate" {
		return nil
	}
	m := *r.Margin
	at, from, to := 0.0, -windowOf*m, windowOf*m
	bounded := !math.IsInf(lo, -1)
	switch {
	case bounded && hi-lo <= 2*windowOf*m:
		at, from, to = (lo+hi)/2, lo, hi
	case bounded:
		at, from, to = lo+windowOf*m, lo, math.Min(hi, lo+2*windowOf*m)
	case !math.IsInf(hi, 1):
		at, from, to = hi-windowOf*m, hi-2*windowOf*m, hi
	}
	if !(to > from) {
		return nil
	}
	law := law{noise, bounding, r.Scale, lo, hi}
	d := &density{Lo: number(from), Hi: number(to), Value: number(at), True: 100 * (at - from) / (to - from), Ends: bounded}
	top := law.weight(0) / math.Min(law.inside(at), law.inside(lo))
	if !bounded {
		top = law.weight(0) / law.inside(at)
	}
	scale := height * spikeMost / top
	d.Inside = outline(law, at, from, to, scale)
	if bounded {
		d.AtEnd, d.End = outline(law, lo, from, to, scale), number(lo)
		if bounding == "clamp" {
			d.Spike = height * spikeMost
		}
	}
	x := func(v float64) float64 { return 100 * (math.Max(from, math.Min(to, v)) - from) / (to - from) }
	d.Bar = [2]float64{x(at - m), x(at+m) - x(at-m)}
	d.Alt = fmt.Sprintf("Distribution of the released value between %s and %s if the true value is %s: 95%% of it lies within %s of that. It never leaves %s.",
		d.Lo, d.Hi, d.Value, number(m), r.Range)
	return d
}

// law is a distribution of released values: noise of a scale, kept in a range.
type law struct {
	noise, bounding string
	scale, lo, hi   float64
}

// weight is the noise's density at a distance, times its scale.
func (l law) weight(d float64) float64 {
	if l.noise == "laplace" {
		return math.Exp(-math.Abs(d)/l.scale) / 2
	}
	return math.Exp(-d*d/(2*l.scale*l.scale)) / math.Sqrt(2*math.Pi)
}

// below is the share of the noise that lies below a distance.
func (l law) below(d float64) float64 {
	switch {
	case l.noise == "gaussian":
		return math.Erfc(-d/(l.scale*math.Sqrt2)) / 2
	case d < 0:
		return math.Exp(d/l.scale) / 2
	}
	return 1 - math.Exp(-d/l.scale)/2
}

// inside is what densities are divided by: truncation shares what lies beyond the range out over it, a clamp leaves it at the ends.
func (l law) inside(at float64) float64 {
	if l.bounding == "clamp" {
		return 1
	}
	return l.below(l.hi-at) - l.below(l.lo-at)
}

// outline is the closed path of a density over a window.
func outline(l law, at, from, to, scale float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M0 %s", coordinate(height))
	share := l.inside(at)
	for i := range points + 1 {
		v := from + (to-from)*float64(i)/points
		fmt.Fprintf(&b, "L%s %s", coordinate(100*float64(i)/points), coordinate(height-scale*l.weight(v-at)/share))
	}
	fmt.Fprintf(&b, "L100 %sZ", coordinate(height))
	return b.String()
}

func coordinate(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// ends reads a valid range as EXPLAIN prints it; single is false of one with gaps, or that depends on a count.
func ends(text string) (lo, hi float64, single bool) {
	inner, ok := strings.CutPrefix(text, "[")
	inner, end := strings.CutSuffix(inner, "]")
	a, b, two := strings.Cut(inner, ", ")
	if !ok || !end || !two || strings.ContainsAny(inner, "[]") {
		return 0, 0, false
	}
	parse := func(s string) (float64, bool) {
		switch s {
		case "-∞":
			return math.Inf(-1), true
		case "∞":
			return math.Inf(1), true
		}
		v, err := strconv.ParseFloat(s, 64)
		return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	lo, okLo := parse(a)
	hi, okHi := parse(b)
	return lo, hi, okLo && okHi && lo < hi
}

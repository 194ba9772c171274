package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis axis
		want []float64
	}{
		{axis{lo: 0, hi: 10}, []float64{0, 2, 4, 6, 8, 10}},
		{axis{lo: -.5, hi: 1}, []float64{-.4, -.2, 0, .2, .4, .6, .8, 1}},
		{axis{log: true, lo: 1, hi: 100}, []float64{1, 2, 5, 10, 20, 50, 100}},
		{axis{log: true, lo: .5, hi: 30000}, []float64{1, 10, 100, 1000, 10000}},
	} {
		same := func(a, b float64) bool {
			return math.Abs(a-b) < 1e-12*math.Abs(b)+1e-15 && math.Signbit(a) == math.Signbit(b)
		}
		if got := c.axis.ticks(); !slices.EqualFunc(got, c.want, same) {
			t.Errorf("%+v: %v, want %v", c.axis, got, c.want)
		}
	}
}

// TestSVG: a picture is well-formed whatever its names are, and no coordinate of a broken line is NaN.
func TestSVG(t *testing.T) {
	f := Figure{
		Title: "a < b & c", X: "x", Y: `"y"`, LogY: true, Bands: []Band{{Name: "band", Lo: 1, Hi: 2}},
		Lines: []Line{{Name: "<broken>", X: []float64{1, 2, 3, 4}, Y: []float64{1, math.NaN(), 0, 100}}},
	}
	svg := f.SVG()
	for _, want := range []string{"a &lt; b &amp; c", "&lt;broken&gt;", "&#34;y&#34;", ">band<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error(svg)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

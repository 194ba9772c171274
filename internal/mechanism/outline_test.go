package mechanism

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// TestOutlineIsTheLaw: what is drawn is what enumeration finds, of every noise and bounding, whether a part is one
// point or several.
func TestOutlineIsTheLaw(t *testing.T) {
	drawn := map[string]bool{}
	for _, noise := range []Noise{Laplace, Gaussian, Staircase} {
		for _, bounding := range []Bounding{Truncate, Clamp, Fold, Denoise, Cells} {
			for _, c := range []struct {
				length, step int64
				eps, delta   float64
			}{
				{1, 1, 1, 0},
				{3, 3, .01, 1e-6},
				{10, 3, 1, 0},
				{10, 3, 1, 1e-6},
				{30, 2, 1, 1e-6},
				{60, 20, 1, 0},
				{119, 40, 1, 1e-6},
				{400, 30, 1, 0},
				{500, 20, 1, 1e-6},
			} {
				v := Range{{-4, c.length - 4}}
				p, err := Prepare(Release{
					Kind: Scalar, Range: v, Sensitivity: c.step,
					Choice: Choice{Noise: noise, Bounding: bounding},
				}, Guarantee{Epsilon: c.eps, Delta: c.delta})
				if err != nil {
					continue
				}
				name := fmt.Sprintf("%s %s of %d in %d", noise, bounding, c.step, c.length)
				drawn[string(noise)+" "+string(bounding)] = true
				o, law := p.Outline(), p.Tabulate()
				far := p.Chosen().distance(24)
				// wider noise is spread evenly over short runs, or over far images
				exact := bounding != Denoise && bounding != Fold || far < 2*outlineRuns
				wants(t, name, o, o.Inside, law, exact)
				wants(t, name+", at its end", o, *o.End, law, exact)
				if o.End.True != -4 {
					t.Errorf("%s: the end is %d", name, o.End.True)
				}
			}
		}
	}
	if len(drawn) != 13 { // there are no gaussian cells, and no staircase is truncated
		t.Errorf("drawn: %v", drawn)
	}
}

// wants compares weights with a distribution: each of them where they are exact, else how much lies below each of them.
func wants(t *testing.T, name string, o *Outline, w Weights, law Distribution, exact bool) {
	t.Helper()
	row := law.Log[w.True-law.Lo]
	got, want := 0.0, 0.0
	for i, probability := range w.Parts {
		before := want
		for z := o.Window.Lo + int64(i)*o.Points; z < o.Window.Lo+int64(i+1)*o.Points && z <= o.Window.Hi; z++ {
			want += math.Exp(row[z-law.Lo])
		}
		got += probability
		if exact && math.Abs(probability-(want-before)) > 1e-9 {
			t.Errorf("%s: part %d from %d has %g, enumeration %g", name, i, w.True, probability, want-before)
		}
		if math.Abs(got-want) > .02 {
			t.Errorf("%s: %g up to part %d, enumeration %g", name, got, i, want)
		}
	}
	if whole := o.Window == (Interval{law.Lo, law.Lo + int64(len(law.Log)) - 1}); whole && math.Abs(got-1) > 1e-9 ||
		len(w.Parts) > outlineParts || o.Points*int64(len(w.Parts)-1)+o.Last != int64(o.Window.span()+1) {
		t.Errorf("%s: %d weights of %d and %d points add up to %g", name, len(w.Parts), o.Points, o.Last, got)
	}
}

// TestOutlineOfOpenRanges: the window is at the end that there is, else around 0, and holds nearly all.
func TestOutlineOfOpenRanges(t *testing.T) {
	for _, c := range []struct {
		v     Interval
		noise Noise
		ends  bool
	}{
		{Interval{7, NoUpper}, Laplace, true},
		{Interval{NoLower, 7}, Gaussian, false},
		{Interval{NoLower, NoUpper}, Staircase, false},
		{Interval{0, 1 << 40}, Laplace, true},
	} {
		for _, bounding := range []Bounding{Truncate, Clamp, Fold, Denoise} {
			p, err := Prepare(Release{
				Kind: Scalar, Range: Range{c.v}, Sensitivity: 50,
				Choice: Choice{Noise: c.noise, Bounding: bounding},
			}, Guarantee{Epsilon: 1, Delta: 1e-6})
			if err != nil {
				continue
			}
			o := p.Outline()
			sum := 0.0
			for _, w := range o.Inside.Parts {
				sum += w
			}
			if o.Window.Lo < c.v.Lo && c.v.Lo != NoLower || o.Window.Hi > c.v.Hi || (o.End != nil) != c.ends ||
				math.Abs(sum-1) > .01 {
				t.Errorf("%s %s in %v: %v, weight %g", c.noise, bounding, c.v, o.Window, sum)
			}
			if most := o.Inside.Parts[(o.Inside.True-o.Window.Lo)/o.Points]; most < 1./outlineParts {
				t.Errorf("%s %s in %v: %g at the true value", c.noise, bounding, c.v, most)
			}
		}
	}
}

// TestOutlineOfJointNoise: it is folded at the range's one end.
func TestOutlineOfJointNoise(t *testing.T) {
	prepared, err := PrepareVector(context.Background(), countAndSum(1), Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	cube, coordinate := prepared[0].Joint()
	if cube == nil {
		t.Fatal("the noise is not joint")
	}
	noise := func(x int64) float64 { return cube.marginal(coordinate).sums(float64(x), 1).m0 }
	o := prepared[0].Outline()
	for _, w := range []Weights{o.Inside, *o.End} {
		sum := 0.0
		for i, probability := range w.Parts {
			want := 0.0
			for z := int64(i) * o.Points; z < int64(i+1)*o.Points && z <= o.Window.Hi; z++ {
				want += noise(z-w.True) + noise(-1-z-w.True)
			}
			if math.Abs(probability-want) > 1e-9 {
				t.Errorf("part %d from %d has %g, want %g", i, w.True, probability, want)
			}
			sum += probability
		}
		if sum < .99 || sum > 1+1e-9 {
			t.Errorf("from %d: weight %g", w.True, sum)
		}
	}
	if prepared[1].Outline() != nil {
		t.Error("a sum whose range follows from a count is drawn")
	}
}

// TestNotOutlined: a quantile's distribution depends on the rows, and a sum's on its count.
func TestNotOutlined(t *testing.T) {
	for _, r := range []Release{
		{Kind: Quantile, Range: Range{{0, 100}}, Fraction: .5},
		{Kind: SumGivenCount, PerRow: Interval{0, 10}, Sensitivity: 10},
		{Kind: Scalar, Range: Range{{0, 10}, {20, 30}}},
		{Kind: Scalar, Range: Range{{3, 3}}},
	} {
		p, err := Prepare(r, Guarantee{Epsilon: 1})
		if err != nil {
			t.Fatal(err)
		}
		if o := p.Outline(); o != nil {
			t.Errorf("%s in %v: %v", r.Kind, r.Range, o.Window)
		}
	}
}

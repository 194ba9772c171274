package mechanism

import (
	"context"
	"math"
	"slices"
	"testing"
)

func TestLayersShare(t *testing.T) {
	x := Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 2, Total: 2, Groups: 9, Weight: 1}
	inLayer := func(layer, weight int, b Bounding) Release {
		r := x
		r.Layer, r.Weight, r.Choice.Bounding = layer, weight, b
		return r
	}
	list := []Release{x, inLayer(1, 1, ""), inLayer(2, 1, ""), inLayer(1, 2, ""), inLayer(1, 1, Truncate)}
	// Layer 1 has weight 2, the others 1; the truncated member is alone.
	want := []float64{.2, .4, .2, .4, .2}
	for i, g := range share(list, Guarantee{Epsilon: 1, Order: 7}) {
		if math.Abs(g.Epsilon-want[i]) > 1e-15 || g.Order != 7 {
			t.Errorf("release %d gets %v, want %g", i, g, want[i])
		}
	}
	out, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	total := Compose(list, out)
	near(t, "pure ε", total.Pure, 1, 1e-12)
	for i, p := range out {
		if truncated := p.Chosen().Bounding == Truncate; truncated && list[i].Layered() {
			t.Errorf("release %d of a layer is truncated", i)
		}
	}
	for i := range Orders {
		want := out[0].Curve().Renyi[i] + math.Max(out[1].Curve().Renyi[i], out[3].Curve().Renyi[i]) +
			out[2].Curve().Renyi[i] + out[4].Curve().Renyi[i]
		near(t, "curve", total.Renyi[i], want, 1e-12)
	}
	if c := Compose(nil, nil); c.Pure != 0 || c.Renyi != nil {
		t.Error("nothing costs nothing")
	}
}

// A member that was prepared outside the layer is not charged as a part of it.
func TestComposeAddsWhatWasPreparedAlone(t *testing.T) {
	r := Release{Kind: Scalar, Range: Range{{0, 1000}}, Sensitivity: 1}
	alone, err := Prepare(r, Guarantee{Epsilon: .3})
	if err != nil {
		t.Fatal(err)
	}
	r.Layer = 4
	member, err := Prepare(r, Guarantee{Epsilon: .5})
	if err != nil {
		t.Fatal(err)
	}
	list := []Release{r, r, r}
	near(t, "pure ε", Compose(list, []*Prepared{member, alone, member}).Pure, .8, 1e-12)
}

// TestNoNumberIsNotCovered: a cost that is no number is beyond every charge, and such a charge covers nothing.
func TestNoNumberIsNotCovered(t *testing.T) {
	one := Curve{Pure: 1, Renyi: slices.Repeat([]float64{1}, len(Orders))}
	none := Curve{Pure: math.NaN(), Renyi: slices.Repeat([]float64{math.NaN()}, len(Orders))}
	half := Curve{Pure: 0.5, Renyi: append(slices.Repeat([]float64{0.5}, len(Orders)-1), math.NaN())}
	for _, pair := range [][2]Curve{{one, none}, {none, one}, {one, half}, {Curve{Pure: 1}, half}, {none, none}} {
		if pair[0].Covers(pair[1], 0) {
			t.Errorf("%v covers %v", pair[0].Pure, pair[1].Pure)
		}
	}
	if !one.Covers(one, 0) {
		t.Error("a curve does not cover itself")
	}
}

// TestWholeRowsInEachGroup: a unit's rows that are as many in each group cost what is between those of one row more and
// one less.
func TestWholeRowsInEachGroup(t *testing.T) {
	for _, noise := range []Noise{Gaussian, Laplace} {
		var costs []float64
		for _, total := range []int64{19, 20, 21} {
			r := Release{
				Kind: Scalar, Name: "n", Sensitivity: total, Total: total, Groups: 4, Range: []Interval{{0, NoUpper}},
				Choice: Choice{Noise: noise, Bounding: Truncate},
			}
			p, err := Prepare(r, Guarantee{Epsilon: 0.5, Order: 2})
			if err != nil {
				t.Fatal(err)
			}
			costs = append(costs, Compose([]Release{r}, []*Prepared{p}).Renyi[10]/float64(total))
		}
		if !(costs[1] > 0.9*costs[0] && costs[1] < 1.1*costs[2]) {
			t.Errorf("%v: costs of a row %v", noise, costs)
		}
	}
}

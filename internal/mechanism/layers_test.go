package mechanism

import (
	"context"
	"math"
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
		want := out[0].Curve().Renyi[i] + math.Max(out[1].Curve().Renyi[i], out[3].Curve().Renyi[i]) + out[2].Curve().Renyi[i] + out[4].Curve().Renyi[i]
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

package mechanism

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

func TestSelectionIsPrivate(t *testing.T) {
	for _, g := range []Guarantee{{Epsilon: 1, Delta: 1e-6}, {Epsilon: .1, Delta: 1e-9}, {Epsilon: .01, Delta: 1e-5}, {Epsilon: 5, Delta: 1e-12}, {Epsilon: 30, Delta: 1e-6}, {Epsilon: .5, Delta: .1}} {
		s, err := newSelector(g.Epsilon, g.Delta)
		if err != nil {
			t.Fatal(err)
		}
		pi := func(n int) float64 {
			if n >= len(s.pi) {
				return 1
			}
			return float64(s.pi[n]) / selectionOne
		}
		if pi(0) != 0 {
			t.Errorf("%v: an empty group is kept with probability %g", g, pi(0))
		}
		grow := math.Exp(g.Epsilon)
		for n := range s.pi {
			p, q := pi(n), pi(n+1)
			if q < p || q > grow*p+g.Delta+1e-15*grow || 1-p > grow*(1-q)+g.Delta+1e-15*grow {
				t.Fatalf("%v: π(%d) = %g, π(%d) = %g", g, n, p, n+1, q)
			}
			// Optimal: one of the conditions is tight up to the rounding.
			if room := math.Min(grow*p+g.Delta, 1-(1-p-g.Delta)/grow); q < math.Min(room, 1)*(1-1e-6)-1e-8 && q < 1 {
				t.Fatalf("%v: π(%d) = %g could be %g", g, n+1, q, room)
			}
		}
	}
}

// The closed form of Desfontaines et al., theorem 1: π(n) = δ(e^{nε}−1)/(e^ε−1) up to the crossing.
func TestSelectionClosedForm(t *testing.T) {
	const eps, delta = .7, 1e-6
	s, err := newSelector(eps, delta)
	if err != nil {
		t.Fatal(err)
	}
	cross := 1 + int(math.Floor(math.Log((math.Exp(eps)+2*delta-1)/((math.Exp(eps)+1)*delta))/eps))
	for n := 1; n <= cross; n++ {
		near(t, "π", float64(s.pi[n])/selectionOne, delta*math.Expm1(float64(n)*eps)/math.Expm1(eps), 1e-6)
	}
}

func TestSelectDraws(t *testing.T) {
	const draws = 50000
	p, err := Prepare(Release{Kind: Selection, Groups: 2}, Guarantee{Epsilon: 2, Delta: 2e-4})
	if err != nil {
		t.Fatal(err)
	}
	half, always := p.SelectThreshold()
	if half <= 0 || always <= half {
		t.Fatalf("thresholds %d and %d", half, always)
	}
	src := seededSource(9)
	for _, n := range []int64{-5, 0, 1, half - 1, half, always - 1, always, always + 1000} {
		want := 1.0
		if n < always {
			want = float64(p.units.pi[max(n, 0)]) / selectionOne
		}
		hits, before := 0, src.Draws()
		for range draws {
			if p.Select(src, n) {
				hits++
			}
		}
		if want > 0 && want < 1 && (!stattest.AtLeast(hits, draws, want) || !stattest.AtMost(hits, draws, want)) || want == 0 && hits > 0 || want == 1 && hits < draws {
			t.Errorf("%d units: kept %d of %d, want a fraction %g", n, hits, draws, want)
		}
		if src.Draws()-before != draws {
			t.Errorf("%d units: %d words for %d decisions", n, src.Draws()-before, draws)
		}
	}
	if c := p.Curve(); c.Pure != 2 {
		t.Errorf("curve's pure ε %g, want the ε part, 2", c.Pure)
	}
	if p.Margin(5, 0) != 0 {
		t.Error("a selection has no margin")
	}
}

func TestSelectionBadInput(t *testing.T) {
	for _, g := range []Guarantee{{Epsilon: 1, Delta: 0}, {Epsilon: 0, Delta: 1e-6}, {Epsilon: 1e-7, Delta: 1e-6}, {Epsilon: 1, Delta: 1e-25}, {Epsilon: math.NaN(), Delta: 1e-6}} {
		if _, err := Prepare(Release{Kind: Selection}, g); err == nil {
			t.Errorf("%v: no error", g)
		}
	}
}

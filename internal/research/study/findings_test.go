package study

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if !(math.Abs(got-want) <= rel*math.Abs(want)) {
		t.Errorf("%s: got %.6g, want %.6g", what, got, want)
	}
}

func TestLambertW(t *testing.T) {
	for _, w := range []float64{-.999, -.5, 0, .3, 1, 5, 30} {
		if got := lambertW(w*math.Exp(w), 0); math.Abs(got-w) > 1e-6 {
			t.Errorf("principal branch: %g, want %g", got, w)
		}
	}
	for _, w := range []float64{-1.001, -1.5, -3, -20, -300} {
		near(t, "branch -1", lambertW(w*math.Exp(w), -1), w, 1e-6)
	}
	if !math.IsNaN(lambertW(-1, 0)) || !math.IsNaN(lambertW(.5, -1)) {
		t.Error("no real value")
	}
}

// (32), (33): 1.586Δ/ε at the bound, falling to Δ/ε; and (25), which they solve, holds with equality.
func TestCroftDataDependentScale(t *testing.T) {
	for _, eps := range []float64{.1, 1, 3} {
		first := CroftDataDependent(0, eps)
		near(t, "(32)", first*eps, 1.586, 1e-3)
		last := first
		for i := .05; i < 40; i += .05 {
			scale := CroftDataDependent(i/eps, eps)
			if scale > last*(1+1e-6) {
				t.Fatalf("ε %g: the scale rises at %g spans", eps, i/eps)
			}
			last = scale
			x := i / eps
			left := math.Log(scale/first) + math.Log(2-math.Exp(-x/scale)) + x/scale
			if math.Abs(left-i) > 1e-6*math.Max(1, i) {
				t.Fatalf("ε %g, %g spans: (25) is %g, want %g", eps, x, left, i)
			}
		}
		near(t, "limit", last*eps, 1, .05)
	}
}

// Theorem 1 fails: within ε at the bound, beyond every limit far away.
func TestCroftViolation(t *testing.T) {
	near(t, "at the bound", CroftLogRatio(3, 4, 0, 1), 1, 1e-2)
	near(t, "ε .1 at -200", CroftLogRatio(0, 1, -200, .1), .295, 5e-3)
	near(t, "ε .1 at -1000", CroftLogRatio(0, 1, -1000, .1), 1.59, 5e-3)
	if r := CroftLogRatio(0, 1, -1e6, .1); r < 1000 {
		t.Errorf("far away: %g", r)
	}
}

// The corrected (22), against integration, in regime III; regimes I and II are 0.
func TestFuRegimes(t *testing.T) {
	near(t, "(22)", FuRegime3(2, .6, 1), .11658, 1e-4)
	for _, c := range []struct{ order, a, b float64 }{{2, .2, .8}, {5, .1, .4}, {8, 0, 1}} {
		near(t, "regime III", FuRegime3(c.order, c.b-c.a, 1), laplacePair(c.order, c.a, c.b, 0, 1), 1e-6)
		if d := laplacePair(c.order, -3, -1, 0, 1); math.Abs(d) > 1e-9 {
			t.Errorf("regime I: %g", d)
		}
		if d := laplacePair(c.order, 2, 5, 0, 1); math.Abs(d) > 1e-9 {
			t.Errorf("regime II: %g", d)
		}
	}
	near(t, "[0, 1]", FuRegime3(8, 1, 1), .67866, 1e-4)
}

func TestFindingsAreMarked(t *testing.T) {
	var out bytes.Buffer
	findings(&out)
	if n := strings.Count(out.String(), "exceeds"); n != 5 {
		t.Errorf("%d findings exceed their bound, want 5:\n%s", n, out.String())
	}
}

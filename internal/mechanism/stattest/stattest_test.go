package stattest

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestChiSquareFindsTheRightDiceFair(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	fair, loaded := map[int]int{}, map[int]int{}
	want := map[int]float64{}
	for i := range 6 {
		want[i] = 1. / 6
	}
	for range 60000 {
		fair[r.IntN(6)]++
		loaded[min(5, r.IntN(100)*6/98)]++ // five faces 0.1633, one 0.1837
	}
	if s, limit := ChiSquare(fair, want); s > limit {
		t.Errorf("a fair die: %g above %g", s, limit)
	}
	if s, limit := ChiSquare(loaded, want); s <= limit {
		t.Errorf("a loaded die: %g not above %g", s, limit)
	}
	if s, _ := ChiSquare(map[int]int{0: 1000, 7: 60}, map[int]float64{0: 1}); !math.IsInf(s, 1) {
		t.Errorf("60 impossible outcomes: %g", s)
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		hits, n int
		p       float64
		want    bool
	}{
		{9500, 10000, .95, true},
		{9450, 10000, .95, true},
		{9300, 10000, .95, false},
		{10000, 10000, .95, true},
		{0, 10, .5, true},
		{0, 30, .5, false},
	} {
		if got := AtLeast(c.hits, c.n, c.p); got != c.want {
			t.Errorf("%d of %d at least %g: %v", c.hits, c.n, c.p, got)
		}
		if got := AtMost(c.n-c.hits, c.n, 1-c.p); got != c.want {
			t.Errorf("%d of %d at most %g: %v", c.n-c.hits, c.n, 1-c.p, got)
		}
	}
}

func TestMeanWithin(t *testing.T) {
	if !MeanWithin(.02, 1, 10, 10000) || MeanWithin(.1, 1, 10, 10000) {
		t.Error("a standard error of 0.01 allows 0.02 and not 0.1")
	}
}

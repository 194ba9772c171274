package accounting

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestRoomIsWhatTheFilterAdmits: the room holds as many charges as the filter admits, give or take one where the last
// fits by less than rounding.
func TestRoomIsWhatTheFilterAdmits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := ledger.Config{
			Method: rapid.SampledFrom([]policy.Method{policy.RDP, policy.Pure}).Draw(t, "method"), SelectionDeltaShare: 0.5,
			Analysts: map[string]policy.Budget{"alice": {
				Epsilon: rapid.Float64Range(0.1, 20).Draw(t, "epsilon"),
				Delta:   math.Pow(10, rapid.Float64Range(-10, -3).Draw(t, "log10 delta")),
			}},
		}
		curve := mechanism.PureCurve(rapid.Float64Range(0.05, 2).Draw(t, "statement"))
		if config.Method == policy.RDP && rapid.Bool().Draw(t, "gaussian") {
			curve = ledgertest.GaussianCurve(rapid.Float64Range(0.001, 0.1).Draw(t, "rho"))
		}
		f := newFilter(config.Analysts["alice"], config.Method, config.SelectionDeltaShare)
		times := func(n int) sums {
			s := sums{pure: ceil(float64(n) * curve.Pure)}
			for _, d := range curve.Renyi {
				s.renyi = append(s.renyi, ceil(float64(n)*d))
			}
			return s
		}
		room := RoomOf(config, "alice")
		share, order := room.Share(curve)
		n := Fits(share)
		if n > 1 && !f.admits(times(n-1)) || f.admits(times(n+1)) {
			t.Errorf("the room holds %d, the filter disagrees", n)
		}
		taken := curve.Pure
		if order != Infinite {
			taken = curve.Renyi[order]
		}
		if config.Method == policy.Pure && order != Infinite || share != taken/room.At(order) && !math.IsInf(share, 1) {
			t.Errorf("share %v at order %d, where %v of %v is taken", share, order, taken, room.At(order))
		}
	})
}

func TestRoomOfNothing(t *testing.T) {
	config := ledger.Config{Method: policy.RDP, Analysts: map[string]policy.Budget{"alice": {Delta: 1e-6}}}
	share, order := RoomOf(config, "alice").Share(mechanism.PureCurve(0.5))
	if !math.IsInf(share, 1) || order != Infinite {
		t.Errorf("a budget of 0 gives a share of %v at order %d", share, order)
	}
	if n := Fits(share); n != 0 {
		t.Errorf("a budget of 0 holds %d", n)
	}
}

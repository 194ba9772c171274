package accounting

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "log10 epsilon"))
		delta := math.Pow(10, rapid.Float64Range(-15, -1).Draw(t, "log10 delta"))
		sum, least := 0.0, math.Inf(1)
		for _, s := range shares(mechanism.Orders, epsilon, delta) {
			sum += s
			least = min(least, s)
		}
		if sum > delta*(1+reserve/2) || sum < delta*(1-reserve) || least <= 0 {
			t.Errorf("shares of %v add up to %v, the least is %v", delta, sum, least)
		}
	})
	if s := shares([]float64{2}, 1, 1e-6); s[0] != 1e-6 {
		t.Errorf("the only order has %v", s[0])
	}
	for _, s := range shares(mechanism.Orders, 1, 0) {
		if s != 0 {
			t.Errorf("a share of nothing is %v", s)
		}
	}
}

// TestFilterIsNotBelowTheBestOrder: converting with a share of δ_c never costs less than converting with all of it, and
// the order that is best for Gaussian noise loses less than two percent by sharing.
func TestFilterIsNotBelowTheBestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := policy.Budget{Epsilon: rapid.Float64Range(2, 50).Draw(t, "epsilon"), Delta: 1e-6}
		f := newFilter(budget, policy.RDP, 0.5)
		best := 0.0
		for _, alpha := range mechanism.Orders {
			best = max(best, (budget.Epsilon-mechanism.EpsilonAt(alpha, 0, budget.Delta/2))/alpha)
		}
		at := func(rho float64) sums {
			s := sums{pure: unbounded}
			for _, alpha := range mechanism.Orders {
				s.renyi = append(s.renyi, ceil(rho*alpha))
			}
			return s
		}
		if f.admits(at(best * (1 + 1e-9))) {
			t.Errorf("ρ = %v is admitted, more than δ_c allows at any order", best)
		}
		if !f.admits(at(best * 0.98)) {
			t.Errorf("ρ = %v is refused, though one order at all of δ_c allows %v", best*0.98, best)
		}
	})
}

// TestRenyiAccountsFollowTheFilter charges curves of every kind and compares with the formula, in plain float64.
func TestRenyiAccountsFollowTheFilter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := policy.Budget{
			Epsilon: rapid.Float64Range(0.1, 20).Draw(t, "epsilon"),
			Delta:   math.Pow(10, rapid.Float64Range(-10, -3).Draw(t, "log10 delta")),
		}
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		f := newFilter(budget, policy.RDP, share)
		var total sums
		var plain mechanism.Curve
		for range rapid.IntRange(0, 20).Draw(t, "charges") {
			c := ledger.Charge{Epsilon: rapid.Float64Range(0.001, 1).Draw(t, "statement's epsilon")}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				c.Curve = mechanism.PureCurve(c.Epsilon)
			case 1: // a Gaussian
				c.Curve = mechanism.Curve{Pure: math.Inf(1), Renyi: make([]float64, len(mechanism.Orders))}
				for i, alpha := range mechanism.Orders {
					c.Curve.Renyi[i] = alpha * c.Epsilon * c.Epsilon / 30
				}
			case 2: // nothing but an ε
			}
			s, err := cost(c, policy.RDP)
			if err != nil {
				t.Fatal(err)
			}
			if c.Curve.Pure == 0 {
				c.Curve = mechanism.PureCurve(c.Epsilon)
			}
			total, plain = total.add(s), plain.Add(c.Curve)
		}
		want := plain.Pure
		for i, delta := range shares(mechanism.Orders, budget.Epsilon, budget.Delta*(1-share)) {
			if delta > 0 {
				rho := 0.0
				if plain.Renyi != nil {
					rho = plain.Renyi[i]
				}
				want = min(want, rho+mechanism.EpsilonAt(mechanism.Orders[i], 0, delta))
			}
		}
		got := f.spent(total)
		// Stored divergences are rounded up, by 2⁻²³ at most.
		if g := got.Float(); g != want && (g < want*(1-1e-8) || g > want*(1+1e-8+1.0/(1<<23))) {
			t.Errorf("spent %v, want %v", g, want)
		}
		if f.admits(total) != (got.cmp(f.total) <= 0) {
			t.Errorf("spent %v of %v, admitted %v", got, f.total, f.admits(total))
		}
		b := f.balance(total)
		if b.EpsilonSpent != got.Float() || b.EpsilonLeft < 0 || b.EpsilonLeft > b.EpsilonTotal {
			t.Errorf("balance %+v of %v", b, got)
		}
	})
}

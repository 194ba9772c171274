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

func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "log10 epsilon"))
		delta := math.Pow(10, rapid.Float64Range(-15, -1).Draw(t, "log10 delta"))
		sum, least := 0.0, math.Inf(1)
		for _, s := range shares(mechanism.RenyiOrders, epsilon, delta) {
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
	for _, s := range shares(mechanism.RenyiOrders, 1, 0) {
		if s != 0 {
			t.Errorf("a share of nothing is %v", s)
		}
	}
}

// TestFilterIsNotBelowTheBestOrder: converting with a share of δ_c never costs less than converting with all of it, and
// neither the order that is best for Gaussian noise nor GDP loses more than some percent by sharing.
func TestFilterIsNotBelowTheBestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := policy.Budget{Epsilon: rapid.Float64Range(2, 50).Draw(t, "epsilon"), Delta: 1e-6}
		f := newFilter(budget, policy.RDP, 0.5)
		best, square := 0.0, mechanism.SquareAt(budget.Epsilon, budget.Delta/2)
		for _, alpha := range mechanism.RenyiOrders {
			best = max(best, (budget.Epsilon-mechanism.EpsilonAt(alpha, 0, budget.Delta/2))/alpha)
		}
		at := func(rho, square float64) sums {
			s := sums{pure: unbounded}
			for _, alpha := range mechanism.RenyiOrders {
				s.renyi = append(s.renyi, ceil(rho*alpha))
			}
			s.renyi = append(s.renyi, ceil(square))
			return s
		}
		if f.admits(at(best*(1+1e-9), math.Inf(1))) || f.admits(at(math.Inf(1), square*(1+1e-9))) {
			t.Errorf("ρ = %v or μ² = %v is admitted, more than δ_c allows", best, square)
		}
		if !f.admits(at(best*0.92, math.Inf(1))) || !f.admits(at(math.Inf(1), square*0.92)) {
			t.Errorf("0.92 of ρ = %v or μ² = %v is refused, though all of δ_c allows that", best, square)
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
		share := rapid.Float64Range(0, 1-1e-6).Draw(t, "share") // nearer to 1, 1 − share does not have the digits compared
		f := newFilter(budget, policy.RDP, share)
		var total sums
		var plain mechanism.Curve
		for range rapid.IntRange(0, 20).Draw(t, "charges") {
			c := ledger.Charge{Epsilon: rapid.Float64Range(0.001, 1).Draw(t, "statement's epsilon")}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				c.Curve = mechanism.PureCurve(c.Epsilon)
			case 1: // a Gaussian
				c.Curve = ledgertest.GaussianCurve(c.Epsilon * c.Epsilon / 30)
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
		gaussian := budget.Delta * (1 - share) * gaussianShare
		deltas := append(shares(mechanism.RenyiOrders, budget.Epsilon, budget.Delta*(1-share)-gaussian), gaussian)
		spent := func(stored float64) float64 { // where what is stored of a divergence is so many times it
			least := plain.Pure
			for i, delta := range deltas {
				if conversion := mechanism.EpsilonAt(mechanism.Orders[i], 0, delta); delta > 0 && conversion < budget.Epsilon {
					d := 0.0
					if plain.Renyi != nil {
						d = stored * plain.Renyi[i]
					}
					least = min(least, mechanism.EpsilonAt(mechanism.Orders[i], d, delta))
				}
			}
			return least
		}
		got := f.spent(total)
		// Stored divergences are rounded up, by 2⁻²³ at most.
		least, most := spent(1), spent(1+1.0/(1<<23))
		if g := got.Float(); g != least && (g < least*(1-1e-7) || g > most*(1+1e-7)) {
			t.Errorf("spent %v, want %v to %v", g, least, most)
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

// TestStatementsShareTheBudget: of n equal statements that fit each takes one nth of the budget, or hardly less; how
// many more fit is what the filter admits; and whatever came before, a share is never less than that of the statement
// alone.
func TestStatementsShareTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := policy.Budget{Epsilon: rapid.SampledFrom([]float64{.5, 1, 5, 10, 20}).Draw(t, "epsilon"), Delta: 1e-6}
		method := rapid.SampledFrom([]policy.Method{policy.Pure, policy.RDP}).Draw(t, "method")
		f := newFilter(budget, method, .5)
		draw := func(name string) sums {
			c := ledger.Charge{Epsilon: rapid.Float64Range(budget.Epsilon/50, budget.Epsilon/3).Draw(t, name)}
			c.Curve = mechanism.PureCurve(c.Epsilon)
			if method == policy.RDP && rapid.Bool().Draw(t, name+" is Gaussian") {
				c.Curve = ledgertest.GaussianCurve(c.Epsilon * c.Epsilon / 30)
			}
			if method == policy.RDP && rapid.Bool().Draw(t, name+" selects") {
				c.SelectionDelta = budget.Delta / 2 / 7
			}
			s, err := cost(c, method)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		before := sums{}
		for range rapid.IntRange(0, 5).Draw(t, "others before") {
			if next := before.add(draw("one before")); f.admits(next) {
				before = next
			}
		}
		each := draw("the statement")
		alone, promised, first := f.used(each), f.enough(before, each), f.used(before)
		last, n := first, 0
		for s := before.add(each); f.admits(s); s = s.add(each) {
			share := f.used(s) - last
			if share < alone*(1-1e-9) {
				t.Fatalf("statement %d takes %g, alone it takes %g", n+1, share, alone)
			}
			if first == 0 && math.Abs(share/alone-1) > 1e-9 {
				t.Fatalf("statement %d takes %g, the first took %g", n+1, share, alone)
			}
			if last, n = f.used(s), n+1; last > 1 {
				t.Fatalf("%g of the budget is spent, and admitted", last)
			}
			if left := f.enough(s, each); left != promised-n {
				t.Fatalf("after %d of %d statements %d are said to fit", n, promised, left)
			}
		}
		if n != promised {
			t.Fatalf("%d fit, %d were promised", n, promised)
		}
		if s := before.add(each.times(n + 1)); each.selection.isZero() && f.used(s) < 1 {
			t.Fatalf("%g of the budget would be spent, and it is not admitted", f.used(s))
		}
	})
}

// times adds s up n times.
func (s sums) times(n int) (out sums) {
	for range n {
		out = out.add(s)
	}
	return out
}

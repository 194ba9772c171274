package accounting

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// sums is what a period's charges add up to: at order ∞, at each of mechanism.Orders, and the δ of partition selections.
type sums struct {
	pure      Amount
	renyi     []Amount // nil: all zero
	selection Amount   // of δ, in units of 10⁻³⁰
}

// add returns the sums of both; neither operand is changed.
func (s sums) add(t sums) sums {
	out := sums{pure: s.pure.add(t.pure), selection: s.selection.add(t.selection)}
	switch {
	case s.renyi == nil:
		out.renyi = t.renyi
	case t.renyi == nil:
		out.renyi = s.renyi
	default:
		out.renyi = make([]Amount, len(s.renyi))
		for i := range s.renyi {
			out.renyi[i] = s.renyi[i].add(t.renyi[i])
		}
	}
	return out
}

// filter is one budget, ready to be asked. Its finite orders each have a share of the budget's δ; order ∞ has none.
//
// Proof Definition. Preconditions: the δ shares are fixed before the first charge and add up to at most δ_c; every
// charge bounds the Rényi divergence of its release at every order, given all that came before. Postcondition: as long
// as spent(sums) ≤ total held after every admitted charge, everything released is (total, δ_c + δ_sel)-DP, whatever the
// analyst asked in the light of earlier answers. Proof: docs/budget.md, «The filter».
type filter struct {
	total          Amount
	delta          float64  // of the whole budget, for display
	conversionCost []Amount // ε that converting from each finite order costs; unbounded: order not in use
	selection      Amount   // δ_sel, in units of 10⁻³⁰
}

// reserve is the relative part of δ_c that is left unused to cover what decimal drops of δ_sel, and roundingSlack is
// the relative margin on each surcharge for the rounding of the few float64 operations behind it (each within 2⁻⁵³).
const (
	reserve       = 1e-9
	roundingSlack = 1e-12
)

// newFilter makes the filter of a budget under a method; share is δ_sel's part of δ.
func newFilter(b policy.Budget, method policy.Method, share float64) *filter {
	f := &filter{total: decimal(b.Epsilon, epsilonDigits), delta: b.Delta}
	if method == policy.Pure {
		f.delta = 0
		return f
	}
	selection := b.Delta * share
	f.selection = decimal(selection, deltaDigits)
	orders := mechanism.Orders
	f.conversionCost = make([]Amount, len(orders))
	composition := (b.Delta - selection) * (1 - reserve)
	for i, delta := range shares(orders, b.Epsilon, composition) {
		if f.conversionCost[i] = unbounded; delta > 0 {
			f.conversionCost[i] = ceil(mechanism.EpsilonAt(orders[i], 0, delta) * (1 + roundingSlack))
		}
	}
	return f
}

// favourite is the share of δ_c that goes to the order at which a budget filled with many small charges converts best.
// The rest falls off with the square of the distance from it, so that every order has some: a share that is k times
// smaller costs ln(k)/(α−1) of ε.
const bestOrderShare = 0.95

// shares divides δ over the orders, from public quantities alone: the budget and the list of orders.
func shares(orders []float64, epsilon, delta float64) []float64 {
	out := make([]float64, len(orders))
	if delta <= 0 || len(orders) == 0 {
		return out
	}
	best, most := 0, math.Inf(-1)
	for i, alpha := range orders {
		// ε² of so many small charges that each costs αε²/2 at order α
		if fits := (epsilon - mechanism.EpsilonAt(alpha, 0, delta)) / alpha; fits > most {
			best, most = i, fits
		}
	}
	weights := 0.0
	for i := range orders {
		if d := float64(i - best); d != 0 {
			out[i] = 1 / (d * d)
			weights += out[i]
		}
	}
	for i := range out {
		out[i] *= (1 - bestOrderShare) * delta / weights
	}
	out[best] = bestOrderShare * delta
	if len(orders) == 1 {
		out[best] = delta
	}
	return out
}

// spent is the ε of everything in s: the least over order ∞ and all finite orders. It is what admission compares with
// the budget and what every display shows.
func (f *filter) spent(s sums) Amount {
	least := s.pure
	for i, surcharge := range f.conversionCost {
		e := surcharge
		if s.renyi != nil {
			e = e.add(s.renyi[i])
		}
		if e.cmp(least) < 0 {
			least = e
		}
	}
	return least
}

// admits tells whether s is within the budget.
func (f *filter) admits(s sums) bool {
	return f.spent(s).cmp(f.total) <= 0 && s.selection.cmp(f.selection) <= 0
}

// balance is s as an analyst sees it.
func (f *filter) balance(s sums) ledger.Balance {
	spent := f.spent(s)
	return ledger.Balance{
		EpsilonTotal: f.total.Float(),
		EpsilonSpent: spent.Float(),
		EpsilonLeft:  f.total.sub(spent).Float(),
		Delta:        f.delta,
	}
}

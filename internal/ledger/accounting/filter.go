package accounting

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// sums holds the totals of a period's charges.
type sums struct {
	pure      Amount   // at order ∞
	renyi     []Amount // at each of mechanism.Orders, μ² at the last; nil: all zero
	selection Amount   // δ of partition selections, in units of 10⁻³⁰
}

// add returns s+t and changes neither.
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

// filter decides whether sums are within one budget. Each finite order, and GDP, has a share of the budget's δ; order ∞
// has none.
//
// Proof Definition. Preconditions: the δ shares are fixed before the first charge and add up to at most δ_c; every
// charge bounds the Rényi divergence of its release at every order, and its μ², given all that came before.
// Postcondition: as long as spent(sums) ≤ total held after every admitted charge, everything released is (total, δ_c +
// δ_sel)-DP, whatever the analyst asked in the light of earlier answers. Proof: docs/budget.md, «The filter».
type filter struct {
	total     Amount
	delta     float64  // of the whole budget, for display
	room      []Amount // what may be spent at each of mechanism.Orders; 0: it is not in use
	gaussian  float64  // GDP's share of δ
	selection Amount   // δ_sel, in units of 10⁻³⁰
}

const (
	// reserve is the fraction of δ_c that stays unused. It covers what decimal drops of δ_sel.
	reserve = 1e-9
	// roundingSlack is added, relatively, to each conversion cost. It covers the rounding of the few float64 operations
	// that compute one (each within 2⁻⁵³).
	roundingSlack = 1e-12
	// gaussianShare is the part of δ_c for GDP, which holds most of Gaussian noise. The orders, which hold most of any
	// other, have the rest.
	gaussianShare = 0.55
)

// newFilter returns the filter of a budget under a method. share is δ_sel's part of δ.
func newFilter(b policy.Budget, method policy.Method, share float64) *filter {
	f := &filter{total: decimal(b.Epsilon, epsilonDigits), delta: b.Delta}
	if method == policy.Pure {
		f.delta = 0
		return f
	}
	selection := b.Delta * share
	f.selection = decimal(selection, deltaDigits)
	composition := (b.Delta - selection) * (1 - reserve)
	f.gaussian = composition * gaussianShare
	for i, delta := range shares(mechanism.RenyiOrders, b.Epsilon, composition-f.gaussian) {
		cost := unbounded
		if delta > 0 {
			cost = ceil(mechanism.EpsilonAt(mechanism.Orders[i], 0, delta) * (1 + roundingSlack))
		}
		f.room = append(f.room, f.total.sub(cost))
	}
	f.room = append(f.room, ceil(mechanism.SquareAt(b.Epsilon, f.gaussian)))
	return f
}

// bestOrderShare is the part of the orders' δ for the one at which a budget filled with many small charges converts
// best. The shares of the other orders fall off with the square of the distance from it, so that none is 0: a share
// that is k times smaller raises the conversion cost by ln(k)/(α−1).
const bestOrderShare = 0.95

// shares divides δ over the orders. It uses public quantities only: the budget and the list of orders.
func shares(orders []float64, epsilon, delta float64) []float64 {
	out := make([]float64, len(orders))
	if delta <= 0 || len(orders) == 0 {
		return out
	}
	best, most := 0, math.Inf(-1)
	for i, alpha := range orders {
		// Charges of a small ε₀ each cost αε₀²/2 at order α: the number that fits grows with this ratio.
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

// at returns s at the i-th of mechanism.Orders.
func (s sums) at(i int) Amount {
	if s.renyi == nil {
		return Amount{}
	}
	return s.renyi[i]
}

// spent returns the ε of s: the least over order ∞, all finite orders and GDP. It is within the budget where the sums
// are, and every display shows it.
func (f *filter) spent(s sums) Amount {
	least := s.pure
	for i, room := range f.room {
		if room.isZero() {
			continue // what is spent here is beyond the budget
		}
		spent := f.total.sub(room).add(s.at(i)) // ε − room is what converting costs
		if mechanism.Orders[i] == mechanism.GDP {
			spent = f.converted(s.at(i), room)
		}
		if spent.cmp(least) < 0 {
			least = spent
		}
	}
	return least
}

// converted returns the ε of a μ², which is within the budget if and only if μ² is within its room.
func (f *filter) converted(square, room Amount) Amount {
	epsilon := ceil(mechanism.EpsilonAt(mechanism.GDP, square.Float(), f.gaussian))
	switch within := epsilon.cmp(f.total) <= 0; {
	case square.cmp(room) <= 0 && !within:
		return f.total
	case square.cmp(room) > 0 && within:
		return f.total.add(Amount{lo: 1})
	}
	return epsilon
}

// left returns what of the budget's ε is left beside s.
func (f *filter) left(s sums) Amount { return f.total.sub(f.spent(s)) }

// admits reports whether s is within the budget: at order ∞, at a finite one, or as GDP.
func (f *filter) admits(s sums) bool {
	within := s.pure.cmp(f.total) <= 0
	for i, room := range f.room {
		within = within || !room.isZero() && s.at(i).cmp(room) <= 0
	}
	return within && s.selection.cmp(f.selection) <= 0
}

// used returns the part of the budget that s takes: the least, over order ∞, all finite orders and GDP, of its
// divergence, or μ², as a part of what is admitted there. It is at most 1 if and only if spent is within the budget
// (docs/budget.md, proposition 2).
func (f *filter) used(s sums) float64 {
	least := s.pure.over(f.total)
	for i, room := range f.room {
		if !room.isZero() {
			least = min(least, s.at(i).over(room))
		}
	}
	return least
}

// mostEnough is what is said of costs that fit more often.
const mostEnough = 1e9

// enough returns how many times more a cost fits beside s.
func (f *filter) enough(s, cost sums) int {
	if cost.renyi == nil {
		return mostEnough // nothing was charged
	}
	most := uint64(0)
	if s.pure.cmp(f.total) <= 0 {
		most = f.total.sub(s.pure).times(cost.pure, mostEnough)
	}
	for i, room := range f.room {
		if left := room.sub(s.at(i)); !left.isZero() {
			most = max(most, left.times(cost.renyi[i], mostEnough))
		}
	}
	return int(min(most, f.selection.sub(s.selection).times(cost.selection, mostEnough)))
}

// balance returns what an analyst sees of s.
func (f *filter) balance(s sums) ledger.Balance {
	share := min(f.used(s), 1)
	return ledger.Balance{
		EpsilonTotal: f.total.Float(),
		EpsilonSpent: f.spent(s).Float(),
		EpsilonLeft:  f.left(s).Float(),
		Delta:        f.delta,
		ShareSpent:   share,
		ShareLeft:    1 - share,
	}
}

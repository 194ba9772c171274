package synthetic

import (
	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// price says at which ε statements share a budget, so that all of them together are (ε, δ)-differentially private.
type price struct {
	epsilon float64 // of all
	share   func(epsilon float64) float64
}

// rounding is a part too small to be seen, so that parts that are rounded up fit into a budget that they fill.
const rounding = 1e-6

// priceOf shares a budget at the order where many small statements take least of it: their divergences add up there.
func priceOf(p *policy.Policy, budget policy.Budget) price {
	if p.Accounting.Method == policy.Pure {
		return price{budget.Epsilon, func(epsilon float64) float64 { return epsilon / budget.Epsilon }}
	}
	config := ledger.ConfigOf(p)
	config.Analysts = map[string]policy.Budget{policy.SyntheticAccount: budget}
	room := accounting.RoomOf(config, policy.SyntheticAccount)
	_, order := room.Share(mechanism.LaplaceCurve(budget.Epsilon / 30))
	return price{budget.Epsilon, func(epsilon float64) float64 {
		curve := mechanism.LaplaceCurve(epsilon)
		if order == accounting.Infinite {
			return curve.Pure / room.Pure
		}
		return curve.Renyi[order] / room.At(order)
	}}
}

// at is the ε of a statement that takes a part of the budget.
func (p price) at(part float64) float64 { return ask.Divide(p.share, p.epsilon, part*(1-rounding)) }

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
	epsilon  float64 // of all
	gaussian bool    // noise follows what a unit moves all groups by in L2, not the sum of that
	share    func(epsilon float64) float64
}

// rounding is a part too small to be seen, so that parts that are rounded up fit into a budget that they fill.
const rounding = 1e-6

// priceOf shares a budget. What statements take of it adds up where all have noise of one kind.
func priceOf(p *policy.Policy, budget policy.Budget) price {
	if p.Accounting.Method == policy.Pure {
		return price{budget.Epsilon, false, func(epsilon float64) float64 { return epsilon / budget.Epsilon }}
	}
	config := ledger.ConfigOf(p)
	config.Analysts = map[string]policy.Budget{policy.SyntheticAccount: budget}
	room := accounting.RoomOf(config, policy.SyntheticAccount)
	return price{budget.Epsilon, p.Accounting.Method == policy.RDP, func(epsilon float64) float64 {
		share, _ := room.Share(mechanism.LaplaceCurve(epsilon))
		return share
	}}
}

// at is the ε of a statement that takes a part of the budget.
func (p price) at(part float64) float64 { return ask.Divide(p.share, p.epsilon, part*(1-rounding)) }

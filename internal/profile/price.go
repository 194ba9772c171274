package profile

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/ask"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Price is what a profile is about to take. It is a function of the policy, the catalogs and the ledger.
type Price struct {
	Statements  int
	Holds       float64 // how many profiles of this price the whole budget pays for
	Share, Left float64 // of the budget that it takes, and that is left then
}

// countPart is the part of the price that units are counted with.
const countPart = 1. / 20

// shares say how questions share a price.
type shares struct {
	policy  *policy.Policy
	epsilon float64 // of all of it together
}

// among gives each question its ε, of a part of the price, by their weights and those of what follows from them.
func (s shares) among(list []*question, part float64) func(*question) float64 {
	total := weight(list)
	share := func(epsilon float64) float64 { return epsilon / s.epsilon }
	if s.policy.Accounting.Method != policy.Pure {
		room := accounting.RoomOf(ledger.ConfigOf(s.policy), policy.ProfileAccount)
		share = func(epsilon float64) float64 {
			taken, _ := room.Share(mechanism.LaplaceCurve(epsilon))
			return taken
		}
	}
	whole := share(s.epsilon)
	return func(q *question) float64 { return ask.Divide(share, s.epsilon, whole*part*q.weight/total) }
}

// weight is that of questions and of what follows from them at most.
func weight(list []*question) float64 {
	total := 0.0
	for _, q := range list {
		total += q.weight + q.later()
	}
	return total
}

// taken is the part of the price that questions have taken, of what counting left.
func (s shares) taken(answers []*answer) float64 {
	var list []*question
	own := 0.0
	for _, at := range answers {
		list, own = append(list, at.question), own+at.weight
	}
	return (1 - countPart) * own / weight(list)
}

// quote says what counting would take together with all that may follow from it. The error is the ledger's where that
// is not admitted.
func (c *course) quote(ctx context.Context, counts planned, all []*question) (Price, error) {
	p, epsilon := c.price.policy, c.price.epsilon
	next, err := c.plan(ctx, all, c.price.among(all, 1-countPart))
	if err != nil {
		return Price{}, err
	}
	charges := append(counts.charges(), next.charges()...)
	statements, done := len(charges), countPart+c.price.taken(next.answers)
	if rest := 1 - done - rounding; rest > 0 {
		charges = append(charges, more(charges, rest/done))
	}
	balance, err := c.Preview(ctx, charges)
	if err != nil {
		return Price{}, err
	}
	price := Price{Statements: statements, Left: balance.ShareLeft}
	for _, share := range balance.Shares {
		price.Share += share
	}
	if p.Accounting.Method == policy.Pure {
		price.Holds = p.ProfileBudget().Epsilon / epsilon
	} else {
		share, _ := accounting.RoomOf(ledger.ConfigOf(p), policy.ProfileAccount).Share(mechanism.LaplaceCurve(epsilon))
		price.Holds = 1 / share
	}
	return price, nil
}

// more is a charge that costs as others do, in proportion.
func more(charges []ledger.Charge, factor float64) ledger.Charge {
	var m ledger.Charge
	for _, c := range charges {
		m.Epsilon += factor * c.Epsilon
		m.Curve.Pure += factor * c.Curve.Pure
		if m.Curve.Renyi == nil && c.Curve.Renyi != nil {
			m.Curve.Renyi = make([]float64, len(c.Curve.Renyi))
		}
		for i, d := range c.Curve.Renyi {
			m.Curve.Renyi[i] += factor * d
		}
	}
	return m
}

// rounding is a part too small to be seen, so that parts that are rounded up fit into a budget that they fill.
const rounding = 1e-6

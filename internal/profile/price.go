package profile

import (
	"context"

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

// parts say how questions share a price.
type parts struct {
	total float64
}

// share gives each release of both phases the same part. Of the second phase it is known how many it has at most.
func share(first []*question) parts {
	total := 0.0
	for _, q := range first {
		total += q.weight
		if q.kind == rowsKind || q.kind == boundsKind && len(q.cells) > 2 {
			total += 2
		}
	}
	return parts{total}
}

func (p parts) of(q *question) float64 { return q.weight / p.total }

// divide returns the ε at which a statement takes a part of what one at epsilon takes of the account's budget, so that
// statements whose parts add up to 1 cost what that one does (docs/budget.md, «What a statement costs»).
func divide(p *policy.Policy, epsilon, part float64) float64 {
	if p.Accounting.Method == policy.Pure {
		return epsilon * part
	}
	room := accounting.RoomOf(ledger.ConfigOf(p), policy.ProfileAccount)
	whole, _ := room.Share(mechanism.LaplaceCurve(epsilon))
	low, high := 0.0, epsilon
	for range 60 {
		middle := (low + high) / 2
		if share, _ := room.Share(mechanism.LaplaceCurve(middle)); share <= part*whole {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// priceOf says what the first phase would take together with the most that the second may. The error is the ledger's where
// that is not admitted.
func (a *asker) priceOf(ctx context.Context, p *policy.Policy, first planned, epsilon float64, parts parts) (Price, error) {
	done := 0.0
	for _, at := range first.answers {
		done += parts.of(at.question)
	}
	charges := first.charges
	if rest := 1 - done - rounding; rest > 0 {
		charges = append(charges[:len(charges):len(charges)], more(charges, rest/done))
	}
	balance, err := a.ledger.Preview(ctx, charges)
	if err != nil {
		return Price{}, err
	}
	price := Price{Statements: len(first.charges), Left: balance.ShareLeft}
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

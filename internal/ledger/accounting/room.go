package accounting

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// Room is what an analyst's whole budget admits, order by order. Charges fit while, at one order at least, their
// divergences (at GDP, their μ²) add up to no more than the room there: it is the filter's rule (docs/budget.md, «The
// filter»), written for the price of a statement. The filter alone decides what is admitted.
type Room struct {
	Pure float64 // at order ∞: the budget's ε
	// at each of mechanism.Orders: ε less the cost of converting, at the last the μ² of (ε, δ); 0: the order admits
	// nothing. nil: none does
	Renyi []float64
}

// Infinite is the order of plain ε, where Share names an order.
const Infinite = -1

// RoomOf returns the room of an analyst's budget.
func RoomOf(c ledger.Config, analyst string) Room {
	budget := c.Analysts[analyst]
	f := newFilter(budget, c.Method, c.SelectionDeltaShare)
	room := Room{Pure: f.total.Float()}
	for _, amount := range f.room {
		room.Renyi = append(room.Renyi, amount.Float())
	}
	return room
}

// Share returns which part of the room a curve takes at the order where that is least, and this order: an index of
// mechanism.Orders, or Infinite. It is +Inf where the curve fits at no order.
func (r Room) Share(c mechanism.Curve) (share float64, order int) {
	share, order = math.Inf(1), Infinite
	if r.Pure > 0 {
		share = c.Pure / r.Pure
	}
	for i, room := range r.Renyi {
		if room <= 0 {
			continue
		}
		taken := 0.0
		if c.Renyi != nil {
			taken = c.Renyi[i] / room
		}
		if taken < share {
			share, order = taken, i
		}
	}
	return share, order
}

// At returns the room at an order as Share names it.
func (r Room) At(order int) float64 {
	if order == Infinite {
		return r.Pure
	}
	return r.Renyi[order]
}

// Gaussian returns the most μ² that the room holds at one of the Rényi orders, of Gaussian noise: its divergences are
// αμ²/2.
func (r Room) Gaussian() (most float64) {
	for i, alpha := range mechanism.RenyiOrders {
		most = max(most, 2*r.Renyi[i]/alpha)
	}
	return most
}

// Fits returns how many charges that take a share of a room fit into it, if nothing else is charged.
func Fits(share float64) int {
	const rounding = 1e-12 // ten statements of 0.1 fill 1
	return int(math.Min((1+rounding)/share, 1e9))
}

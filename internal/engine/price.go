package engine

import (
	"math"
	"slices"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// statementBudget holds what one statement may cost.
type statementBudget struct {
	epsilon        float64 // nominal
	most           float64 // nominal: the statement's epsilon_max
	method         policy.Method
	room           accounting.Room
	selectionDelta float64       // of all partition selections (δ_sel); 0 under pure accounting
	margin         *wantedMargin // dpproxy.margin; nil: none is set
}

// statementBudgets returns what a statement of each analyst, and of one of each group, may cost, but for its ε.
func statementBudgets(p *policy.Policy) map[string]statementBudget {
	config := ledger.ConfigOf(p)
	for name, b := range config.Groups {
		config.Analysts[groupKey+name] = b
	}
	out := make(map[string]statementBudget, len(config.Analysts))
	for analyst := range config.Analysts {
		out[analyst] = statementBudget{
			method: p.Accounting.Method, room: accounting.RoomOf(config, analyst),
			selectionDelta: config.SelectionDelta(analyst),
		}
	}
	return out
}

// groupKey stands before the names of groups in state.budgets. No analyst's name has a control character.
const groupKey = "\x00"

// budgetKey says whose budget an analyst has.
func (s *state) budgetKey(analyst string) string {
	if _, own := s.budgets[analyst]; own {
		return analyst
	}
	return groupKey + s.policy.GroupOf(analyst)
}

// price is one way to pay for a statement: the guarantee that its releases share at one order (docs/budget.md, «What a
// statement costs»).
type price struct {
	mechanism.Guarantee
	order int // of the guarantee, as accounting.Room names it
}

// prices returns the ways to pay for a statement at a nominal ε. The first takes the part of the analyst's whole budget
// that one release with Laplace noise of this ε takes at the order where it takes least, and noise with a pure ε buys
// most there. Gaussian noise buys most as GDP, and where it is truncated to a short range, at an order of its own.
func (b statementBudget) prices(epsilon float64) []price {
	share, order := b.room.Share(mechanism.LaplaceCurve(epsilon))
	if nearlyPure(share*b.room.Pure, epsilon) {
		order = accounting.Infinite
	}
	list := []price{b.priceAt(epsilon, order)}
	gaussian := mechanism.Curve{Pure: math.Inf(1), Renyi: slices.Clone(mechanism.Orders)}
	gaussian.Renyi[gdp] = math.Inf(1)
	_, other := b.room.Share(gaussian)
	for _, way := range []int{gdp, other} {
		if way != order && way != accounting.Infinite && b.room.Renyi != nil && b.room.At(way) > 0 {
			list = append(list, b.priceAt(epsilon, way))
		}
	}
	return list
}

// gdp is where GDP stands among the orders.
var gdp = slices.Index(mechanism.Orders, mechanism.GDP)

// priceAt is the price of a statement at a nominal ε, to be paid at an order: the part of the whole budget that the
// first of prices takes. As GDP it pays for the Gaussian noise that this part buys at the order which suits that best,
// which is a smaller part there.
func (b statementBudget) priceAt(epsilon float64, order int) price {
	share, _ := b.room.Share(mechanism.LaplaceCurve(epsilon))
	if order != accounting.Infinite {
		amount := share * b.room.At(order)
		if order == gdp {
			amount = share * math.Min(b.room.At(gdp), b.room.Gaussian())
		}
		return price{mechanism.Guarantee{Epsilon: amount * (1 - storedRounding), Order: mechanism.Orders[order]}, order}
	}
	amount := share * b.room.Pure
	if !(b.room.Pure > 0) || nearlyPure(amount, epsilon) {
		amount = epsilon // without rounding: ten statements of 0.1 cost 1
	}
	return price{mechanism.Guarantee{Epsilon: amount}, order}
}

// share is the part of the whole budget that a statement takes at a nominal ε, paid at an order.
func (b statementBudget) share(epsilon float64, order int) float64 {
	return b.priceAt(epsilon, order).Epsilon / b.room.At(order)
}

// storedRounding bounds by how much the ledger rounds up what it stores of a curve: statements of a tenth of the budget
// fit ten times.
const storedRounding = 0x1p-22

// nearlyPure says whether an amount of pure ε is as good as epsilon. No finite order is worth less than a thousandth:
// at order ∞ a statement costs its ε, and mechanisms can be used that have no other guarantee.
func nearlyPure(amount, epsilon float64) bool { return amount >= epsilon*(1-1e-3) }

// nominal returns the ε of the cheapest statement whose price at the order is amount or more.
func (b statementBudget) nominal(amount float64, order int) float64 {
	switch {
	case amount <= 0: // nothing can be learnt: what was asked is charged all the same
		return b.epsilon
	// the least ε that costs it, or nearly so
	case order == accounting.Infinite && b.priceAt(amount, order).Epsilon == amount:
		return amount
	}
	low, high := 0.0, b.most
	for b.priceAt(high, order).Epsilon < amount {
		low, high = high, 2*high
	}
	for high-low > nominalTolerance*high {
		if middle := (low + high) / 2; b.priceAt(middle, order).Epsilon < amount {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// nominalTolerance bounds by how much, relatively, a nominal ε that is found exceeds the least one.
const nominalTolerance = 1e-9

// holds returns how many charges like c the analyst's whole budget holds.
func (b statementBudget) holds(c ledger.Charge) int { return b.fits(b.taken(c), c.SelectionDelta) }

// taken is the part of the analyst's whole budget that a charge takes.
func (b statementBudget) taken(c ledger.Charge) float64 {
	curve := c.Curve
	if b.room.Renyi == nil { // pure accounting charges ε
		curve = mechanism.Curve{Pure: c.Epsilon}
	}
	share, _ := b.room.Share(curve)
	return share
}

// fits returns how many statements the analyst's whole budget holds that take a share of it, and a δ for their
// selections.
func (b statementBudget) fits(share, selectionDelta float64) int {
	most := accounting.Fits(share)
	if selectionDelta > 0 {
		most = min(most, accounting.Fits(selectionDelta/b.selectionDelta))
	}
	return most
}

// leastSelection is the least part of δ_sel that a partition selection takes.
const leastSelection = 1. / 1000

// deltaOf returns the δ of each partition selection of a plan. All of them together take the part of δ_sel that the
// price takes of the whole budget, so that δ_sel lasts as long as that does; or each a thousandth, if that is more.
func (b statementBudget) deltaOf(plan *rewrite.Plan, p price) float64 {
	selections := 0.0
	for _, block := range plan.Blocks {
		if block.Select != nil {
			selections++
		}
	}
	part := math.Min(1, p.Epsilon/b.room.At(p.order)*(1-shareRounding)) / math.Max(1, selections)
	return b.selectionDelta * math.Max(part, leastSelection)
}

// paidBy returns what a curve costs at the order of the price.
func (p price) paidBy(c mechanism.Curve) float64 {
	switch {
	case p.order == accounting.Infinite:
		return c.Pure
	case c.Renyi == nil: // nothing can be learnt
		return 0
	}
	return c.Renyi[p.order]
}

// divide returns the part of a price that a weight is of a total weight.
func (p price) divide(weight, total int) mechanism.Guarantee {
	g := p.Guarantee
	g.Epsilon *= float64(weight) / float64(total)
	return g
}

// weights says how the releases of a statement share its price. A layer has its weight once, wherever in the statement
// its releases stand, and so has a family of quantiles; a release that cannot share a layer's, and a selection, is one
// of its own.
type weights struct {
	layers map[int]int
	wide   map[int]bool // layers with releases in several blocks
	total  int
}

func weigh(plan *rewrite.Plan) weights {
	w := weights{layers: map[int]int{}, wide: map[int]bool{}}
	first := map[int]int{} // of a layer: its first block
	seen := map[int]bool{} // families
	for i, block := range plan.Blocks {
		if block.Select != nil && block.SelectBy == 0 {
			w.total += max(block.Select.Weight, 1)
		}
		for _, r := range block.Releases {
			weight := max(r.Weight, 1)
			if !r.Layered() {
				if !r.InFamily() || !seen[r.Family] {
					w.total += weight
				}
				seen[r.Family] = seen[r.Family] || r.InFamily()
				continue
			}
			if at, known := first[r.Layer]; !known {
				first[r.Layer] = i
			} else if at != i {
				w.wide[r.Layer] = true
			}
			if more := weight - w.layers[r.Layer]; more > 0 {
				w.layers[r.Layer], w.total = weight, w.total+more
			}
		}
	}
	return w
}

// of returns the weight of a release, or of its layer.
func (w weights) of(r mechanism.Release) int {
	if r.Layered() {
		return w.layers[r.Layer]
	}
	return max(r.Weight, 1)
}

// sum returns the weight of several releases of a block together.
func (w weights) sum(list []mechanism.Release) int {
	sum, layers, families := 0, map[int]bool{}, map[int]bool{}
	for _, r := range list {
		switch {
		case r.Layered() && layers[r.Layer], !r.Layered() && r.InFamily() && families[r.Family]:
			continue
		case r.Layered():
			layers[r.Layer] = true
		case r.InFamily():
			families[r.Family] = true
		}
		sum += w.of(r)
	}
	return sum
}

package optimum

import "math"

// pricer finds the ray that is cheapest at given prices.
type pricer struct {
	length, window int     // L; Δ
	up             float64 // e^ε
}

// move is the next value of a ray, relative to the least of the window before it.
type move int8

const (
	below move = iota - 1 // a factor of e^ε less: only where all of the window are equal
	least
	above // a factor of e^ε more
)

// states are the rays up to some x that are cheapest, by their last values: a bit says which of these are e^ε times the
// least, and the least is the unit of the cost. A ray has no scale, so nothing else has to be remembered.
type states struct {
	cost []float64
	from []int
	move []move
}

func newStates(width int) states {
	s := states{make([]float64, 1<<width), make([]int, 1<<width), make([]move, 1<<width)}
	for i := range s.cost {
		s.cost[i] = math.Inf(1)
	}
	return s
}

// next is the window after a move, and the factor by which its least value grows. have values are known, keep remain.
func (p pricer) next(bits int, m move, have, keep int) (after int, grows float64) {
	grows = 1
	after = bits << 1
	switch m {
	case below:
		after, grows = (1<<have-1)<<1, 1/p.up
	case above:
		after |= 1
	}
	after &= 1<<keep - 1
	if after == 1<<keep-1 { // the least has left the window
		after, grows = 0, grows*p.up
	}
	return after, grows
}

// price returns the ray v, scaled to a maximum of 1, that is cheapest for output z: Σ v(x)·((x−z)² − prices[x] +
// extra).
func (p pricer) price(z int, prices []float64, extra float64) (ray []float64, cost float64) {
	weight := func(x int) float64 { return float64((x-z)*(x-z)) - prices[min(x, p.length-x)] + extra }
	all := make([]states, p.length+1)
	all[0] = newStates(1)
	all[0].cost[0] = weight(0)
	for x := 1; x <= p.length; x++ {
		all[x] = p.advance(all[x-1], min(x, p.window), min(x+1, p.window), weight(x))
	}
	best, last := 0, all[p.length].cost
	for i, c := range last {
		if c < last[best] {
			best = i
		}
	}
	ray = p.unwind(all, best)
	for x, v := range ray {
		cost += v * weight(x)
	}
	return ray, cost
}

// advance adds one value to the rays.
func (p pricer) advance(s states, have, keep int, weight float64) states {
	out := newStates(keep)
	for bits, cost := range s.cost {
		if math.IsInf(cost, 1) {
			continue
		}
		for m := below; m <= above; m++ {
			if m == below && bits != 0 {
				continue
			}
			value := 1.0
			switch m {
			case below:
				value = 1 / p.up
			case above:
				value = p.up
			}
			after, grows := p.next(bits, m, have, keep)
			if c := (cost + value*weight) / grows; c < out.cost[after] {
				out.cost[after], out.from[after], out.move[after] = c, bits, m
			}
		}
	}
	return out
}

// unwind follows a ray back to its start.
func (p pricer) unwind(all []states, bits int) []float64 {
	moves := make([]move, p.length+1)
	for x := p.length; x > 0; x-- {
		moves[x] = all[x].move[bits]
		bits = all[x].from[bits]
	}
	ray := make([]float64, p.length+1)
	ray[0] = 1
	unit, most := 1.0, 1.0
	bits = 0
	for x := 1; x <= p.length; x++ {
		switch moves[x] {
		case below:
			ray[x] = unit / p.up
		case least:
			ray[x] = unit
		case above:
			ray[x] = unit * p.up
		}
		most = math.Max(most, ray[x])
		var grows float64
		bits, grows = p.next(bits, moves[x], min(x, p.window), min(x+1, p.window))
		unit *= grows
	}
	for x := range ray {
		ray[x] /= most
	}
	return ray
}

// extra is the least that has to be added to the cost of every value, so that no ray for z has a negative cost.
func (p pricer) extra(z int, prices, ray []float64, cost float64) float64 {
	extra := 0.0
	for cost < 0 {
		total := 0.0
		for _, v := range ray {
			total += v
		}
		extra += -cost/total + 1e-12*float64(p.length*p.length)
		ray, cost = p.price(z, prices, extra)
	}
	return extra
}

package loss

import "math"

// Unit is how far one unit can move the exact values of one release, in whole grid steps: by Delta in one group and by
// Total in all, in at most Groups groups, in rows that move a group by Row each. They are float64 because products of
// them are beyond int64.
type Unit struct {
	Delta, Total, Row, Groups float64
	// of a selection: it adds one number to each of its groups, whose square times their number is at most this; 0: not
	// known
	Squares float64
	Shared  bool // the rest of its rows may be in other releases, of which the most expensive is charged
}

// Scalar is one number per group: its exact value is clamped to a range, and noise is drawn anew for each.
type Scalar struct {
	Noise
	Unit
	Span float64 // length of the range; +Inf: not known before
	// the noisy value is conditioned on these, sorted, with gaps between; nil: what is released is a function of it
	In   []Interval
	Open bool // In is a finite set that is not known before, of one interval
	// noise is on the number of the cell of the value, conditioned on the numbers there are, or clamped to these
	// (Laplace); the last value of each
	Cells []int64
	Rough bool // leave out what is expensive to find: the bound is larger
}

func (m Scalar) step() float64 { return math.Min(math.Min(m.Delta, m.Total), m.Span) }

// rows are those of one unit, most the groups that it can move.
func (u Unit) rows() float64 { return math.Ceil(u.Total / u.Row) }
func (u Unit) most() float64 { return math.Min(u.Groups, u.Total) }

// Bound is what one unit can cost in all groups together.
func (m Scalar) Bound(order float64) float64 {
	c := m.step()
	truncated := m.In != nil || m.Open
	switch {
	case !m.valid() || !(order > 1) && order != GDP || !(m.Row >= 1) || !(m.Groups >= 1):
		return math.Inf(1)
	case !(c > 0):
		return 0 // the same value for everyone
	case m.Shared && (truncated || m.Cells != nil):
		return math.Inf(1) // the first row may cost the most
	case m.Cells != nil:
		return math.Min(m.Groups, m.rows()) * m.cell(order)
	case truncated:
		return m.truncated(order)
	case m.endsTooSoon():
		return math.Inf(1)
	case m.Law == Staircase:
		return m.stairs(order)
	}
	return m.convex(func(d float64) float64 { return m.Plain(order, d) })
}

// convex is the largest Σ h(d) over the groups of a unit, for convex h with h(0) = 0: as many groups as possible at the
// full step, and one with the rest. Where rows are shared, what counts is the cost per step, which is largest at the
// full one.
func (m Scalar) convex(h func(d float64) float64) float64 {
	c := m.step()
	if m.Shared {
		return m.Total / c * h(c) * up
	}
	full := math.Min(m.Groups, math.Floor(m.Total/c))
	sum := full * h(c)
	if rest := m.Total - full*c; full < m.Groups && rest > 0 {
		sum += h(math.Min(rest, c))
	}
	return sum * up
}

// even is the largest Σ l(d) for concave l with l(0) = 0: the most groups there can be, all at the same distance.
func (m Scalar) even(l func(d float64) float64) float64 {
	c, most := m.step(), m.most()
	if most*c <= m.Total {
		return most * l(c) * up
	}
	d := math.Floor(m.Total / most)
	sum := 0.0
	if more := m.Total - most*d; more > 0 { // else what is further away may cost without end
		sum = more * l(d+1)
		most -= more
	}
	return (sum + most*l(d)) * up
}

// stairs is that of staircase noise, where every group that is touched costs a stair at least.
func (m Scalar) stairs(order float64) float64 {
	c := m.step()
	h := func(d float64) float64 { return m.Plain(order, d) }
	switch stairs := math.Ceil(c / m.Period); {
	case stairs == 1 && m.Shared:
		return m.rows() * h(c) * up
	case stairs == 1:
		return math.Min(m.Groups, m.rows()) * h(c) * up
	case m.Row > m.Period:
		return math.Inf(1)
	default: // n rows take n stairs at most, of a cost that is star-shaped in them
		return math.Min(m.spread(h), m.rows()/stairs*h(c)*up)
	}
}

// cell is what a value costs in one group that is moved to another cell: to any by a staircase of one stair, to the
// next one by Laplace noise.
func (m Scalar) cell(order float64) float64 {
	for i, last := range m.Cells[1:] {
		inner := i+2 < len(m.Cells)
		if length := float64(last) - float64(m.Cells[i]); !(length >= 1) || m.Law == Laplace && inner && length < m.step() {
			return math.Inf(1)
		}
	}
	switch {
	case m.Law == Laplace:
		return m.Plain(order, 1)
	case m.Law == Staircase && m.Inner == 1 && float64(len(m.Cells)-1) <= m.Period:
		return Response(order, m.Kappa*up)
	}
	return math.Inf(1)
}

// maxSpread is the largest number of rows whose every spread over groups is tried.
const maxSpread = 64

// spread is the largest Σ h(d) over the groups of a unit for any h that does not fall: an unbounded knapsack over its
// rows, by dynamic programming. +Inf where it has too many, or shares them.
func (m Scalar) spread(h func(d float64) float64) float64 {
	if m.rows() > maxSpread || m.Shared {
		return math.Inf(1)
	}
	rows := int(m.rows())
	cost := []float64{0} // by rows in one group
	for moved := 0.0; moved < m.step() && len(cost) <= rows; {
		moved = math.Min(m.Row*float64(len(cost)), m.step())
		cost = append(cost, h(moved))
	}
	most := make([]float64, rows+1) // by rows, in the groups so far
	for range int(math.Min(m.Groups, float64(rows))) {
		for left := rows; left > 0; left-- { // most[left−n] is still that of one group less
			for n := 1; n < len(cost) && n <= left; n++ {
				most[left] = math.Max(most[left], cost[n]+most[left-n])
			}
		}
	}
	return most[rows] * up
}

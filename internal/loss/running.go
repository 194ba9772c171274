package loss

import "math"

// Running is noise for the groups of a release all at once: what is released of their exact values x is a function of
// L·x + z, z with noise of its own for each group. L holds blocks of one lower triangular Toeplitz matrix, which has
// this first column: whole numbers that do not rise.
type Running struct {
	Noise
	Unit
	Span   float64 // as Scalar's
	Column []float64
}

const (
	exactRunning = 0x1p52 // up to here sums and quotients of whole numbers are what they are, or above
	mostMoved    = 0x1p59 // how far L·x may move at most, for ends of the noise that stay out of reach
)

// Squared bounds the square of the distance that one unit moves L·x by (docs/mechanisms.md, proposition 21); +Inf:
// nothing is known of it.
func (m Running) Squared() float64 {
	c := math.Min(math.Min(m.Delta, m.Total), m.Span)
	total := m.Total
	if !m.Shared {
		total = math.Min(total, c*m.Groups)
	}
	switch {
	case !(c > 0):
		return 0
	case !(m.Groups >= 1) || !(total <= exactRunning) || !falls(m.Column):
		return math.Inf(1)
	}
	return c * total * m.perGroup(math.Min(math.Ceil(total/c), m.Groups)) * up
}

// falls reports whether these are whole numbers that do not rise, from a first one above 0 on.
func falls(column []float64) bool {
	sum, last := 0.0, math.Inf(1)
	for _, f := range column {
		if !(f >= 0 && f <= last) || f != math.Floor(f) {
			return false
		}
		sum, last = sum+f, f
	}
	return len(column) > 0 && column[0] > 0 && sum <= exactRunning
}

// perGroup is the largest |L·(1, …, 1, 0, …)|² over the number of ones, of which there are so many at most.
func (m Running) perGroup(most float64) (largest float64) {
	n := len(m.Column)
	sums := make([]float64, n+1)
	for i, f := range m.Column {
		sums[i+1] = sums[i] + f
	}
	for ones := 1; ones <= n && float64(ones) <= most; ones++ {
		squared := 0.0
		for i := range n {
			row := sums[i+1] - sums[max(0, i+1-ones)]
			squared += row * row
		}
		largest = math.Max(largest, squared/float64(ones))
	}
	return largest
}

// Bound is what one unit can cost in all groups together.
func (m Running) Bound() func(order float64) float64 {
	squared := m.Squared()
	return func(order float64) float64 {
		switch {
		case squared == 0:
			return 0
		case !m.valid() || m.Law != Gaussian || m.endsTooSoon() || !(order > 1) && order != GDP ||
			!(squared <= mostMoved*mostMoved):
			return math.Inf(1)
		}
		return m.Plain(order, 1) * squared * up
	}
}

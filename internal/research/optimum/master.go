package optimum

import "math"

// master is the linear programme over the rays that are known so far, solved by the revised simplex method. A mechanism
// and its mirror image have the same error, so has their mean: the equations of x and L−x are one.
type master struct {
	length  int
	columns []column
	basis   []int       // a column per equation
	inverse [][]float64 // of the matrix of the basis
	weights []float64   // of the basis
	right   []float64   // of the equations
	prices  []float64   // of the equations; shared by x and L−x
}

// column is a ray with its mirror image.
type column struct {
	entries []float64
	cost    float64
}

// newMaster starts with one artificial column per equation, too expensive to stay.
func newMaster(length int) *master {
	rows := length/2 + 1
	m := &master{length: length, prices: make([]float64, rows)}
	for x := range rows {
		c := column{entries: make([]float64, rows), cost: 100 * float64(length*length+1)}
		c.entries[x] = 1
		m.columns = append(m.columns, c)
		m.basis = append(m.basis, x)
		m.inverse = append(m.inverse, append([]float64(nil), c.entries...))
		m.right = append(m.right, m.share(x))
		// A hair apart, so that no two steps are equally long: the bounds do not rest on it.
		m.weights = append(m.weights, m.right[x]*(1+1e-7*math.Sqrt(float64(x+2))))
	}
	return m
}

// share is how many true values an equation stands for.
func (m *master) share(x int) float64 {
	if 2*x == m.length {
		return 1
	}
	return 2
}

// add takes in a ray for output z.
func (m *master) add(ray []float64, z int) {
	c := column{entries: make([]float64, len(m.right))}
	for x, v := range ray {
		c.entries[min(x, m.length-x)] += v
		c.cost += v * float64((x-z)*(x-z))
	}
	m.columns = append(m.columns, c)
}

// cost is that of the present solution.
func (m *master) cost() (sum float64) {
	for i, w := range m.weights {
		sum += w * m.columns[m.basis[i]].cost
	}
	return sum
}

// worth is the sum of the prices.
func (m *master) worth() (sum float64) {
	for x, p := range m.prices {
		sum += p * m.right[x]
	}
	return sum
}

// solve pivots until no known column gains.
func (m *master) solve() {
	for range 20000 {
		for x := range m.prices {
			m.prices[x] = 0
			for i, b := range m.basis {
				m.prices[x] += m.columns[b].cost * m.inverse[i][x]
			}
		}
		enter, best := -1, -1e-9
		for j, c := range m.columns {
			gain := c.cost
			for x, e := range c.entries {
				gain -= m.prices[x] * e
			}
			if gain < best {
				enter, best = j, gain
			}
		}
		if enter < 0 || !m.pivot(enter) {
			return
		}
	}
}

// pivot brings a column into the basis; false where none can leave.
func (m *master) pivot(enter int) bool {
	rows := len(m.right)
	direction := make([]float64, rows)
	for i := range direction {
		for x, e := range m.columns[enter].entries {
			direction[i] += m.inverse[i][x] * e
		}
	}
	leave, shortest := -1, math.Inf(1)
	for i, d := range direction {
		if d > 1e-9 && m.weights[i]/d < shortest {
			leave, shortest = i, m.weights[i]/d
		}
	}
	if leave < 0 {
		return false
	}
	for x := range rows {
		m.inverse[leave][x] /= direction[leave]
	}
	for i := range rows {
		if i == leave {
			continue
		}
		for x := range rows {
			m.inverse[i][x] -= direction[i] * m.inverse[leave][x]
		}
		m.weights[i] = math.Max(0, m.weights[i]-shortest*direction[i])
	}
	m.weights[leave], m.basis[leave] = shortest, enter
	return true
}

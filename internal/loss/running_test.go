package loss_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpproxy/dpproxy/internal/loss"
)

// moved is |L·d|² of groups in runs as long as the column.
func moved(column []float64, d []int) (squared float64) {
	for i := range d {
		sum := 0.0
		for j := i - i%len(column); j <= i; j++ {
			sum += column[i-j] * float64(d[j])
		}
		squared += sum * sum
	}
	return squared
}

// spreads visits all that one unit can do to so many groups.
func spreads(groups int, u loss.Unit, visit func(d []int)) {
	d := make([]int, groups)
	var next func(g int, left, touched float64)
	next = func(g int, left, touched float64) {
		if g == groups {
			visit(d)
			return
		}
		for x := -int(math.Min(u.Delta, left)); x <= int(math.Min(u.Delta, left)); x++ {
			if d[g] = x; x == 0 || touched < u.Groups {
				next(g+1, left-math.Abs(float64(x)), touched+math.Min(1, math.Abs(float64(x))))
			}
		}
		d[g] = 0
	}
	next(0, u.Total, 0)
}

// TestRunningDistance: no way in which a unit moves groups in one run or two moves L·x further than is charged, and where
// it fills whole groups of one run some way moves it as far; two releases that share its rows cost no more than one.
func TestRunningDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		column := []float64{8}
		for range r.IntN(3) {
			column = append(column, float64(r.IntN(int(column[len(column)-1])+1)))
		}
		runs := 1 + r.IntN(2)
		u := loss.Unit{Delta: float64(1 + r.IntN(2)), Total: float64(1 + r.IntN(4)), Row: 1, Groups: float64(1 + r.IntN(4))}
		squared := func(u loss.Unit) (bound, worst float64) {
			spreads(runs*len(column), u, func(d []int) { worst = math.Max(worst, moved(column, d)) })
			return loss.Running{Unit: u, Span: 100, Column: column}.Squared(), worst
		}
		bound, worst := squared(u)
		if worst > bound {
			t.Fatalf("%v, %v: %g, bound %g", u, column, worst, bound)
		}
		if full := math.Min(u.Groups, u.Total/u.Delta); u.Total >= u.Delta && full == 1 && bound > worst*(1+1e-9) {
			t.Errorf("%v, %v: %g, bound %g", u, column, worst, bound)
		}
		u.Shared = true
		bound, _ = squared(u)
		for part := 1.0; part < u.Total; part++ {
			one, other := u, u
			one.Total, other.Total = part, u.Total-part
			_, a := squared(one)
			if _, b := squared(other); a+b > bound {
				t.Errorf("%v, %v: %g and %g, bound %g", u, column, a, b, bound)
			}
		}
	}
}

// TestRunningRefuses: what L is not of that form, or ends too soon, has no bound.
func TestRunningRefuses(t *testing.T) {
	fine := loss.Running{
		Noise: loss.Noise{Law: loss.Gaussian, Kappa: 1e-6}, Unit: loss.Unit{Delta: 1, Total: 1, Row: 1, Groups: 1},
		Span: 10, Column: []float64{4, 2, 2},
	}
	if got, want := fine.Bound()(2), 2*1e-6*24; math.Abs(got-want) > 1e-12*want {
		t.Errorf("%g, want %g", got, want)
	}
	for name, change := range map[string]func(m *loss.Running){
		"rising":    func(m *loss.Running) { m.Column = []float64{4, 2, 3} },
		"negative":  func(m *loss.Running) { m.Column = []float64{4, -1} },
		"fraction":  func(m *loss.Running) { m.Column = []float64{4, .5} },
		"empty":     func(m *loss.Running) { m.Column = nil },
		"zero":      func(m *loss.Running) { m.Column = []float64{0, 0} },
		"laplace":   func(m *loss.Running) { m.Law = loss.Laplace },
		"no noise":  func(m *loss.Running) { m.Kappa = 0 },
		"wide":      func(m *loss.Running) { m.Kappa = 0x1p-120 },
		"no groups": func(m *loss.Running) { m.Groups = 0 },
		"far":       func(m *loss.Running) { m.Delta, m.Total, m.Span = 0x1p59, 0x1p59, 0x1p60 },
	} {
		m := fine
		change(&m)
		if got := m.Bound()(2); !math.IsInf(got, 1) {
			t.Errorf("%s: %g", name, got)
		}
	}
	if got := fine.Bound()(math.Inf(1)); !math.IsInf(got, 1) {
		t.Errorf("a pure ε of %g", got)
	}
	fine.Span = 0
	if got := fine.Bound()(2); got != 0 {
		t.Errorf("a constant costs %g", got)
	}
}

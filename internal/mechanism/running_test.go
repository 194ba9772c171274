package mechanism

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpproxy/dpproxy/internal/loss"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// coarse is running noise of two groups whose steps are few enough to enumerate.
func coarse() *Prepared {
	n := newKernel(Gaussian, 1/(2*5.*5))
	return &Prepared{running: &running{
		factor: &factor{column: []int64{4, 2}}, kernel: n, sampler: func() *sampler { return newSampler(n) },
	}}
}

// law enumerates what two groups are given.
func (r *running) law() map[[2]int64]float64 {
	const far = 60
	law, total := map[[2]int64]float64{}, 0.0
	for a := int64(-far); a <= far; a++ {
		for b := int64(-far); b <= far; b++ {
			w := math.Exp(r.kernel.log(float64(a)) + r.kernel.log(float64(b)))
			z := []int64{a, b}
			r.nearest(z)
			law[[2]int64(z)] += w
			total += w
		}
	}
	for z := range law {
		law[z] /= total
	}
	return law
}

// TestRunningDivergence: enumerated, what neighbours are given differs by no more than is charged, at five orders,
// whatever a unit does to two groups; the draws are of that distribution, and it is the one that is tabulated.
func TestRunningDivergence(t *testing.T) {
	p := coarse()
	law := p.running.law()
	p.candidates = []Candidate{{}}
	table := TabulateNoise([]*Prepared{p}, []int64{9, 9})
	table.Each(func(i int, z []int64) {
		if want := law[[2]int64(z)]; math.Abs(math.Exp(table.Log[i])/want-1) > 1e-10 {
			t.Errorf("%v is tabulated as %g, want %g", z, math.Exp(table.Log[i]), want)
		}
	})
	for _, u := range []loss.Unit{
		{Delta: 1, Total: 1, Row: 1, Groups: 1}, {Delta: 1, Total: 2, Row: 1, Groups: 2}, {Delta: 2, Total: 3, Row: 1, Groups: 2},
	} {
		m, closest := p.running.loss(p.running.kernel, task{v: Range{{0, 10}}}), 0.0
		m.Unit = u
		bound := m.Bound()
		for a := -u.Delta; a <= u.Delta; a++ {
			for b := -u.Delta; b <= u.Delta; b++ {
				if math.Abs(a)+math.Abs(b) > u.Total || u.Groups == 1 && a*b != 0 {
					continue
				}
				for _, order := range []float64{1.1, 2, 3, 5, 9} {
					sum := 0.0
					for z, q := range law {
						if other := law[[2]int64{z[0] - int64(a), z[1] - int64(b)}]; other > 1e-30 && q > 1e-30 {
							sum += math.Pow(q, order) * math.Pow(other, 1-order)
						}
					}
					got := math.Log(sum) / (order - 1)
					if got > bound(order)*(1+1e-9) {
						t.Errorf("%v moves by %g, %g: %g at order %g, charged %g", u, a, b, got, order, bound(order))
					}
					closest = max(closest, got/bound(order))
				}
			}
		}
		if closest < .75 { // where rows fill no whole number of groups
			t.Errorf("%v: charged %g times what it costs", u, 1/closest)
		}
	}
	src, counts := seededSource(20), map[[2]int64]int{}
	for range 100000 {
		z, err := p.DrawRunning(src, []int{1, 0})
		if err != nil {
			t.Fatal(err)
		}
		counts[[2]int64{z[1], z[0]}]++
	}
	if got, limit := stattest.ChiSquare(counts, law); got > limit {
		t.Errorf("χ² is %g, limit %g", got, limit)
	}
}

// TestRunningIsAFunction: what is released is the same function of L·x + z for every x: that of L·x + z is x more than
// that of z.
func TestRunningIsAFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 12, 300, MostRunning} {
		f := newFactor(n, 1+r.IntN(runningPowers))
		z, x := make([]int64, n), make([]int64, n)
		for i := range z {
			z[i], x[i] = r.Int64N(1<<60)-1<<59, r.Int64N(1<<40)-1<<39
		}
		moved := make([]int64, n)
		for i := range moved {
			moved[i] = z[i]
			for j := range i + 1 {
				moved[i] += f.column[i-j] * x[j]
			}
		}
		far := int64(0)
		for i := range z {
			far = max(far, z[i], -z[i])
		}
		f.nearest(z)
		if n <= 300 { // beyond, L·x is beyond 2^63
			f.nearest(moved)
		}
		for i := range z {
			if n <= 300 && moved[i] != z[i]+x[i] {
				t.Fatalf("%d groups: %d, want %d + %d", n, moved[i], z[i], x[i])
			}
			if most := far >> (runningBits - 2); z[i] > most || z[i] < -most {
				t.Fatalf("%d groups: noise of %d is beyond %d", n, z[i], most)
			}
		}
		if f = newFactor(n, runningPowers); f.group > 1.3 || f.totals[n-1] > 1.07+math.Log(float64(n))/math.Pi {
			t.Errorf("%d groups: variances of %g and %g", n, f.group, f.totals[n-1])
		}
	}
}

// preparedRunning is a count of people by n groups.
func preparedRunning(t *testing.T, n int, g Guarantee) *Prepared {
	t.Helper()
	p, err := Prepare(Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Total: 1, Running: n}, g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRunningTotals: the errors of running totals have the stated deviation, no bias, and are within their margins in 95%,
// hardly more; at the end of twelve groups they are 1.87 times less than those of independent noise. False alarms: 1e-6 each.
func TestRunningTotals(t *testing.T) {
	const rounds = 20000
	src := seededSource(21)
	for _, c := range []struct {
		n    int
		gain float64
	}{{4, 1.34}, {12, 1.87}, {30, 2.55}} {
		p := preparedRunning(t, c.n, Guarantee{Epsilon: .02, Order: 10})
		if !p.Running() || !p.Plain() || !p.Chosen().Joint {
			t.Fatalf("%d groups have independent noise", c.n)
		}
		order := make([]int, c.n)
		for i := range order {
			order[i] = c.n - 1 - i
		}
		wrong, sums, squares := make([]int, c.n), make([]float64, c.n), make([]float64, c.n)
		for range rounds {
			noise, err := p.DrawRunning(src, order)
			if err != nil {
				t.Fatal(err)
			}
			total := int64(0)
			for k, g := range order {
				_, plain := p.BoundPlain(5, noise[g], 0)
				total += plain - 5
				sums[k] += float64(total) / rounds
				squares[k] += float64(total) * float64(total) / rounds
				if math.Abs(float64(total)) > p.SumMargin(k+1, .05) {
					wrong[k]++
				}
			}
		}
		for k := range order {
			deviation := math.Sqrt(p.running.variance() * p.running.totals[k])
			if math.Abs(math.Sqrt(squares[k])/deviation-1) > 5/math.Sqrt(2*rounds) || math.Abs(sums[k]) > 5*deviation/math.Sqrt(rounds) {
				t.Errorf("%d of %d: off by %g, on average by %g, want %g and 0", k+1, c.n, math.Sqrt(squares[k]), sums[k], deviation)
			}
			if !stattest.AtMost(wrong[k], rounds, .05) || !stattest.AtLeast(wrong[k], rounds, .042) {
				t.Errorf("%d of %d: %d of %d beyond", k+1, c.n, wrong[k], rounds)
			}
		}
		independent := p.Candidates()[1]
		last := independent.RMSEAverage * math.Sqrt(float64(c.n)/(p.running.variance()*p.running.totals[c.n-1]))
		if independent.Noise != Gaussian || math.Abs(last-c.gain) > .01 {
			t.Errorf("%d groups: %s errs %g times as much", c.n, independent, last)
		}
		t.Logf("%d groups: %.2f at the end, %.2f as is compared", c.n, last, independent.RMSEAverage/p.Chosen().RMSEAverage)
	}
}

// TestRunningIsChosen: at a finite order, where it is better than independent noise, and where the policy allows it.
func TestRunningIsChosen(t *testing.T) {
	rdp, pure := Guarantee{Epsilon: .02, Order: 10}, Guarantee{Epsilon: 1}
	for _, c := range []struct {
		name string
		r    Release
		g    Guarantee
		want bool
	}{
		{"as it is", Release{Running: 12}, rdp, true},
		{"no totals", Release{}, rdp, false},
		{"gdp", Release{Running: 12}, Guarantee{Epsilon: .02, Order: GDP}, true},
		{"pure", Release{Running: 12}, pure, false},
		{"one group", Release{Running: 1}, rdp, false},
		{"too many", Release{Running: MostRunning + 1}, rdp, false},
		{"gaussian", Release{Running: 12, Choice: Choice{Noise: Gaussian}}, rdp, true},
		{"laplace", Release{Running: 12, Choice: Choice{Noise: Laplace}}, rdp, false},
		{"fold", Release{Running: 12, Choice: Choice{Bounding: Fold}}, rdp, false},
		{"a unit in all groups", Release{Running: 12, Total: 12, Groups: 12}, rdp, false},
		{"a gap", Release{Running: 12, Range: Range{{0, 5}, {9, 20}}}, rdp, false},
	} {
		c.r.Kind, c.r.Sensitivity = Scalar, 1
		if c.r.Range == nil {
			c.r.Range = Range{{0, 1000}}
		}
		p, err := Prepare(c.r, c.g)
		if err != nil || p.Running() != c.want {
			t.Errorf("%s: %t (%v)", c.name, !c.want, err)
			continue
		}
		if cost := p.Curve().Renyi[len(RenyiOrders)]; c.name == "gdp" && (cost > c.g.Epsilon || cost < c.g.Epsilon*.9999) {
			t.Errorf("a μ² of %g", cost)
		}
		if err := p.Verify(c.r); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRunningFaultsAreRefused: it is charged for what a unit does, and draws for an order of all groups.
func TestRunningFaultsAreRefused(t *testing.T) {
	p := preparedRunning(t, 12, Guarantee{Epsilon: .02, Order: 10})
	for _, r := range []Release{
		{Sensitivity: 2, Total: 2}, {Sensitivity: 1, Total: 2, Groups: 2}, {Sensitivity: 1, Groups: 2},
	} {
		if r.Kind = Scalar; p.Verify(r) == nil {
			t.Errorf("%v is charged as one row", r)
		}
	}
	less := *p.running
	n := newKernel(Gaussian, less.kernel.kappa*1.01)
	less.sampler = func() *sampler { return newSampler(n) }
	other := *p
	if other.running = &less; other.Verify(p.release) == nil {
		t.Error("less noise is charged alike")
	}
	for _, order := range [][]int{{0, 0}, {1, 2}, {-1, 0}} {
		if _, err := p.DrawRunning(seededSource(1), order); err == nil {
			t.Errorf("%v is an order", order)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a group is drawn alone")
		}
	}()
	p.Draw(seededSource(1), 0, 0)
}

package study

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

// VerifyCmd sweeps ranges, sensitivities and ε, and compares what enumeration finds with what is claimed.
type VerifyCmd struct {
	Combinations int    `help:"How many combinations of range, sensitivity and ε." default:"10000" placeholder:"N"`
	Longest      int64  `help:"The longest range, in grid steps." default:"2000" placeholder:"L"`
	Seed         uint64 `help:"Of the sweep." default:"1"`
}

// tolerance is how far above its claim a mechanism may be found: the rounding of the enumeration itself.
const tolerance = 1e-9

// Run prints a summary and the findings, and returns an error (exit status 1) if anything that a policy can select
// exceeds its guarantee.
func (c *VerifyCmd) Run(out io.Writer) error {
	if c.Combinations < 1 || c.Longest < 1 || c.Longest > 5000 {
		return fmt.Errorf("--combinations must be at least 1 and --longest between 1 and 5000")
	}
	s := Sweep(c.Combinations, c.Longest, c.Seed)
	s.merge(severalGroups())
	joint, err := cubes()
	if err != nil {
		return err
	}
	s.merge(joint)
	several, err := quantileFamilies()
	if err != nil {
		return err
	}
	s.merge(several)
	running, err := runningTotals()
	if err != nil {
		return err
	}
	s.merge(running)
	fmt.Fprintf(
		out, "%d combinations of L (1 to %d), sensitivity (1 to L) and epsilon (0.01 to 10); %d mechanisms enumerated\n",
		c.Combinations, c.Longest, s.Mechanisms)
	for _, r := range s.Checks {
		fmt.Fprintf(out, "  %-46s %6d checks, worst found/claimed %.12f\n", r.Name, r.Count, r.Worst)
		if r.Count > 0 {
			fmt.Fprintf(out, "      at %s\n", r.At)
		}
	}
	findings(out)
	if s.Violations > 0 {
		return fmt.Errorf("%d selectable mechanisms exceed their guarantee by more than %g", s.Violations, tolerance)
	}
	fmt.Fprintf(out, "\nno selectable mechanism exceeds its guarantee by more than %g\n", tolerance)
	return nil
}

// Check is the worst ratio of found to claimed over a sweep.
type Check struct {
	Name  string
	Count int
	Worst float64
	At    string
}

// Summary is the outcome of a sweep.
type Summary struct {
	Mechanisms, Violations int
	Checks                 []Check
}

const (
	checkPure = iota
	checkCurve
	checkSquare
	checkProfile
	checkGaps
	checkGroupsPure
	checkGroupsCurve
	checkLayers
	checkJoint
	checkJointLaw
	checkJointReleased
	checkFamilies
	checkJointFamilies
	checkRunning
	checkChains
	checkKinds
)

// Sweep enumerates mechanisms over random combinations, log-uniform in range, sensitivity and ε. It is deterministic.
func Sweep(combinations int, longest int64, seed uint64) Summary {
	return inParallel(combinations, func(i int) Summary {
		return one(rand.New(rand.NewPCG(seed, uint64(i))), i, longest)
	})
}

// inParallel merges n summaries.
func inParallel(n int, one func(i int) Summary) Summary {
	total := newSummary()
	var mu sync.Mutex
	eachInParallel(n, func(i int) {
		s := one(i)
		mu.Lock()
		total.merge(s)
		mu.Unlock()
	})
	return total
}

// tried merges n summaries that may not come about; the first error.
func tried(n int, one func(i int) (Summary, error)) (Summary, error) {
	failed := make([]error, n)
	s := inParallel(n, func(i int) (s Summary) {
		s, failed[i] = one(i)
		return s
	})
	return s, cmp.Or(failed...)
}

// eachInParallel calls do for 0 to n−1.
func eachInParallel(n int, do func(i int)) {
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		})
	}
	group.Wait()
}

func newSummary() Summary {
	s := Summary{Checks: make([]Check, checkKinds)}
	for i, name := range []string{
		"pure: worst log-ratio", "rdp: Rényi curve at every order", "rdp: mu squared of Gaussian DP",
		"rdp: delta at the statement's epsilon",
		"ranges with gaps: worst log-ratio", "several groups: worst log-ratio", "several groups: Rényi curve",
		"several groups, disjoint releases", "joint: worst log-ratio", "joint: deviation from q^N(x)",
		"joint: released counts and sums", "several quantiles", "several quantiles, joint", "running totals", "chains of nested counts",
	} {
		s.Checks[i].Name = name
	}
	return s
}

func (t *Summary) merge(s Summary) {
	t.Mechanisms += s.Mechanisms
	t.Violations += s.Violations
	for i, c := range s.Checks {
		t.Checks[i].Count += c.Count
		if c.Count > 0 && (c.Worst > t.Checks[i].Worst || c.Worst == t.Checks[i].Worst && c.At < t.Checks[i].At) {
			t.Checks[i].Worst, t.Checks[i].At = c.Worst, c.At
		}
	}
}

// note compares what was found with what is claimed; rounding is the absolute error of the enumeration.
func (t *Summary) note(kind int, found, claimed, rounding float64, at string) {
	c := &t.Checks[kind]
	c.Count++
	r := (found - rounding) / math.Max(claimed, rounding)
	if r > c.Worst {
		c.Worst, c.At = r, at
	}
	if r > 1+tolerance {
		t.Violations++
	}
}

// one checks all selectable mechanisms of one combination.
func one(r *rand.Rand, i int, longest int64) Summary {
	s := newSummary()
	log := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	length := int64(math.Round(log(1, float64(longest))))
	delta := max(1, int64(math.Round(log(1, float64(length)))))
	eps := log(.01, 10)
	switch { // long ranges are enumerated more rarely: their cost grows with the square
	case i%100 == 0:
	case i%10 == 0:
		length = min(length, 500)
	default:
		length = min(length, 100)
	}
	delta = min(delta, length)
	v := mechanism.Range{{Lo: -length / 2, Hi: length - length/2}}
	kind := checkPure
	if i%4 == 3 && length >= 4 {
		v, kind = gaps(r, v[0]), checkGaps
	}
	distances := mechanism.Distances(int(delta), int(length)+1)
	guarantees := []mechanism.Guarantee{{Epsilon: eps}, {Epsilon: eps, Delta: math.Pow(10, -2-8*r.Float64())}}
	// Divergences at one order, paper scales, post-processing and curves are checked on some combinations.
	sampled := (i%8 == 0 || i%16 == 3) && length <= 60 // without gaps, and with
	if sampled {
		guarantees = append(guarantees, mechanism.Guarantee{Epsilon: eps * eps / 4, Order: mechanism.Orders[r.IntN(40)]})
	}
	for _, g := range guarantees {
		for _, choice := range choices {
			if !sampled && (choice.Bounding != mechanism.Truncate || choice.Calibration != mechanism.Tight) {
				continue
			}
			release := mechanism.Release{Kind: mechanism.Scalar, Range: v, Sensitivity: delta, Choice: choice}
			p, err := mechanism.Prepare(release, g)
			if err != nil || choice.Bounding != mechanism.Truncate && p.Chosen().Scale > 300 {
				continue // not selectable, or too many images to add up
			}
			at := fmt.Sprintf("%v, range %v, sensitivity %d, epsilon %.4g, delta %.2g, order %.4g", p.Chosen(), v, delta,
				g.Epsilon, g.Delta, g.Order)
			s.enumerate(p, g, kind, distances, sampled, at)
		}
	}
	return s
}

// choices are all mechanisms that a policy can name.
var choices = func() (list []mechanism.Choice) {
	for _, n := range []mechanism.Noise{mechanism.Laplace, mechanism.Gaussian, mechanism.Staircase} {
		for _, b := range []mechanism.Bounding{
			mechanism.Truncate, mechanism.Fold, mechanism.Denoise, mechanism.Clamp,
			mechanism.Cells,
		} {
			for _, c := range []mechanism.Calibration{mechanism.Tight, mechanism.Paper} {
				list = append(list, mechanism.Choice{Noise: n, Bounding: b, Calibration: c})
			}
		}
	}
	return list
}()

func (t *Summary) enumerate(p *mechanism.Prepared, g mechanism.Guarantee, kind int, distances []int, curves bool,
	at string,
) {
	t.Mechanisms++
	d := p.Tabulate()
	last := distances[len(distances)-1:]
	switch {
	case g.Order > 0:
		t.noteRenyi(p, d, g.Order, g.Epsilon, last, at)
	case g.Delta == 0:
		t.note(kind, d.LogRatio(distances).Value, g.Epsilon, 0, at)
	default:
		t.note(checkProfile, d.HockeyStick(g.Epsilon, distances).Value, g.Delta, 1e-16, at)
	}
	if !curves {
		return
	}
	curve := p.Curve()
	for i := 0; i < len(mechanism.RenyiOrders); i += 9 {
		a := mechanism.Orders[i]
		t.noteRenyi(p, d, a, curve.Renyi[i], last, fmt.Sprintf("%s, at %.4g", at, a))
	}
	square := curve.Renyi[len(mechanism.RenyiOrders)]
	const ofQuantile = 1e-8 // the rounding of a normal quantile of a sum of probabilities
	t.note(checkSquare, d.Square(last).Value, square, 2*math.Sqrt(square)*ofQuantile+ofQuantile*ofQuantile, at)
}

// noteRenyi compares the divergence of order a, where the tabulation of plain Gaussian noise reaches far enough to add
// it up.
func (t *Summary) noteRenyi(p *mechanism.Prepared, d mechanism.Distribution, a, claimed float64, distances []int,
	at string,
) {
	if !tabulated(p.Chosen(), a, distances[0]) {
		return
	}
	rounding := 5e-15 * a / (a - 1) // of the sum of probabilities under the logarithm
	t.note(checkCurve, d.Renyi(a, distances).Value, claimed, rounding, at)
}

// tabulated reports whether the divergence of order a at a distance lies within the noise that the tabulation adds up.
func tabulated(c mechanism.Candidate, a float64, distance int) bool {
	return c.Noise != mechanism.Gaussian || c.Bounding == mechanism.Truncate || a*float64(distance) <= 5*c.Scale
}

// gaps cuts an interval into two or three with gaps between them.
func gaps(r *rand.Rand, h mechanism.Interval) mechanism.Range {
	n := h.Hi - h.Lo
	a := h.Lo + r.Int64N(n-2)
	b := a + 2 + r.Int64N(h.Hi-a-1)
	v := mechanism.Range{{Lo: h.Lo, Hi: a}, {Lo: b, Hi: h.Hi}}
	if h.Hi-b >= 3 {
		c := b + r.Int64N(h.Hi-b-2)
		v = mechanism.Range{{Lo: h.Lo, Hi: a}, {Lo: b, Hi: c}, {Lo: c + 2 + r.Int64N(h.Hi-c-1), Hi: h.Hi}}
	}
	return v
}

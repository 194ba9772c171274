package mechanism

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// countAndSum are the releases behind count(*) and avg(age) with ages in [0, 120]: half a year is a grid step of the
// sum.
func countAndSum(rows int64) []Release {
	return []Release{
		{
			Name: "count(*)", Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: rows, Total: rows, Row: 1, Groups: 3,
			Weight: 1,
		},
		{
			Name: "avg(age)", Kind: SumGivenCount, Sensitivity: 120 * rows, Total: 120 * rows, Row: 120,
			PerRow: Interval{-120, 120}, CountRef: 0, Groups: 3, Weight: 1,
		},
	}
}

// draw releases one group of a list, as the engine does.
func draw(src *Source, list []Release, prepared []*Prepared, exact []int64) []int64 {
	var cube *Cube
	for _, p := range prepared {
		if c, _ := p.Joint(); c != nil {
			cube = c
		}
	}
	var noise []int64
	if cube != nil {
		noise = make([]int64, cube.Dimension())
		cube.Draw(src, noise)
	}
	out := make([]int64, len(list))
	for _, chained := range []bool{false, true} {
		for i, p := range prepared {
			if chained != (list[i].Kind == SumGivenCount) {
				continue
			}
			n := int64(0)
			if chained {
				n = out[list[i].CountRef]
			}
			if c, at := p.Joint(); c != nil {
				out[i] = p.Bound(exact[i], noise[at], n)
			} else {
				out[i] = p.Draw(src, exact[i], n)
			}
		}
	}
	return out
}

// 20,000 people of one row each at ε = 1: √2 less noise on the count, and errors of sum and mean that follow.
func TestJointCountSumMean(t *testing.T) {
	const draws, people, years = 20000, 20000, 20000 * 47
	list := countAndSum(1)
	prepared, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "charge", Compose(list, prepared).Pure, 1, 1e-15)
	src := seededSource(41)
	exact := []int64{people, 2*years - 120*people}
	var count, sum, mean float64
	for range draws {
		z := draw(src, list, prepared, exact)
		n, s := float64(z[0]), float64(z[1])
		count += (n - people) * (n - people) / draws
		total := 60*n + s/2
		sum += (total - years) * (total - years) / draws
		m := total/n - float64(years)/people
		mean += m * m / draws
	}
	near(t, "rmse of count(*)", math.Sqrt(count), 2, .03)
	near(t, "rmse of sum(age)", math.Sqrt(sum), 120*math.Sqrt2, .03)
	// The mean's error is (δS/2 + (60 − 47)·δn)/n.
	near(t, "rmse of avg(age)", math.Sqrt(mean), math.Hypot(120, 13*2)/people, .03)
	for i, p := range prepared {
		c := p.Chosen()
		if c.Noise != CubeNoise || !c.Joint || p.Epsilon() != .5 {
			t.Errorf("%s: %v with epsilon %g", list[i].Name, c, p.Epsilon())
		}
		near(t, "planned rmse of "+list[i].Name, c.RMSEAverage, 2*float64(list[i].Total), .01)
	}
}

func TestJointIsChosen(t *testing.T) {
	third := Release{Kind: Scalar, Range: Range{{-1000, 1000}}, Sensitivity: 14, Total: 14, Row: 7, Weight: 1}
	with := func(r Release, change func(r *Release)) Release {
		change(&r)
		return r
	}
	pair := countAndSum(2)
	halves := func(layers int) (list []Release) { // each layer counts something of two disjoint halves of the rows
		for l := range 2 * layers {
			list = append(list, with(pair[0], func(r *Release) { r.Layer = 1 + l/2 }))
		}
		return list
	}
	for _, c := range []struct {
		name  string
		list  []Release
		g     Guarantee
		joint int // how many coordinates
	}{
		{"two", pair, Guarantee{Epsilon: 1}, 2},
		{"three", append(pair[:2:2], third), Guarantee{Epsilon: 1}, 3},
		{"order of infinity", pair, Guarantee{Epsilon: 1, Order: math.Inf(1)}, 2},
		{"one", pair[:1], Guarantee{Epsilon: 1}, 0},
		{"a divergence", pair, Guarantee{Epsilon: .1, Order: 8}, 0},
		{
			"the policy names a noise", append(pair[:2:2], with(third, func(r *Release) { r.Choice.Noise = Laplace })),
			Guarantee{Epsilon: 1},
			2,
		},
		{"rows are not bounded", append(pair[:2:2], with(third, func(r *Release) { r.Row = 0 })), Guarantee{Epsilon: 1}, 2},
		{"other rows", append(pair[:2:2], with(third, func(r *Release) { r.Row = 14 })), Guarantee{Epsilon: 1}, 2},
		{
			"gaps", append(pair[:2:2], with(third, func(r *Release) { r.Range = Range{{0, 3}, {9, 20}} })),
			Guarantee{Epsilon: 1},
			2,
		},
		{
			"a quantile", append(pair[:2:2], Release{Kind: Quantile, Range: Range{{0, 9}}, Sensitivity: 2, Weight: 1}),
			Guarantee{Epsilon: 1},
			2,
		},
		{"one layer", []Release{
			with(pair[0], func(r *Release) { r.Layer = 1 }),
			with(pair[0], func(r *Release) { r.Layer = 1 }),
		}, Guarantee{Epsilon: 1}, 0},
		{"two layers of two", halves(2), Guarantee{Epsilon: 1}, 0},
		{"four layers of two", halves(4), Guarantee{Epsilon: 1}, 8},
		{"too much epsilon", pair, Guarantee{Epsilon: 400}, 0},
	} {
		prepared, err := PrepareVector(context.Background(), c.list, c.g)
		if err != nil {
			t.Fatal(err)
		}
		joint, parts := 0, 0.0
		for _, p := range prepared {
			if v, _ := p.Joint(); v != nil {
				joint++
				if v.Dimension() != c.joint {
					t.Errorf("%s: a vector of %d", c.name, v.Dimension())
				}
			}
			parts += p.Epsilon()
			if _, v := p.Joint(); v < 0 || v >= len(c.list) {
				t.Errorf("%s: coordinate %d", c.name, v)
			}
		}
		if joint != c.joint {
			t.Errorf("%s: %d joint, want %d", c.name, joint, c.joint)
		}
		if cost := Compose(c.list, prepared); c.g.pure() && math.Abs(cost.Pure-c.g.Epsilon) > 1e-9*c.g.Epsilon {
			t.Errorf("%s: charge %g", c.name, cost.Pure)
		}
		if joint > 0 && math.Abs(parts-c.g.Epsilon) > 1e-12 {
			t.Errorf("%s: the parts add up to %g", c.name, parts)
		}
	}
}

// A vector of its own for every list, even of the same shape: both are drawn, both are paid for.
func TestJointIsCountedPerVector(t *testing.T) {
	list := countAndSum(2)
	a, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: .5})
	if err != nil {
		t.Fatal(err)
	}
	b, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: .5})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "charge", Compose(append(list, list...), append(a, b...)).Pure, 1, 1e-15)
	sum := a[0].Curve().Add(a[1].Curve())
	once := Compose(list, a)
	for i := range sum.Renyi {
		near(t, "curve", sum.Renyi[i], once.Renyi[i], 1e-12)
	}
}

// Wherever the true values are, 95% of the releases are within their own margin, and the standard deviation is that of
// the releases.
func TestJointMargins(t *testing.T) {
	const draws = 20000
	src := seededSource(42)
	list := []Release{
		{Kind: Scalar, Range: Range{{0, 60}}, Sensitivity: 2, Total: 2, Row: 1, Weight: 1},
		{Kind: SumGivenCount, Sensitivity: 40, Total: 40, Row: 20, PerRow: Interval{-20, 20}, CountRef: 0, Weight: 1},
		{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1000, Total: 1000, Row: 500, Weight: 1},
	}
	prepared, err := PrepareVector(context.Background(), list, Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range prepared {
		if p.PlannedMargin() <= 0 || p.Chosen().Noise != CubeNoise {
			t.Fatalf("release %d: %v, margin %g", i, p.Chosen(), p.PlannedMargin())
		}
	}
	for _, exact := range [][]int64{{0, 0, 0}, {3, -60, 100}, {30, 10, 1e5}, {60, 900, 1e12}} {
		inside, square := make([]int, 3), make([]float64, 3)
		for range draws {
			z := draw(src, list, prepared, exact)
			for i, p := range prepared {
				lo, hi := p.Interval(z[i], z[0], Wrong)
				if i != 1 && lo <= exact[i] && exact[i] <= hi {
					inside[i]++
				}
				square[i] += float64(z[i]-exact[i]) * float64(z[i]-exact[i]) / draws
				if i != 1 && (lo > z[i] || hi < z[i]) {
					t.Fatalf("release %d: %d is not within [%d, %d]", i, z[i], lo, hi)
				}
			}
		}
		for _, i := range []int{0, 2} {
			if !stattest.AtLeast(inside[i], draws, confidence) {
				t.Errorf("release %d at %v: %d of %d within the margin", i, exact, inside[i], draws)
			}
			near(t, fmt.Sprintf("standard deviation of release %d at %v", i, exact), prepared[i].StdDev(exact[i], 0),
				math.Sqrt(square[i]), .04)
		}
	}
	// The sum at a given count.
	for _, s := range []int64{-1200, -300, 0, 1190} {
		inside, square := 0, 0.0
		noise := make([]int64, 3)
		c, at := prepared[1].Joint()
		for range draws {
			c.Draw(src, noise)
			z := prepared[1].Bound(s, noise[at], 60)
			if lo, hi := prepared[1].Interval(z, 60, Wrong); lo <= s && s <= hi {
				inside++
			}
			square += float64(z-s) * float64(z-s) / draws
		}
		if !stattest.AtLeast(inside, draws, confidence) {
			t.Errorf("sum %d: %d of %d within the margin", s, inside, draws)
		}
		near(t, "standard deviation of the sum", prepared[1].StdDev(s, 60), math.Sqrt(square), .04)
	}
}

func TestNoPolicyNamesJointNoise(t *testing.T) {
	r := countAndSum(1)[0]
	r.Choice.Noise = CubeNoise
	if _, err := Prepare(r, Guarantee{Epsilon: 1}); err == nil {
		t.Error("accepted")
	}
}

func TestBoundAtTheEnds(t *testing.T) {
	prepared, err := PrepareVector(context.Background(), countAndSum(1), Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range []int64{math.MinInt64, -noiseLimit, -1, 0, 1, noiseLimit, math.MaxInt64} {
		for _, exact := range []int64{math.MinInt64, -1, 0, 7, limit, math.MaxInt64} {
			if z := prepared[0].Bound(exact, noise, 0); z < 0 || z > limit {
				t.Errorf("count %d with noise %d: %d", exact, noise, z)
			}
			if z := prepared[1].Bound(exact, noise, 3); z < -360 || z > 360 {
				t.Errorf("sum %d with noise %d: %d", exact, noise, z)
			}
			if z := prepared[1].Bound(exact, noise, 0); z != 0 {
				t.Errorf("sum of no rows: %d", z)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a coordinate was drawn on its own")
		}
	}()
	prepared[0].Draw(seededSource(1), 5, 0)
}

package estimate

import (
	"fmt"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// width bounds what a row adds: Σ(2x − 2c) lies in [−width, width], where x is in [0, width] and 2c = width.
const width = 60

var (
	laplace  = mechanism.Choice{Noise: mechanism.Laplace}
	gaussian = mechanism.Choice{Noise: mechanism.Gaussian, Bounding: mechanism.Fold}

	alone = rewrite.Column{Type: pgtype.Int8OID, Releases: []int{0}}
	// of values in [−width/2, width/2]
	average = rewrite.Column{Type: pgtype.NumericOID, Releases: []int{1, 0}, Average: true}
	total   = rewrite.Column{Type: pgtype.Int8OID, Releases: []int{1, 0}, DoubledCenter: width}
	// of values in [−width, 0]
	minus = rewrite.Column{Type: pgtype.Int8OID, Releases: []int{1, 0}, DoubledCenter: -width}
)

// scalar is a release in [lo, hi] that is moved by one unit by at most sensitivity.
func scalar(lo, hi, sensitivity int64, c mechanism.Choice) mechanism.Release {
	return mechanism.Release{Kind: mechanism.Scalar, Sensitivity: sensitivity, Groups: 1, Range: mechanism.Range{
		{Lo: lo, Hi: hi},
	}, Choice: c, Grid: mechanism.Grid{Step: 1}}
}

// chainedReleases are a count and a sum that is given it.
func chainedReleases(count, sum mechanism.Choice) []mechanism.Release {
	return []mechanism.Release{
		scalar(0, mechanism.NoUpper, 1, count),
		{
			Kind: mechanism.SumGivenCount, Sensitivity: width, Groups: 1, PerRow: mechanism.Interval{Lo: -width, Hi: width},
			Choice: sum, Grid: mechanism.Grid{Step: .5},
		},
	}
}

// calibratedFor has a mechanism for each release of one block.
func calibratedFor(t *testing.T, block rewrite.Block, g mechanism.Guarantee) *Statement {
	t.Helper()
	p := &Statement{Plan: &rewrite.Plan{Blocks: []rewrite.Block{block}}, Mechanisms: []gate.Mechanisms{{}}}
	for _, r := range block.Releases {
		prepared, err := mechanism.Prepare(r, g)
		if err != nil {
			t.Fatal(err)
		}
		p.Mechanisms[0].Releases = append(p.Mechanisms[0].Releases, prepared)
	}
	return p
}

// one is a block of one group in which these values were released.
func one(values ...int64) Block {
	r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 1)}}
	for _, v := range values {
		r.Values = append(r.Values, []int64{v})
	}
	return r
}

// covered draws an aggregate and counts in how many of the draws that have an interval it holds the answer.
func covered(p *Statement, c rewrite.Column, exact []int64, draws int) (hits, all int) {
	source := mechanism.NewSource()
	for range draws {
		values := make([]int64, len(exact))
		for i, r := range p.Plan.Blocks[0].Releases {
			values[i] = p.Mechanisms[0].Releases[i].Draw(source, exact[i], values[r.CountRef])
		}
		i, ok := p.interval(0, c, one(values...), 0)
		if !ok {
			continue
		}
		all++
		z, answer := float64(values[c.Releases[0]]), float64(exact[c.Releases[0]])
		if len(c.Releases) == 2 { // what z would have to be
			n, rows := float64(values[c.Releases[1]]), float64(exact[c.Releases[1]])
			if c.Average {
				answer *= n / rows
			} else {
				answer += float64(c.DoubledCenter) * (rows - n)
			}
		}
		if z-i.Below <= answer+1e-6 && answer <= z+i.Above+1e-6 {
			hits++
		}
	}
	return hits, all
}

// TestIntervalsCover draws aggregates and counts how often the interval holds the answer: in 94% to 98.5% of the draws.
// With few rows, or a noise of less than a row, it is more: integers have no quantile in between, and no average leaves
// its bounds. Of the two limits of each case one fails by chance with a probability of at most 2·stattest.FalseAlarm.
func TestIntervalsCover(t *testing.T) {
	type noise struct {
		name       string
		count, sum mechanism.Choice
		delta      float64
	}
	check := func(name string, p *Statement, c rewrite.Column, exact []int64, most float64) {
		hits, all := covered(p, c, exact, 10000)
		if !stattest.AtLeast(hits, all, .94) {
			t.Errorf("%s: the interval holds the answer in %d of %d draws", name, hits, all)
		}
		if !stattest.AtMost(hits, all, most) {
			t.Errorf("%s: the interval holds the answer in %d of %d draws: it is wider than it has to be", name, hits, all)
		}
	}
	for _, n := range []noise{
		{"laplace", laplace, laplace, 0},
		{"gaussian", gaussian, gaussian, 1e-6},
		{"laplace and gaussian", laplace, gaussian, 1e-6},
		{"gaussian and laplace", gaussian, laplace, 1e-6},
	} {
		for _, epsilon := range []float64{.25, 1} {
			g := mechanism.Guarantee{Epsilon: epsilon, Delta: n.delta}
			p := calibratedFor(t, rewrite.Block{Releases: chainedReleases(n.count, n.sum)}, g)
			for _, truth := range []int64{0, 3, 1000} {
				check(fmt.Sprintf("%s, epsilon %g: count %d", n.name, epsilon, truth), p, alone, []int64{truth, 0}, .985)
			}
			for _, rows := range []int64{5, 400} {
				most := .985
				if rows == 5 {
					most = 1
				}
				for _, each := range []int64{-width, -width / 2, 0, width - 2, width} {
					name := fmt.Sprintf("%s, epsilon %g, %d rows of %d: ", n.name, epsilon, rows, each)
					check(name+"average", p, average, []int64{rows, rows * each}, most)
					check(name+"sum", p, total, []int64{rows, rows * each}, most)
					check(name+"sum below 0", p, minus, []int64{rows, rows * each}, most)
				}
			}
			// A sum whose noise is as wide as its range: the distance to the end says nothing of the rows that the count lacks.
			narrow := calibratedFor(t, rewrite.Block{Releases: chainedReleases(n.count, n.sum)}, mechanism.Guarantee{
				Epsilon: 2, Delta: n.delta,
			})
			check(n.name+", 3 rows at the upper bound", narrow, total, []int64{3, 3 * width}, 1)
			sum := calibratedFor(t, rewrite.Block{Releases: []mechanism.Release{scalar(0, mechanism.NoUpper, 7*width, n.sum)}},
				g)
			for _, truth := range []int64{0, 7 * width, 1e6} {
				check(fmt.Sprintf("%s, epsilon %g: sum %d alone", n.name, epsilon, truth), sum, alone, []int64{truth}, .985)
			}
		}
	}
}

// TestIntervalStaysInRange: an interval reaches no further than the aggregate can lie, and has no end where the
// aggregate is NULL, nor at a bound beyond which it may lie.
func TestIntervalStaysInRange(t *testing.T) {
	open := math.Inf(1)
	p := calibratedFor(t, rewrite.Block{Releases: append(chainedReleases(laplace, laplace), scalar(0, 30, 1, laplace),
		mechanism.Release{Kind: mechanism.Quantile, Sensitivity: 1, Range: mechanism.Range{{Lo: 0, Hi: 120}}, Fraction: .5},
		mechanism.Release{Kind: mechanism.Quantile, Sensitivity: 1, Range: mechanism.Range{{Lo: 0, Hi: 120}}, Fraction: 1})},
		mechanism.Guarantee{Epsilon: .5})
	for _, c := range []struct {
		name         string
		column       rewrite.Column
		values       []int64
		below, above float64
		none         bool
	}{
		{"count", alone, []int64{100, 0, 0, 0}, 6, 6, false},
		{"count near 0", alone, []int64{2, 0, 0, 0}, 2, 6, false},
		{"count in 0…30", rewrite.Column{Releases: []int{2}}, []int64{0, 0, 28, 0}, 6, 2, false},
		{"average of few rows", average, []int64{5, 100, 0, 0}, 400, 200, false},
		{"average of no rows", average, []int64{0, 0, 0, 0}, 0, 0, true},
		{"sum of no rows", total, []int64{0, 0, 0, 0}, 0, 0, true},
		{"sum of few rows, none below 0", total, []int64{2, -20, 0, 0}, 100, 0, false},
		{"sum of few rows, none above 0", minus, []int64{2, 20, 0, 0}, 0, 100, false},
		{"median", rewrite.Column{Releases: []int{3}}, []int64{0, 0, 0, 50}, 50, 70, false},
		{"two medians", rewrite.Column{Releases: []int{3, 3}}, []int64{0, 0, 0, 50}, 0, 0, true},
		{
			"median, with values beyond the bounds",
			rewrite.Column{Releases: []int{3}, OutsideUnknown: true},
			[]int64{0, 0, 0, 50},
			open, open, false,
		},
		{
			"median, with few values beyond the bounds",
			rewrite.Column{Releases: []int{3}, Outside: .4},
			[]int64{0, 0, 0, 50},
			50, 70, false,
		},
		{
			"median, of units that are cut",
			rewrite.Column{Releases: []int{3}, Cut: &release.Cut{High: true}},
			[]int64{0, 0, 0, 50},
			50, open, false,
		},
		{
			"greatest, with values beyond the bounds",
			rewrite.Column{Releases: []int{4}, OutsideUnknown: true},
			[]int64{0, 0, 0, 0, 119},
			0, open, false,
		},
		{
			"greatest, with a share of them",
			rewrite.Column{Releases: []int{4}, Outside: .01},
			[]int64{0, 0, 0, 0, 120},
			0,
			open, false,
		},
		{"median within its ends, with values beyond the bounds", rewrite.Column{
			Releases: []int{3}, Low: 1, High: 2,
			OutsideUnknown: true,
		}, []int64{40, 120, 0, 50}, 10, open, false},
		{"variance", rewrite.Column{Releases: []int{0, 1, 1}}, []int64{5, 0, 0, 0}, 0, 0, true},
		{"boolean", rewrite.Column{Type: pgtype.BoolOID, Releases: []int{0}}, []int64{5, 0, 0, 0}, 0, 0, true},
	} {
		i, ok := p.interval(0, c.column, one(append(c.values, 0)...), 0)
		if ok == c.none {
			t.Errorf("%s: an interval is %v", c.name, ok)
			continue
		}
		if c.below > 0 && i.Below != c.below || c.above > 0 && i.Above != c.above || i.Below < 0 || i.Above < 0 {
			t.Errorf("%s: −%g +%g, want −%g +%g", c.name, i.Below, i.Above, c.below, c.above)
		}
	}
}

// TestIntervalsOfRowsLeftOut: a known share of rows that are left out widens an interval, an unknown one leaves that of
// the noise.
func TestIntervalsOfRowsLeftOut(t *testing.T) {
	share := func(s float64) *float64 { return &s }
	releases := append(chainedReleases(laplace, laplace), scalar(mechanism.NoLower, mechanism.NoUpper, 50, laplace))
	releases[0].Sensitivity, releases[1].Sensitivity = 50, 50*width
	g := mechanism.Guarantee{Epsilon: 2}
	all := calibratedFor(t, rewrite.Block{Releases: releases}, g)
	r := one(4000, 120000, -1000)
	either := rewrite.Column{Releases: []int{2}}
	for _, c := range []struct {
		name         string
		block        rewrite.Block
		column       rewrite.Column
		below, above float64 // more than without rows left out
	}{
		{"count, none", rewrite.Block{Rows: 50, LeftOut: share(0)}, alone, 0, 0},
		{"count", rewrite.Block{Rows: 50, LeftOut: share(.2)}, alone, 0, 1000},
		{"sum of values ≥ 0", rewrite.Block{Rows: 50, LeftOut: share(.2)}, total, 0, (120000 + 4000*width) / 4},
		{"sum", rewrite.Block{Rows: 50, LeftOut: share(.2)}, either, 250, 250},
		{"average", rewrite.Block{Rows: 50, LeftOut: share(.1)}, average, 4000 * 12, 4000 * 12},
		{"count, unknown", rewrite.Block{Rows: 50}, alone, 0, 0},
		{"average, unknown", rewrite.Block{Rows: 50}, average, 0, 0},
		{"average, values beyond bounds", rewrite.Block{}, clamped(average, .1), 4000 * 60 / 9., 4000 * 60 / 9.},
		{
			"average, both",
			rewrite.Block{Rows: 50, LeftOut: share(.1)},
			clamped(average, 1/9.), 4000 * (12 + 60/8.),
			4000 * (12 + 60/8.),
		},
		{
			"sum of values ≥ 0, both",
			rewrite.Block{Rows: 50, LeftOut: share(.1)},
			clamped(total, 1/9.),
			(120000 + 4000*width) / 9., (120000 + 4000*width) / 4,
		},
		{"groups picked", rewrite.Block{Picked: 2, Rows: 50, LeftOut: share(0)}, alone, 0, 0},
	} {
		c.block.Releases = releases
		i, ok := calibratedFor(t, c.block, g).interval(0, c.column, r, 0)
		plain, _ := all.interval(0, clamped(c.column, 0), r, 0)
		if !ok || math.Abs(i.Below-plain.Below-c.below) > 1e-6 || math.Abs(i.Above-plain.Above-c.above) > 1e-6 {
			t.Errorf("%s: −%g +%g; without rows left out −%g +%g", c.name, i.Below, i.Above, plain.Below, plain.Above)
		}
	}
	// A unit counts once, whatever rows it has; in one of several groups it may count nowhere.
	units, perUnit := scalar(0, mechanism.NoUpper, 1, laplace), chainedReleases(laplace, laplace)
	perUnit[1].Sensitivity = 6 // Σ(2x − 2c) of one unit is bounded by less than its rows
	several := units
	several.Groups = 3
	for _, c := range []struct {
		name string
		r    mechanism.Release
		want float64
	}{
		{"a number of units leaves nobody out", units, 0},
		{"an average leaves out rows, whatever bounds a unit's sum", perUnit[1], .2},
		{"a number of units in three groups may leave out rows", several, .2},
	} {
		if got := leftOutShare(&rewrite.Block{Rows: 50, LeftOut: share(.2)}, c.r, rewrite.Column{}); got != c.want {
			t.Errorf("%s: %g", c.name, got)
		}
	}
}

// TestIntervalsOfCutNumbers: a known share of what is beyond makes an interval longer above, an unknown one leaves
// none.
func TestIntervalsOfCutNumbers(t *testing.T) {
	share := func(s float64) *float64 { return &s }
	p := calibratedFor(t, rewrite.Block{Releases: append(chainedReleases(laplace, laplace),
		scalar(0, mechanism.NoUpper, 50, laplace))}, mechanism.Guarantee{Epsilon: 2})
	r := one(4000, 120000, 9000)
	for name, c := range map[string]struct {
		column rewrite.Column
		value  float64
	}{
		"sum":     {rewrite.Column{Releases: []int{2}}, 9000},
		"average": {average, 120000 + float64(average.DoubledCenter)*4000},
	} {
		plain, _ := p.interval(0, c.column, r, 0)
		c.column.Cut = &release.Cut{High: true}
		if _, ok := p.interval(0, c.column, r, 0); ok {
			t.Errorf("%s: there is an interval of what nobody knows", name)
		}
		c.column.Cut = &release.Cut{High: true, Share: share(.2)}
		i, ok := p.interval(0, c.column, r, 0)
		if want := plain.Above + (c.value+plain.Above)/4; !ok || i.Below != plain.Below || math.Abs(i.Above-want) > 1e-6 {
			t.Errorf("%s: −%g +%g, want −%g +%g", name, i.Below, i.Above, plain.Below, want)
		}
	}
	p.Plan.Blocks[0].Uncovered = true
	if _, ok := p.interval(0, rewrite.Column{Releases: []int{2}}, r, 0); ok {
		t.Error("there is an interval of an answer of which rows are left out, or taken for others, that nothing counts")
	}
}

// clamped is an aggregate of which a share of the rows counts with the nearest bound.
func clamped(c rewrite.Column, share float64) rewrite.Column {
	c.Outside = share
	return c
}

// noMargins are those of no noise.
func noMargins(float64) (z, n float64) { return 0, 0 }

// TestAveragesOfRowsLeftOut: an average of values of one sign is further off by a share of itself, since no more than
// that share of rows and of sums is left out; by no more than that share of the range, which holds for all; and stays
// within the range.
func TestAveragesOfRowsLeftOut(t *testing.T) {
	const n, share = 1e6, .1
	row := mechanism.Interval{Lo: -width, Hi: width}
	for _, c := range []struct {
		name         string
		center, each float64 // z/n + center is twice the average
		below, above float64 // what is expected, per row
	}{
		{"small values ≥ 0", width, -50, 1, 10. / 9},
		{"large values ≥ 0", width, 30, 9, 10},
		{"values ≥ 0 at the bound", width, width, 12, 0},
		{"small values ≤ 0", -width, 50, 10. / 9, 1},
		{"values ≥ 100", 100 + width, -width / 2, 12, 12},
		{"values of both signs", 0, 0, 12, 12},
		{"nearly one sign", width - 1, 0, 12, 12},
	} {
		i := chained{row: row, z: c.each * n, n: n, margins: noMargins}.average(c.center, share, 0)
		if math.Abs(i.Below/n-c.below) > 1e-9 || math.Abs(i.Above/n-c.above) > 1e-9 {
			t.Errorf("%s: −%g +%g, want −%g +%g", c.name, i.Below/n, i.Above/n, c.below, c.above)
		}
	}
	// Whatever is left out, within the share of rows and of the sum: kept rows and their sum may both be less, or one
	// alone.
	for _, rows := range []float64{1 - share, 1} {
		for _, sum := range []float64{1 - share, 1} {
			const truth = 40. // the average, of values in [0, 2·width] in halves
			kept := truth * sum / rows
			i := chained{row: row, z: (kept - width) * n, n: n, margins: noMargins}.average(width, share, 0)
			if kept-i.Below/n > truth+1e-9 || truth-1e-9 > kept+i.Above/n {
				t.Errorf("%g of the rows and %g of the sum are kept: %g −%g +%g does not hold %g", rows, sum, kept, i.Below/n,
					i.Above/n, truth)
			}
		}
	}
}

// TestValuesBeyondBoundsOfBothSigns: a sum and an average hold the truth whatever lies beyond the bounds, as long as it
// is no more than a share of the rows and of what is above 0 and below. A sum that is released without its rows has no
// interval: it may be 0 while much lies beyond.
func TestValuesBeyondBoundsOfBothSigns(t *testing.T) {
	const n, share = 1000., .02
	for _, c := range []struct{ lo, hi float64 }{{-10, 10}, {-1, 100}, {-50, 0}, {-4, -3}, {0, 20}, {90, 100}} {
		for _, up := range []float64{0, .25, 1} { // of the rows, those at the upper bound
			kept := n * (up*c.hi + (1-up)*c.lo)
			// share of the positive sum lies above the upper bound, of the negative below the lower one
			most, least := kept, kept
			for _, at := range []struct{ rows, bound float64 }{{up * n, c.hi}, {(1 - up) * n, c.lo}} {
				if beyond := at.rows * at.bound * share / (1 - share); beyond > 0 {
					most += beyond
				} else {
					least += beyond
				}
			}
			if c.lo > 0 { // values above 0 may be less than they are counted as
				least -= share * n * c.lo
			} else if c.hi < 0 {
				most -= share * n * c.hi
			}
			center := c.lo + c.hi
			s := chained{
				row: mechanism.Interval{Lo: int64(c.lo - c.hi), Hi: int64(c.hi - c.lo)}, z: 2*kept - n*center, n: n,
				margins: noMargins,
			}
			for what, i := range map[string]interval{
				"sum":     s.total(center, share, share),
				"average": s.average(center, share, share),
			} {
				if kept-i.Below/2 > least+1e-9 || kept+i.Above/2 < most-1e-9 {
					t.Errorf("%s of rows in %v, %g of them at the upper end: %g −%g +%g does not hold %g to %g", what, c, up, kept,
						i.Below/2, i.Above/2, least, most)
				}
			}
		}
	}
	p := calibratedFor(t, rewrite.Block{Releases: []mechanism.Release{
		scalar(-5000, 5000, 50, laplace),
		scalar(0, 5000, 50, laplace),
	}}, mechanism.Guarantee{Epsilon: 2})
	for release, known := range map[int]bool{0: false, 1: true} {
		if _, ok := p.interval(0, clamped(rewrite.Column{Releases: []int{release}}, share), one(0, 0), 0); ok != known {
			t.Errorf("release %d: there is an interval: %v", release, ok)
		}
	}
}

// TestNothing: an average has an interval and a deviation where its count exceeds the threshold, and else is NULL.
func TestNothing(t *testing.T) {
	p := calibratedFor(t, rewrite.Block{Releases: chainedReleases(laplace, laplace)}, mechanism.Guarantee{Epsilon: .1})
	column, most := average, p.Mechanisms[0].Releases[0].EmptyThreshold(mechanism.Wrong)
	column.Rows = 1
	r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 2), Values: [][]int64{{most, most + 1}, {0, 0}}}}
	for g, want := range []bool{false, true} {
		_, interval := p.interval(0, column, r, g)
		if _, deviation := p.Deviation(0, column, r, g); interval != want || deviation != want {
			t.Errorf("of %d rows: an interval %v, a deviation %v", r.Values[0][g], interval, deviation)
		}
	}
}

// TestDeviationOfTwoReleases: their variances add up, and what has no value has no deviation.
func TestDeviationOfTwoReleases(t *testing.T) {
	p := calibratedFor(t, rewrite.Block{Releases: chainedReleases(laplace, laplace)}, mechanism.Guarantee{Epsilon: .1})
	const count, sum = 14.142, 14.142 * width // √2·Δ/ε
	for _, c := range []struct {
		name   string
		column rewrite.Column
		rows   int64
		want   float64 // 0: none
	}{
		{"count", alone, 4000, count},
		{"sum", total, 4000, math.Hypot(sum, width*count)},
		{"average", average, 4000, math.Hypot(sum, 30*count) / 4000},
		{"average of no rows", average, 0, 0},
	} {
		sd, ok := p.Deviation(0, c.column, one(c.rows, 30*c.rows), 0)
		if ok != (c.want > 0) || math.Abs(sd-c.want) > 1e-3*c.want {
			t.Errorf("%s: %g, %v, want %g", c.name, sd, ok, c.want)
		}
	}
}

// TestRaisedValues: a sum reaches down to what it is if values below a bound above 0 were raised to that.
func TestRaisedValues(t *testing.T) {
	p := calibratedFor(t, rewrite.Block{Releases: []mechanism.Release{scalar(0, 1<<30, 200, laplace)}},
		mechanism.Guarantee{Epsilon: 1})
	// 50 of them of 0, raised to 100
	r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{1000 * 100}}}}
	if i, ok := p.interval(0, rewrite.Column{Releases: []int{0}, Outside: .05}, r, 0); !ok || i.Below < 50*100 {
		t.Errorf("down by %g", i.Below)
	}
}

// TestChosenByThemselves: a count that is shown since it has reached a threshold may be any smaller one, where it is
// within its margin of that; and a greatest value whose group is chosen may be less than the true one, and more.
func TestChosenByThemselves(t *testing.T) {
	p := calibratedFor(t, rewrite.Block{Releases: []mechanism.Release{scalar(0, mechanism.NoUpper, 1, laplace)}},
		mechanism.Guarantee{Epsilon: 1})
	p.Mechanisms[0].Threshold = &mechanism.CountThreshold{Least: 20}
	r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 2), Values: [][]int64{{21, 500}}}}
	for g, want := range []bool{true, false} {
		if i, ok := p.interval(0, alone, r, g); !ok || (i.Below == float64(r.Values[0][g])) != want {
			t.Errorf("%d: down by %g", r.Values[0][g], i.Below)
		}
	}
	greatest := mechanism.Release{
		Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: 0, Hi: 120}}, Sensitivity: 1,
		Groups: 1, Fraction: 1,
	}
	p = calibratedFor(t, rewrite.Block{Releases: []mechanism.Release{greatest}}, mechanism.Guarantee{Epsilon: 1})
	for share, want := range map[float64]float64{0: 0, .1: 60} {
		r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{60}}}, chosen: share}
		if i, ok := p.interval(0, alone, r, 0); !ok || i.Below != want {
			t.Errorf("of a share of %g: down by %g, want %g", share, i.Below, want)
		}
	}
}

// TestNothingOfALook: the counts that are told from none are larger where less may be wrong.
func TestNothingOfALook(t *testing.T) {
	p := calibratedFor(t, rewrite.Block{Releases: chainedReleases(laplace, laplace)}, mechanism.Guarantee{Epsilon: .1})
	column, most := average, p.Mechanisms[0].Releases[0].EmptyThreshold(mechanism.Wrong)
	column.Rows = 1
	r := Block{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{most + 1}, {0}}}}
	if p.cell(0, column, r, 0).nothing() {
		t.Error("all of an answer: NULL")
	}
	if p.Part = .2; !p.cell(0, column, r, 0).nothing() {
		t.Error("a look: not NULL")
	}
}

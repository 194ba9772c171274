package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// averageOf is a statement of one average: of values in [−width/2, width/2], of one row of each unit.
func averageOf() *rewrite.Plan {
	list := chainedReleases(mechanism.Choice{}, mechanism.Choice{})
	list[0].Row, list[0].Weight, list[1].Row, list[1].Weight = 1, 1, width, 1
	return &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{{Releases: list, Columns: []rewrite.Column{average}}}}
}

// averagesWithin calibrates it at ε = 0.5 for a margin.
func averagesWithin(t testing.TB, method policy.Method, margin float64) *calibrated {
	t.Helper()
	return sharedWithin(t, averageOf(), budgetOf(method, 10, .5), margin)
}

// drawnFor draws the count of a group of so many rows whose values are each so much, and what is charged behind it. It
// gives the answer, the mechanisms, and what all parts cost at the order of the price.
func drawnFor(t testing.TB, p *calibrated, source *mechanism.Source, each int64, rows ...int64) (answer []released,
	last *calibrated, paid float64,
) {
	t.Helper()
	m := measured{Keys: make(rewrite.KeyRows, len(rows)), Values: [][]int64{rows, nil}}
	for _, n := range rows {
		m.Values[1] = append(m.Values[1], each*n)
	}
	r, shown := draw(source, p.Mechanisms[0], p.Plan.Blocks[0].Releases, m)
	answer, last = []released{r}, p
	if slices.Max(r.Values[1]) != 0 || slices.Min(r.Values[1]) != 0 {
		t.Fatal("the sum is drawn before it is charged")
	}
	paid = p.price.paidBy(p.charge.Curve)
	buy := func(part nextPart) {
		last = last.with(part)
		paid += p.price.paidBy(last.partOf(func(i, j int) bool { return part[[2]int{i, j}].Prepared != nil }).Curve)
		for at, prepared := range part {
			shown.DrawLater(source, at[1], last.Mechanisms[0].Releases[at[1]], r.Released)
			prepared.withinTold(r.Values[at[1]])
			r.Chosen[at[1]] = prepared.Epsilon()
		}
	}
	var bought []nextPart
	for _, next := range laterParts {
		part := next(last, answer, 0, bought)
		buy(part)
		bought = append(bought, part)
	}
	return answer, last, paid
}

// widestOf is the widest margin of a group of so many released rows, whatever its sum is released as.
func (p *calibrated) widestOf(n int64) (widest float64) {
	for _, each := range []float64{-width, -width / 3, 0, 1, width} {
		r := gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{n}, {int64(each * float64(n))}}}
		if a := p.Aggregate(0, average, estimate.Drawn([]gate.Released{r})[0], 0); a.Known {
			widest = math.Max(widest, a.Margin())
		}
	}
	return widest
}

// marginOf is that of the average of a released group.
func (p *calibrated) marginOf(answer []released, g int) float64 {
	a := p.Aggregate(0, average, estimate.Drawn(values(answer))[0], g)
	if !a.Known {
		return 0
	}
	return a.Margin()
}

// TestAveragesKeepTheirMargin: whatever sum is released, the margin of an average is at most what was asked for in
// every group in which that can be had for the most that the statement may cost, and hardly less in the smallest of
// them; all parts together cost no more, also where the coarse sum says nothing. Where a count is drawn far off, once in
// hundreds of draws, the margin is missed, or costs more.
func TestAveragesKeepTheirMargin(t *testing.T) {
	source := mechanism.NewSource()
	draws, beyond := 0, []string(nil)
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		for i, c := range slices.Repeat([]struct {
			margin float64
			rows   []int64
			kept   int     // groups, from the first on
			most   float64 // ε under pure accounting
		}{
			{.5, []int64{1000000}, 1, .04},
			{.5, []int64{30000}, 1, .04},
			{.5, []int64{3000}, 1, .25},
			{.5, []int64{1000}, 1, .7},
			{.5, []int64{3000, 1000, 300, 3, 0}, 2, .7},
			{2, []int64{5000, 400, 5}, 2, .5},
			{20, []int64{50}, 1, 1},
		}, 15) {
			p := averagesWithin(t, method, c.margin)
			each := []int64{-width, -width / 3, 0, 7, width}[i%5]
			answer, last, paid := drawnFor(t, p, source, each, c.rows...)
			if most := p.budget.priceAt(p.budget.most, p.price.order).Epsilon; paid > most*(1+1e-9) {
				t.Errorf("%s %v: %g is paid, of at most %g", method, c, paid, most)
			}
			draws++
			if method == policy.Pure && paid > c.most {
				beyond = append(beyond, fmt.Sprintf("%s %v: %g is paid for averages of %d", method, c, paid, each))
			}
			for g, n := range answer[0].Values[0] {
				if m := last.marginOf(answer, g); g < c.kept && m > c.margin {
					beyond = append(beyond, fmt.Sprintf("%s %v: the margin of %d rows is %g", method, c, n, m))
				}
				if m := last.widestOf(n); g == c.kept-1 && len(answer[0].Chosen) == 2 && m < .8*c.margin {
					t.Errorf("%s %v: the margin of the smallest group is %g: it was paid too much for", method, c, m)
				}
			}
			again, err := p.drawn(context.Background(), answer)
			if err != nil {
				t.Fatal(err)
			}
			for j := range again.Mechanisms[0].Releases {
				if a, b := again.Mechanisms[0].Releases[j], last.Mechanisms[0].Releases[j]; a.Epsilon() != b.Epsilon() ||
					a.Chosen().Scale != b.Chosen().Scale {
					t.Errorf("%s %v: the noise of release %d of a kept answer is not known again", method, c, j)
				}
			}
		}
	}
	if !stattest.AtMost(len(beyond), draws, .005) {
		t.Errorf("%d of %d draws: %s", len(beyond), draws, strings.Join(beyond, "\n"))
	}
}

// TestMarginsPaidFor: the margin that is asked for and paid for is at most 1.1 times the one that an answer has, wherever
// in its range the average lies, and one in the middle costs much less than one at an end. The mean of the draws is given
// six standard errors: chance exceeds that less than once in 10⁸ runs.
func TestMarginsPaidFor(t *testing.T) {
	const draws = 40
	source := mechanism.NewSource()
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		for _, rows := range []int64{1000, 3000, 8000, 30000} {
			p := averagesWithin(t, method, .5)
			costs := map[int64]float64{}
			for _, each := range []int64{0, width / 4, width / 2, width} {
				had, squares := 0.0, 0.0
				for range draws {
					answer, last, paid := drawnFor(t, p, source, each, rows)
					m := last.marginOf(answer, 0)
					had, squares = had+m/draws, squares+m*m/draws
					costs[each] += paid / draws
				}
				if six := 6 * math.Sqrt(max(0, squares-had*had)/(draws-1)); .5 > 1.1*(had+six) {
					t.Errorf("%s: averages of %d in %d rows have a margin of %g, and pay for 0.5", method, each, rows, had)
				}
			}
			if rows < 8000 && costs[0] > .65*costs[width] {
				t.Errorf("%s: averages of 0 in %d rows cost %g, those at the end %g", method, rows, costs[0], costs[width])
			}
		}
	}
}

// TestAveragesWithoutTheirMargin: where it can be had in no group count and sum have their parts, as without a margin,
// where there are no rows nothing is charged behind the count, and where no number of rows would do the statement is
// refused.
func TestAveragesWithoutTheirMargin(t *testing.T) {
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		p := averagesWithin(t, method, .5)
		few := []released{{Released: gate.Released{Values: [][]int64{{100, 7}, {0, 0}}}}}
		last, part := p, p.price.Epsilon/2
		var bought []nextPart
		for _, next := range laterParts {
			bought = append(bought, next(last, few, 0, bought))
			last = last.with(bought[len(bought)-1])
		}
		for j, prepared := range last.Mechanisms[0].Releases {
			if got := prepared.Epsilon(); math.Abs(got/part-1) > 1e-9 {
				t.Errorf("%s: release %d has %g, want %g", method, j, got, part)
			}
		}
		none := []released{{Released: gate.Released{Values: [][]int64{{0, 0}, {0, 0}}}}}
		for i, next := range laterParts {
			if len(next(p, none, 0, make([]nextPart, i))) > 0 {
				t.Errorf("%s: no rows cost something", method)
			}
		}
		plan := averageOf()
		plan.Blocks[0].Releases[0].Range[0].Hi = 100
		if _, err := (wantedMargin{text: "0.5", value: .5}).budgetFor(context.Background(), plan, budgetOf(method, 10, .5)); codeOf(err) != "22023" {
			t.Errorf("%s: a margin that would take more rows than there may be: %v", method, err)
		}
	}
}

// TestAveragesFitTheBudget: the budget holds as many such statements as EXPLAIN says, in all their parts: no more over
// hardly enough rows, and many more over many.
//
// Over hardly enough rows a count that is drawn far off makes it more in one draw of some thousands. Chance fails this
// with less than stattest.FalseAlarm for each method.
func TestAveragesFitTheBudget(t *testing.T) {
	const draws = 200
	source := mechanism.NewSource()
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		p := averagesWithin(t, method, .5)
		if n := admitted(t, method, 10, p.mostCharge()); n != p.fits {
			t.Errorf("%s: EXPLAIN promises %d, the ledger admits %d at the most that they may cost", method, p.fits, n)
		}
		list := p.Plan.Blocks[0].Releases
		least := wantedAverage{list[1], p.wanted[0][1]}.leastRows(list[0], p.later.mostOf(list[1], 0))
		for _, c := range []struct{ rows, most int64 }{{least, 2}, {100 * least, math.MaxInt64}} {
			more := 0
			for range draws {
				_, _, paid := drawnFor(t, p, source, 7, c.rows)
				answered := accounting.Fits(paid / p.budget.room.At(p.price.order))
				if int64(answered/p.fits) > c.most {
					more++
				}
				if answered < p.fits || c.rows > least && answered < 5*p.fits {
					t.Errorf("%s: of averages over %d rows EXPLAIN promises %d, and %d are answered", method, c.rows, p.fits, answered)
				}
			}
			if !stattest.AtMost(more, draws, .01) {
				t.Errorf("%s: of averages over %d rows more than %d times %d are answered in %d of %d draws", method, c.rows, c.most,
					p.fits, more, draws)
			}
		}
	}
}

// TestAveragesWithinCover draws counts, calibrates better counts and sums for them, and draws those: the margin is what
// was asked for or less, unless a count is drawn far off, once in tens of thousands of draws, and holds the answer in
// 95% of the draws. A wrong alarm has a chance below 1e-6.
func TestAveragesWithinCover(t *testing.T) {
	const draws = 1000
	source := mechanism.NewSource()
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		for _, rows := range []int64{1200, 20000} {
			p := averagesWithin(t, method, .5)
			for _, each := range []int64{0, width / 2, width} {
				hits, wide := 0, 0
				for range draws {
					answer, last, _ := drawnFor(t, p, source, each, rows)
					r := answer[0]
					a := last.Aggregate(0, average, estimate.Drawn(values(answer))[0], 0)
					margin := a.Margin()
					if !a.Known || margin > .5 {
						wide++
					}
					if off := float64(r.Values[1][0])/float64(r.Values[0][0]) - float64(each); math.Abs(off)*.5 <= margin+1e-9 {
						hits++
					}
				}
				if !stattest.AtMost(wide, draws, 1e-4) {
					t.Errorf("%s: averages of %d in %d rows miss their margin in %d of %d draws", method, each, rows, wide, draws)
				}
				if !stattest.AtLeast(hits, draws, .945) {
					t.Errorf("%s: averages of %d in %d rows are within their margin in %d of %d draws", method, each, rows, hits,
						draws)
				}
			}
		}
	}
}

// TestMarginsOfOtherAggregates: a sum that is averaged and shown too, or a variance, has no margin before it is drawn,
// and counts that are shown keep theirs from the first charge on.
func TestMarginsOfOtherAggregates(t *testing.T) {
	plan := averageOf()
	plan.Blocks[0].Columns = append(plan.Blocks[0].Columns, rewrite.Column{
		Type: pgtype.Int8OID, Releases: []int{1, 0},
		DoubledCenter: width,
	})
	if _, err := (wantedMargin{text: "8", value: 8}).budgetFor(context.Background(), plan, budgetOf(policy.Pure, 10, .5)); codeOf(err) != "0A000" {
		t.Errorf("a sum that is averaged too: %v", err)
	}
	plan = averageOf()
	plan.Blocks[0].Columns = append(plan.Blocks[0].Columns, alone)
	p := sharedWithin(t, plan, budgetOf(policy.Pure, 10, .5), 8)
	if m := p.Mechanisms[0].Releases[0].PlannedMargin(); m > 8 || p.budget.epsilon <= .5 {
		t.Errorf("the count's margin is %g at epsilon %g", m, p.budget.epsilon)
	}
}

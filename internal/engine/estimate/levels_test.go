package estimate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// rollup is calibrated for GROUP BY ROLLUP (a, b) of so many values of each, as SELECT count(*), avg(x), sum(x) asks
// for it, and a sum of its own. Σ(2x − 2c) of a row lies in [−width, width], where x is in [0, width].
func rollup(t *testing.T, a, b int, noise mechanism.Choice, epsilon float64, drops bool) *Statement {
	t.Helper()
	text := func(i int) *rewrite.Canonical { c := rewrite.Canonical(fmt.Sprint(i)); return &c }
	var keys [3]rewrite.KeyRows
	for i := range a {
		keys[1] = append(keys[1], []*rewrite.Canonical{text(i)})
		for j := range b {
			keys[0] = append(keys[0], []*rewrite.Canonical{text(j), text(i)}) // in another order than those of the coarser block
		}
	}
	keys[2] = rewrite.KeyRows{nil}
	plan := &rewrite.Plan{}
	for i := range 3 {
		block := rewrite.Block{Keys: keys[i], KeyTypes: make([]uint32, 2-i), LeftOut: new(float64), Columns: []rewrite.Column{
			alone, average, total,
		}}
		block.Releases = append(chainedReleases(noise, noise), scalar(0, mechanism.NoUpper, width, noise))
		if block.Columns = append(block.Columns, rewrite.Column{Releases: []int{2}}); drops && i < 2 {
			block.DropsEmpty, block.Exists = true, []int{0}
		}
		plan.Blocks = append(plan.Blocks, block)
	}
	pairs := []rewrite.Pair{
		{More: true},
		{Release: 1, Of: 1, Doubled: true, DoubledCenter: width, More: true},
		{Release: 2, Of: 2, More: true},
	}
	plan.Levels = []rewrite.Level{{Block: 0, Of: 1, Keys: []int{1}, Pairs: pairs}, {Block: 1, Of: 2, Pairs: pairs}}
	p := &Statement{Plan: plan}
	for i, block := range plan.Blocks {
		q := calibratedFor(t, block, mechanism.Guarantee{Epsilon: epsilon})
		p.Mechanisms = append(p.Mechanisms, q.Mechanisms[0])
		p.Mechanisms[i].Threshold = nil
	}
	return p
}

// exactly gives what is measured of each block where groups of the finest have so many rows, each of which adds x.
func exactly(p *Statement, rows func(g int) int64, x int64) []measured {
	out := make([]measured, 3)
	for i, block := range p.Plan.Blocks {
		out[i].Keys, out[i].Values, out[i].Histograms = block.Keys, make([][]int64, 3), make([][]mechanism.Histogram, 3)
		for r := range out[i].Values {
			out[i].Values[r] = make([]int64, block.Keys.Len())
		}
	}
	perA := out[0].Keys.Len() / out[1].Keys.Len()
	for g := range out[0].Keys.Len() {
		for i, at := range []int{g, g / perA, 0} {
			for r, each := range []int64{1, 2*x - width, x} {
				out[i].Values[r][at] += each * rows(g)
			}
		}
	}
	return out
}

func drawAll(p *Statement, exact []measured) (answer []Block) {
	source := mechanism.NewSource()
	for i, b := range p.Mechanisms {
		r := draw(source, b, p.Plan.Blocks[i].Releases, exact[i])
		answer = append(answer, r)
	}
	return answer
}

// sums are the count, the sum given it and the sum of its own of a group, as they are shown.
func sums(r Block, g int) [3]int64 {
	n, z := r.Values[0][g], r.Values[1][g]
	given := int64(0)
	if n > 0 {
		given = (z + width*n) / 2
	}
	return [3]int64{n, given, r.Values[2][g]}
}

// unequal says in which group levels do not add up.
func unequal(p *Statement, answer []Block) string {
	for _, l := range p.Plan.Levels {
		fine, coarse := answer[l.Block], answer[l.Of]
		level := (&Answer{p, answer}).level(l)
		added := make([][3]int64, coarse.Keys.Len())
		for g := range fine.Keys.Len() {
			for i, x := range sums(fine, g) {
				added[level.group[g]][i] += x
			}
		}
		for g, want := range added {
			if got := sums(coarse, g); got != want {
				return fmt.Sprintf("group %d of block %d is %v, its parts are %v", g, l.Of, got, want)
			}
		}
	}
	return ""
}

// TestLevelsAddUp: counts, sums given them and sums of their own add up, of many rows and of few; no count is below 0,
// and every sum is one that so many rows can have. Where groups without rows are not shown, no group that is has none,
// or is part of one that is not; and what is shown adds up, unless groups that have rows, or all, are not.
func TestLevelsAddUp(t *testing.T) {
	hides := map[string]bool{"few": true, "none": true}
	for _, drops := range []bool{false, true} {
		for name, rows := range map[string]func(int) int64{
			"many": func(g int) int64 { return 300 + int64(g) }, "few": func(g int) int64 { return int64(g % 3) },
			"none": func(int) int64 { return 0 },
			"some": func(g int) int64 { return int64(g%4) / 3 * 200 },
		} {
			p := rollup(t, 3, 4, laplace, 1, drops)
			exact := exactly(p, rows, 20)
			apart := 0
			for range 1000 {
				drawn := drawAll(p, exact)
				answer := p.presented(drawn)
				wrong, shown := orphan(p, answer, drawn)
				if wrong != "" {
					t.Fatalf("%s: %s", name, wrong)
				}
				if unequal(p, answer) != "" && (!hides[name] || len(shown[0]) == 12) {
					apart++
				}
				for i, r := range answer {
					for g, n := range r.Values[0] {
						if z := r.Values[1][g]; n < 0 || z < -width*n || z > width*n || r.Values[2][g] < 0 || drops && i < 2 && n == 0 {
							t.Fatalf("%s: group %d of block %d: %d rows, sums %d and %d", name, g, i, n, z, r.Values[2][g])
						}
					}
				}
			}
			if !stattest.AtMost(apart, 1000, .003) {
				t.Errorf("%s, empty groups dropped %v: %d of 1000 answers do not add up", name, drops, apart)
			}
		}
	}
}

// orphan says which group is shown and part of one that is not; empty: none. shown has the groups of each block that
// are.
func orphan(p *Statement, answer, all []Block) (wrong string, shown [][]int) {
	for _, r := range answer {
		var groups []int
		for g := range r.Keys.Len() {
			if keys, some := r.Keys.(schema.KeyPart); some {
				g = keys.Groups[g]
			}
			groups = append(groups, g)
		}
		shown = append(shown, groups)
	}
	for _, l := range p.Plan.Levels {
		of := (&Answer{p, all}).level(l).group
		for _, g := range shown[l.Block] {
			if !slices.Contains(shown[l.Of], of[g]) {
				wrong = fmt.Sprintf("group %d of block %d is shown, and the one of block %d that it is part of is not", g, l.Block,
					l.Of)
			}
		}
	}
	return wrong, shown
}

// TestPresentedAgain: an answer that was kept is shown as it was, since what is kept are the values as they were drawn.
func TestPresentedAgain(t *testing.T) {
	p := rollup(t, 3, 4, laplace, 1, true)
	drawn := drawAll(p, exactly(p, func(g int) int64 { return int64(g % 4) }, 20))
	kept, err := json.Marshal(drawn)
	if err != nil {
		t.Fatal(err)
	}
	answer := p.presented(drawn)
	if again, _ := json.Marshal(drawn); string(again) != string(kept) {
		t.Errorf("%s was drawn and became %s", kept, again)
	}
	for i, again := range p.presented(drawn) {
		if diff := cmp.Diff(answer[i].Values, again.Values); diff != "" {
			t.Error(diff)
		}
	}
}

// TestRowsInNoGroup: a total has rows that are in no group, and nothing is moved by more than noise would.
func TestRowsInNoGroup(t *testing.T) {
	p := rollup(t, 3, 4, laplace, 1, true)
	exact := exactly(p, func(int) int64 { return 300 }, 20)
	for r := range exact[2].Values {
		exact[2].Values[r][0] *= 2
	}
	drawn := drawAll(p, exact)
	answer := p.presented(drawn)
	for r := range 3 {
		if answer[2].Values[r][0] != drawn[2].Values[r][0] {
			t.Errorf("release %d of the total was %d and is %d", r, drawn[2].Values[r][0], answer[2].Values[r][0])
		}
	}
	if got := slices.Max(answer[1].Values[0]); got > 1300 {
		t.Errorf("a group of 1200 rows has %d", got)
	}
}

// TestLevelsOfAStage: blocks behind those of a stage have no part in it.
func TestLevelsOfAStage(t *testing.T) {
	p := rollup(t, 3, 4, laplace, 1, false)
	drawn := drawAll(p, exactly(p, func(int) int64 { return 300 }, 20))
	p.Plan.Levels = p.Plan.Levels[:1] // the last is of another stage
	early, late := p.presented(drawn[:2]), p.presented(drawn)
	for i := range early {
		if diff := cmp.Diff(early[i].Values, late[i].Values); diff != "" {
			t.Error(diff)
		}
	}
	p.Plan.Levels = []rewrite.Level{{Block: 1, Of: 2, Pairs: []rewrite.Pair{{}}}}
	if got := p.presented(drawn[:2]); !cmp.Equal(got[1].Values, drawn[1].Values) {
		t.Errorf("a block that was not there had a part: %v", got[1].Values)
	}
}

// TestErrorsOfLevelsFall, and announced intervals hold the answer as often as they did.
func TestErrorsOfLevelsFall(t *testing.T) {
	for name, noise := range map[string]mechanism.Choice{
		"laplace": laplace, "clamped": {Noise: mechanism.Laplace, Bounding: mechanism.Clamp},
	} {
		const rounds, x = 3000, 20
		p := rollup(t, 4, 3, noise, .5, false)
		exact := exactly(p, func(g int) int64 { return 100 + 10*int64(g) }, x)
		var before, after [3][4]float64
		var hits, all [3][4]int
		for range rounds {
			drawn := drawAll(p, exact)
			answer := p.presented(drawn)
			for i, block := range p.Plan.Blocks {
				for g := range block.Keys.Len() {
					for c, column := range block.Columns {
						truth, by := p.steps(i, column, Block{Released: gate.Released{Values: exact[i].Values}}, g)
						was, drawnBy := p.steps(i, column, drawn[i], g)
						is, isBy := p.steps(i, column, answer[i], g)
						if by <= 0 || drawnBy <= 0 || isBy <= 0 {
							continue
						}
						before[i][c] += (was - truth) * (was - truth)
						after[i][c] += (is - truth) * (is - truth)
						if m, ok := p.interval(i, column, answer[i], g); ok {
							all[i][c]++
							if is-m.Below/isBy <= truth+1e-6 && truth <= is+m.Above/isBy+1e-6 {
								hits[i][c]++
							}
						}
					}
				}
			}
		}
		for i := range p.Plan.Blocks {
			for c, column := range p.Plan.Blocks[i].Columns {
				ratio := math.Sqrt(after[i][c] / before[i][c])
				t.Logf("%s, block %d, %v: RMSE × %.3f, coverage %.4f", name, i+1, column.Releases, ratio,
					float64(hits[i][c])/float64(all[i][c]))
				if ratio > 1.02 || !column.Average && ratio > .97 {
					t.Errorf("%s, block %d, %v: RMSE × %.3f", name, i+1, column.Releases, ratio)
				}
				if !stattest.AtLeast(hits[i][c], all[i][c], .94) {
					t.Errorf("%s, block %d, %v: %d of %d intervals hold the answer", name, i+1, column.Releases, hits[i][c], all[i][c])
				}
			}
		}
	}
}

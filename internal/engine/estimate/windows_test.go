package estimate

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestSumsOverManyGroups: of 300 groups, of which 10 have rows, what a running total adds up is off by its margin in 5%
// of the answers at most, and has a bias far below it, as drawn and as kept. False alarms: 1e-9 each.
func TestSumsOverManyGroups(t *testing.T) {
	const rounds, groups = 2000, 300
	rows := func(g int) int64 {
		if g%30 == 0 {
			return 40
		}
		return 0
	}
	for _, noise := range []mechanism.Noise{mechanism.Laplace, mechanism.Gaussian, mechanism.Staircase} {
		for _, bounding := range []mechanism.Bounding{mechanism.Clamp, mechanism.Fold, mechanism.Denoise} {
			p := countsOf(t, groups, 0, mechanism.Choice{Noise: noise, Bounding: bounding}, .33)
			block := &p.Plan.Blocks[0]
			m := measured{Keys: block.Keys, Values: make([][]int64, 1)}
			for g := range groups {
				m.Values[0] = append(m.Values[0], rows(g))
			}
			wrong, bias := make([]int, groups), make([]float64, groups)
			source := mechanism.NewSource()
			for range rounds {
				drawn := draw(source, p.Mechanisms[0], block.Releases, m)
				shown := p.presented([]Block{drawn})[0]
				margin, share, ok := p.Summed(0, alone, shown.Whole())
				if !ok || share != 0 {
					t.Fatalf("%s %s: no margin", noise, bounding)
				}
				sum, truth := int64(0), int64(0)
				for g, z := range shown.Whole().Plain[0] {
					sum, truth = sum+z, truth+rows(g)
					off := float64(sum - truth)
					if bias[g] += off / rounds; math.Abs(off) > margin(g+1)*math.Sqrt(float64(g+1)) {
						wrong[g]++
					}
				}
			}
			margin, _, _ := p.Summed(0, alone, Block{Released: gate.Released{Plain: [][]int64{{}}}})
			for _, g := range []int{0, 1, 9, 99, groups - 1} {
				most := margin(g+1) * math.Sqrt(float64(g+1))
				// a fifth: eight standard deviations of the mean
				if !stattest.AtMost(wrong[g], rounds, .05) || math.Abs(bias[g]) > most/5 {
					t.Errorf("%s %s, %d groups: %d of %d beyond ±%g, on average off by %g", noise, bounding, g+1, wrong[g], rounds,
						most, bias[g])
				}
			}
			t.Logf("%s %s: %d of %d beyond, on average off by %.2g of ±%.4g", noise, bounding, wrong[groups-1], rounds,
				bias[groups-1], margin(groups)*math.Sqrt(groups))
		}
	}
}

// TestSumsOfOldAnswers: an answer that was kept without what adds up has no margin.
func TestSumsOfOldAnswers(t *testing.T) {
	p := countsOf(t, 4, 0, laplace, .33)
	block := &p.Plan.Blocks[0]
	m := measured{Keys: block.Keys, Values: [][]int64{{0, 0, 0, 90}}}
	drawn := draw(mechanism.NewSource(), p.Mechanisms[0], block.Releases, m)
	block.Windows = []rewrite.Window{{Column: alone, Adds: true}}
	running := &rewrite.Formula{Op: rewrite.FormulaWindow}
	answer := p.Present([]gate.Released{drawn.Released})
	if f := answer.window(running); f.Known == 0 || f.Least <= 0 || f.Most != 2*f.Least || answer.OverShown() != "" {
		t.Errorf("a running total of four groups: %+v, %q", f, answer.OverShown())
	}
	drawn.Plain = nil
	answer = p.Present([]gate.Released{drawn.Released})
	if f := answer.window(running); f.Known > 0 || answer.OverShown() == "" {
		t.Errorf("of an old answer: %+v", f)
	}
}

// TestPartitions: how many groups the partitions of a window have.
func TestPartitions(t *testing.T) {
	keys := rewrite.KeyRows{key("a", "1"), key("a", "2"), key("b", "1"), key("a", "3")}
	for _, c := range []struct {
		columns         []int
		fewest, largest int
	}{{nil, 4, 4}, {[]int{0}, 1, 3}, {[]int{1}, 1, 2}, {[]int{0, 1}, 1, 1}} {
		if fewest, largest := partitions(keys, c.columns); fewest != c.fewest || largest != c.largest {
			t.Errorf("by %v: %d to %d, want %d to %d", c.columns, fewest, largest, c.fewest, c.largest)
		}
	}
}

// key is a key of these texts.
func key(fields ...string) []*rewrite.Canonical {
	out := make([]*rewrite.Canonical, len(fields))
	for i := range fields {
		out[i] = (*rewrite.Canonical)(&fields[i])
	}
	return out
}

// TestRunningNoise: with noise that is made for running totals, every total of 24 months is off by its margin in 5% of
// the answers at most, whichever months have rows; and of months without rows, also where all are, 5% of those that are
// shown at most are wrong. False alarms: 1e-6 each.
func TestRunningNoise(t *testing.T) {
	const rounds, groups = 4000, 24
	for _, rows := range []int64{0, 40, 4000} {
		block := declaredKeys(groups)
		count := scalar(0, 1<<20, 1, mechanism.Choice{})
		count.Decides, count.Running = true, groups
		block.Releases = append(block.Releases, count)
		m := measured{Keys: block.Keys, Values: make([][]int64, 1)}
		for g := range groups {
			block.Running, m.Values[0] = append(block.Running, g), append(m.Values[0], int64(g%3/2)*rows)
		}
		p := calibratedFor(t, block, mechanism.Guarantee{Epsilon: .02, Order: 10})
		if !p.Mechanisms[0].Releases[0].Running() {
			t.Fatal("the noise is independent")
		}
		wrong, invented, source := make([]int, groups), 0.0, mechanism.NewSource()
		for range rounds {
			shown := p.presented([]Block{draw(source, p.Mechanisms[0], block.Releases, m)})[0]
			margins := p.SumMargins(0, alone, shown.Whole())
			off := int64(0)
			for g, z := range shown.Whole().Plain[0] {
				if off += z - m.Values[0][g]; math.Abs(float64(off)) > margins[g]*math.Sqrt(float64(g+1)) {
					wrong[g]++
				}
			}
			empty, all := 0, 0
			for g, is := range shown.Shown() {
				if is {
					all++
					empty += int(1 - min(1, m.Values[0][g]))
				}
			}
			invented += float64(empty) / float64(max(1, all)) / rounds
		}
		for g, n := range wrong {
			if !stattest.AtMost(n, rounds, .05) {
				t.Errorf("%d rows, %d groups: %d of %d beyond", rows, g+1, n, rounds)
			}
		}
		if !stattest.MeanWithin(max(0, invented-.05), .3, 1, rounds) {
			t.Errorf("%d rows: %g of the groups that are shown have none", rows, invented)
		}
		t.Logf("%d rows: %d of %d beyond at the end, %.1f%% invented", rows, wrong[groups-1], rounds, 100*invented)
	}
}

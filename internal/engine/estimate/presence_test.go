package estimate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TestDiscovered: the greatest chance that is within its place's part of 5%, also where one before it is not.
func TestDiscovered(t *testing.T) {
	for _, c := range []struct {
		family []float64
		want   float64
	}{
		{nil, -1},
		{[]float64{.05}, .05},
		{[]float64{.051}, -1},
		{[]float64{1, .02, 1, 1}, -1},
		{[]float64{1, .0125, 1, 1}, .0125},
		{[]float64{.03, 1, .024, .024}, .03},
		{[]float64{.05, .05, .05}, .05},
		{[]float64{0, 1, 1}, 0},
	} {
		if got := discovered(slices.Clone(c.family), mechanism.Wrong); got != c.want {
			t.Errorf("%v: %g, want %g", c.family, got, c.want)
		}
	}
}

// countsOf is calibrated for counts, and sums besides, in so many groups.
func countsOf(t *testing.T, groups, sums int, choice mechanism.Choice, epsilon float64) *Statement {
	t.Helper()
	block := declaredKeys(groups)
	block.Releases = append(block.Releases, scalar(0, 1<<20, 1, choice))
	block.Releases[0].Decides = true
	for i := range sums {
		block.Releases, block.Exists = append(block.Releases, scalar(-1<<30, 1<<30, width, choice)), append(block.Exists, i+1)
	}
	p := calibratedFor(t, block, mechanism.Guarantee{Epsilon: epsilon, Delta: 1e-6})
	p.Mechanisms[0].Threshold = nil
	return p
}

// declaredKeys is a block of so many keys, of which the first release says which have rows.
func declaredKeys(groups int) rewrite.Block {
	var keys rewrite.KeyRows
	for g := range groups {
		key := rewrite.Canonical(fmt.Sprint(g))
		keys = append(keys, []*rewrite.Canonical{&key})
	}
	return rewrite.Block{DropsEmpty: true, KeyTypes: make([]uint32, 1), Exists: []int{0}, Keys: keys}
}

// TestShownGroups: a group is shown where what was released says that it has rows, with all that was released of it,
// and no other is. How many are not is said.
func TestShownGroups(t *testing.T) {
	for _, c := range []struct {
		name         string
		values, want [][]int64
		hint         string
	}{
		{
			"one stands out",
			[][]int64{{3, 0, 90, 9}},
			[][]int64{{90}},
			"3 of 4 groups are not shown: they cannot be told from empty ones. ",
		},
		{"beside others it need not so much", [][]int64{{90, 80, 90, 9}}, [][]int64{{90, 80, 90, 9}}, ""},
		{"none does", [][]int64{{1, 2, 0, 1}}, [][]int64{{}}, "4 of 4 groups are not shown: "},
		{
			"by a sum, to either side",
			[][]int64{{1, 2, 0, 90}, {-90 * width, 5, 90 * width, 3}},
			[][]int64{{1, 0, 90}, {-90 * width, 90 * width, 3}},
			"1 of 4 groups is not shown: it cannot be told from an empty one. ",
		},
	} {
		p := countsOf(t, 4, len(c.values)-1, laplace, .33*float64(len(c.values)))
		drawn := []Block{{Released: gate.Released{Keys: p.Plan.Blocks[0].Keys, Values: c.values}}}
		shown := p.presented(drawn)
		if diff := cmp.Diff(c.want, shown[0].Values); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if hint := (&Answer{p, shown}).NotShown(); !strings.HasPrefix(hint, c.hint) || (hint == "") != (c.hint == "") {
			t.Errorf("%s: %q", c.name, hint)
		}
		p.Plan.Blocks[0].DropsEmpty = false
		if got := p.presented(drawn)[0].Values; !cmp.Equal(got, c.values) || (&Answer{p, drawn}).NotShown() != "" {
			t.Errorf("%s: groups without rows are kept, and it is %v", c.name, got)
		}
	}
}

// TestChosenAmongAllGroups: where values choose the groups of several blocks, all groups count that they choose among,
// also those that are not shown.
func TestChosenAmongAllGroups(t *testing.T) {
	p, q := countsOf(t, 4, 0, laplace, .33), countsOf(t, 4, 0, laplace, .33)
	p.Plan.Blocks, p.Mechanisms = append(p.Plan.Blocks, q.Plan.Blocks...), append(p.Mechanisms, q.Mechanisms...)
	var drawn []gate.Released
	for i := range p.Plan.Blocks {
		p.Plan.Blocks[i].Chosen = true
		drawn = append(drawn, gate.Released{Keys: p.Plan.Blocks[i].Keys, Values: [][]int64{{3, 0, 90, 9}}})
	}
	for i, b := range p.Present(drawn).Blocks {
		if b.Keys.Len() != 1 || b.chosen != 1./8 {
			t.Errorf("block %d: %d groups are shown, each of %g of all", i+1, b.Keys.Len(), b.chosen)
		}
	}
}

// TestInventedGroups: of every noise and bounding, by counts, by sums beside them, and where nearly all groups are
// empty or few are, at most 5% of the groups that are shown have no rows; and of the groups of four margins of rows 19
// of 20 are shown. False alarms: below 1e-9 each.
func TestInventedGroups(t *testing.T) {
	const rounds, groups, epsilon = 1500, 60, .33
	for _, noise := range []mechanism.Noise{mechanism.Laplace, mechanism.Gaussian, mechanism.Staircase} {
		for _, bounding := range []mechanism.Bounding{mechanism.Clamp, mechanism.Fold, mechanism.Truncate} {
			if noise == mechanism.Staircase && bounding == mechanism.Truncate {
				continue // there is none
			}
			for _, full := range []int{0, 2, 30} {
				for _, sums := range []int{0, 1} {
					p := countsOf(t, groups, sums, mechanism.Choice{Noise: noise, Bounding: bounding}, epsilon*float64(1+sums))
					many := 4 * int64(p.Mechanisms[0].Releases[0].PlannedMargin())
					rows := func(g int) int64 {
						if g < full {
							return many
						}
						return 0
					}
					name := fmt.Sprintf("%s %s, %d of %d groups, %d sums", noise, bounding, full, groups, sums)
					share, power := invented(p, rows, rounds)
					t.Logf("%s: %.3f of those shown are invented, %.3f of the others are shown", name, share, power)
					if share > mechanism.Wrong && !stattest.MeanWithin(share-mechanism.Wrong, .22, 1, rounds) {
						t.Errorf("%s: %.3f of the groups that are shown are invented", name, share)
					}
					if full > 0 && power < .95 {
						t.Errorf("%s: %.3f of the groups with rows are shown", name, power)
					}
				}
			}
		}
	}
}

// invented draws and presents, and gives the mean share of groups without rows among those that are shown, and of
// groups with rows that are.
func invented(p *Statement, rows func(g int) int64, rounds int) (share, power float64) {
	source := mechanism.NewSource()
	block := &p.Plan.Blocks[0]
	m := measured{Keys: block.Keys, Values: make([][]int64, len(block.Releases))}
	full := 0
	for g := range block.Keys.Len() {
		for i := range m.Values {
			m.Values[i] = append(m.Values[i], rows(g))
		}
		if rows(g) > 0 {
			full++
		}
	}
	for range rounds {
		r := draw(source, p.Mechanisms[0], block.Releases, m)
		shown := p.presented([]Block{r})[0].Keys.(schema.KeyPart).Groups
		wrong := len(shown)
		for _, g := range shown {
			if rows(g) > 0 {
				wrong--
			}
		}
		share += float64(wrong) / float64(max(1, len(shown))) / float64(rounds)
		power += float64(len(shown)-wrong) / float64(max(1, full)) / float64(rounds)
	}
	return share, power
}

// TestIntervalsOfShownGroups: of 200 declared keys of which most are empty or small, or of those that LIMIT or HAVING
// leave, no more than 5% of the intervals of the groups that are shown do not hold the truth, in the mean over answers.
// With intervals of 95% each more than that do not, where the noise says which groups are shown. No average of no rows
// holds. False alarms: below 1e-9 each.
func TestIntervalsOfShownGroups(t *testing.T) {
	const rounds, keys, many = 2500, 200, 60
	joint := chainedReleases(mechanism.Choice{}, mechanism.Choice{})
	for i := range joint {
		joint[i].Row, joint[i].Total = joint[i].Sensitivity, joint[i].Sensitivity
	}
	for name, releases := range map[string][]mechanism.Release{
		"laplace": chainedReleases(laplace, laplace), "gaussian": chainedReleases(gaussian, gaussian), "joint": joint,
	} {
		g := mechanism.Guarantee{Epsilon: 1}
		if name == "gaussian" {
			g = mechanism.Guarantee{Epsilon: 5, Delta: 1e-6}
		}
		block := declaredKeys(keys)
		block.Releases = releases
		prepared, err := mechanism.PrepareVector(context.Background(), releases, g)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name         string
			limit        int
			above, below float64 // in margins of a count
			size         func(g int) int64
		}{
			{"all empty", 0, 0, 0, func(int) int64 { return 0 }},
			{"ten of many rows", 0, 0, 0, func(g int) int64 { return int64(g/190) * many }},
			{"all small", 0, 0, 0, func(g int) int64 { return int64(g) % 20 }},
			{"all alike, the first ten", 10, 0, 0, func(int) int64 { return many }},
			{"all alike, HAVING many", 0, .8, 0, func(int) int64 { return many }},
			{"all alike, HAVING few or many", 0, .8, -.8, func(int) int64 { return many }},
		} {
			having := func(int64) bool { return true }
			if c.above > 0 {
				margin := prepared[0].Margin(many, 0, mechanism.Wrong)
				least, most := many+c.above*margin, many+c.below*margin
				having = func(count int64) bool { return float64(count) > least || c.below < 0 && float64(count) < most }
			}
			block.Limit, block.Chosen = c.limit, c.above > 0
			p := &Statement{Plan: &rewrite.Plan{Blocks: []rewrite.Block{block}}, Mechanisms: []gate.Mechanisms{
				{Releases: prepared},
			}}
			missed, plain := missedIntervals(p, c.size, having, c.limit, rounds)
			t.Logf("%s, %s: of count, average and sum %.3f of those shown miss, %.3f of 95%% each", name, c.name, missed, plain)
			for i, share := range missed {
				if share > mechanism.Wrong && !stattest.MeanWithin(share-mechanism.Wrong, .22, 1, rounds) {
					t.Errorf("%s, %s: %.3f of the intervals of aggregate %d miss", name, c.name, share, i)
				}
			}
			if (c.limit > 0 || c.above > 0) && plain[0] < 2*mechanism.Wrong {
				t.Errorf("%s, %s: of intervals of 95%% each %.3f miss: the case tells nothing", name, c.name, plain[0])
			}
		}
	}
}

// missedIntervals draws and presents, and gives the mean share of intervals that miss among those of the groups that
// are shown, of count, average and sum; and as they would be with 95% each.
func missedIntervals(p *Statement, size func(g int) int64, having func(count int64) bool, limit, rounds int) (
	missed, plain [3]float64,
) {
	source, block := mechanism.NewSource(), &p.Plan.Blocks[0]
	m := measured{Keys: block.Keys, Values: make([][]int64, 2)}
	for g := range block.Keys.Len() {
		m.Values[0], m.Values[1] = append(m.Values[0], size(g)), append(m.Values[1], size(g)*width/3)
	}
	for range rounds {
		drawn := draw(source, p.Mechanisms[0], block.Releases, m)
		r := p.presented([]Block{drawn})[0]
		each := r
		each.chosen = 0
		order := make([]int, r.Keys.Len())
		for g := range order {
			order[g] = g
		}
		if limit > 0 {
			slices.SortFunc(order, func(a, b int) int { return int(r.Values[0][b] - r.Values[0][a]) })
			order = order[:min(limit, len(order))]
		}
		order = slices.DeleteFunc(order, func(g int) bool { return !having(r.Values[0][g]) })
		for _, g := range order {
			of := r.Keys.(schema.KeyPart).Groups[g]
			for i, c := range []rewrite.Column{alone, average, total} {
				z, answer := float64(r.Values[c.Releases[0]][g]), wanted(c, r, g, m.Values, of)
				for level, share := range map[*Block]*float64{&r: &missed[i], &each: &plain[i]} {
					if in, ok := p.interval(0, c, *level, g); ok && !(z-in.Below <= answer+1e-6 && answer <= z+in.Above+1e-6) {
						*share += 1 / float64(len(order)*rounds)
					}
				}
			}
		}
	}
	return missed, plain
}

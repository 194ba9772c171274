package estimate

import (
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestOrder: how many of the first places are certain, to the end that is shown.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		values []int64
		order  rewrite.Order
		limit  int
		want   string
	}{
		{[]int64{5000, 9000, 7000}, rewrite.Order{Descending: true}, 0, ""},
		{[]int64{5000, 9000, 7000, 4998}, rewrite.Order{Descending: true}, 2, ""},
		{
			[]int64{5000, 9000, 7000, 4998},
			rewrite.Order{Descending: true},
			3,
			"The first 2 places are certain, place 3 is within the noise.",
		},
		{
			[]int64{5000, 9000, 7000, 4998},
			rewrite.Order{Descending: true},
			0,
			"The first 2 places are certain, places 3 to 4 are within the noise.",
		},
		{[]int64{5000, 9000, 8999, 4998}, rewrite.Order{Descending: true}, 0, "Places 1 to 4 are within the noise."},
		{
			[]int64{5000, 9000, 8999, 100},
			rewrite.Order{},
			0,
			"The first 2 places are certain, places 3 to 4 are within the noise.",
		},
		{[]int64{50, 9000, 8999}, rewrite.Order{}, 0, "The first place is certain, places 2 to 3 are within the noise."},
		{[]int64{9000}, rewrite.Order{}, 0, ""},
		{nil, rewrite.Order{}, 0, ""},
		{[]int64{9000}, rewrite.Order{By: unknown}, 0, ""},
		{[]int64{9000, 50}, rewrite.Order{By: unknown}, 0, "Any place may be within the noise."},
		{[]int64{9000, 50}, rewrite.Order{By: unknown, Ranked: true}, 0, "By rank: any place may be within the noise."},
		{
			[]int64{9000, 8999, 50},
			rewrite.Order{By: computed("/", first, constant(2.5)), Ranked: true},
			0,
			"By rank: the first place is certain, places 2 to 3 are within the noise.",
		},
	} {
		p := countsOf(t, len(c.values), 0, laplace, .33)
		if c.order.By == nil {
			c.order.By = first
		}
		p.Plan.Blocks[0].Columns, p.Plan.Order, p.Plan.Blocks[0].Limit = []rewrite.Column{alone}, &c.order, c.limit
		answer := []Block{{Released: gate.Released{Keys: make(rewrite.KeyRows, len(c.values)), Values: [][]int64{c.values}}}}
		if got := (&Answer{p, answer}).Places().Hint(); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
}

// TestCertainPlaces: of those that are said to be certain one has another group in the true order in 5% of the answers
// at most, where many are alike, where two are, and where all are as far from the next as a margin. False alarms: 1e-9
// each at most.
func TestCertainPlaces(t *testing.T) {
	const rounds, groups = 3000, 12
	for _, noise := range []mechanism.Choice{laplace, {Noise: mechanism.Gaussian, Bounding: mechanism.Clamp}} {
		p := countsOf(t, groups, 0, noise, .33)
		p.Plan.Blocks[0].DropsEmpty, p.Plan.Blocks[0].Columns = false, []rewrite.Column{alone}
		margin := int64(p.Mechanisms[0].Releases[0].PlannedMargin())
		for name, truth := range map[string]func(g int64) int64{
			"alike":       func(g int64) int64 { return 10000 + g },
			"two alike":   func(g int64) int64 { return 10000 + 100*margin*(g-g/11) + g/11 },
			"by a margin": func(g int64) int64 { return 10000 + margin*g },
			"by three":    func(g int64) int64 { return 10000 + 3*margin*g },
		} {
			wrong, most := 0, 0
			source := mechanism.NewSource()
			m := measured{Keys: p.Plan.Blocks[0].Keys, Values: make([][]int64, 1)}
			for g := range groups {
				m.Values[0] = append(m.Values[0], truth(int64(g)))
			}
			for range rounds {
				r := draw(source, p.Mechanisms[0], p.Plan.Blocks[0].Releases, m)
				order := make([]int, groups)
				for g := range order {
					order[g] = g
				}
				slices.SortFunc(order, func(a, b int) int { return int(r.Values[0][b] - r.Values[0][a]) })
				list, _, _ := (&Answer{p, []Block{r}}).ranking(rewrite.Order{By: first, Descending: true})
				sure := certain(list)
				most = max(most, sure)
				if slices.ContainsFunc(order[:sure], func(g int) bool { return order[groups-1-g] != g }) {
					wrong++
				}
			}
			t.Logf("%s, %s: %d of %d wrong, up to %d places", noise.Noise, name, wrong, rounds, most)
			if !stattest.AtMost(wrong, rounds, .05) {
				t.Errorf("%s, %s: %d of %d wrong", noise.Noise, name, wrong, rounds)
			}
		}
	}
}

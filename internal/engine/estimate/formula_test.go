package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// The first aggregates of the first block, and the first of the second.
var (
	first   = &rewrite.Formula{Op: rewrite.FormulaAggregate}
	second  = &rewrite.Formula{Op: rewrite.FormulaAggregate, Column: 1}
	ofWhole = &rewrite.Formula{Op: rewrite.FormulaAggregate, Block: 1}
	unknown = &rewrite.Formula{Op: rewrite.FormulaOther}
)

func computed(op string, args ...*rewrite.Formula) *rewrite.Formula {
	return &rewrite.Formula{Op: op, Args: args}
}

func constant(x float64) *rewrite.Formula {
	return &rewrite.Formula{Op: rewrite.FormulaNumber, Number: x, Integer: x == math.Trunc(x)}
}

// shares has two counts in each of some groups, ±6 alone and ±7 where two have to hold, and a count of all.
func shares(t *testing.T, groups int) *Statement {
	t.Helper()
	other := alone
	other.Releases, other.Name = []int{1}, "other"
	block := rewrite.Block{
		Keys: make(rewrite.KeyRows, groups), KeyTypes: []uint32{pgtype.TextOID},
		Releases: []mechanism.Release{scalar(0, mechanism.NoUpper, 1, laplace), scalar(0, mechanism.NoUpper, 1, laplace)},
	}
	block.Columns = []rewrite.Column{alone, other}
	p := calibratedFor(t, block, mechanism.Guarantee{Epsilon: .5})
	whole := calibratedFor(t, rewrite.Block{
		Keys: make(rewrite.KeyRows, 1), Releases: block.Releases[:1],
		Columns: []rewrite.Column{alone},
	}, mechanism.Guarantee{Epsilon: .5})
	p.Plan.Blocks, p.Mechanisms = append(p.Plan.Blocks, whole.Plan.Blocks...), append(p.Mechanisms, whole.Mechanisms...)
	return p
}

// TestFormulas: what is computed of two counts lies between what is computed of the ends of their intervals.
func TestFormulas(t *testing.T) {
	share := computed("/", computed(rewrite.FormulaNumeric, first), second)
	for name, c := range map[string]struct {
		of   *rewrite.Formula
		a, b int64
		want string
	}{
		"a multiple":             {computed("*", constant(2.5), first), 100, 0, "250 in [235, 265]"},
		"a sum":                  {computed("+", first, second), 100, 50, "150 in [136, 164]"},
		"a difference of itself": {computed("-", first, first), 100, 0, "0 in [-12, 12]"},
		"a share":                {share, 50, 100, "0.5 in [0.4019, 0.6129]"},
		"in percent, rounded": {
			computed("round", computed("*", constant(100), share), constant(1)), 50, 100,
			"50 in [40.19, 61.3]",
		},
		"of integers": {computed("/", first, second), 250, 100, "2 in [2, 2.763]"},
		"as an integer": {computed("/", computed(rewrite.FormulaWhole, computed("*", constant(.25), first)),
			constant(2)), 100, 0, "12 in [11, 13.5]"},
		"of all": {
			computed("/", first, computed("-", constant(.5), ofWhole)), 100, 0,
			"-0.1001 in [-0.1078, -0.0924]",
		},
		"down and up": {computed("-", computed("floor", computed("/", first, constant(7.5))),
			computed("ceil", computed("trunc", second))), 100, 3, "10 in [2, 14.27]"},
		"over what may be 0":   {share, 5, 6, "nobody knows"},
		"of what nobody knows": {computed("+", first, unknown), 100, 50, "nobody knows"},
	} {
		p := shares(t, 1)
		answer := []Block{
			{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{c.a}, {c.b}}}},
			{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{1000}}}},
		}
		got := "nobody knows"
		if list, _, ok := (&Answer{p, answer}).leaves(c.of); ok {
			of := computing{Answer: Answer{p, answer}, part: 1 / float64(len(list))}
			if e, _, ok := of.value(c.of); ok {
				got = fmt.Sprintf("%s in [%s, %s]", Number(e.at), Number(e.lo), Number(e.hi))
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestFormulasCover: the margins of what is computed hold the truth in 95% of the answers at least. False alarms: 1e-9
// each at most.
func TestFormulasCover(t *testing.T) {
	const draws = 4000
	p := shares(t, 1)
	source := mechanism.NewSource()
	share := func(a, b, _ float64) float64 { return a / b }
	for name, c := range map[string]struct {
		of    *rewrite.Formula
		truth func(a, b, all float64) float64
	}{
		"a share": {computed("/", computed(rewrite.FormulaNumeric, first), second), share},
		"of all": {computed("/", computed(rewrite.FormulaNumeric, first), ofWhole), func(a, _, all float64) float64 {
			return a / all
		}},
		"a difference": {computed("-", first, second), func(a, b, _ float64) float64 { return a - b }},
		"a part of two": {
			computed("/", computed(rewrite.FormulaNumeric, first), computed("+", first, second)),
			func(a, b, _ float64) float64 { return a / (a + b) },
		},
		"whole numbers": {computed("/", first, second), func(a, b, _ float64) float64 { return math.Trunc(a / b) }},
	} {
		for _, exact := range [][2]int64{{30, 60}, {300, 40}, {0, 5000}} {
			hits, none := 0, 0
			for range draws {
				drawn := make([]Block, 2)
				drawn[0] = draw(source, p.Mechanisms[0], p.Plan.Blocks[0].Releases, measured{
					Keys:   make(rewrite.KeyRows, 1),
					Values: [][]int64{{exact[0]}, {exact[1]}},
				})
				drawn[1] = draw(source, p.Mechanisms[1], p.Plan.Blocks[1].Releases, measured{
					Keys:   make(rewrite.KeyRows, 1),
					Values: [][]int64{{500}},
				})
				m := (&Answer{p, drawn}).computed(c.of)
				of := computing{Answer: Answer{p, drawn}, part: 1}
				e, _, _ := of.value(c.of)
				switch truth := c.truth(float64(exact[0]), float64(exact[1]), 500); {
				case m.Known == 0:
					none++
				case math.Abs(truth-e.at) <= m.Most+1e-9:
					hits++
				}
			}
			if none > draws/2 || !stattest.AtLeast(hits+none, draws, .95) {
				t.Errorf("%s of %v: %d of %d hold, %d have none", name, exact, hits, draws-none, none)
			}
		}
	}
}

// TestPlacesOfShares: by shares of all, the places that are called certain are those of another group in 5% of the
// answers at most.
func TestPlacesOfShares(t *testing.T) {
	const rounds, groups = 3000, 8
	p := shares(t, groups)
	source := mechanism.NewSource()
	o := rewrite.Order{By: computed("/", computed(rewrite.FormulaNumeric, first), ofWhole), Descending: true}
	for _, apart := range []int64{1, 8, 16, 60} {
		exact, all, wrong, most := make([]int64, groups), int64(0), 0, 0
		for g := range exact {
			exact[g] = 200 + apart*int64(groups-g)
			all += exact[g]
		}
		for range rounds {
			drawn := make([]Block, 2)
			drawn[0] = draw(source, p.Mechanisms[0], p.Plan.Blocks[0].Releases,
				measured{Keys: p.Plan.Blocks[0].Keys, Values: [][]int64{exact, exact}})
			drawn[1] = draw(source, p.Mechanisms[1], p.Plan.Blocks[1].Releases, measured{
				Keys:   make(rewrite.KeyRows, 1),
				Values: [][]int64{{all}},
			})
			list, _, ok := (&Answer{p, drawn}).ranking(o)
			if !ok {
				t.Fatal("the order is not known")
			}
			sure := certain(list)
			most = max(most, sure)
			order := make([]int, groups)
			for g := range order {
				order[g] = g
			}
			slices.SortFunc(order, func(a, b int) int { return int(drawn[0].Values[0][b] - drawn[0].Values[0][a]) })
			for place, g := range order[:sure] {
				if place != g {
					wrong++
					break
				}
			}
		}
		t.Logf("%d apart: %d of %d wrong, up to %d places", apart, wrong, rounds, most)
		if !stattest.AtMost(wrong, rounds, .05) || apart == 60 && most < groups-1 {
			t.Errorf("%d apart: %d of %d wrong, up to %d places", apart, wrong, rounds, most)
		}
	}
}

// TestFigures: every result column has a line, or is named as one without a margin.
func TestFigures(t *testing.T) {
	running := &rewrite.Formula{Op: rewrite.FormulaWindow}
	rank := computed(rewrite.FormulaRank, first)
	share := computed("/", computed(rewrite.FormulaNumeric, first), second)
	quantile := &rewrite.Formula{Op: rewrite.FormulaAggregate, Column: 2}
	several := computed("/", computed(rewrite.FormulaNumeric, first), computed("-", second, constant(40)))
	output := func(name string, of ...*rewrite.Formula) rewrite.Output { return rewrite.Output{Name: name, Of: of} }
	const ends = " dpproxy.interval_low and dpproxy.interval_high beside a minimum, a maximum or a percentile give it an interval."
	for name, c := range map[string]struct {
		outputs      []rewrite.Output
		order        *rewrite.Order
		detail, hint string
	}{
		"an aggregate": {
			[]rewrite.Output{output("n", first)},
			nil, "n: ±6 | other: ±6 | median | count: ±6",
			"",
		},
		"under two names": {
			[]rewrite.Output{
				output("n", first), output("m", computed(rewrite.FormulaNumeric, first)),
			},
			nil,
			"n: ±6 | m: ±6 | other: ±6 | median | count: ±6", "",
		},
		"two of one name": {
			[]rewrite.Output{output("n", first), output("n", second)},
			nil,
			"count: ±6 | other: ±6 | median | count: ±6", "",
		},
		"two shares of one name": {
			[]rewrite.Output{
				output("p", computed("*", constant(2), first)),
				output("p", computed("*", constant(3), first)),
			},
			nil, "p (1): ±12 | p (2): ±18 | count: ±6 | other: ±6 | median",
			"",
		},
		"of two grouping sets": {[]rewrite.Output{output("n", first, ofWhole)}, nil, "n: ±6 | other: ±6 | median", ""},
		"rounded": {
			[]rewrite.Output{output("r", computed("round", first))},
			nil,
			"count: ±6 | other: ±6 | median", "",
		},
		"rounded, and not": {
			[]rewrite.Output{output("r", computed("round", first)), output("n", first)},
			nil,
			"r: ±6 | n: ±6 | other: ±6 | median | count: ±6", "",
		},
		"a share": {
			[]rewrite.Output{output("p", share)},
			nil,
			"p: ±0.1129 to ±0.307 | count: ±6 | other: ±6 | median", "",
		},
		"a share, in one group none": {
			[]rewrite.Output{output("p", several)},
			nil,
			"p: ±0.2421 | count: ±6 | other: ±6 | median", "No margin is known of p in 1 of 2 groups.",
		},
		"a percentile": {
			[]rewrite.Output{output("m", quantile), output("x", unknown)},
			nil,
			"m | x | count: ±6 | other: ±6", "No margin is known of m, x." + ends,
		},
		"a percentile, rounded": {
			[]rewrite.Output{output("m", computed("round", quantile))},
			nil,
			"m | count: ±6 | other: ±6 | median", "No margin is known of m." + ends,
		},
		"computed of a percentile": {
			[]rewrite.Output{output("m", computed("*", constant(2), quantile))},
			nil,
			"m | count: ±6 | other: ±6 | median", "No margin is known of m.",
		},
		"a running total, not added": {
			[]rewrite.Output{output("r", running)},
			nil, "r | count: ±6 | other: ±6 | median",
			"No margin is known of r.",
		},
		"a place, said by the order": {
			[]rewrite.Output{output("place", rank)},
			&rewrite.Order{By: first, Ranked: true},
			"place | count: ±6 | other: ±6 | median", "",
		},
		"a place in another order": {
			[]rewrite.Output{output("place", rank)},
			&rewrite.Order{By: second, Ranked: true},
			"place | count: ±6 | other: ±6 | median", "No margin is known of place.",
		},
		"nothing that was released": {
			[]rewrite.Output{output("k", &rewrite.Formula{Op: "public"})},
			nil,
			"count: ±6 | other: ±6 | median", "",
		},
		"a sum of one, as PostgreSQL": {
			[]rewrite.Output{output("n", computed(rewrite.FormulaNumeric, ofWhole))},
			nil,
			"n: ±6 | count: ±6 | other: ±6 | median", "",
		},
	} {
		p := shares(t, 2)
		b := &p.Plan.Blocks[0]
		median := mechanism.Release{
			Kind: mechanism.Quantile, Sensitivity: 1, Range: mechanism.Range{{Lo: 0, Hi: 120}},
			Fraction: .5, Grid: mechanism.Grid{Step: 1},
		}
		prepared, err := mechanism.Prepare(median, mechanism.Guarantee{Epsilon: .5})
		if err != nil {
			t.Fatal(err)
		}
		b.Releases, p.Mechanisms[0].Releases = append(slices.Clone(b.Releases), median),
			append(p.Mechanisms[0].Releases, prepared)
		b.Columns[0].Name, p.Plan.Blocks[1].Columns[0].Name = "count", "count"
		b.Columns = append(b.Columns, rewrite.Column{Name: "median", Type: pgtype.Int8OID, Releases: []int{2}})
		b.Windows = []rewrite.Window{{Column: b.Columns[0]}}
		p.Plan.Outputs, p.Plan.Order = c.outputs, c.order
		answer := []Block{
			{Released: gate.Released{Keys: make(rewrite.KeyRows, 2), Values: [][]int64{{50, 30}, {100, 45}, {7, 7}}}},
			{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{1000}}}},
		}
		shown := &Answer{p, answer}
		list := shown.Figures()
		var detail []string
		for i := range list {
			if lines := Lines(list[i : i+1]); len(lines) > 0 {
				detail = append(detail, lines...)
			} else {
				detail = append(detail, list[i].Label)
			}
		}
		if got := strings.Join(detail, " | "); got != c.detail {
			t.Errorf("%s: %s, want %s", name, got, c.detail)
		}
		if got := shown.WithoutMargin(list, shown.Places()); got != c.hint {
			t.Errorf("%s: %q, want %q", name, got, c.hint)
		}
		for i := range answer { // no rows have no margins
			answer[i] = answer[i].of(nil)
		}
		if got := shown.WithoutMargin(shown.Figures(), shown.Places()); got != "" {
			t.Errorf("%s, of no group: %q", name, got)
		}
	}
}

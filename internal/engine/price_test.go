package engine

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// configOf gives alice a budget at δ = 1e-6, half of which is for partition selection.
func configOf(method policy.Method, budget float64) ledger.Config {
	return ledger.Config{
		Method: method, SelectionDeltaShare: .5, Failures: 1,
		Analysts: map[string]policy.Budget{"alice": {Epsilon: budget, Delta: 1e-6}},
	}
}

// budgetOf is what one statement of alice's may cost at a nominal ε.
func budgetOf(method policy.Method, budget, epsilon float64) statementBudget {
	config := configOf(method, budget)
	return statementBudget{
		epsilon: epsilon, most: 1, room: accounting.RoomOf(config, "alice"),
		selectionDelta: config.SelectionDelta("alice"),
	}
}

// balances has the ledger's own accounting admit a statement until it refuses, and returns the balance after each.
func balances(t testing.TB, method policy.Method, budget float64, c ledger.Charge) (list []ledger.Balance) {
	t.Helper()
	rules, err := accounting.NewRules(configOf(method, budget))
	if err != nil {
		t.Fatal(err)
	}
	book := accounting.NewBook(rules, time.Now(), accounting.NewAccount("alice"), nil)
	for {
		b, err := book.Spend([]ledger.Charge{c})
		if err != nil {
			return list
		}
		list = append(list, b)
		book.Entries = nil
	}
}

// admitted counts how many times in a row the ledger's own accounting admits a statement.
func admitted(t testing.TB, method policy.Method, budget float64, c ledger.Charge) int {
	t.Helper()
	return len(balances(t, method, budget, c))
}

// countUpTo is count(*) of a table of at most rows rows.
func countUpTo(rows int64) mechanism.Release {
	return mechanism.Release{
		Name: "count(*)", Kind: mechanism.Scalar, Range: mechanism.Range{{Hi: rows}}, Sensitivity: 1,
		Groups: 1, Weight: 1, Grid: mechanism.Grid{Step: 1},
	}
}

// statementOf is the plan of one block with n equal releases.
func statementOf(n int, r mechanism.Release) *rewrite.Plan {
	block := rewrite.Block{}
	for range n {
		block.Releases = append(block.Releases, r)
	}
	return &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{block}}
}

func shared(t testing.TB, plan *rewrite.Plan, b statementBudget) *calibrated {
	t.Helper()
	p, err := shareBudget(context.Background(), plan, b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sharedWithin calibrates a statement for a margin.
func sharedWithin(t testing.TB, plan *rewrite.Plan, b statementBudget, margin float64) *calibrated {
	t.Helper()
	within, err := wantedMargin{text: "wanted", value: margin}.budgetFor(context.Background(), plan, b)
	if err != nil {
		t.Fatal(err)
	}
	return shared(t, plan, within)
}

// coversWhatIsDrawn holds the charge against the curves of the mechanisms, composed here: releases add up, but for
// those of one layer, joint noise costs what one vector does, and quantiles of one family what the dearest way down
// through them does.
func coversWhatIsDrawn(t rapid.TB, p *calibrated) {
	t.Helper()
	charged, pure := p.charge.Curve, p.charge.Curve.Pure
	orders := append([]float64{math.Inf(1)}, mechanism.Orders...)
	for i, order := range orders {
		at := func(c mechanism.Curve) float64 {
			switch {
			case i == 0:
				return c.Pure
			case c.Renyi == nil:
				return 0
			}
			return c.Renyi[i-1]
		}
		sum, layers, joint := 0.0, map[int]float64{}, map[*mechanism.Cube]bool{}
		for k, block := range p.Plan.Blocks {
			for _, members := range mechanism.Families(block.Releases) {
				var way func(from, to int) float64
				way = func(from, to int) float64 {
					if from == to {
						return 0
					}
					middle := (from + to) / 2
					return at(p.Mechanisms[k].Releases[members[middle]].Curve()) + max(way(from, middle), way(middle+1, to))
				}
				cost := way(0, len(members))
				if _, jointly := p.Mechanisms[k].Releases[members[0]].Jointly(); jointly {
					halving := cost
					if cost = at(mechanism.FamilyCurve(members, p.Mechanisms[k].Releases)); cost < halving {
						t.Fatalf("quantiles that are drawn jointly cost %g, and by halving of many rows %g", cost, halving)
					}
				}
				if r := block.Releases[members[0]]; r.Layered() {
					layers[r.Layer] = max(layers[r.Layer], cost)
				} else {
					sum += cost
				}
			}
			if block.Select != nil && block.SelectBy == 0 {
				sum += at(p.Mechanisms[k].Selection.Curve())
			}
			for j, r := range block.Releases {
				curve := p.Mechanisms[k].Releases[j].Curve()
				cube, _ := p.Mechanisms[k].Releases[j].Joint()
				switch {
				case r.InFamily():
				case cube != nil && !joint[cube]:
					joint[cube] = true
					sum += at(mechanism.PureCurve(cube.Epsilon()))
				case cube != nil:
				case r.Layered():
					layers[r.Layer] = max(layers[r.Layer], at(curve))
				default:
					sum += at(curve)
				}
			}
		}
		for _, cost := range layers {
			sum += cost
		}
		if paid := at(charged); paid < sum*(1-1e-9) {
			t.Errorf("order %g: charged %g, the mechanisms cost %g", order, paid, sum)
		}
	}
	if p.price.order == accounting.Infinite && (p.charge.Epsilon != p.epsilon || pure > p.epsilon*(1+1e-12)) {
		t.Errorf("pure ε %g is charged as %g, nominal %g", pure, p.charge.Epsilon, p.epsilon)
	}
}

// TestStatementsCostTheSame: from a budget of (20, 1e-6), statements at ε = 0.5 are admitted equally often, however
// many releases they have, and their noise grows with the root of that number.
func TestStatementsCostTheSame(t *testing.T) {
	b := budgetOf(policy.RDP, 20, .5)
	one, twelve := shared(t, statementOf(1, countUpTo(1000000)), b), shared(t, statementOf(12, countUpTo(1000000)), b)
	first, second := admitted(t, policy.RDP, 20, one.charge), admitted(t, policy.RDP, 20, twelve.charge)
	if first < 46 || second < 46 || math.Abs(float64(first-second)) > .1*float64(first) {
		t.Errorf("one release: %d statements, twelve: %d; want 46 or more of each, equal within a tenth", first, second)
	}
	if first > 56 {
		t.Errorf("one release: %d statements; one Laplace release at ε = 0.5 takes a 51st of the budget", first)
	}
	rmse := one.Mechanisms[0].Releases[0].Chosen().RMSEAverage
	if rmse > 2.4 {
		t.Errorf("a count is off by %g, want 2.4 or less", rmse)
	}
	if each := twelve.Mechanisms[0].Releases[0].Chosen().RMSEAverage; each > 3.6*rmse {
		t.Errorf("each of twelve counts is off by %g, one by %g", each, rmse)
	}
	if one.fits != first || twelve.fits != second {
		t.Errorf("EXPLAIN promises %d and %d statements, the ledger admits %d and %d", one.fits, twelve.fits, first, second)
	}
	t.Logf("one: %d statements, rmse %.3f; twelve: %d, rmse %.3f", first, rmse, second,
		twelve.Mechanisms[0].Releases[0].Chosen().RMSEAverage)
}

// TestCountsOfAMargin: a budget of (10, 1e-6) buys 310 counts of ±20, because Gaussian noise is chosen for many small
// statements.
func TestCountsOfAMargin(t *testing.T) {
	plan := statementOf(1, countUpTo(1000000))
	p := sharedWithin(t, plan, budgetOf(policy.RDP, 10, .5), 20)
	if n := admitted(t, policy.RDP, 10, p.charge); n < 310 {
		t.Errorf("%d counts, want 310", n)
	}
	if chosen := p.Mechanisms[0].Releases[0].Chosen().Noise; chosen != mechanism.Gaussian {
		t.Errorf("noise is %s", chosen)
	}
}

// TestSmallBudgetsTakeLaplace: a budget that a few statements use up ends at order ∞, or near it, where Gaussian noise
// is dear.
func TestSmallBudgetsTakeLaplace(t *testing.T) {
	for _, budget := range []float64{0, .5, 1, 5} {
		p := shared(t, statementOf(1, countUpTo(1000000)), budgetOf(policy.RDP, budget, .5))
		if chosen := p.Mechanisms[0].Releases[0].Chosen(); chosen.Noise != mechanism.Laplace || chosen.RMSEAverage > 2.83 {
			t.Errorf("budget %g: %s noise of rmse %g", budget, chosen.Noise, chosen.RMSEAverage)
		}
		if n, want := admitted(t, policy.RDP, max(budget, .1), p.charge), int(budget/.5); n < want {
			t.Errorf("budget %g: %d statements, want %d or more", budget, n, want)
		}
	}
}

// TestSmallGainsKeepOrderInfinity: Gaussian noise of 7% less error is not worth the use of order ∞; of 18% it is.
// Twelve counts, a third as far off with it, take it from the same budget.
func TestSmallGainsKeepOrderInfinity(t *testing.T) {
	for _, c := range []struct {
		budget float64
		counts int
		want   mechanism.Noise
	}{{10, 1, mechanism.Laplace}, {20, 1, mechanism.Gaussian}, {10, 12, mechanism.Gaussian}} {
		p := shared(t, statementOf(c.counts, countUpTo(1000000)), budgetOf(policy.RDP, c.budget, .5))
		if chosen := p.Mechanisms[0].Releases[0].Chosen().Noise; chosen != c.want {
			t.Errorf("budget %g, %d counts: %s noise, want %s", c.budget, c.counts, chosen, c.want)
		}
		first := balances(t, policy.RDP, c.budget, p.charge)[0]
		if c.want == mechanism.Laplace && math.Abs(first.EpsilonSpent-.5) > 1e-9 {
			t.Errorf("budget %g, %d counts: the first guarantees %g", c.budget, c.counts, first.EpsilonSpent)
		}
	}
}

// TestMarginsKeepOrderInfinity: a wanted margin that Gaussian noise would keep at an ε a little lower is bought with
// Laplace noise.
func TestMarginsKeepOrderInfinity(t *testing.T) {
	plan := statementOf(1, countUpTo(1000000))
	for _, c := range []struct {
		budget, margin float64
		want           mechanism.Noise
	}{{10, 4, mechanism.Laplace}, {10, 20, mechanism.Gaussian}, {20, 6, mechanism.Gaussian}} {
		p := sharedWithin(t, plan, budgetOf(policy.RDP, c.budget, .5), c.margin)
		if chosen := p.Mechanisms[0].Releases[0]; chosen.Chosen().Noise != c.want || chosen.PlannedMargin() > c.margin {
			t.Errorf("budget %g, ±%g: %s noise, ±%g at epsilon %g", c.budget, c.margin, chosen.Chosen().Noise,
				chosen.PlannedMargin(), p.epsilon)
		}
	}
}

// TestPricesOfRandomStatements: whatever the statement is, it is charged what its mechanisms cost, and no more than its
// price.
func TestPricesOfRandomStatements(t *testing.T) {
	release := rapid.Custom(func(t *rapid.T) mechanism.Release {
		r := countUpTo(rapid.SampledFrom([]int64{20, 1000, mechanism.NoUpper}).Draw(t, "rows"))
		r.Sensitivity, r.Groups = rapid.Int64Range(1, 5).Draw(t, "sensitivity"), rapid.IntRange(1, 4).Draw(t, "groups")
		r.Total = rapid.Int64Range(r.Sensitivity, r.Sensitivity*int64(r.Groups)).Draw(t, "total")
		if rapid.Bool().Draw(t, "of rows") { // and may be a coordinate of joint noise
			r.Row = rapid.Int64Range(1, 3).Draw(t, "row")
			r.Sensitivity, r.Total = 4*r.Row, 4*r.Row
		}
		r.Layer, r.Weight = rapid.IntRange(0, 3).Draw(t, "layer"), rapid.IntRange(1, 3).Draw(t, "weight")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			r.Kind, r.PerRow = mechanism.SumGivenCount, mechanism.Interval{Lo: -60, Hi: 60}
		case 1:
			r.Kind, r.Range, r.Fraction = mechanism.Quantile, mechanism.Range{{Hi: 1000}}, .5
		case 2:
			r.Choice.Bounding = mechanism.Truncate
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]policy.Method{policy.RDP, policy.Pure}).Draw(t, "method")
		budget := rapid.SampledFrom([]float64{.2, 2, 10, 50}).Draw(t, "budget")
		plan, families := &rewrite.Plan{EpsilonMax: 2}, 0
		for range rapid.IntRange(1, 2).Draw(t, "blocks") {
			block := rewrite.Block{Releases: rapid.SliceOfN(release, 1, 4).Draw(t, "releases")}
			families++
			layer := rapid.IntRange(0, 3).Draw(t, "layer of quantiles")
			for i, q := range rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 5).Draw(t, "quantiles") {
				r := mechanism.Release{
					Kind: mechanism.Quantile, Range: mechanism.Range{{Hi: 1000}}, Fraction: q, Family: families,
					Sensitivity: 3, Total: 3, Groups: 2, Layer: layer,
				}
				r.Name, r.Weight = fmt.Sprint("quantile ", i), 3
				block.Releases = append(block.Releases, r)
			}
			if method == policy.RDP && rapid.Bool().Draw(t, "selected") {
				block.Select = &mechanism.Release{Name: "units", Kind: mechanism.Selection, Sensitivity: 1, Groups: rapid.IntRange(
					1, 4).Draw(t, "groups"), Weight: 2}
				if rapid.Bool().Draw(t, "by a count") {
					block.Releases = append(block.Releases, countUpTo(1000000))
					block.SelectBy = len(block.Releases)
				}
			}
			plan.Blocks = append(plan.Blocks, block)
		}
		// with less, a selection may keep no group
		b := budgetOf(method, budget, rapid.Float64Range(.5, 2).Draw(t, "epsilon"))
		p, err := shareBudget(context.Background(), plan, b)
		if err != nil {
			t.Fatal(err)
		}
		coversWhatIsDrawn(t, p)
		if p.epsilon != b.epsilon {
			t.Errorf("asked for epsilon %g, charged for %g", b.epsilon, p.epsilon)
		}
		for _, way := range []*calibrated{p, p.other} {
			if way == nil {
				continue
			}
			if share, _ := b.room.Share(way.charge.Curve); share > way.share*(1+1.1e-3) {
				t.Errorf("takes %g of the budget, the price is %g", share, way.share)
			}
			if paid := way.price.paidBy(way.charge.Curve); paid > way.price.Epsilon*(1+1e-9) {
				t.Errorf("costs %g at order %g, the price is %g", paid, way.price.Order, way.price.Epsilon)
			}
		}
		if p.other == nil {
			return
		}
		enough := 1.
		switch accounting.Infinite {
		case p.price.order:
			enough = 1 / (worthNoPure * worthNoPure)
		case p.other.price.order:
			enough = worthNoPure * worthNoPure
		}
		if p.loss > p.other.loss*enough {
			t.Errorf("loss %g was taken before %g", p.loss, p.other.loss)
		}
	})
}

// TestLayersCostOnce: the branches of a statement that read disjoint rows cost what one of them does, in one block or
// in two.
func TestLayersCostOnce(t *testing.T) {
	layered := func(layer int) mechanism.Release {
		r := countUpTo(1000000)
		r.Sensitivity, r.Total, r.Groups, r.Row, r.Layer = 4, 4, 4, 1, layer
		return r
	}
	heavy := layered(1) // a layer weighs what its heaviest release does
	heavy.Weight = 3
	one, two := rewrite.Block{Releases: []mechanism.Release{layered(1), layered(2)}},
		rewrite.Block{Releases: []mechanism.Release{heavy, layered(2)}}
	both := rewrite.Block{Releases: []mechanism.Release{layered(1), heavy, layered(2), layered(2)}}
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		b := budgetOf(method, 20, .5)
		for name, plan := range map[string]*rewrite.Plan{
			"one block":  {EpsilonMax: 1, Blocks: []rewrite.Block{both}},
			"two blocks": {EpsilonMax: 1, Blocks: []rewrite.Block{one, two}},
		} {
			p := shared(t, plan, b)
			coversWhatIsDrawn(t, p)
			if p.epsilon != .5 {
				t.Errorf("%s, %s: costs epsilon %g", method, name, p.epsilon)
			}
			if paid := p.price.paidBy(p.charge.Curve); math.Abs(paid/p.price.Epsilon-1) > 1e-6 {
				t.Errorf("%s, %s: pays %g, the price is %g", method, name, paid, p.price.Epsilon)
			}
		}
	}
}

// TestStatementsWithoutNoise: a statement whose releases have one possible value costs what it says all the same; one
// that releases nothing costs nothing.
func TestStatementsWithoutNoise(t *testing.T) {
	constant := countUpTo(0)
	wanted := constant
	wanted.Margin = 3
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		for _, r := range []mechanism.Release{constant, wanted} {
			p := shared(t, statementOf(2, r), budgetOf(method, 10, .1))
			if p.epsilon != .1 || p.charge.Epsilon != .1 {
				t.Errorf("%s: costs %g, charged %g", method, p.epsilon, p.charge.Epsilon)
			}
			if n := admitted(t, method, 10, p.charge); n < 100 || n > 320 {
				t.Errorf("%s: %d statements", method, n)
			}
		}
		if p := shared(t, &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{{}}}, budgetOf(method, 10, 0)); p.releases() ||
			p.charge.Epsilon != 0 {
			t.Errorf("%s: nothing costs %g", method, p.charge.Epsilon)
		}
	}
}

// TestDeltaLasts: selections of all statements that a budget's ε pays for fit into δ_sel, however many of them a
// statement has, and none takes less than a thousandth of it.
func TestDeltaLasts(t *testing.T) {
	for _, total := range []float64{1, 20, 500} {
		for _, epsilon := range []float64{.01, .1, .5, 1} {
			for selections := range 4 {
				b, plan := budgetOf(policy.RDP, total, epsilon), &rewrite.Plan{}
				for range selections {
					plan.Blocks = append(plan.Blocks, rewrite.Block{Select: &mechanism.Release{}})
				}
				for _, way := range b.prices(epsilon) {
					checkDelta(t, b, plan, way, selections)
				}
			}
		}
	}
}

func checkDelta(t *testing.T, b statementBudget, plan *rewrite.Plan, way price, selections int) {
	share, least := b.share(b.epsilon, way.order), b.selectionDelta/1000
	statements, each := accounting.Fits(share), b.deltaOf(plan, way)
	spent := each * float64(statements*selections)
	if each < least || each > least*(1+1e-9) && spent > b.selectionDelta {
		t.Errorf("order %d: %d statements with %d selections of %g take %g of %g", way.order, statements, selections, each,
			spent, b.selectionDelta)
	}
	if most := b.fits(share, each*float64(selections)); selections == 1 && most < min(statements, 1000) {
		t.Errorf("order %d: %d of %d statements", way.order, most, statements)
	}
}

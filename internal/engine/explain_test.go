package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// renyi makes the tests' policy one with a budget that pays for tens of statements, whose divergences add up.
var renyi = []string{
	"{method: pure}", "{method: rdp, delta: 1e-6}", "epsilon: 50, epsilon_max: 60", "epsilon: 0.5, epsilon_max: 1",
	"budget: {epsilon: 125}", "budget: {epsilon: 20}",
}

// explainedBoth asks for EXPLAIN in JSON, and for the lines of the text: all that there are, or what EXPLAIN says
// without options.
func explainedBoth(t *testing.T, w *world, sql string) (x explanation, lines, short []string) {
	t.Helper()
	for _, form := range []string{"EXPLAIN (FORMAT JSON) ", "EXPLAIN VERBOSE ", "EXPLAIN "} {
		b, err := w.bind(form + sql)
		if err != nil {
			t.Fatal(err)
		}
		lines, short = short, b.(explained).lines
		if strings.Contains(form, "JSON") {
			var list []explanation
			if err := json.Unmarshal([]byte(short[0]), &list); err != nil || len(list) != 1 {
				t.Fatalf("%v: %s", err, short[0])
			}
			x = list[0]
		}
	}
	return x, lines, short
}

// TestPlacesInExplain: an error stands where the client has written what is wrong, counted in characters, as without
// EXPLAIN.
func TestPlacesInExplain(t *testing.T) {
	position := func(sql string) int32 {
		var e *pgconn.PgError
		if _, err := newWorld(t).bind(sql); !errors.As(err, &e) || e.Position == 0 {
			t.Fatalf("%s: %v", sql, err)
		}
		return e.Position
	}
	for _, sql := range []string{
		"SELECT id, count(*) FROM patients GROUP BY id",
		"SELECT count(*), string_agg(ward, ',') FROM patients",
	} {
		for _, before := range []string{"EXPLAIN ", "/* é */ EXPLAIN (FORMAT JSON)\n"} {
			if got, want := position(before+sql), position(sql)+int32(utf8.RuneCountInString(before)); got != want {
				t.Errorf("%s%s: at %d, want %d", before, sql, got, want)
			}
		}
	}
}

// TestExplainForetellsTheCharge: EXPLAIN says the share that a statement takes, statement after statement, under both
// methods, and how many fit; and text and JSON have what the contract says.
func TestExplainForetellsTheCharge(t *testing.T) {
	for _, rules := range [][]string{renyi, nil} {
		w := newWorld(t, rules...)
		var taken []float64
		for _, age := range []int{20, 30} {
			sql := fmt.Sprintf("SELECT ward, count(*) FROM patients WHERE age > %d GROUP BY ward", age)
			x, lines, short := explainedBoth(t, w, sql)
			before, err := w.ledger.Balance(context.Background(), "alice")
			if err != nil {
				t.Fatal(err)
			}
			p := w.mustCharge(t, sql)
			if off := math.Abs(x.Budget.Left - before.ShareLeft); off > 1e-12 || x.Budget.Share != p.spent.share ||
				x.Budget.Enough != p.balance.Enough+1 || math.Abs(p.spent.share-(before.ShareLeft-p.balance.ShareLeft)) > 1e-12 {
				t.Errorf("foretold: %+v; charged %+v, %+v was left, now %+v", x.Budget, p.spent, before, p.balance)
			}
			if taken = append(taken, p.spent.share); rules == nil && p.spent.share != p.epsilon/125 {
				t.Errorf("a pure statement takes %g for %g of 125", p.spent.share, p.epsilon)
			}
			text, all := "\n"+strings.Join(short, "\n"), "\n"+strings.Join(lines, "\n")
			for _, prefix := range []string{"share: ", "epsilon: ", "sensitivity: ", "mechanism: ", "margin: "} {
				if !strings.Contains(text, "\n"+prefix) || !strings.Contains(all, "\n"+prefix) {
					t.Errorf("no line begins with %q in\n%s\nor\n%s", prefix, text, all)
				}
			}
			for _, prefix := range []string{"price: ", "release: ", "  considered: ", "plan:", "work of block"} {
				if strings.Contains(text, "\n"+prefix) || !strings.Contains(all, "\n"+prefix) {
					t.Errorf("a line begins with %q in\n%s\nor none in\n%s", prefix, text, all)
				}
			}
			if !strings.HasPrefix(short[1], "share: ") || len(short) > 8 {
				t.Errorf("%d lines:\n%s", len(short), text)
			}
		}
		if math.Abs(taken[1]/taken[0]-1) > 1e-9 {
			t.Errorf("equal statements take %v", taken)
		}
		want := map[bool]float64{true: 100, false: 1}[rules == nil]
		if w.metrics.epsilon != want {
			t.Errorf("metrics count %g, want the nominal %g", w.metrics.epsilon, want)
		}
		if w.metrics.share != taken[0]+taken[1] {
			t.Errorf("metrics count %g of a budget, want %v", w.metrics.share, taken)
		}
	}
}

// TestRefusalsSayWhatFits: what is said to fit when a statement is over budget is admitted, and is the statement's own
// kind of price.
func TestRefusalsSayWhatFits(t *testing.T) {
	fits := regexp.MustCompile(`^(RESET dpproxy\.margin: )?(dpproxy\.\w+) = '?([^' ]+?)'? still fits`)
	for _, c := range []struct {
		name, setting, value, sql string
		rules                     []string
		want                      string
	}{
		{"pure", "", "", "SELECT count(*) FROM patients", nil, "dpproxy.epsilon"},
		{"rdp", "", "", "SELECT count(*) FROM patients", renyi, "dpproxy.epsilon"},
		{"groups", "", "", "SELECT ward, count(*), avg(age) FROM patients GROUP BY ward", renyi, "dpproxy.epsilon"},
		{"a margin", "dpproxy.margin", "4", "SELECT count(*) FROM patients", renyi, "dpproxy.margin"},
		{
			"a margin of averages", "dpproxy.margin", "8", "SELECT avg(age), count(age) FROM patients", renyi,
			"dpproxy.epsilon",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.rules...)
			charge := func(sql string) error {
				return w.engine.Charge(w.ctx, w.scope, w.mustBind(t, sql))
			}
			var refused *pgconn.PgError
			for i := 0; ; i++ {
				if err := charge(fmt.Sprintf("SELECT count(*) FROM patients WHERE age > %d", i)); errors.As(err, &refused) {
					break
				}
			}
			set := func(name, value string) { w.scope.Settings = w.scope.Settings.With(name, value) }
			if c.setting != "" {
				set(c.setting, c.value)
				set("dpproxy.epsilon", "1") // which counts of averages have no less than
			}
			refused = nil
			if err := charge(c.sql); !errors.As(err, &refused) || refused.Code != "53400" {
				t.Fatalf("%v", err)
			}
			m := fits.FindStringSubmatch(refused.Hint)
			if m == nil || m[2] != c.want || (m[1] != "") != (c.setting != "" && c.want == "dpproxy.epsilon") {
				t.Fatalf("%s HINT %s", refused.Message, refused.Hint)
			}
			t.Log(refused.Message, "HINT", refused.Hint)
			if m[1] != "" {
				set("dpproxy.margin", "")
			}
			set(m[2], m[3])
			if err := charge(c.sql); err != nil {
				t.Errorf("%s = %s does not fit: %v", m[2], m[3], err)
			}
		})
	}
}

// TestExplainOfCharges: EXPLAIN describes releases, blocks and ways to pay as they were charged.
func TestExplainOfCharges(t *testing.T) {
	sum := mechanism.Release{
		Name: "sum(cost)", Kind: mechanism.Scalar, Range: mechanism.Range{{Hi: mechanism.NoUpper}}, Sensitivity: 20000,
		Total: 60000, Groups: 12, Layer: 2, Weight: 1,
		Grid: mechanism.Grid{Step: .5},
	}
	units := mechanism.Release{Name: "patients", Kind: mechanism.Selection, Sensitivity: 1, Groups: 5, Weight: 1}
	plan := &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{{
		Releases: []mechanism.Release{countUpTo(1000000), sum}, Select: &units, Unit: "patient", Rows: 50, Picked: 12,
	}}}
	p := shared(t, plan, budgetOf(policy.RDP, 10, .5))
	info := describeRelease(p, 0, 1)
	if info.Sensitivity != 10000 || info.Total != 30000 || info.Groups != 12 || info.Geometry != "L2" ||
		math.Abs(info.Price.Square/p.price.Epsilon-1./3) > 1e-9 || p.price.order != gdp {
		t.Errorf("sum: %+v", info)
	}
	lines := strings.Join(info.lines(), "\n")
	for _, want := range []string{
		"sensitivity: 10000 in one group, 30000 over all groups of one unit, which are at most 12", "for the L2 sensitivity",
		fmt.Sprintf("its part: mu² %s of Gaussian DP", estimate.Number(p.price.Epsilon/3)),
		"considered: laplace clamp, rmse", "considered: gaussian clamp by Gaussian DP, rmse",
		fmt.Sprintf("budget for %d such statements", p.fits),
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("no %q in\n%s", want, lines)
		}
	}
	if info.Unit != "" {
		t.Errorf("a sum of numbers is in %s", info.Unit)
	}
	plan.Blocks[0].Columns = []rewrite.Column{{Releases: []int{1, 0}, Type: pgtype.IntervalOID}}
	if of, number := describeRelease(p, 0, 1).Unit, describeRelease(p, 0, 0).Unit; of != "microseconds" || number != "" {
		t.Errorf("of an average of intervals the sum is in %q, its count in %q", of, number)
	}
	plan.Blocks[0].Columns = nil
	chosen := 0
	for _, c := range info.Candidates {
		if c.Chosen {
			chosen++
		}
	}
	if len(info.Candidates) != 3 || chosen != 1 {
		t.Errorf("%d candidates, %d chosen; want laplace at order ∞, and both noises as GDP", len(info.Candidates),
			chosen)
	}
	if _, err := json.Marshal([]releaseInfo{info, describeSelection(p, 0)}); err != nil {
		t.Error(err)
	}
	block := describeBlock(&plan.Blocks[0])
	want := []chargeInfo{
		{Name: "count(*)", Kind: mechanism.Scalar, Sensitivity: 1, Total: 1, Groups: 1},
		{Name: "sum(cost)", Kind: mechanism.Scalar, Sensitivity: 20000, Total: 60000, Groups: 12, Layer: 2},
	}
	if diff := cmp.Diff(want, block.Releases); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&chargeInfo{Name: "patients", Kind: mechanism.Selection, Sensitivity: 1, Total: 5, Groups: 5},
		block.Selection); diff != "" {
		t.Error(diff)
	}
	if got, want := block.bound(), "one patient counts with at most 50 rows in the whole answer, in at most 12 groups"; got != want {
		t.Errorf("bound: %s", got)
	}
	text, err := json.Marshal(block)
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"total":60000`, `"groups_per_unit":12`, `"row":0`, `"layer":2`, `"rows_per_unit":50`} {
		if !strings.Contains(string(text), field) {
			t.Errorf("no %s in %s", field, text)
		}
	}
}

// TestDrawOfJointNoise: releases that share one noise are bounded like others, and are as near to the truth as EXPLAIN
// says.
func TestDrawOfJointNoise(t *testing.T) {
	count := countUpTo(1000000)
	count.Sensitivity, count.Total, count.Row, count.Groups = 50, 50, 1, 12
	sum := mechanism.Release{
		Name: "sum(x)", Kind: mechanism.SumGivenCount, PerRow: mechanism.Interval{Lo: -60, Hi: 60}, CountRef: 0,
		Sensitivity: 3000, Total: 3000, Row: 60, Groups: 12, Weight: 1, Grid: mechanism.Grid{Step: 1},
	}
	plan := &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{
		{Releases: []mechanism.Release{count, sum}, Keys: rewrite.KeyRows{{}, {}}},
	}}
	p := shared(t, plan, budgetOf(policy.Pure, 10, .5))
	for i, r := range p.Mechanisms[0].Releases {
		if cube, at := r.Joint(); cube == nil || at != i {
			t.Fatalf("release %d is drawn on its own", i)
		}
	}
	if p.charge.Epsilon != .5 || p.charge.Curve.Pure > .5 {
		t.Errorf("charged %g, a curve of %g", p.charge.Epsilon, p.charge.Curve.Pure)
	}
	if geometry := describeRelease(p, 0, 0).Geometry; geometry != "L∞" {
		t.Errorf("geometry %s", geometry)
	}
	exact := [][]int64{{40000, 0}, {-900000, 0}}
	source := mechanism.NewSource()
	const draws = 4000
	beyond := 0
	for range draws {
		r, _ := draw(source, p.Mechanisms[0], plan.Blocks[0].Releases, measured{Keys: plan.Blocks[0].Keys, Values: exact})
		for g := range exact[0] {
			n, sum := r.Values[0][g], r.Values[1][g]
			if n < 0 || n > 1000000 || sum < -60*n || sum > 60*n {
				t.Fatalf("released count %d and sum %d", n, sum)
			}
		}
		if math.Abs(float64(r.Values[1][0]-exact[1][0])) > p.Mechanisms[0].Releases[1].PlannedMargin() {
			beyond++
		}
	}
	// 5% of the draws are beyond the margin: six standard deviations, which chance exceeds less than once in 10⁸ runs.
	if mean, six := .05*draws, 6*math.Sqrt(.05*.95*draws); float64(beyond) > mean+six || float64(beyond) < mean-six {
		t.Errorf("%d of %d draws are beyond the 95%% margin", beyond, draws)
	}
}

// TestDescribedSelections: a Gaussian threshold keeps no group for certain, so none is said to appear always.
func TestDescribedSelections(t *testing.T) {
	plan := statementOf(1, countUpTo(1000000))
	plan.Blocks[0].Select = &mechanism.Release{
		Name: "units", Kind: mechanism.Selection, Sensitivity: 1, Groups: 2,
		Weight: 1,
	}
	ways, err := prepareWays(context.Background(), plan, budgetOf(policy.RDP, 20, .5))
	if err != nil || ways[0].price.Order == 0 {
		t.Fatalf("no price at a finite order: %v", err)
	}
	const want = "partition selection: a group appears with probability 1/2 or more from 29 units on, and but for a chance below 1e-9 from 57 on"
	if got := describeSelection(ways[0], 0).Mechanism; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	plan.Blocks[0].SelectBy = 1
	const by = "partition selection: by the released value of count(*), with no noise of its own; a group appears with"
	if got := describeSelection(shared(t, plan, budgetOf(policy.RDP, 20, .5)), 0); !strings.HasPrefix(got.Mechanism, by) ||
		got.Price.Epsilon+got.Price.Divergence != 0 {
		t.Errorf("%+v", got)
	}
}

// TestCountsDecide: a released count that says which groups are shown costs less than a selection beside it: at ε 1
// groups of 24 people are shown as often as not, with noise below 1.5. A group of one person is not shown but with the
// chance that is paid for. False alarms: stattest.FalseAlarm each at most.
func TestCountsDecide(t *testing.T) {
	beside := statementOf(1, countUpTo(mechanism.NoUpper))
	beside.Blocks[0].Select = &mechanism.Release{
		Name: "units", Kind: mechanism.Selection, Sensitivity: 1, Groups: 1,
		Weight: 1,
	}
	alone := statementOf(1, countUpTo(mechanism.NoUpper))
	alone.Blocks[0].Select, alone.Blocks[0].SelectBy = beside.Blocks[0].Select, 1
	budget := budgetOf(policy.RDP, 5, 1)
	before, p := shared(t, beside, budget), shared(t, alone, budget)
	was, _, _ := selects(before.Mechanisms[0])
	half, always, ok := selects(p.Mechanisms[0])
	if noise := p.Mechanisms[0].Releases[0].Chosen().RMSEAverage; !ok || half > 24 || half > was*2/3 || noise > 1.5 {
		t.Errorf("shown from %d on, noise %g; with a selection of its own from %d on", half, noise, was)
	}
	if p.charge.SelectionDelta != budget.deltaOf(alone, p.price) || p.epsilon != 1 {
		t.Errorf("charged for ε %g and δ %g", p.epsilon, p.charge.SelectionDelta)
	}
	m := measured{
		Keys: rewrite.KeyRows{{}, {}, {}, {}}, Values: [][]int64{{0, 1, half, always}},
		Histograms: [][]mechanism.Histogram{nil},
	}
	const draws = 2000
	source, seen := mechanism.NewSource(), map[int64]int{}
	for range draws {
		r, _ := draw(source, p.Mechanisms[0], alone.Blocks[0].Releases, m)
		for g := range r.Keys.Len() {
			seen[m.Values[0][r.Keys.(schema.KeyPart).Groups[g]]]++
			if r.Values[0][g] < half {
				t.Errorf("a group with a count of %d is shown, from %d on it is", r.Values[0][g], half)
			}
		}
	}
	if seen[0] > 0 || !stattest.AtMost(seen[1], draws, p.charge.SelectionDelta) || !stattest.AtLeast(seen[half], draws, .5) ||
		!stattest.AtLeast(seen[always], draws, 1-1e-9) {
		t.Errorf("shown of %d times: %v", draws, seen)
	}
}

// TestExplainInUnits: nothing in an explanation counts in steps of a grid.
func TestExplainInUnits(t *testing.T) {
	w := newWorld(t, renyi...)
	_, lines, _ := explainedBoth(t, w, "SELECT count(*), avg(age), max(age) FROM patients")
	text := strings.Join(lines, "\n")
	for _, want := range []string{"of an average over n rows about ±", "sensitivity: 1 of the ranks in one group"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if wrong := regexp.MustCompile(`rmse \S+ steps|e\+[0-9]`).FindString(text); wrong != "" {
		t.Errorf("%s in\n%s", wrong, text)
	}
}

// TestExplainOfWhatHasNoMargin: EXPLAIN gives no margin of an aggregate that has none in any answer.
func TestExplainOfWhatHasNoMargin(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT count(*) FROM patients":                    true,
		"SELECT bool_or(age > 60) FROM patients":           false,
		"SELECT count(*) FROM patients WHERE age / 2 > 30": false, // reads the nearest bound
		"SELECT sum(age) FROM patients":                    true,
	} {
		x, _, short := explainedBoth(t, newWorld(t), sql)
		margin := slices.ContainsFunc(short, func(line string) bool { return strings.HasPrefix(line, "margin: ") })
		if margin != want || (x.Releases[0].Margin != nil) != want {
			t.Errorf("%s: a margin is said: %v", sql, short)
		}
	}
}

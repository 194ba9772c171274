package gate

import (
	"context"
	"errors"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// book is a ledger that counts what it makes durable.
type book struct{ charges int }

func (b *book) Spend(context.Context, string, []ledger.Charge) (ledger.Balance, error) {
	b.charges++
	return ledger.Balance{}, nil
}

// countOf is a count of one group, of which a unit moves so many.
func countOf(most int64) mechanism.Release {
	return mechanism.Release{
		Name: "count(*)", Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: 1000}},
		Sensitivity: most, Total: most, Groups: 1, Weight: 1,
	}
}

func prepared(t *testing.T, r mechanism.Release, epsilon float64) *mechanism.Prepared {
	t.Helper()
	p, err := mechanism.Prepare(r, mechanism.Guarantee{Epsilon: epsilon})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChargesCoverWhatIsDrawn: a charge is refused before the ledger has seen it where the mechanisms cost more, or are
// for releases that move by less.
func TestChargesCoverWhatIsDrawn(t *testing.T) {
	plan := &rewrite.Plan{Fingerprint: "0123456789", Blocks: []rewrite.Block{
		{Releases: []mechanism.Release{countOf(4), countOf(4)}},
	}}
	four, one := prepared(t, countOf(4), .5), prepared(t, countOf(1), .5)
	costs := func(p ...*mechanism.Prepared) ledger.Charge {
		releases := make([]mechanism.Release, len(p))
		for i := range releases {
			releases[i] = countOf(4)
		}
		return ledger.Charge{Curve: mechanism.Compose(releases, p)}
	}
	for _, c := range []struct {
		name   string
		charge ledger.Charge
		items  []Item
		ok     bool
	}{
		{"both", costs(four, four), []Item{{0, 0, four}, {0, 1, four}}, true},
		{"more than is drawn", costs(four, four), []Item{{0, 1, four}}, true},
		{"one of two", costs(four), []Item{{0, 0, four}, {0, 1, four}}, false},
		{"nothing", ledger.Charge{}, []Item{{0, 0, four}}, false},
		{"noise for less", costs(four), []Item{{0, 0, one}}, false},
		{"a release twice", costs(four, four), []Item{{0, 0, four}, {0, 0, four}}, false},
		{"a selection that the plan has not", costs(four), []Item{{0, Selection, four}}, false},
		{"no mechanism", ledger.Charge{}, []Item{{0, 0, nil}}, false},
	} {
		var b book
		_, _, err := Spend(context.Background(), &b, "alice", plan, c.charge, c.items)
		if (err == nil) != c.ok || (b.charges == 1) != c.ok {
			t.Errorf("%s: %v, with %d charges", c.name, err, b.charges)
		}
	}
}

// TestFamiliesCostWhatIsDrawn: which rows a quantile is drawn from follows from all of its family, in the order of the
// releases.
func TestFamiliesCostWhatIsDrawn(t *testing.T) {
	median := mechanism.Release{
		Name: "median", Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: 0, Hi: 100}}, Sensitivity: 1, Total: 1,
		Groups: 1, Weight: 1, Fraction: .5, Family: 1,
	}
	five := []mechanism.Release{median, median, median, median, median}
	dear, cheap := prepared(t, median, 1), prepared(t, median, .01)
	ofEnd, ofExtreme := median, median
	ofEnd.End, ofExtreme.Fraction = 1, 0
	end, extreme := prepared(t, ofEnd, 1), prepared(t, ofExtreme, 1)
	joint, err := mechanism.PrepareVector(context.Background(), five[:4], mechanism.Guarantee{Epsilon: 8})
	if err != nil {
		t.Fatal(err)
	}
	if _, jointly := joint[0].Jointly(); !jointly {
		t.Fatal("four quantiles are drawn by halving")
	}
	price := func(with ...*mechanism.Prepared) mechanism.Curve { return mechanism.Compose(five[:len(with)], with) }
	halves := []*mechanism.Prepared{dear, dear, cheap, cheap, cheap} // the first two are on one way down
	for _, c := range []struct {
		name  string
		with  []*mechanism.Prepared
		order []int // of the items
		price mechanism.Curve
		ok    bool
	}{
		{"as it is drawn", halves, []int{0, 1, 2, 3, 4}, price(halves...), true},
		{"the dear ones apart", halves, []int{0, 2, 3, 4, 1}, price(dear, cheap, cheap, cheap, dear), false},
		{"without one", halves, []int{0, 1, 2, 3}, price(halves[:4]...), false},
		{"jointly", joint, []int{0, 1, 2, 3}, price(joint...), true},
		{
			"a joint draw of four", append(joint[:4:4], joint[0]),
			[]int{0, 1, 2, 3, 4},
			price(append(joint[:4:4], joint[0])...),
			false,
		},
		{"an end of an interval", []*mechanism.Prepared{end}, []int{0}, price(end), false},
		{"a least value", []*mechanism.Prepared{extreme}, []int{0}, price(extreme), false},
		{
			"the last, which has a half by itself, four times",
			[]*mechanism.Prepared{joint[3], joint[3], joint[3], joint[3]},
			[]int{0, 1, 2, 3},
			price(joint...), false,
		},
	} {
		plan := &rewrite.Plan{Fingerprint: "0123456789", Blocks: []rewrite.Block{{Releases: five[:len(c.with)]}}}
		var items []Item
		for _, i := range c.order {
			items = append(items, Item{0, i, c.with[i]})
		}
		if _, _, err := Spend(context.Background(), &book{}, "alice", plan, ledger.Charge{Curve: c.price}, items); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestJointNoiseIsOfTheSameRows: one vector pays for releases that the same rows of a unit move, and of these for as
// many.
func TestJointNoiseIsOfTheSameRows(t *testing.T) {
	byRows := func(row, total int64) mechanism.Release {
		r := countOf(total)
		r.Row = row
		return r
	}
	both, err := mechanism.PrepareVector(context.Background(), []mechanism.Release{
		byRows(1, 4), byRows(1, 4),
		byRows(1, 4),
	}, mechanism.Guarantee{Epsilon: 1})
	if err != nil {
		t.Fatal(err)
	}
	if cube, _ := both[0].Joint(); cube == nil {
		t.Fatal("each has noise of its own")
	}
	for _, c := range []struct {
		name     string
		releases []mechanism.Release
		ok       bool
	}{
		{"the same rows", []mechanism.Release{byRows(1, 4), byRows(1, 4), byRows(1, 4)}, true},
		{"fewer rows of one", []mechanism.Release{byRows(1, 4), byRows(1, 3), byRows(1, 4)}, false},
		{"no rows", []mechanism.Release{byRows(0, 4), byRows(0, 4), byRows(0, 4)}, false},
		{"no rows of one", []mechanism.Release{byRows(1, 4), byRows(1, 4), byRows(0, 4)}, false},
	} {
		plan := &rewrite.Plan{Fingerprint: "0123456789", Blocks: []rewrite.Block{{Releases: c.releases}}}
		charge := ledger.Charge{Curve: mechanism.Compose(c.releases, both)}
		if _, _, err := Spend(context.Background(), &book{}, "alice", plan, charge, []Item{
			{0, 0, both[0]},
			{0, 1, both[1]},
			{0, 2, both[2]},
		}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestReceiptsAreUsedUp: what is paid for is drawn once, by the mechanism that was paid for, of the plan that it was
// paid for.
func TestReceiptsAreUsedUp(t *testing.T) {
	ctx, src := context.Background(), mechanism.NewSource()
	plan := &rewrite.Plan{Blocks: []rewrite.Block{{Releases: []mechanism.Release{countOf(4)}, Keys: rewrite.KeyRows{{}}}}}
	paid, other := prepared(t, countOf(4), .5), prepared(t, countOf(4), .25)
	receipt := func() *Receipt {
		r, _, err := Spend(ctx, &book{}, "alice", plan, ledger.Charge{
			Curve: mechanism.Compose(plan.Blocks[0].Releases, []*mechanism.Prepared{paid}),
		}, []Item{{0, 0, paid}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	draw := func(of *rewrite.Plan, r *Receipt, p *mechanism.Prepared) error {
		_, _, err := NewMeasured(of).Draw(r, src, 0, Mechanisms{Releases: []*mechanism.Prepared{p}})
		return err
	}
	once := receipt()
	if err := draw(plan, once, paid); err != nil {
		t.Error(err)
	}
	same := *plan
	for name, err := range map[string]error{
		"twice":             draw(plan, once, paid),
		"without a receipt": draw(plan, nil, paid),
		"less noise":        draw(plan, receipt(), other),
		"another plan":      draw(&same, receipt(), paid),
	} {
		if !errors.Is(err, errUnpaid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSelectionsByACount need a count of units that is paid for by the same receipt, and the threshold of their part of
// δ.
func TestSelectionsByACount(t *testing.T) {
	ctx, src := context.Background(), mechanism.NewSource()
	plan := &rewrite.Plan{Blocks: []rewrite.Block{{Releases: []mechanism.Release{countOf(1)}, Select: &mechanism.Release{
		Kind: mechanism.Selection,
	}, SelectBy: 1, KeyTypes: []uint32{25}}}}
	count := prepared(t, countOf(1), .5)
	charge := ledger.Charge{
		Curve:          mechanism.Compose(plan.Blocks[0].Releases, []*mechanism.Prepared{count}),
		SelectionDelta: 1e-6,
	}
	right, err := count.CountThreshold(1e-6)
	if err != nil {
		t.Fatal(err)
	}
	low := right
	low.Least = 0
	for name, c := range map[string]struct {
		charge ledger.Charge
		items  []Item
		least  *mechanism.CountThreshold
		paid   bool
		drawn  bool
	}{
		"as it is":          {charge, []Item{{0, Selection, nil}, {0, 0, count}}, &right, true, true},
		"without its count": {ledger.Charge{SelectionDelta: 1e-6}, []Item{{0, Selection, nil}}, &right, false, false},
		"without δ": {
			ledger.Charge{Curve: charge.Curve},
			[]Item{{0, Selection, nil}, {0, 0, count}},
			&right, false,
			false,
		},
		"a lower threshold": {charge, []Item{{0, Selection, nil}, {0, 0, count}}, &low, true, false},
		"no threshold":      {charge, []Item{{0, Selection, nil}, {0, 0, count}}, nil, true, false},
	} {
		r, _, err := Spend(ctx, &book{}, "alice", plan, c.charge, c.items)
		if (err == nil) != c.paid {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		_, _, err = NewMeasured(plan).Draw(r, src, 0, Mechanisms{Threshold: c.least, Releases: []*mechanism.Prepared{count}})
		if (err == nil) != c.drawn {
			t.Errorf("%s: drawn: %v", name, err)
		}
	}
}

// TestSelectionsShareNoDelta: a count selects with what other selections of its statement leave of the charged δ.
func TestSelectionsShareNoDelta(t *testing.T) {
	groups := mechanism.Release{Kind: mechanism.Selection, Sensitivity: 1, Total: 1, Groups: 1}
	plan := &rewrite.Plan{Fingerprint: "0123456789", Blocks: []rewrite.Block{
		{Select: &groups, KeyTypes: []uint32{25}},
		{Releases: []mechanism.Release{countOf(1)}, Select: &groups, SelectBy: 1, KeyTypes: []uint32{25}},
	}}
	selection, err := mechanism.Prepare(groups, mechanism.Guarantee{Epsilon: .5, Delta: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	count := prepared(t, countOf(1), .5)
	charge := ledger.Charge{
		Curve: mechanism.Compose([]mechanism.Release{groups, countOf(1)}, []*mechanism.Prepared{selection, count}),
	}
	for _, rest := range []float64{0, 1e-9, 1e-6} {
		charge.SelectionDelta = 1e-6 + rest
		r, _, err := Spend(context.Background(), &book{}, "alice", plan, charge,
			[]Item{{0, Selection, selection}, {1, Selection, nil}, {1, 0, count}})
		if (err == nil) != (rest > 0) {
			t.Errorf("δ %g beside another selection: %v", rest, err)
		}
		if err != nil {
			continue
		}
		if want, err := count.CountThreshold(rest); err != nil || r.least[1] != want {
			t.Errorf("δ %g beside another selection: threshold %v, want %v, %v", rest, r.least[1], want, err)
		}
	}
}

// TestReleasesAreMeasuredOnce: bins of two histograms would be added up.
func TestReleasesAreMeasuredOnce(t *testing.T) {
	quantile, count := mechanism.Release{Kind: mechanism.Quantile}, countOf(1)
	h := rewrite.Histogram{Releases: []int{1}}
	for name, c := range map[string]struct {
		of rewrite.Block
		ok bool
	}{
		"once":           {rewrite.Block{Measured: []int{0}, Histograms: []rewrite.Histogram{h}}, true},
		"two histograms": {rewrite.Block{Measured: []int{0}, Histograms: []rewrite.Histogram{h, h}}, false},
		"two columns":    {rewrite.Block{Measured: []int{0, 0}, Histograms: []rewrite.Histogram{h}}, false},
		"not at all":     {rewrite.Block{Measured: []int{0}}, false},
		"as an integer":  {rewrite.Block{Measured: []int{0, 1}}, false},
		"listed, selected": {rewrite.Block{
			Measured: []int{0}, Histograms: []rewrite.Histogram{h}, Select: &count,
			Keys: rewrite.KeyRows{},
		}, false},
	} {
		c.of.Releases = []mechanism.Release{count, quantile}
		if got := measuredOnce(&c.of); got != c.ok {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestOnlyCertifiedTextsAreAdmitted.
func TestOnlyCertifiedTextsAreAdmitted(t *testing.T) {
	q := rewrite.SQL{Text: "SELECT 1::pg_catalog.int8, 0"}
	c := &Certificate{measures: []Measure{{SQL: q}}, results: make([]Result, 1)}
	if err := c.Admit(0, q); err != nil {
		t.Error(err)
	}
	q.Text = "SELECT 1::pg_catalog.int8, 1"
	for n := range 2 {
		if c.Admit(n, q) == nil {
			t.Errorf("another text is admitted as query %d", n)
		}
	}
	c.results[0].Err = errors.New("no rule")
	if c.Err() == nil || c.Admit(0, rewrite.SQL{Text: "SELECT 1::pg_catalog.int8, 0"}) == nil {
		t.Error("what is not certified is admitted")
	}
}

var _ Main = (*backend.Backend)(nil)

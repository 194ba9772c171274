package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestRatioMarginCovers draws averages and counts how often the truth is further off than the margin: 5% at most.
func TestRatioMarginCovers(t *testing.T) {
	const draws, n, z = 4000, 400, 9000 // 400 rows, Σ(2x − 2c) = 9000
	row := mechanism.Interval{Lo: -60, Hi: 60}
	count, err := mechanism.Prepare(mechanism.Release{Kind: mechanism.Scalar, Sensitivity: 1, Groups: 1, Range: mechanism.Range{{Lo: 0, Hi: 100000}}}, mechanism.Guarantee{Epsilon: .25})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := mechanism.Prepare(mechanism.Release{Kind: mechanism.SumGivenCount, Sensitivity: 60, Groups: 1, PerRow: row}, mechanism.Guarantee{Epsilon: .25})
	if err != nil {
		t.Fatal(err)
	}
	source := mechanism.NewSource()
	misses := 0
	for range draws {
		nn := count.Draw(source, n, 0)
		zz := sum.Draw(source, z, nn)
		m := ratioMargin(row, float64(zz), sum.Margin(zz, nn), float64(nn), count.Margin(nn, 0))
		if math.Abs(float64(zz)/float64(nn)-float64(z)/n) > m {
			misses++
		}
	}
	if !stattest.AtMost(misses, draws, 0.05) {
		t.Errorf("%d of %d averages lie outside their 95%% margin", misses, draws)
	}
	if misses < draws/1000 {
		t.Errorf("only %d of %d averages lie outside: the margin is wider than it has to be", misses, draws)
	}
}

func TestRatioMarginIsAtMostTheRange(t *testing.T) {
	row := mechanism.Interval{Lo: 0, Hi: 100}
	if m := ratioMargin(row, 50, 1e9, 1, 20); m != 100 {
		t.Errorf("margin of an average over an unknown number of rows is %g, want the range's 100", m)
	}
}

func TestNumbersReadWell(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 9.5: "9.5", 6: "6", 0.043672: "0.04367", 59914646: "59914646", 1e-6: "1e-06", 1234.5: "1234", 0: "0"} {
		if got := number(v); got != want {
			t.Errorf("number(%g) = %s, want %s", v, got, want)
		}
	}
}

func TestMarginsOfTimesAreIntervals(t *testing.T) {
	for _, c := range []struct {
		oid  uint32
		v    float64
		want string
	}{
		{pgtype.TimestamptzOID, 27993600e6, "324 days 00:00:00"},
		{pgtype.IntervalOID, 3723.2e6, "01:02:04"},
		{pgtype.DateOID, 12, "12"},
		{pgtype.NumericOID, 1.25, "1.25"},
	} {
		if got := amount(c.oid, c.v); got != c.want {
			t.Errorf("%d %g: %s, want %s", c.oid, c.v, got, c.want)
		}
	}
}

// TestNamesTellAggregatesApart: the result column's name, unless other aggregates have it too.
func TestNamesTellAggregatesApart(t *testing.T) {
	age, weight := rewrite.Column{Name: "avg(age)", Output: "avg"}, rewrite.Column{Name: "avg(weight)", Output: "avg"}
	count, inside := rewrite.Column{Name: "count(*)", Output: "n"}, rewrite.Column{Name: "sum(age)"}
	named := names(&rewrite.Plan{Blocks: []rewrite.Block{{Columns: []rewrite.Column{age, count, inside}}, {Columns: []rewrite.Column{weight, count}}}})
	for want, c := range map[string]rewrite.Column{"avg(age)": age, "avg(weight)": weight, "n": count, "sum(age)": inside} {
		if got := named(c); got != want {
			t.Errorf("%s is named %s", want, got)
		}
	}
}

// TestLeftOutIsSaid: the notice says that rows are left out where a unit has rows in more groups than it counts in.
func TestLeftOutIsSaid(t *testing.T) {
	whole := rewrite.Block{}
	if got := leftOut(&rewrite.Plan{Blocks: []rewrite.Block{whole}}); got != "" {
		t.Errorf("nothing is left out, but it says %q", got)
	}
	got := leftOut(&rewrite.Plan{Blocks: []rewrite.Block{whole, {Picked: 3, Unit: "patient"}}})
	if want := "Each patient counts in at most 3 of these groups (max_groups_per_unit)"; !strings.HasPrefix(got, want) {
		t.Errorf("it says %q, want %q…", got, want)
	}
}

package estimate

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestMarginsOfGroups: a line says the least and the greatest margin over the groups, that of the further end of each
// interval.
func TestMarginsOfGroups(t *testing.T) {
	count, mean, both, median := alone, average, total, alone
	count.Name, mean.Name, both.Name, median.Name, median.Releases = "count", "avg", "sum", "median", []int{2}
	block := rewrite.Block{
		Releases: append(chainedReleases(laplace, laplace), mechanism.Release{
			Kind: mechanism.Quantile, Sensitivity: 1,
			Range: mechanism.Range{{Lo: 0, Hi: 120}}, Fraction: .5,
		}),
		Columns: []rewrite.Column{count, mean, both, median},
	}
	p := calibratedFor(t, block, mechanism.Guarantee{Epsilon: .5})
	for _, c := range []struct {
		name         string
		counts, sums []int64
		want         string
	}{
		{"groups with rows", []int64{1000, 100}, []int64{0, 0}, "count: ±6 | avg: ±0.1795 to ±1.799 | sum: ±265"},
		{"one is empty", []int64{1000, 0}, []int64{0, 0}, "count: ±6 | avg: ±0.1795 | sum: ±265"},
		{"all are empty", []int64{0, 0}, []int64{0, 0}, "count: ±6"},
	} {
		answer := []Block{
			{Released: gate.Released{Keys: make(rewrite.KeyRows, 2), Values: [][]int64{c.counts, c.sums, {0, 0}}}},
		}
		got := strings.Join(Lines((&Answer{p, answer}).Figures()), " | ")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestNumbersReadWell(t *testing.T) {
	for v, want := range map[float64]string{
		0.5: "0.5", 9.5: "9.5", 6: "6", 0.043672: "0.04367", 59914646: "59914646",
		1e-6: "1e-06", 1234.5: "1234", 0: "0",
	} {
		if got := Number(v); got != want {
			t.Errorf("Number(%g) = %s, want %s", v, got, want)
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
		if got := Amount(c.oid, c.v); got != c.want {
			t.Errorf("%d %g: %s, want %s", c.oid, c.v, got, c.want)
		}
	}
}

// TestUnits: values and their differences are printed as the analyst's types are.
func TestUnits(t *testing.T) {
	for _, c := range []struct {
		oid                  uint32
		of                   float64
		wantValue, wantApart string
	}{
		{pgtype.Int8OID, 1500000, "1500000", "1500000"},
		{pgtype.NumericOID, 0.25, "0.25", "0.25"},
		{pgtype.DateOID, 16436, "2015-01-01", "16436 days"},
		{pgtype.TimestamptzOID, 1420070400e6, "2015-01-01", "16436 days 00:00:00"},
		{pgtype.TimestampOID, 1420074061e6, "2015-01-01 01:01:01", "16436 days 01:01:01"},
		{pgtype.TimeOID, 3661e6, "01:01:01", "01:01:01"},
		{pgtype.IntervalOID, -90061e6, "-1 days 01:01:01", "-1 days 01:01:01"},
	} {
		u := Unit{OID: c.oid}
		if value, apart := u.Value(c.of), u.Difference(c.of); value != c.wantValue || apart != c.wantApart {
			t.Errorf("%d: %s and %s, want %s and %s", c.oid, value, apart, c.wantValue, c.wantApart)
		}
	}
	for v, want := range map[float64]string{6.001: "6.01", 40: "40", 123456: "124000", 0.00123001: "0.00124", 5: "5"} {
		if got := strconv.FormatFloat(RoundedUp(v), 'f', -1, 64); got != want {
			t.Errorf("%g rounded up: %s, want %s", v, got, want)
		}
	}
}

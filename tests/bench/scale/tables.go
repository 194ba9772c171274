package scale

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// seed is that of every simulation: docs/scale.md comes out the same everywhere.
const seed = 1

// Sizes prints what a ledger's file grows by, measured, and what that is in a year of the site.
func Sizes(ctx context.Context, site Site, m Measured) (string, error) {
	year := 365 * site.perDay()
	t := newTable("what", "bytes", "a year of the site", "verified in")
	for _, c := range []struct {
		name   string
		method policy.Method
		curve  func(i int) mechanism.Curve
	}{
		{"charge, pure", policy.Pure, func(int) mechanism.Curve { return mechanism.Curve{Pure: 0.1} }},
		{"charge, rdp", policy.RDP, func(int) mechanism.Curve { return mechanism.LaplaceCurve(0.1) }},
		{"charge, rdp, with a curve of its own", policy.RDP, func(i int) mechanism.Curve {
			return mechanism.LaplaceCurve(0.1 - float64(i)*1e-9)
		}},
	} {
		bytes, err := chargeBytes(ctx, c.method, c.curve)
		if err != nil {
			return "", err
		}
		t.row(c.name, fmt.Sprintf("%.0f", bytes), gigabytes(bytes*year), duration(year*m.Read))
	}
	for _, integers := range []int{1, 12, 100, 1000} {
		bytes, err := answerBytes(ctx, integers)
		if err != nil {
			return "", err
		}
		t.row(fmt.Sprintf("answer of %d numbers, kept for a day", integers), fmt.Sprintf("%.0f", bytes),
			gigabytes(bytes*site.perDay())+" at any time", "")
	}
	return t.String(), nil
}

// Simulations prints the tables that follow from figures alone.
func Simulations(site Site, m Measured) string {
	return "Charges on a ledger in PostgreSQL with 16 cores:\n\n" + chargeTable(site, m) +
		"\nMeasure queries on the workers:\n\n" + measureTable(site, m) +
		"\nConnections:\n\n" + connectionTable(site)
}

func chargeTable(site Site, m Measured) string {
	t := newTable("charges/s", "budget of all together", "median", "p99", "charges in a transaction", "server busy")
	for _, together := range []bool{false, true} {
		for _, rate := range []float64{site.charged(), 100, 300, 600, 1000, 3000, 10000} {
			l := charges(site, m, 16, rate, together, 40_000, seed)
			t.row(short(rate), yes(together), duration(l.Median), duration(l.P99), fmt.Sprintf("%.2f", l.Batch), percent(l.Busy))
		}
	}
	return t.String()
}

// scans are the queries of the table: what part of the rows they read, at which cost, and their groups.
var scans = []struct {
	name   string
	share  float64
	many   bool
	groups int
}{
	{"a sum over all rows", 1, false, 1},
	{"a sum over one month of seven years", 1.0 / 84, false, 1},
	{"eight aggregates by 6 groups, all rows", 1, true, 6},
	{"the same over one month", 1.0 / 84, true, 6},
	{"one month, 1,000 groups", 1.0 / 84, true, 1000},
}

func measureTable(site Site, m Measured) string {
	t := newTable("query", "at most, queries/s", "load", "median", "p99")
	for _, q := range scans {
		row := m.RowOfSum
		if q.many {
			row = m.RowOfMany
		}
		rows := float64(q.groups * site.Workers * site.Shards)
		most := min(capacity(site, q.share, row), float64(site.Cores)/(m.Plan+m.Merge*rows))
		for _, load := range []float64{0.1, 0.5, 0.8} {
			l := measures(site, m, most*load, q.share, row, q.groups, 400, seed)
			t.row(q.name, short(most), percent(load), duration(l.Median), duration(l.P99))
		}
	}
	return t.String()
}

func connectionTable(site Site) string {
	t := newTable("pool.main of each proxy", "on the coordinator", "on each worker, 1 for each task",
		"on each worker, pool of 4")
	for _, pool := range []int{2, 4, 8, 16} {
		n := pool * site.Proxies
		t.row(fmt.Sprint(pool), fmt.Sprint(n), fmt.Sprint(n*site.Shards), fmt.Sprint(n*4))
	}
	return t.String()
}

// perDay is how many statements are charged in a day.
func (s Site) perDay() float64 { return float64(s.Analysts) * s.PerDay * (1 - s.Repeated) }

// table is text in columns, indented as Markdown wants what is printed as it is.
type table struct {
	text strings.Builder
	w    *tabwriter.Writer
}

func newTable(head ...string) *table {
	t := &table{}
	t.w = tabwriter.NewWriter(&t.text, 0, 0, 3, ' ', tabwriter.AlignRight)
	t.row(head...)
	return t
}

func (t *table) row(cells ...string) {
	fmt.Fprintln(t.w, "  "+strings.Join(cells, "\t")+"\t")
}

func (t *table) String() string {
	t.w.Flush()
	return t.text.String()
}

func duration(seconds float64) string {
	switch {
	case seconds < 1:
		return short(seconds*1000) + " ms"
	case seconds < 120:
		return short(seconds) + " s"
	}
	return short(seconds/60) + " min"
}

func gigabytes(bytes float64) string { return short(bytes/1e9) + " GB" }

func percent(x float64) string { return short(100*x) + " %" }

// short prints two significant digits, or all that an integer has.
func short(x float64) string {
	digits := max(0, 1-int(math.Floor(math.Log10(x))))
	return strconv.FormatFloat(x, 'f', digits, 64)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

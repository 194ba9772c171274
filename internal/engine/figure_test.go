package engine

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/research/plot"
)

var update = flag.Bool("update", false, "write the table and the figure of docs/budget.md, and testdata, anew")

const (
	figureDoc  = "../../docs/budget.md"
	figurePlot = "../../docs/budget.svg"
)

// figureMargin is the 95% margin that each count of the figure has.
const figureMargin = 20

// bought is how many counts one budget buys on the range [0, upper].
type bought struct {
	upper              int64
	pure, plain, exact int
}

// buy asks for counts on [0, upper] by dpproxy.margin, each time with the mechanism that serves best: under pure
// accounting, under rdp, and with Gaussian noise that is charged by the bound that holds on every range.
func buy(t *testing.T, upper int64) bought {
	t.Helper()
	const epsilon = 10
	out := bought{upper: upper}
	for _, choice := range []mechanism.Choice{
		{Noise: mechanism.Laplace, Bounding: mechanism.Truncate},
		{Noise: mechanism.Laplace, Bounding: mechanism.Fold},
		{Noise: mechanism.Gaussian, Bounding: mechanism.Truncate},
		{Noise: mechanism.Gaussian, Bounding: mechanism.Fold},
	} {
		r := countUpTo(upper)
		r.Choice = choice
		plan := statementOf(1, r)
		for _, method := range []policy.Method{policy.Pure, policy.RDP} {
			b, err := wantedMargin{text: "20", value: figureMargin}.budgetFor(context.Background(), plan,
				budgetOf(method, epsilon, .5))
			if err != nil {
				continue // no such mechanism on this range
			}
			p := shared(t, plan, b)
			if method == policy.Pure {
				out.pure = max(out.pure, admitted(t, policy.Pure, epsilon, p.charge))
				continue
			}
			out.exact = max(out.exact, admitted(t, policy.RDP, epsilon, p.charge))
			if choice.Noise == mechanism.Gaussian {
				sigma := p.Mechanisms[0].Releases[0].Chosen().Scale
				plain := ledgertest.GaussianCurve(1 / (2 * sigma * sigma))
				plain.Renyi[gdp] = math.Inf(1)
				out.plain = max(out.plain, admitted(t, policy.RDP, epsilon, ledger.Charge{Epsilon: 1, Curve: plain}))
			}
		}
	}
	return out
}

// statementsTable says how often a budget pays for a statement, and how far off its counts are: under pure accounting,
// and under rdp for a statement of one count and of twelve.
func statementsTable(t *testing.T) string {
	t.Helper()
	var table strings.Builder
	table.WriteString(
		"| budget | epsilon | pure, 1 count | rdp, 1 count | pure, 12 counts | rdp, 12 counts |\n|---|---|---|---|---|---|\n")
	for _, budget := range []float64{5, 10, 20} {
		for _, epsilon := range []float64{.5, .2, .1} {
			fmt.Fprintf(&table, "| %g | %g |", budget, epsilon)
			for _, count := range []int{1, 12} {
				for _, method := range []policy.Method{policy.Pure, policy.RDP} {
					p := shared(t, statementOf(count, countUpTo(1000000)), budgetOf(method, budget, epsilon))
					chosen := p.Mechanisms[0].Releases[0].Chosen()
					fmt.Fprintf(&table, " %d × ±%.3g |", admitted(t, method, budget, p.charge), chosen.RMSEAverage)
				}
			}
			table.WriteString("\n")
		}
	}
	return table.String()
}

func TestFigure(t *testing.T) {
	var rows []bought
	var table strings.Builder
	table.WriteString("| valid range of the count | pure: sum of ε | plain α/2σ² | exact curves |\n|---|---|---|---|\n")
	for _, upper := range []int64{22, 24, 26, 28, 30, 35, 40, 50, 60, 80, 100, 300, 1000, 1000000} {
		b := buy(t, upper)
		rows = append(rows, b)
		fmt.Fprintf(&table, "| [0, %d] | %d | %d | %d |\n", upper, b.pure, b.plain, b.exact)
	}
	documented(t, "counts", table.String())
	documented(t, "statements", statementsTable(t))
	documented(t, "shares", sharesTable(t))
	if *update {
		if err := os.WriteFile(figurePlot, []byte(drawFigure(rows)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(figurePlot); err != nil {
		t.Error(err)
	}
	for _, b := range rows {
		if b.exact < b.plain || b.exact < b.pure {
			t.Errorf("[0, %d]: exact accounting buys %d, less than %d or %d", b.upper, b.exact, b.plain, b.pure)
		}
	}
}

// sharesTable says which share of a budget each statement of a count takes, and which ε those so far guarantee
// together.
func sharesTable(t *testing.T) string {
	t.Helper()
	var table strings.Builder
	table.WriteString(
		"| budget | epsilon | share of each | statements | ε of 1 | of 2 | of 5 | of 10 | of 20 | of all |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, row := range []struct{ budget, epsilon float64 }{{5, .5}, {10, .5}, {20, .5}, {10, .1}} {
		p := shared(t, statementOf(1, countUpTo(1000000)), budgetOf(policy.RDP, row.budget, row.epsilon))
		list := balances(t, policy.RDP, row.budget, p.charge)
		fmt.Fprintf(&table, "| %g | %g | %s | %d |", row.budget, row.epsilon, ledger.Percent(list[0].Shares[0]), len(list))
		for _, n := range []int{1, 2, 5, 10, 20, len(list)} {
			if n > len(list) {
				table.WriteString(" |")
				continue
			}
			if share := list[n-1].Shares[0]; math.Abs(share/list[0].Shares[0]-1) > 1e-9 {
				t.Errorf("budget %g, epsilon %g: statement %d takes %g, the first took %g", row.budget, row.epsilon, n, share,
					list[0].Shares[0])
			}
			fmt.Fprintf(&table, " %.3f |", list[n-1].EpsilonSpent)
		}
		table.WriteString("\n")
	}
	return table.String()
}

// documented holds a table against the document, or writes it there.
func documented(t *testing.T, name, table string) {
	t.Helper()
	from := "<!-- " + name + ": begin (go test ./internal/engine -run Figure -update) -->\n"
	to := "<!-- " + name + ": end -->\n"
	doc, err := os.ReadFile(figureDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), from)
	_, after, closed := strings.Cut(rest, to)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no place for the table of %s", figureDoc, name)
	case *update:
		if err := os.WriteFile(figureDoc, []byte(before+from+table+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case !sameTable(rest, table):
		t.Errorf("%s does not hold the table of %s that the code gives:\n%s", figureDoc, name, table)
	}
}

// sameTable compares the numbers of two tables, to one percent: the last digits hang on the mechanisms' margins.
func sameTable(doc, code string) bool {
	want := numbers.FindAllString(code, -1)
	got := numbers.FindAllString(doc, len(want))
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		a, _ := strconv.ParseFloat(got[i], 64)
		b, _ := strconv.ParseFloat(want[i], 64)
		if math.Abs(a-b) > max(0.01*b, least(want[i])) {
			return false
		}
	}
	return true
}

var numbers = regexp.MustCompile(`\d+(\.\d+)?`)

// least is by how much a number may differ however small it is: a count by one, a fraction not at all beyond its
// percent.
func least(number string) float64 {
	if strings.Contains(number, ".") {
		return 0
	}
	return 1
}

// drawFigure plots counts, logarithmic, over the length of the range.
func drawFigure(rows []bought) string {
	f := plot.Figure{
		Title: "Counts with ±20 (95%) from a budget of ε = 10, δ = 1e-6", X: "upper end of the valid range", Y: "counts",
		LogY: true,
		Lines: []plot.Line{
			{Name: "exact curves"},
			{Name: "plain α/2σ²", Dashed: true},
			{Name: "pure: sum of ε", Dashed: true},
		},
	}
	for _, b := range rows {
		if b.upper > 100 {
			continue
		}
		for i, count := range []int{b.exact, b.plain, b.pure} {
			l := &f.Lines[i]
			l.X, l.Y = append(l.X, float64(b.upper)), append(l.Y, float64(count))
		}
	}
	return f.SVG()
}

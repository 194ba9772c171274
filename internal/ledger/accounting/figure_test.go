package accounting

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

var update = flag.Bool("update", false, "write the table and the figure of docs/budget.md anew")

const (
	figureDoc  = "../../../docs/budget.md"
	figurePlot = "../../../docs/budget.svg"
	figureFrom = "<!-- counts: begin (go test ./internal/ledger/accounting -run Figure -update) -->\n"
	figureTo   = "<!-- counts: end -->\n"
)

// figureMargin is the 95% margin that each count of the figure has.
const figureMargin = 20

// bought is how many counts one budget buys on the range [0, upper].
type bought struct {
	upper              int64
	pure, plain, exact int
}

// buys counts how many equal charges a budget admits, by the very filter that decides.
func buys(t *testing.T, f *filter, method policy.Method, epsilon float64, c mechanism.Curve) int {
	t.Helper()
	s, err := cost(ledger.Charge{Epsilon: epsilon, Curve: c}, method)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for total := s; f.admits(total); n++ {
		total = total.add(s)
	}
	return n
}

// buy tries every noise and bounding on [0, upper], each at the least ε that gives the margin.
func buy(t *testing.T, upper int64) bought {
	t.Helper()
	budget := policy.Budget{Epsilon: 10, Delta: 1e-6}
	sum, filter := newFilter(budget, policy.Pure, 0.5), newFilter(budget, policy.RDP, 0.5)
	out := bought{upper: upper}
	for _, choice := range []mechanism.Choice{
		{Noise: mechanism.Laplace, Bounding: mechanism.Truncate},
		{Noise: mechanism.Laplace, Bounding: mechanism.Fold},
		{Noise: mechanism.Gaussian, Bounding: mechanism.Truncate},
		{Noise: mechanism.Gaussian, Bounding: mechanism.Fold},
	} {
		r := mechanism.Release{
			Name: "count(*)", Kind: mechanism.Scalar, Range: mechanism.Range{{Hi: upper}}, Sensitivity: 1, Groups: 1, Choice: choice,
		}
		for _, delta := range []float64{0, budget.Delta} {
			g, err := mechanism.EpsilonForMargin(r, figureMargin, mechanism.Guarantee{Epsilon: 2, Delta: delta})
			if err != nil {
				continue // no such mechanism, or none as good below ε = 2
			}
			p, err := mechanism.Prepare(r, g)
			if err != nil {
				t.Fatal(err)
			}
			if delta == 0 {
				out.pure = max(out.pure, buys(t, sum, policy.Pure, g.Epsilon, p.Curve()))
				continue
			}
			out.exact = max(out.exact, buys(t, filter, policy.RDP, g.Epsilon, p.Curve()))
			if choice.Noise == mechanism.Gaussian {
				sigma, plain := p.Chosen().Scale, mechanism.Curve{Pure: p.Curve().Pure, Renyi: make([]float64, len(mechanism.Orders))}
				for i, alpha := range mechanism.Orders {
					plain.Renyi[i] = alpha / (2 * sigma * sigma)
				}
				out.plain = max(out.plain, buys(t, filter, policy.RDP, g.Epsilon, plain))
			}
		}
	}
	return out
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
	doc, err := os.ReadFile(figureDoc)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), figureFrom)
	_, after, closed := strings.Cut(rest, figureTo)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", figureDoc)
	}
	want := before + figureFrom + table.String() + figureTo + after
	picture := draw(t, rows)
	if *update {
		if err := os.WriteFile(figureDoc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(figurePlot, picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !*update && !sameTable(rest, table.String()) {
		t.Errorf("%s does not hold the table that the code gives:\n%s", figureDoc, table.String())
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
		if math.Abs(a-b) > max(1, 0.01*b) {
			return false
		}
	}
	return true
}

var numbers = regexp.MustCompile(`\d+`)

// draw plots counts, logarithmic, over the length of the range.
func draw(t *testing.T, rows []bought) []byte {
	t.Helper()
	p := plot.New()
	p.Title.Text = "Counts with ±20 (95%) from a budget of ε = 10, δ = 1e-6"
	p.X.Label.Text, p.Y.Label.Text = "upper end of the valid range", "counts"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top = true
	for i, line := range []struct {
		name string
		of   func(bought) int
	}{
		{"exact curves", func(b bought) int { return b.exact }},
		{"plain α/2σ²", func(b bought) int { return b.plain }},
		{"pure: sum of ε", func(b bought) int { return b.pure }},
	} {
		var points plotter.XYs
		for _, b := range rows {
			if b.upper <= 100 {
				points = append(points, plotter.XY{X: float64(b.upper), Y: float64(line.of(b))})
			}
		}
		l, err := plotter.NewLine(points)
		if err != nil {
			t.Fatal(err)
		}
		l.Color, l.Dashes, l.Width = plotutil.Color(i), plotutil.Dashes(i), vg.Points(1.5)
		p.Add(l)
		p.Legend.Add(line.name, l)
	}
	canvas := vgsvg.New(16*vg.Centimeter, 10*vg.Centimeter)
	p.Draw(vgdraw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

package papers

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/plot"
	"github.com/dpproxy/dpproxy/internal/research/study"
)

// Scales beyond these leave nothing to see: no noise, or uniform values.
const minScale, maxScale = .05, 1000.

// tail is the δ at which curves are converted.
const tail = 1e-6

// interval is what both algorithms truncate to. The sensitivity μ is 1: true values are clipped to [0, 1].
type interval struct{ a, b float64 }

func (i interval) String() string { return fmt.Sprintf("[%g, %g]", i.a, i.b) }

func (i interval) grid() mechanism.Range {
	return mechanism.Range{{Lo: int64(math.Round(i.a * grid)), Hi: int64(math.Round(i.b * grid))}}
}

func fu(sigma, lambda float64) (page, error) {
	epsilons, err := fuEpsilons(sigma, lambda)
	if err != nil {
		return page{}, err
	}
	plain := mechanism.FuLaplaceRenyi(8, 1, 1)
	blocks := []block{
		prose(
			"Both algorithms clip the true value to [0, μ], add noise, and repeat until the result lies in [a, b]. μ = 1 here. Divergences of the pair (0, μ), which is the worst of all pairs in [0, μ] (docs/mechanisms.md, proposition 1), in both directions; «by integration» is numerical. «Any values»: the bound that a ledger would charge where true values lie anywhere in [a, b], neighbours at distance μ or less."),
		heading(fmt.Sprintf("Algorithm 1: Gaussian noise, σ = %g", sigma)),
		fuDensities("fu-figure1", "Gaussian noise before and after truncation to [−1, 2] (Fu et al., figure 1; μ = σ = 1)",
			func(mu float64) law { return gaussian{mu, 1} }),
		gaussianTable(sigma),
		gaussianFigure(sigma),
		prose(
			"Theorem 3.1, α/2σ² whatever the interval, holds, for the pair (0, μ) and for every other one (docs/mechanisms.md, section 6). It is far from what happens on narrow intervals."),
		heading(fmt.Sprintf("Algorithm 2: Laplace noise, λ = %g", lambda)),
		fuDensities("fu-figure2", "Laplace noise before and after truncation to [−1, 2] (Fu et al., figure 2; μ = λ = 1)",
			func(mu float64) law { return laplace{mu, 1} }),
		laplaceTable(lambda),
		laplaceFigure(lambda),
		finding(
			fmt.Sprintf(
				"(22) and (23) print 1/(1−2α) where it must be 1/(2α−1): as printed the logarithm is that of a negative number. With μ = λ = 1, [0.2, 0.8], α = 2 it is ln(−%.4f); mended it is %.5f, as by integration.", math.Exp(study.FuRegime3(2, .6, 1)), study.FuRegime3(2, .6, 1))),
		finding(
			fmt.Sprintf(
				"theorem 4.3 says b > a > μ where its proof needs b − a ≤ μ, and leaves μ out of its exponents. As stated, with α = 2, μ = λ = 1, a = 2, b = 7: the left side is %.1f, the right side %.2f.", (math.Exp(5)-math.Exp(-10))/-math.Expm1(-5), 2*math.E+math.Exp(-2))),
		prose(
			fmt.Sprintf(
				"Theorem 4.1 holds in its three regimes, as mended. But no interval there holds all true values [0, μ], and in I and II the released value does not depend on the true one at all. Outside of them the untruncated curve (6) is no bound, however wide the interval is. μ = λ = 1, α = 8: %.4f on [0, 5], %.4f on [−3, 3] and %.7f on [−10, 10], against %.7f. So no scale of this product is derived from (6).", laplaceAt(interval{0, 5}, 8, 1), laplaceAt(interval{-3, 3}, 8, 1), laplaceAt(interval{-10, 10}, 8, 1), plain)),
		prose(
			fmt.Sprintf(
				"Truncation always reduces the variance, as the introduction says; not always the error. In regime II, [2, 5] with λ = 1, the error at the true value 0 has a root mean square of %.2f; that of untruncated noise is %.2f.", errorFromZero(interval{2, 5}), math.Sqrt2)),
		heading(fmt.Sprintf("As (ε, δ), δ = 1e-6, σ = %g, λ = %g", sigma, lambda)),
		prose(
			"Lemma 2.6 at the best order, on the paper's curve; and the exact ε at this δ and without one (pure), for any true values in [a, b]: what `dpproxy mechanism table --scale` shows. The last row is untruncated noise; the Gaussian has no pure ε there."),
		epsilons,
	}
	return page{
		name: "fu", title: "Fu et al.: truncated Laplace and Gaussian mechanisms of RDP",
		source: "J. Fu, Z. Sun, H. Liu, Z. Chen: Truncated Laplace and Gaussian mechanisms of RDP, 2023.", blocks: blocks,
	}, nil
}

// formula7 is (7) where from = 0 and to = 1, and (8) where it is the other way round, for μ = 1: the divergence of
// algorithm 1.
func formula7(i interval, order, sigma, from, to float64) float64 {
	mass := func(centre float64) float64 {
		n := gaussian{centre, sigma}
		return n.below(i.b) - n.below(i.a)
	}
	mix := mass(order*from + (1-order)*to)
	return order/(2*sigma*sigma) + math.Log(math.Pow(mass(to), order-1)*mix/math.Pow(mass(from), order))/(order-1)
}

func gaussianTable(sigma float64) table {
	t := table{head: []string{"[a, b], α", "(7)", "by integration", "(8)", "by integration", "α/2σ²", "any values"}}
	for _, i := range []interval{{0, 1}, {0, 5}, {0, 20}, {-50, 50}} {
		for _, order := range []float64{2, 8} {
			t.add(fmt.Sprintf("%v, %g", i, order),
				formula7(i, order, sigma, 0, 1), study.PairDivergence(mechanism.Gaussian, sigma, order, i.a, i.b, 0, 1),
				formula7(i, order, sigma, 1, 0), study.PairDivergence(mechanism.Gaussian, sigma, order, i.a, i.b, 1, 0),
				order/(2*sigma*sigma), mechanism.Divergence(mechanism.Gaussian, i.grid(), grid, sigma*grid, order))
		}
	}
	return t
}

// regime is that of theorem 4.1, with μ = 1.
func (i interval) regime() string {
	switch {
	case i.b < 0:
		return "I"
	case i.a > 1:
		return "II"
	case i.a > 0 && i.b < 1:
		return "III"
	}
	return "none"
}

var laplaceIntervals = []interval{{-3, -1}, {2, 5}, {.2, .8}, {0, 1}, {0, 5}, {-3, 3}, {-10, 10}}

// laplaceAt is the divergence of algorithm 2, the larger of both directions.
func laplaceAt(i interval, order, lambda float64) float64 {
	return math.Max(study.PairDivergence(mechanism.Laplace, lambda, order, i.a, i.b, 0, 1),
		study.PairDivergence(mechanism.Laplace, lambda, order, i.a, i.b, 1, 0))
}

func laplaceTable(lambda float64) table {
	t := table{head: []string{
		"[a, b], α", "regime", "D(0‖μ)", "D(μ‖0)", "(17)–(23), mended", "bound (6)",
		"larger of both", "any values",
	}}
	for _, i := range laplaceIntervals {
		for _, order := range []float64{2, 8} {
			formula := "–"
			switch i.regime() {
			case "I", "II":
				formula = "0"
			case "III":
				formula = number(study.FuRegime3(order, i.b-i.a, lambda))
			}
			worst, bound := laplaceAt(i, order, lambda), mechanism.FuLaplaceRenyi(order, 1, lambda)
			verdict := "within (6)"
			if worst > bound*(1+1e-9) {
				verdict = "exceeds (6)"
			}
			t.add(fmt.Sprintf("%v, %g", i, order), i.regime(),
				study.PairDivergence(mechanism.Laplace, lambda, order, i.a, i.b, 0, 1), study.PairDivergence(mechanism.Laplace,
					lambda, order, i.a, i.b, 1, 0),
				formula, bound, verdict, mechanism.Divergence(mechanism.Laplace, i.grid(), grid, lambda*grid, order))
		}
	}
	return t
}

// errorFromZero is the root mean square of Laplace noise of scale 1 truncated to an interval, at the true value 0.
func errorFromZero(i interval) float64 {
	d := laplace{0, 1}
	square := quad.Fixed(func(x float64) float64 { return x * x * d.density(x) }, i.a, i.b, 40, quad.Legendre{}, 0)
	return math.Sqrt(square / (d.below(i.b) - d.below(i.a)))
}

// orders of the figures.
func orders() (list []float64) {
	for order := 1.1; order < 64; order *= 1.09 {
		list = append(list, order)
	}
	return list
}

func gaussianFigure(sigma float64) plot.Figure {
	f := plot.Figure{
		Name: "fu-gaussian", Title: fmt.Sprintf("Algorithm 1, larger of both directions (Fu et al.; μ = 1, σ = %g)", sigma),
		X: "order α", Y: "Rényi divergence", LogX: true, LogY: true,
	}
	plain := plot.Line{Name: "untruncated: α/2σ², theorem 3.1", Dashed: true}
	for _, order := range orders() {
		plain.X, plain.Y = append(plain.X, order), append(plain.Y, order/(2*sigma*sigma))
	}
	for _, i := range []interval{{-50, 50}, {0, 20}, {0, 5}, {0, 1}} {
		l := plot.Line{Name: i.String()}
		for _, order := range orders() {
			d := math.Max(study.PairDivergence(mechanism.Gaussian, sigma, order, i.a, i.b, 0, 1),
				study.PairDivergence(mechanism.Gaussian, sigma, order, i.a, i.b, 1, 0))
			l.X, l.Y = append(l.X, order), append(l.Y, d)
		}
		f.Lines = append(f.Lines, l)
	}
	f.Lines = append(f.Lines, plain) // above the one that it hides
	return f
}

func laplaceFigure(lambda float64) plot.Figure {
	f := plot.Figure{
		Name: "fu-laplace", Title: fmt.Sprintf("Algorithm 2, larger of both directions (Fu et al.; μ = 1, λ = %g)", lambda),
		X: "order α", Y: "Rényi divergence", LogX: true,
	}
	plain := plot.Line{Name: "untruncated: (6), theorem 4.1", Dashed: true}
	for _, order := range orders() {
		plain.X, plain.Y = append(plain.X, order), append(plain.Y, mechanism.FuLaplaceRenyi(order, 1, lambda))
	}
	for _, i := range []interval{{0, 5}, {-3, 3}, {0, 1}, {.2, .8}} {
		l := plot.Line{Name: fmt.Sprintf("%v%s", i, map[string]string{"III": ", regime III"}[i.regime()])}
		for _, order := range orders() {
			l.X, l.Y = append(l.X, order), append(l.Y, laplaceAt(i, order, lambda))
		}
		f.Lines = append(f.Lines, l)
	}
	f.Lines = append(f.Lines, plain) // above the one that it hides
	return f
}

// fuDensities is figure 1 or 2: the two distributions, truncated to [−1, 2] and not.
func fuDensities(name, title string, at func(mu float64) law) plot.Figure {
	const a, b = -1, 2
	f := plot.Figure{Name: name, Title: title, X: "released value", Y: "density", FromZero: true}
	for k, mu := range []float64{0, 1} {
		before := plot.Line{Name: fmt.Sprintf("around %g, before", mu), Color: k + 1, Dashed: true}
		after := plot.Line{Name: fmt.Sprintf("around %g, after", mu), Color: k + 1}
		d := at(mu)
		mass := d.below(b) - d.below(a)
		for j := -120; j <= 160; j++ {
			x := float64(j) / 40
			before.X, before.Y = append(before.X, x), append(before.Y, d.density(x))
			if x >= a && x <= b {
				after.X, after.Y = append(after.X, x), append(after.Y, d.density(x)/mass)
			}
		}
		f.Lines = append(f.Lines, before, after)
	}
	return f
}

// fuEpsilons converts the curves of both algorithms, and holds them against the exact ε.
func fuEpsilons(sigma, lambda float64) (table, error) {
	t := table{head: []string{"[a, b]", "Gaussian: paper", "exact", "pure", "Laplace: paper", "exact", "pure"}}
	gaussian := lemma26(func(order float64) float64 { return order / (2 * sigma * sigma) })
	laplace := lemma26(func(order float64) float64 { return mechanism.FuLaplaceRenyi(order, 1, lambda) })
	for _, i := range []interval{{0, 1}, {0, 5}, {0, 20}, {-50, 50}} {
		row := []any{i}
		for _, c := range []struct {
			noise mechanism.Noise
			scale float64
			paper float64
		}{{mechanism.Gaussian, sigma, gaussian}, {mechanism.Laplace, lambda, laplace}} {
			exact, err := exactEpsilon(c.noise, mechanism.Truncate, i, c.scale)
			if err != nil {
				return t, err
			}
			row = append(row, c.paper, exact, mechanism.Divergence(c.noise, i.grid(), grid, c.scale*grid, math.Inf(1)))
		}
		t.add(row...)
	}
	far := interval{-5000, 5000}
	g, err := exactEpsilon(mechanism.Gaussian, mechanism.Fold, far, sigma)
	if err != nil {
		return t, err
	}
	l, err := exactEpsilon(mechanism.Laplace, mechanism.Fold, far, lambda)
	t.add("untruncated", gaussian, g, "∞", laplace, l, 1/lambda)
	return t, err
}

// lemma26 converts a curve at the best of all orders: those of a ledger, with as many between each two as leave no
// fourth digit.
func lemma26(curve func(order float64) float64) float64 {
	const between = 200
	best := math.Inf(1)
	for i, from := range mechanism.RenyiOrders[:len(mechanism.RenyiOrders)-1] {
		ratio := (mechanism.RenyiOrders[i+1] - 1) / (from - 1)
		for j := range between + 1 {
			order := 1 + (from-1)*math.Pow(ratio, float64(j)/between)
			best = math.Min(best, mechanism.EpsilonAt(order, curve(order), tail))
		}
	}
	return best
}

// exactEpsilon is ε at the given δ, over all true values in the interval.
func exactEpsilon(n mechanism.Noise, b mechanism.Bounding, i interval, scale float64) (float64, error) {
	list, err := mechanism.TableAt(i.grid(), grid, scale*grid, tail)
	if err != nil {
		return 0, err
	}
	row, err := find(list, n, b, "rdp", mechanism.Given)
	return row.Loss, err
}

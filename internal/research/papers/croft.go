package papers

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/research/plot"
	"github.com/dpproxy/dpproxy/internal/research/study"
)

func croft() (page, error) {
	oneSided, err := oneSidedTable()
	if err != nil {
		return page{}, err
	}
	unions, bounds, err := unionTables()
	if err != nil {
		return page{}, err
	}
	return page{
		name: "croft", title: "Croft et al.: a truncated and normalised Laplace mechanism",
		source: "W. L. Croft, J.-R. Sack, W. Shi: Differential privacy via a truncated and normalized Laplace mechanism, JCST 2022. Their σ is our λ, their ΔF our Δ.",
		blocks: []block{
			constraintFigure(), truncationFigure(),
			heading("Table 2"),
			prose("In units of Δ/ε, at ε = 1; the ranges of the second and third row are those further below."),
			table2(oneSided, unions),
			heading("Section 4.1 and table 2, first row: one bound, a scale that depends on the data"),
			prose(
				"(32) is σ₁, at the bound; (33) is σ₂, iΔ away from it, on the principal branch up to i = 1/ε and on the branch −1 beyond. Both in units of Δ/ε: they depend on iε alone. Table 2 prints σ₁ ≈ 1.586Δ/ε and σ₂ < 1.586Δ/ε."),
			dependentTable(), dependentFigure(),
			finding(
				"theorem 1. With a scale that depends on the data two neighbours have tails of different width, and far from the bound their log-ratio grows without limit. Section 3.5 takes the third case of (15) for the worst; the first one grows with the distance. |ln p/q| at the released value z for true values at −iΔ and −jΔ, the bound at 0, in units of Δ:"),
			ratioTable(), ratioFigure(),
			finding(
				"(54) in its proof: Pr(K(D₁) = x) = e^{iε} Pr(K(D₂) = x). As both sides integrate to 1 and e^{iε}, this can hold at some x only, and (55), the other direction, does not follow at the others."),
			prose(
				"What one bound needs with one scale for all: λ = Δ/ln((1+e^ε)/2) (docs/mechanisms.md, section 3). It is what this product takes, or noise of Δ/ε folded at the bound:"),
			oneSided,
			heading("Sections 4.2 and 4.3, table 2, the other rows: one scale for all"),
			prose(
				"Lemma 7 gives a bound on λ at both ends of every span, by (60), and lemma 9 one for every gap, by (37): 3n + 2 in all for n gaps; theorem 2 takes the largest. «−∞» and «∞» are no bounds (section 4.2). Ours: the least λ that costs ε at distance Δ or less, over the hull of the range (docs/mechanisms.md, proposition 3). All in units of Δ/ε, ε = 1."),
			bounds, unions,
			finding(
				"«the minimal value that preserves differential privacy» (abstract; theorems 2 and 3, corollary 1): (60) asks for e^{iε} at every distance iΔ, i ≤ 1, which is more than differential privacy asks. On [0, 10] with Δ = ε = 1 they take 2Δ/ε, which costs 0.83 of the ε; 1.6116Δ/ε would do."),
			finding(
				"the proof of theorem 2: «if the form in Formula (37) is satisfied, the symmetric form will be as well», so that each gap has one bound. [0, 1]∪[2, 3]∪[4, 5] is its own mirror image, but its gaps have the bounds 0.9476 and 1.0664: the first gap needs 1.0664 the other way round."),
			prose(
				"That does no harm. The n bounds of lemma 9 never decide: in a gap ln Z is convex, so that it is steepest at the ends, where lemma 7 bounds it. For the same reason their λ holds for true values in a gap too, as means have, which they do not consider."),
			prose(
				"Corollary 1 searches for a λ ≤ 2Δ/ε in O(n²(d + log Δ/ε)) steps. With a constraint to infinity there is nothing to search for: at that end R = 1/2, and (60) is 2Δ/λ ≤ ε whatever the other constraints are. λ is 2Δ/ε."),
			heading("Section 3.6: why the scale must grow"),
			prose(
				fmt.Sprintf(
					"λ = Δ/ε on a range with one bound, truncated: (24) is 2e^{iε} − 1 ≤ e^{iε}, false for every i > 0. At ε = 1 and i = 1 the log-ratio is ln(2e − 1) = %.4f; on [0, 1000Δ] we find %.4f.",
					math.Log(2*math.E-1), mechanism.Divergence(mechanism.Laplace, mechanism.Range{{Lo: 0, Hi: 1000 * grid}}, grid,
						grid,
						math.Inf(1)))),
		},
	}, nil
}

// table2 is table 2, with the least and the largest λ of the ranges that are recomputed.
func table2(oneSided, unions table) table {
	t := table{head: []string{"constraints", "printed", "recomputed", "private", "ours"}}
	ends := func(rows [][]string, column int) string {
		lo, hi := rows[0][column], rows[0][column]
		for _, r := range rows {
			lo, hi = min(lo, r[column]), max(hi, r[column]) // all have one digit before the point, and four after it
		}
		if lo == hi {
			return lo
		}
		return lo + " to " + hi
	}
	closed := 0
	for !unionsOf[closed].open {
		closed++
	}
	first := study.CroftDataDependent(0, 1)
	t.add("single infinite", "σ₁ ≈ 1.586, σ₂ < 1.586", fmt.Sprintf("σ₁ = %.4f, σ₂ from %.4f down to 1", first, first),
		"no", oneSided.rows[2][2]+", one scale")
	t.add("arbitrary finite", "< 2", ends(unions.rows[closed:], 1), "yes", ends(unions.rows[closed:], 3))
	t.add("arbitrary", "≤ 2", ends(unions.rows[:closed], 1), "yes", ends(unions.rows[:closed], 3))
	return t
}

// dependentTable is (32) and (33), and what is left of (25), which they solve.
func dependentTable() table {
	t := table{head: []string{"iε", "σ·ε/Δ", "branch of W", "ln of (25), − iε"}}
	first := study.CroftDataDependent(0, 1)
	for _, i := range []float64{0, .25, .5, .75, 1, 1.5, 2, 3, 5, 10, 20} {
		scale, branch := study.CroftDataDependent(i, 1), "0"
		switch {
		case i == 0:
			branch = "(32)"
		case i > 1:
			branch = "−1"
		}
		left := math.Log(scale/first) + math.Log(2-math.Exp(-i/scale)) + i/scale
		t.add(fmt.Sprintf("%g", i), fmt.Sprintf("%.4f", scale), branch, math.Round((left-i)*1e5)/1e5)
	}
	return t
}

func dependentFigure() plot.Figure {
	f := plot.Figure{
		Name:  "croft-scale",
		Title: "The scale of theorem 1 against the distance from the bound (Croft et al., (32) and (33))",
		X:     "distance from the bound, iε", Y: "σ·ε/Δ",
		Lines: []plot.Line{{Name: "σ₂, (33)"}, {Name: "σ₁, (32)", Dashed: true}, {Name: "untruncated: Δ/ε", Dashed: true}},
	}
	for j := range 201 {
		i := float64(j) / 20
		for k, y := range []float64{study.CroftDataDependent(i, 1), study.CroftDataDependent(0, 1), 1} {
			f.Lines[k].X, f.Lines[k].Y = append(f.Lines[k].X, i), append(f.Lines[k].Y, y)
		}
	}
	return f
}

// ratios are places where theorem 1 is tried: ε, both locations, the released value.
var ratios = []struct{ eps, i, j, z float64 }{
	{1, 3, 4, 0},
	{1, 3, 4, -50},
	{1, 3, 4, -200},
	{1, 3, 4, -1000},
	{.1, 0, 1, 0},
	{.1, 0, 1, -200},
	{.1, 0, 1, -1000},
	{.1, 0, 1, -10000},
}

func ratioTable() table {
	t := table{head: []string{"ε", "i, j", "z", "log-ratio", "against ε"}}
	for _, c := range ratios {
		r := study.CroftLogRatio(c.i, c.j, c.z, c.eps)
		verdict := "within"
		if r > c.eps*(1+1e-6) {
			verdict = fmt.Sprintf("%.3g times", r/c.eps)
		}
		t.add(fmt.Sprintf("%g", c.eps), fmt.Sprintf("%g, %g", c.i, c.j), fmt.Sprintf("%g", c.z), r, verdict)
	}
	return t
}

func ratioFigure() plot.Figure {
	f := plot.Figure{
		Name:  "croft-ratio",
		Title: "Theorem 1 fails: log-ratio of two neighbours on the open side (Croft et al., section 4.1)",
		X:     "distance of the released value from the bound, in Δ", Y: "log-ratio / ε",
		Lines: []plot.Line{
			{Name: "ε = 1, 3Δ and 4Δ from the bound"},
			{Name: "ε = 0.1, at the bound and Δ from it"},
			{Name: "what is allowed", Dashed: true},
		},
	}
	for d := 0.0; d <= 200; d++ {
		for k, y := range []float64{study.CroftLogRatio(3, 4, -d, 1), study.CroftLogRatio(0, 1, -d, .1) / .1, 1} {
			f.Lines[k].X, f.Lines[k].Y = append(f.Lines[k].X, d), append(f.Lines[k].Y, y)
		}
	}
	return f
}

// oneSidedTable is the one scale for a range with one bound.
func oneSidedTable() (table, error) {
	t := table{head: []string{"ε", "corollary 1", "ours, truncated", "ours, folded", "(32), not private"}}
	for _, eps := range []float64{.1, .5, 1, 2} {
		row := []any{fmt.Sprintf("%g", eps), 2.0}
		for _, b := range []mechanism.Bounding{mechanism.Truncate, mechanism.Fold} {
			scale, err := laplaceScale(mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}, grid, eps, b)
			if err != nil {
				return t, err
			}
			row = append(row, scale/grid*eps)
		}
		t.add(append(row, study.CroftDataDependent(0, eps)*eps)...)
	}
	return t, nil
}

// laplaceScale is the tight λ in grid steps.
func laplaceScale(v mechanism.Range, delta int64, eps float64, b mechanism.Bounding) (float64, error) {
	p, err := mechanism.Prepare(mechanism.Release{
		Kind: mechanism.Scalar, Range: v, Sensitivity: delta, Choice: mechanism.Choice{Noise: mechanism.Laplace, Bounding: b},
	}, mechanism.Guarantee{Epsilon: eps})
	if err != nil {
		return 0, err
	}
	return p.Chosen().Scale, nil
}

// union is a range with gaps. An open one has no outer constraints: its ends stand for infinity.
type union struct {
	spans [][2]float64
	delta float64
	open  bool
}

// unionsOf are the ranges that are recomputed: those with outer bounds first.
var unionsOf = []union{
	{spans: [][2]float64{{0, 10}}, delta: 1},
	{spans: [][2]float64{{0, 1}, {20, 21}}, delta: 2},
	{spans: [][2]float64{{0, 4}, {6, 10}}, delta: 1},
	{spans: [][2]float64{{0, 1}, {2, 3}, {4, 5}}, delta: 1},
	{spans: [][2]float64{{-far, 0}, {.5, far}}, delta: 1, open: true},
	{spans: [][2]float64{{-far, 0}, {2, far}}, delta: 1, open: true},
	{spans: [][2]float64{{-far, 0}, {1, 2}, {3, far}}, delta: 1, open: true},
}

// far stands for infinity: e^−1000 of the noise is beyond.
const far = 1000

func (u union) String() string {
	var parts []string
	for _, s := range u.spans {
		lo, hi := fmt.Sprintf("[%g", s[0]), fmt.Sprintf("%g]", s[1])
		if s[0] == -far {
			lo = "(−∞"
		}
		if s[1] == far {
			hi = "∞)"
		}
		parts = append(parts, lo+", "+hi)
	}
	return strings.Join(parts, "∪")
}

func (u union) grid() mechanism.Range {
	var v mechanism.Range
	for _, s := range u.spans {
		v = append(v, mechanism.Interval{Lo: int64(s[0] * grid), Hi: int64(s[1] * grid)})
	}
	return v
}

// croftBounds are the bounds that count, in units of 1: those at ends that stand for infinity are Δ/ε, as for no
// constraint.
func (u union) croftBounds(eps float64) (list []mechanism.CroftBound, largest float64) {
	for _, b := range mechanism.CroftBounds(u.grid(), u.delta*grid, eps) {
		b.At, b.Scale = math.Round(b.At/grid*1e3)/1e3+0, b.Scale/grid
		if u.open && math.Abs(b.At) == far {
			b.Scale = u.delta / eps
		}
		list = append(list, b)
		largest = math.Max(largest, b.Scale)
	}
	return list, largest
}

func unionTables() (result, bounds table, err error) {
	const eps = 1.
	result = table{head: []string{"range, Δ", "largest of lemmas 7 and 9", "exact ε of it", "ours", "less noise"}}
	bounds = table{head: []string{"range, Δ", "lemma 7: left and right end of each span", "lemma 9: each gap"}}
	for _, u := range unionsOf {
		list, largest := u.croftBounds(eps)
		unit := u.delta / eps
		name := fmt.Sprintf("%v, %g", u, u.delta)
		var ends, gaps []string
		for k := 0; k < len(list); k++ {
			if list[k].Lemma == 9 {
				gaps = append(gaps, fmt.Sprintf("%.4f", list[k].Scale/unit))
				continue
			}
			ends = append(ends, fmt.Sprintf("%.4f %.4f", list[k+1].Scale/unit, list[k].Scale/unit)) // the right end comes first
			k++
		}
		if gaps == nil {
			gaps = []string{"–"}
		}
		bounds.add(name, strings.Join(ends, ", "), strings.Join(gaps, ", "))
		ours, exact, err := u.ours(eps, largest)
		if err != nil {
			return result, bounds, err
		}
		result.add(name, fmt.Sprintf("%.4f", largest/unit), exact, fmt.Sprintf("%.4f", ours/unit),
			fmt.Sprintf("%.0f %%", 100*(1-ours/largest)))
	}
	return result, bounds, nil
}

// ours is the tight scale over the hull, and what theirs costs.
func (u union) ours(eps, theirs float64) (scale, exact float64, err error) {
	if u.open {
		lo, hi := u.delta/eps, 2*u.delta/eps
		for hi-lo > 1e-9*hi {
			if mid := (lo + hi) / 2; u.openLoss(mid) > eps {
				lo = mid
			} else {
				hi = mid
			}
		}
		return hi, u.openLoss(theirs), nil
	}
	scale, err = laplaceScale(u.grid(), int64(u.delta*grid), eps, mechanism.Truncate)
	return scale / grid, mechanism.Divergence(mechanism.Laplace, u.grid(), int64(u.delta*grid), theirs*grid, math.Inf(1)),
		err
}

// openLoss is Δ/λ + sup |ln Z(s+Δ) − ln Z(s)| on a range without ends, by search: no policy can name such a range.
func (u union) openLoss(lambda float64) float64 {
	lnZ := func(s float64) float64 {
		d := laplace{s, lambda}
		mass := 1.0
		for i := 1; i < len(u.spans); i++ {
			mass -= d.below(u.spans[i][0]) - d.below(u.spans[i-1][1])
		}
		return math.Log(mass)
	}
	worst := 0.0
	for s := -10.0; s <= 10; s += 1. / 512 {
		worst = math.Max(worst, math.Abs(lnZ(s+u.delta)-lnZ(s)))
	}
	return u.delta/lambda + worst
}

// constraintFigure is figure 1: the classes of ranges.
func constraintFigure() plot.Figure {
	f := plot.Figure{
		Name: "croft-figure1", Title: "Constraints: a) one infinite, b) finite, c) any (Croft et al., figure 1)",
		X: "query's range", Y: "class", YNames: []string{"c)", "b)", "a)"},
	}
	for k, class := range []struct{ valid, gaps [][2]float64 }{
		{[][2]float64{{-6, 3}}, [][2]float64{{3, 6}}},
		{[][2]float64{{-6, -4}, {-2, 1}, {2, 6}}, [][2]float64{{-4, -2}, {1, 2}}},
		{[][2]float64{{-5, -2}, {-1, 3}}, [][2]float64{{-6, -5}, {-2, -1}, {3, 6}}},
	} {
		y := float64(3 - k)
		line := func(name string, color int, list [][2]float64) {
			l := plot.Line{Color: color}
			if k == 0 {
				l.Name = name
			}
			for _, x := range list {
				for at := x[0]; at <= x[1]; at += .125 {
					l.X, l.Y = append(l.X, at), append(l.Y, y)
				}
				l.X, l.Y = append(l.X, x[1]), append(l.Y, math.NaN())
			}
			f.Lines = append(f.Lines, l)
		}
		line("valid", 3, class.valid)
		line("constraint", 1, class.gaps)
	}
	return f
}

// truncationFigure is figure 2: a Laplace density before and after.
func truncationFigure() plot.Figure {
	constraints := []plot.Band{{Name: "constraint", Lo: -5, Hi: -3.5}, {Lo: -2, Hi: -1}, {Lo: .5, Hi: 1}, {Lo: 3, Hi: 5}}
	d := laplace{0, 1}
	mass := d.below(3) - d.below(-3.5)
	for _, c := range constraints[1:3] {
		mass -= d.below(c.Hi) - d.below(c.Lo)
	}
	f := plot.Figure{
		Name: "croft-figure2", Title: "A Laplace density (0, 1), truncated and normalised (Croft et al., figure 2)",
		X: "released value", Y: "density",
		Bands: constraints, FromZero: true, Lines: []plot.Line{{Name: "before"}, {Name: "after", Color: 3}},
	}
	for j := -200; j <= 200; j++ {
		x := float64(j) / 40
		after := d.density(x) / mass
		for _, c := range constraints {
			if x > c.Lo && x < c.Hi {
				after = math.NaN()
			}
		}
		for k, y := range []float64{d.density(x), after} {
			f.Lines[k].X, f.Lines[k].Y = append(f.Lines[k].X, x), append(f.Lines[k].Y, y)
		}
	}
	return f
}

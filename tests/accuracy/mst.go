package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// Ways to draw a table that see the data, to compare a twin with. Columns are cut as finely as the finest pairs of a
// twin are, a part as fine for whoever is without noise as the truth: between quantiles of the data. Rows are spread
// within these bins. Each table of a twin gets the same part of ρ, and has columns of what it hangs on as its own.

// fineBins is a number of bins of which few begin where those do that errors are measured in.
const fineBins = 37

// flat are columns of a table as counts by each two of them.
type flat struct {
	table  twinTable
	cuts   []cut
	counts map[[2]int]model.Counts
	single []target // what counts by one column are compared with
	paired []target // by two, of each column
	truth  map[[2]int]model.Counts
	alone  [][]float64 // in the bins of single
}

// target are the bins that errors are measured in, and which part of the rows of a fine bin is in each.
type target struct {
	cut
	parts model.Counts
}

// flatten counts a table.
func (w *world) flatten(ctx context.Context, db string, t twinTable, truth pairCounts, cuts []cut) (*flat, error) {
	f := &flat{table: t, counts: map[[2]int]model.Counts{}, truth: map[[2]int]model.Counts{}}
	for i, column := range t.columns {
		fine, err := w.cut(ctx, db, t.from, column, fineBins)
		if err != nil {
			return nil, err
		}
		single, err := w.cut(ctx, db, t.from, column, singleBins)
		if err != nil {
			return nil, err
		}
		counted, err := w.counted(ctx, db, single.sql, "''", t.from)
		if err != nil {
			return nil, err
		}
		alone := make([]float64, single.size())
		for key, n := range counted {
			alone[single.index(key[0])] = n
		}
		f.alone, f.cuts = append(f.alone, alone), append(f.cuts, fine)
		f.single, f.paired = append(f.single, fine.within(single)), append(f.paired, fine.within(cuts[i]))
	}
	fine, err := w.pairCounts(ctx, db, t.from, f.cuts)
	for pair, counts := range fine {
		f.counts[pair] = tabulate(counts, f.cuts[pair[0]], f.cuts[pair[1]])
		f.truth[pair] = tabulate(truth[pair], cuts[pair[0]], cuts[pair[1]])
	}
	return f, err
}

func tabulate(counts map[[2]string]float64, a, b cut) model.Counts {
	c := model.New(a.size(), b.size())
	for key, n := range counts {
		c.Row(a.index(key[0]))[b.index(key[1])] = n
	}
	return c
}

// within says which part of each bin is in one of others.
func (c cut) within(others cut) target {
	parts := model.New(c.size(), others.size())
	for i := range c.size() {
		if i == c.size()-1 || c.keys != nil {
			parts.Row(i)[others.size()-1-(c.size()-1-i)] = 1
			continue
		}
		from, to := c.edges[i], c.edges[i+1]
		for j := range others.size() - 1 {
			low, high := others.edges[j], others.edges[j+1]
			if part := math.Min(to, high) - math.Max(from, low); part > 0 {
				parts.Row(i)[j] = part / (to - from)
			} else if from == to && low <= from && (from < high || j == others.size()-2) {
				parts.Row(i)[j] = 1
			}
		}
	}
	return target{others, parts}
}

// moved are counts by fine bins as counts by those of a target, along the columns.
func (t target) moved(c model.Counts) model.Counts {
	out := model.New(c.Rows, t.size())
	for i := range c.Rows {
		for j, n := range c.Row(i) {
			for k, part := range t.parts.Row(j) {
				out.Row(i)[k] += n * part
			}
		}
	}
	return out
}

// of are the counts by two columns in either order.
func (f *flat) of(i, j int) model.Counts {
	if i < j {
		return f.counts[[2]int{i, j}]
	}
	return f.counts[[2]int{j, i}].Transposed()
}

// by are the counts by one column, with noise of a standard deviation.
func (f *flat) by(i int, r *rand.Rand, noise float64) []float64 {
	c := f.of(i, (i+1)%len(f.cuts))
	out := make([]float64, c.Rows)
	for row := range out {
		out[row] = model.Sum(c.Row(row))
	}
	total := model.Sum(out)
	return model.Nearest(noisy(out, r, noise), total)
}

func noisy(list []float64, r *rand.Rand, noise float64) []float64 {
	out := slices.Clone(list)
	for i := range out {
		out[i] += noise * r.NormFloat64()
	}
	return out
}

// measured compares what a way makes of a table with the truth.
func (f *flat) measured(n *nearness, alone [][]float64, pair func(i, j int) model.Counts, chosen map[[2]int]bool) {
	for i, list := range alone {
		made := f.single[i].moved(model.Counts{Rows: 1, Columns: len(list), At: list})
		n.one.take(off(model.Counts{Rows: 1, Columns: len(made.At), At: f.alone[i]}, made), f.table.columns[i], f.table.from)
	}
	for at, truth := range f.truth {
		i, j := at[0], at[1]
		made := f.paired[i].moved(f.paired[j].moved(pair(i, j)).Transposed()).Transposed()
		n.take(off(truth, made), f.table, i, j, chosen[at])
	}
}

// independent draws columns alone, for all of ρ.
func (f *flat) independent(n *nearness, r *rand.Rand, rho float64) {
	var alone [][]float64
	for i := range f.cuts {
		alone = append(alone, f.by(i, r, f.table.rows*math.Sqrt(float64(len(f.cuts))/(2*rho))))
	}
	f.measured(n, alone, func(i, j int) model.Counts { return product(alone[i], alone[j]) }, nil)
}

func product(a, b []float64) model.Counts {
	c := model.New(len(a), len(b))
	for i, x := range a {
		for j, y := range b {
			c.Row(i)[j] = x * y / model.Sum(a)
		}
	}
	return c
}

// off is the total variation between counts.
func off(a, b model.Counts) (x float64) {
	n, m := model.Sum(a.At), model.Sum(b.At)
	for i := range a.At {
		x += math.Abs(a.At[i]/n-b.At[i]/m) / 2
	}
	return x
}

// mst is McKenna, Miklau and Sheldon (2021), algorithm 1 with a tree: a third of ρ for counts by one column, one for
// the exponential mechanism, whose score is how far a pair is from independence in L1, and one for the pairs.
func (f *flat) mst(n *nearness, r *rand.Rand, rho float64) {
	d := len(f.cuts)
	third := rho / 3
	var alone [][]float64
	for i := range d {
		alone = append(alone, f.by(i, r, f.table.rows*math.Sqrt(float64(d)/(2*third))))
	}
	given, next, chosen := map[[2]int]model.Counts{}, make([][]int, d), map[[2]int]bool{}
	for _, at := range f.tree(alone, r, math.Sqrt(8*third/float64(d-1))/f.table.rows) {
		i, j := at[0], at[1]
		c := f.of(i, j)
		c.At = noisy(c.At, r, f.table.rows*math.Sqrt(float64(d-1)/(2*third)))
		for k, x := range c.At {
			c.At[k] = math.Max(1e-9, x)
		}
		model.Rake(c, model.ColumnSums(alone[j], c.Rows), model.RowSums(alone[i], c.Columns))
		given[at], given[[2]int{j, i}], chosen[at] = c, c.Transposed(), true
		next[i], next[j] = append(next[i], j), append(next[j], i)
	}
	all := map[[2]int]model.Counts{}
	for i := range d {
		walk(i, -1, diagonal(alone[i]), next, given, alone, func(j int, c model.Counts) { all[[2]int{i, j}] = c })
	}
	f.measured(n, alone, func(i, j int) model.Counts { return all[[2]int{i, j}] }, chosen)
}

// tree chooses pairs, each by the exponential mechanism at ε for a score that one row moves by 1.
func (f *flat) tree(alone [][]float64, r *rand.Rand, epsilon float64) (pairs [][2]int) {
	score, group := map[[2]int]float64{}, make([]int, len(alone))
	for at, c := range f.counts {
		score[at] = 2 * model.Sum(c.At) * off(c, product(alone[at[0]], alone[at[1]]))
	}
	for i := range group {
		group[i] = i
	}
	for range len(alone) - 1 {
		best, most := [2]int{}, math.Inf(-1)
		for at, x := range score {
			gumbel := -math.Log(-math.Log(r.Float64()))
			if y := epsilon*x/2 + gumbel; group[at[0]] != group[at[1]] && y > most {
				best, most = at, y
			}
		}
		pairs = append(pairs, best)
		from, to := group[best[1]], group[best[0]]
		for i, g := range group {
			if g == from {
				group[i] = to
			}
		}
	}
	return pairs
}

func diagonal(list []float64) model.Counts {
	c := model.New(len(list), len(list))
	for i, x := range list {
		c.Row(i)[i] = x
	}
	return c
}

// walk gives the counts by a first column and by each that is reached from at.
func walk(at, before int, c model.Counts, next [][]int, given map[[2]int]model.Counts, alone [][]float64,
	each func(int, model.Counts),
) {
	each(at, c)
	for _, to := range next[at] {
		if to == before {
			continue
		}
		by := given[[2]int{at, to}]
		further := model.New(c.Rows, by.Columns)
		for i := range c.Rows {
			for j, n := range c.Row(i) {
				for k, x := range by.Row(j) {
					if alone[at][j] > 0 {
						further.Row(i)[k] += n * x / alone[at][j]
					}
				}
			}
		}
		walk(to, at, further, next, given, alone, each)
	}
}

// otherTwins are the figures of columns drawn alone and of MST, means of some runs.
func otherTwins(title string, tables []*flat, runs int) (figures []figure) {
	root := math.Sqrt(math.Log(1/twinBudget.Delta)+twinBudget.Epsilon) - math.Sqrt(math.Log(1/twinBudget.Delta))
	rho, r := root*root/float64(len(tables)), rand.New(rand.NewPCG(seed, 5))
	for _, way := range []struct {
		name string
		draw func(*flat, *nearness, *rand.Rand, float64)
	}{{"columns drawn alone", (*flat).independent}, {"MST as published", (*flat).mst}} {
		one, chosen, all := 0.0, 0.0, 0.0
		for range runs {
			var n nearness
			for _, f := range tables {
				way.draw(f, &n, r, rho)
			}
			one, chosen, all = one+n.one.off, chosen+n.chosen.off, all+median(n.all)
		}
		add := func(what string, x float64) {
			if x > 0 {
				figures = append(figures, twinFigure(title, way.name+": "+what, x/float64(runs), math.Inf(1)))
			}
		}
		add("one column, the furthest off", one)
		add("pairs of columns that were chosen, the furthest off", chosen)
		add("all pairs of columns, the median", all)
	}
	return figures
}

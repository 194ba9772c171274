package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// tabulated are columns of a table of people as counts by two of them, with one order of each column's bins.
type tabulated struct {
	bins   []int
	counts map[[2]int]model.Counts
}

func tabulate(pairs pairCounts, columns int) tabulated {
	keys := make([][]string, columns)
	for pair, counts := range pairs {
		for key := range counts {
			for side, at := range pair {
				if !slices.Contains(keys[at], key[side]) {
					keys[at] = append(keys[at], key[side])
				}
			}
		}
	}
	t := tabulated{counts: map[[2]int]model.Counts{}}
	for _, list := range keys {
		t.bins = append(t.bins, len(list))
	}
	for pair, counts := range pairs {
		c := model.New(t.bins[pair[0]], t.bins[pair[1]])
		for key, n := range counts {
			c.Row(slices.Index(keys[pair[0]], key[0]))[slices.Index(keys[pair[1]], key[1])] = n
		}
		t.counts[pair] = c
	}
	return t
}

// of are the counts by two columns in either order.
func (t tabulated) of(i, j int) model.Counts {
	if i < j {
		return t.counts[[2]int{i, j}]
	}
	return t.counts[[2]int{j, i}].Transposed()
}

// alone are the counts by one column.
func (t tabulated) alone(i int) []float64 {
	c := t.of(i, (i+1)%len(t.bins))
	out := make([]float64, c.Rows)
	for row := range out {
		out[row] = model.Sum(c.Row(row))
	}
	return out
}

// otherTwins are figures of the patients of the demo by other ways: columns that are drawn alone, without noise, and
// MST as it is published, with its noise, whose bins are those that errors are measured in.
func otherTwins(people pairCounts, columns, n int) []figure {
	t := tabulate(people, columns)
	r := rand.New(rand.NewPCG(seed, 5))
	var independent []float64
	for pair := range t.counts {
		c := t.of(pair[0], pair[1])
		independent = append(independent, off(c, product(t.alone(pair[0]), t.alone(pair[1]))))
	}
	runs := max(1, n/10)
	middle, worst := 0.0, 0.0
	for range runs {
		all, chosen := t.mst(r)
		middle, worst = middle+median(all)/float64(runs), worst+slices.Max(chosen)/float64(runs)
	}
	none := math.Inf(1)
	return []figure{
		twinFigure("of patients, columns drawn alone, without noise: the median of pairs", median(independent), none),
		twinFigure("of patients, columns drawn alone, without noise: the furthest off", slices.Max(independent), none),
		twinFigure("of patients alone in these bins, MST as published: the median of pairs", middle, none),
		twinFigure("of patients alone in these bins, MST as published: the furthest off of those chosen", worst, none),
	}
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

// off is the total variation between counts of as many rows.
func off(a, b model.Counts) (x float64) {
	n, m := model.Sum(a.At), model.Sum(b.At)
	for i := range a.At {
		x += math.Abs(a.At[i]/n-b.At[i]/m) / 2
	}
	return x
}

// mst simulates McKenna, Miklau and Sheldon (2021), algorithm 1 with a tree: a third of ρ for counts by one column, one
// for the exponential mechanism, whose score is how far a pair is from independence in L1, and one for the pairs. It
// returns how far all pairs of the fitted model are off, and those that it has chosen.
func (t tabulated) mst(r *rand.Rand) (all, chosen []float64) {
	d := len(t.bins)
	root := math.Sqrt(math.Log(1/twinBudget.Delta)+twinBudget.Epsilon) - math.Sqrt(math.Log(1/twinBudget.Delta))
	rho := root * root / 3
	noisy := func(list []float64, statements int) []float64 {
		out := slices.Clone(list)
		for i := range out {
			out[i] += math.Sqrt(float64(statements)/(2*rho)) * r.NormFloat64()
		}
		return out
	}
	total := model.Sum(t.alone(0))
	alone := make([][]float64, d)
	for i := range alone {
		alone[i] = model.Nearest(noisy(t.alone(i), d), total)
	}
	epsilon := math.Sqrt(8 * rho / float64(d-1))
	score := map[[2]int]float64{}
	for pair := range t.counts {
		score[pair] = 2 * total * off(t.of(pair[0], pair[1]), product(alone[pair[0]], alone[pair[1]]))
	}
	group, next := make([]int, d), make([][]int, d)
	for i := range group {
		group[i] = i
	}
	given := map[[2]int]model.Counts{}
	for range d - 1 {
		best, most := [2]int{}, math.Inf(-1)
		for pair, x := range score {
			gumbel := -math.Log(-math.Log(r.Float64()))
			if y := epsilon*x/2 + gumbel; group[pair[0]] != group[pair[1]] && y > most {
				best, most = pair, y
			}
		}
		i, j := best[0], best[1]
		c := t.of(i, j)
		fitted := model.Counts{Rows: c.Rows, Columns: c.Columns, At: noisy(c.At, d-1)}
		for k, x := range fitted.At {
			fitted.At[k] = math.Max(0, x)
		}
		model.Rake(fitted, model.ColumnSums(alone[j], c.Rows), model.RowSums(alone[i], c.Columns))
		given[best], given[[2]int{j, i}] = fitted, fitted.Transposed()
		next[i], next[j] = append(next[i], j), append(next[j], i)
		chosen = append(chosen, off(c, fitted))
		for at, g := range group {
			if g == group[j] && at != j {
				group[at] = group[i]
			}
		}
		group[j] = group[i]
	}
	for i := range d {
		walk(i, -1, diagonal(alone[i]), next, given, alone, func(j int, c model.Counts) {
			if i < j {
				all = append(all, off(t.of(i, j), c))
			}
		})
	}
	return all, chosen
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

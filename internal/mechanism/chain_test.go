package mechanism

import (
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// chainOf prepares counts of people of which each counts all that the one before it does.
func chainOf(t *testing.T, n int, g Guarantee) (list []Release, chain []*Prepared) {
	t.Helper()
	for place := range n {
		list = append(list, Release{
			Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Total: 1, Layer: 1, Chain: 1, Place: 1 + place, Running: n,
		})
		p, err := Prepare(list[place], g)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, p)
	}
	return list, chain
}

// TestChains: the errors of nested counts have the stated deviation, no bias, and are within their margins in 95%, at a
// finite order hardly less often; their mean and the last are as much less than those of counts of their own as is
// stated; and they cost what one of them is charged. False alarms: 1e-6 each.
func TestChains(t *testing.T) {
	const rounds = 20000
	src := seededSource(31)
	for _, c := range []struct {
		n          int
		g          Guarantee
		last, mean float64
	}{
		{4, Guarantee{Epsilon: .02, Order: 10}, 1.34, 1.45},
		{12, Guarantee{Epsilon: .02, Order: 10}, 1.87, 2.03},
		{4, Guarantee{Epsilon: .02, Order: GDP}, 1.34, 1.45},
		{4, Guarantee{Epsilon: .3}, 2, 2.53},
	} {
		list, chain := chainOf(t, c.n, c.g)
		if cost := Compose(list, chain); !chain[0].Curve().Covers(cost, 1e-12) {
			t.Errorf("%d together cost more than one", c.n)
		}
		exact, wrong := make([]int64, c.n), make([]int, c.n)
		sums, squares := make([]float64, c.n), make([]float64, c.n)
		for i := range exact {
			exact[i] = int64(1000 * (1 + i))
		}
		for range rounds {
			z, plain, err := DrawChain(src, chain, exact)
			if err != nil {
				t.Fatal(err)
			}
			truth := int64(0)
			for i, p := range chain {
				truth += exact[i]
				off := float64(plain[i] - truth)
				sums[i], squares[i] = sums[i]+off/rounds, squares[i]+off*off/rounds
				if math.Abs(float64(z[i]-truth)) > p.Margin(z[i], 0, .05) {
					wrong[i]++
				}
			}
		}
		mean, least := 0.0, .044
		if c.g.Order == 0 {
			least = .02 // margins of sums of longer tails come from above
		}
		for i, p := range chain {
			deviation := p.Chosen().RMSEAverage
			if math.Abs(math.Sqrt(squares[i])/deviation-1) > .04 || math.Abs(sums[i]) > 5*deviation/math.Sqrt(rounds) {
				t.Errorf("%d of %d: off by %g, on average by %g, want %g and 0", i+1, c.n, math.Sqrt(squares[i]), sums[i], deviation)
			}
			if !stattest.AtMost(wrong[i], rounds, .052) || !stattest.AtLeast(wrong[i], rounds, least) {
				t.Errorf("%d of %d: %d of %d beyond", i+1, c.n, wrong[i], rounds)
			}
			mean += deviation * deviation / float64(c.n)
		}
		each := c.g
		each.Epsilon /= float64(c.n)
		own, err := Prepare(Release{Kind: Scalar, Range: Range{{0, NoUpper}}, Sensitivity: 1, Total: 1}, each)
		if err != nil {
			t.Fatal(err)
		}
		alone := own.Chosen().RMSEAverage
		last := alone / chain[c.n-1].Chosen().RMSEAverage
		if math.Abs(last-c.last) > .02 || math.Abs(alone/math.Sqrt(mean)-c.mean) > .02 {
			t.Errorf("%d at %v: %.3f and %.3f times better", c.n, c.g, last, alone/math.Sqrt(mean))
		}
	}
}

// TestChainDivergence: enumerated, what neighbours are given differs by no more than is charged, whichever part of a
// chain a unit is in; and what is drawn are the sums of parts with that noise.
func TestChainDivergence(t *testing.T) {
	p := coarse()
	law := p.running.law()
	r := Release{Kind: Scalar, Range: Range{{-1 << 40, 1 << 40}}, Sensitivity: 2, Total: 2, Layer: 1, Chain: 1, Running: 2}
	var chain []*Prepared
	for place := range 2 {
		r.Place = 1 + place
		q := *p
		q.release, q.task = r, task{v: r.Range}
		chain = append(chain, &q)
	}
	m := p.running.loss(p.running.kernel, task{v: r.Range})
	m.Unit = r.unit()
	bound := m.Bound()
	for _, moved := range [][2]int64{{2, 0}, {0, 2}, {1, 1}, {1, -1}, {-2, 0}} {
		for _, order := range []float64{1.1, 2, 5, 9} {
			sum := 0.0
			for z, q := range law { // sums are as far apart as the parts are: one is a function of the other
				if other := law[[2]int64{z[0] - moved[0], z[1] - moved[1]}]; other > 1e-30 && q > 1e-30 {
					sum += math.Pow(q, order) * math.Pow(other, 1-order)
				}
			}
			if got := math.Log(sum) / (order - 1); got > bound(order)*(1+1e-9) {
				t.Errorf("%v: %g at order %g, charged %g", moved, got, order, bound(order))
			}
		}
	}
	src, counts := seededSource(32), map[[2]int64]int{}
	for range 100000 {
		_, plain, err := DrawChain(src, chain, []int64{7, -3})
		if err != nil {
			t.Fatal(err)
		}
		counts[[2]int64{plain[0] - 7, plain[1] - plain[0] + 3}]++
	}
	if got, limit := stattest.ChiSquare(counts, law); got > limit {
		t.Errorf("χ² is %g, limit %g", got, limit)
	}
}

// TestChainFaultsAreRefused: a chain is drawn as a whole, with one noise, in the order of its places, and is charged for
// what a unit does to all of it.
func TestChainFaultsAreRefused(t *testing.T) {
	g := Guarantee{Epsilon: .02, Order: 10}
	list, chain := chainOf(t, 3, g)
	_, other := chainOf(t, 3, Guarantee{Epsilon: .01, Order: 10})
	_, longer := chainOf(t, 4, g)
	_, independent := chainOf(t, 3, Guarantee{Epsilon: 1})
	for of, members := range map[string][]*Prepared{
		"swapped": {chain[1], chain[0], chain[2]}, "twice": {chain[0], chain[0], chain[2]}, "a part": chain[:2],
		"two noises": {chain[0], other[1], chain[2]}, "two lengths": {chain[0], longer[1], chain[2]},
		"independent": {chain[0], independent[1], chain[2]}, "and one": {independent[0], chain[1], independent[2]},
	} {
		if _, _, err := DrawChain(seededSource(1), members, make([]int64, len(members))); err == nil {
			t.Errorf("%s: it is drawn", of)
		}
	}
	if CheckChain(list, []int{0, 1, 2}) != nil {
		t.Error("a chain is refused")
	}
	for of, change := range map[string]func(r *Release){
		"no layer": func(r *Release) { r.Layer = 0 }, "another layer": func(r *Release) { r.Layer = 2 },
		"another place": func(r *Release) { r.Place = 1 }, "another length": func(r *Release) { r.Running = 4 },
		"another total": func(r *Release) { r.Total = 2 }, "another sensitivity": func(r *Release) { r.Sensitivity = 2 },
		"other groups": func(r *Release) { r.Groups = 2 }, "truncated": func(r *Release) { r.Choice.Bounding = Truncate },
	} {
		changed := append([]Release(nil), list...)
		if change(&changed[1]); CheckChain(changed, []int{0, 1, 2}) == nil {
			t.Errorf("%s: it is a chain", of)
		}
	}
	for of, change := range map[string]func(r *Release){
		"two rows": func(r *Release) { r.Sensitivity, r.Total = 2, 2 }, "two groups": func(r *Release) { r.Groups, r.Total = 2, 2 },
		"another place": func(r *Release) { r.Place = 1 }, "alone": func(r *Release) { r.Chain, r.Place = 0, 0 },
	} {
		r := list[1]
		if change(&r); chain[1].Verify(r) == nil {
			t.Errorf("%s: it is charged as it was", of)
		}
	}
	for _, place := range []int{0, -1, 4} {
		r := list[1]
		if r.Place = place; r.Place != list[1].Place {
			if _, err := Prepare(r, g); err == nil {
				t.Errorf("place %d of 3 is prepared", place)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a member is drawn alone")
		}
	}()
	chain[1].Draw(seededSource(1), 0, 0)
}

// TestTreesUnderPure: how many times less sums of numbers err from the nodes of the best tree, by least squares, than with
// noise of each number's own, under one pure ε: of a dozen no less in the mean.
func TestTreesUnderPure(t *testing.T) {
	for n, want := range map[int][2]float64{4: {1, 1}, 12: {1, 1.16}, 24: {1.12, 1.31}, 36: {1.22, 1.41}, 64: {1.39, 1.58}} {
		mean, worst := 0.0, 0.0
		for arity := 2; arity <= n; arity++ {
			var nodes [][2]int // from, to
			for levels, size := 1, 1; size < n; levels, size = levels+1, size*arity {
				for at := 0; at < n; at += size {
					nodes = append(nodes, [2]int{at, min(n, at+size)})
				}
				sum, most := 0.0, 0.0
				for _, variance := range leastSquares(n, nodes) {
					sum, most = sum+variance, max(most, variance)
				}
				each := float64(levels * levels) // of a node, whose share of ε is that of its level
				mean = max(mean, math.Sqrt(float64(n+1)/2/(each*sum/float64(n))))
				worst = max(worst, math.Sqrt(float64(n)/(each*most)))
			}
		}
		if math.Abs(mean-want[0]) > .01 || math.Abs(worst-want[1]) > .01 {
			t.Errorf("%d numbers: %.3f and %.3f times less", n, mean, worst)
		}
	}
}

// leastSquares is the variance of the sums of the first numbers, estimated from sums over nodes with noises of variance
// 1: the diagonal of A·(SᵀS)⁻¹·Aᵀ.
func leastSquares(n int, nodes [][2]int) []float64 {
	gram := make([][]float64, n) // its Cholesky factor in the end
	for i := range gram {
		gram[i] = make([]float64, n)
	}
	for _, s := range nodes {
		for i := s[0]; i < s[1]; i++ {
			for j := s[0]; j <= i; j++ {
				gram[i][j]++
			}
		}
	}
	for i := range n {
		for j := range i + 1 {
			x := gram[i][j]
			for k := range j {
				x -= gram[i][k] * gram[j][k]
			}
			if gram[i][j] = x / gram[j][j]; i == j {
				gram[i][j] = math.Sqrt(x)
			}
		}
	}
	out := make([]float64, n)
	for last := range n { // |C⁻¹a|², a the first numbers
		y := make([]float64, n)
		for i := range n {
			if i <= last {
				y[i] = 1
			}
			for k := range i {
				y[i] -= gram[i][k] * y[k]
			}
			y[i] /= gram[i][i]
			out[last] += y[i] * y[i]
		}
	}
	return out
}

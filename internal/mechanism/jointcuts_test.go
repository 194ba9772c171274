package mechanism

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// float is the nearest float64, of numbers that have one.
func (a floating) float() float64 { return math.Ldexp(float64(a.m), int(max(a.e, -4096))) }

// jointOf prepares quantiles that are drawn jointly.
func jointOf(t testing.TB, v Range, rows int64, epsilon float64, fractions ...float64) *Prepared {
	t.Helper()
	list, _ := familyOf(v, rows, fractions...)
	p := prepareAll(t, list, Guarantee{Epsilon: epsilon})[0]
	if _, joint := p.Jointly(); !joint {
		t.Fatalf("%v are not drawn jointly", fractions)
	}
	return p
}

// withDigits is the same with 2^digits cells per point.
func (q jointQuantiles) withDigits(digits uint) *jointQuantiles {
	q.grid = newFineGrid(q.grid.v, digits)
	return &q
}

// What is drawn is what is enumerated: points with one row, with more rows than cells, with none, in gaps of the range
// and beyond it.
func TestJointMatchesLaw(t *testing.T) {
	const draws = 6000
	src := seededSource(21)
	for _, v := range []Range{{{0, 3}}, {{0, 1}, {4, 5}}} {
		for _, fractions := range [][]float64{{.1, .3, .6, .8}, {.5, .5, .5, .5}, {.01, .02, .03, .99, .995}} {
			p := jointOf(t, v, 2, 3, fractions...)
			for digits := range uint(3) {
				laws, _ := NewJointDistributions(p, digits)
				q := p.joint.withDigits(digits)
				for i, h := range []Histogram{
					nil,
					{{3, 1}},
					{{-4, 2}, {1, 3}, {2, 1}, {3, 1}, {5, 7}},
					{{0, 13}, {2, 40}, {5, 3}},
				} {
					for _, count := range []int64{0, 4, int64(h.rows()) + 1} {
						counts, c := map[string]int{}, q.sums(h.within(v.hull()), count)
						for range draws {
							text := ""
							for _, z := range c.draw(src) {
								text += fmt.Sprint(z, " ")
							}
							counts[text]++
						}
						if got, limit := stattest.ChiSquare(counts, laws.Of(h, count)); got > limit {
							t.Errorf("histogram %d on %v, %v with %d digits, %d rows released: chi-square %.1f above %.1f", i, v, fractions,
								digits, count, got, limit)
						}
					}
				}
			}
		}
	}
}

// The sums over all cuts are those of the enumeration, to fifteen digits.
func TestJointSumsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	p := jointOf(t, Range{{0, 1}, {3, 4}}, 3, 1.7, .1, .2, .5, .9)
	for range 300 {
		digits := uint(random.IntN(3))
		laws, _ := NewJointDistributions(p, digits)
		var h Histogram
		for z := range int64(5) {
			if n := random.Int64N(12); n > 3 {
				h = append(h, Bin{z, n - 3})
			}
		}
		count := random.Int64N(40)
		c := p.joint.withDigits(digits).sums(h, count)
		last := make([]floating, len(c.gaps))
		c.all(len(c.fractions)-1, last)
		got, want := floatingZero, 0.0
		for r, w := range last {
			got = got.plus(w.times(c.part(len(c.fractions), c.gaps[r].below, c.rows)))
		}
		for _, w := range laws.weights(h, count) {
			want += w
		}
		if math.Abs(got.float()/want-1) > 1e-13 {
			t.Fatalf("%v, %d rows released, %d digits: %g instead of %g", h, count, digits, got.float(), want)
		}
	}
}

// Running sums are the sums they stand for, where weights go beyond the exponents of float64 too.
func TestJointLevels(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, epsilon := range []float64{.05, 2, 60} {
		p := jointOf(t, Range{{0, 5000}}, 1, epsilon, .001, .01, .5, .501, .9)
		var h Histogram
		for z := random.Int64N(30); z < 5000; z += 1 + random.Int64N(60) {
			h = append(h, Bin{z, 1 + random.Int64N(5)*random.Int64N(5)*random.Int64N(5)})
		}
		c := p.joint.withDigits(3).sums(h, int64(h.rows())+7)
		before := make([]floating, len(c.gaps))
		for j := 1; j < len(c.fractions); j++ {
			c.all(j-1, before)
			for r, g := range c.gaps {
				want := floatingZero
				for i := range r {
					want = want.plus(before[i].times(c.part(j, c.gaps[i].below, g.below)))
				}
				got := c.t[r*len(c.fractions)+j]
				if ratio := (floating{got.m, got.e - want.e}).float() / float64(want.m); r > 0 && math.Abs(ratio-1) > 1e-12 ||
					r == 0 && got != want {
					t.Fatalf("ε %g, cut %d, gap %d: %v instead of %v", epsilon, j, r, got, want)
				}
			}
			for r := range c.gaps {
				sum, all := floatingZero, before[r]
				for _, w := range c.runs(r, j-1) {
					sum = sum.plus(w)
				}
				if ratio := (floating{sum.m, sum.e - all.e}).float() / float64(all.m); math.Abs(ratio-1) > 1e-12 {
					t.Fatalf("the runs of gap %d add up to %g of their sum", r, ratio)
				}
			}
		}
	}
}

// Each row that is added to a point takes a cell of its own and leaves the others where they are; all cells get as
// many.
func TestRowsOfAPointAreNested(t *testing.T) {
	for digits := range uint(7) {
		f := newFineGrid(Range{{0, 0}}, digits)
		in := make([]uint64, 1<<digits)
		for rows := int64(1); rows < 400; rows++ {
			in[cellOf(rows-1, digits)]++
			got := make([]uint64, len(in))
			last := -1
			f.distribute(uint64(rows), func(cell, n uint64) {
				if int(cell) <= last || n == 0 {
					t.Fatalf("cell %d with %d rows behind cell %d", cell, n, last)
				}
				got[cell], last = n, int(cell)
			})
			if !slices.Equal(got, in) || slices.Max(in)-slices.Min(in) > 1 {
				t.Fatalf("%d digits, %d rows: %v instead of %v", digits, rows, got, in)
			}
		}
	}
}

// All of a joint draw rises and takes as many words whatever the rows are; so it does by halving, for each quantile.
func TestJointDrawsAreConstant(t *testing.T) {
	src := seededSource(22)
	v := Range{{0, 300}, {500, 1000}}
	for k := 4; k <= 20; k += 4 {
		var fractions []float64
		for i := range k {
			fractions = append(fractions, float64(i+1)/float64(k+1))
		}
		list, members := familyOf(v, 3, fractions...)
		prepared := prepareAll(t, list, Guarantee{Epsilon: .3})
		if _, joint := prepared[0].Jointly(); !joint {
			t.Fatalf("%d quantiles are not drawn jointly", k)
		}
		for _, h := range append(slices.Clone(histograms), nil, Histogram{{400, 1}},
			Histogram{{0, 5}, {450, 1 << 12}, {999, 3}}) {
			for range 20 {
				before := src.Draws()
				z := DrawFamily(src, list, members, prepared, h)
				if !slices.IsSorted(z) || !v.has(z[0]) || !v.has(z[k-1]) {
					t.Fatalf("%v", z)
				}
				if got := src.Draws() - before; got != uint64(batch*wordsPerCandidate+5*k) {
					t.Fatalf("%d words for %d quantiles", got, k)
				}
			}
		}
	}
}

// What is chosen at once is what more digits choose, and shares are exact.
func TestChooseShare(t *testing.T) {
	src := seededSource(23)
	weights := []floating{
		floatingZero, floatingInt(3),
		{1 << 63, -200},
		{1 << 63, -400},
		floatingInt(1 << 40),
		{1<<64 - 1, -63},
		{1 << 63, -5000},
	}
	counts, law := map[int]int{}, map[int]float64{1: 3, 4: 1 << 40, 5: 2}
	weights[4] = floatingInt(4)
	law[4] = 4
	for i := range law {
		law[i] /= 9
	}
	for range 20000 {
		u1, u0 := src.Uint64(), src.Uint64()
		i, ok := shareAt(newFloatings(weights), u1, u0)
		if big := shareAtLong(src, newFloatings(weights), u1, u0); ok && big != i {
			t.Fatalf("%x %x chooses %d instead of %d", u1, u0, i, big)
		} else if !ok {
			i = big
		}
		counts[i]++
	}
	if got, limit := stattest.ChiSquare(counts, law); got > limit {
		t.Errorf("chi-square %.1f above %.1f: %v", got, limit, counts)
	}
	// The ends of a weight are not decided by 128 bits.
	two := []floating{floatingInt(1), floatingInt(1)}
	for _, u1 := range []uint64{1<<63 - 1, 1 << 63} {
		i, ok := shareAt(newFloatings(two), u1, -(1 - u1>>63))
		if u1 == 1<<63-1 && ok {
			t.Errorf("%d is chosen next to the end", i)
		}
		if i := shareAtLong(src, newFloatings(two), u1, -(1 - u1>>63)); i != int(u1>>63) {
			t.Errorf("more digits of %x choose %d", u1, i)
		}
	}
	// A word that is right behind a whole number of units is as good as any other.
	shares, total := newFloatings(weights[1:]), new(big.Int)
	for i := range shares.list {
		hi, lo := shares.short(i)
		total.Add(total, new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64)).Add(total, new(big.Int).SetUint64(lo))
	}
	for part := range int64(101) {
		u := new(big.Int).Div(new(big.Int).Mul(total, big.NewInt(part)), big.NewInt(101))
		u.Lsh(u, 128).Div(u, total).Add(u, big.NewInt(1))
		u1, u0 := new(big.Int).Rsh(u, 64).Uint64(), new(big.Int).And(u, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
		if i, ok := shareAt(shares, u1, u0); ok && i != shareAtLong(src, shares, u1, u0) {
			t.Errorf("%d of 101 parts of the weights choose %d", part, i)
		}
	}
	for _, x := range []float64{.25, 1 - 1e-7, math.Exp(-4)} {
		p := newPowerTable(x)
		for _, n := range []uint64{0, 1, 77, 1023, 1024, 50_000, 1 << 20, 1<<24 + 12345} {
			if want := math.Exp(float64(n) * math.Log(x)); want > 1e-300 &&
				math.Abs(p.of(n).float()/want-1) > 1e-12*(1+float64(n)) {
				t.Errorf("%g^%d is %g instead of %g", x, n, p.of(n).float(), want)
			}
		}
	}
}

// Where the released number of rows is large, halving draws with what is left.
func TestManyRowsAreHalved(t *testing.T) {
	list, members := familyOf(Range{{0, 1000}}, 1, deciles...)
	prepared := prepareAll(t, list, Guarantee{Epsilon: 1})
	src := seededSource(24)
	before := src.Draws()
	z := DrawFamily(src, list, members, prepared, Histogram{{0, 1 << 40}, {700, 1 << 40}, {1000, 1 << 39}})
	if got := src.Draws() - before; got != batch*wordsPerCandidate+27 ||
		!slices.Equal(z, []int64{0, 0, 0, 0, 700, 700, 700, 700, 1000}) && z[8] != 1000 {
		t.Errorf("%v with %d words", z, got)
	}
}

// Of rows that lie close the errors are those that the choice between the ways of drawing rests on.
func TestPredictedErrors(t *testing.T) {
	src := seededSource(25)
	const n, times = 3000, 60
	h := Histogram{}
	for i := range int64(n) {
		h = append(h, Bin{i, 1})
	}
	for _, fractions := range [][]float64{deciles, {.05, .1, .5, .8, .99}} {
		list, members := familyOf(Range{{0, n - 1}}, 1, fractions...)
		sorted := byFraction(list, members)
		joint := prepareAll(t, list, Guarantee{Epsilon: 1})
		halving := make([]*Prepared, len(list))
		if err := prepareFamily(list, sorted, 0, 1<<rankBits, Guarantee{Epsilon: 1}, halving); err != nil {
			t.Fatal(err)
		}
		for name, way := range map[string]struct {
			prepared  []*Prepared
			predicted float64
		}{"joint": {joint, jointError(list, sorted)}, "halving": {halving, halvingError(list, sorted)}} {
			sum := 0.0
			for range times {
				for i, z := range DrawFamily(src, list, members, way.prepared, h) {
					sum += math.Pow(float64(z)-fractions[i]*n, 2)
				}
			}
			if ratio := math.Sqrt(sum / float64(times*len(list)) / way.predicted); ratio < .8 || ratio > 1.25 {
				t.Errorf("%s of %v: %.3f of the error predicted, %.3f", name, fractions, ratio, math.Sqrt(way.predicted))
			}
		}
	}
}

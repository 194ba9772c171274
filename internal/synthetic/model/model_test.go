package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNearestAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		list, clamped := make([]float64, 1+r.IntN(20)), []float64(nil)
		positive := 0.0
		for i := range list {
			list[i] = 20 * r.NormFloat64()
			clamped = append(clamped, math.Max(0, list[i]))
			positive += clamped[i]
		}
		total := positive * r.Float64()
		got := Nearest(list, total)
		if math.Abs(Sum(got)-total) > 1e-9*(1+total) || slices.Min(got) < 0 {
			t.Fatalf("%v to %g: %v", list, total, got)
		}
		for i, x := range Nearest(clamped, total) { // what the product's answers lack below 0 is nothing
			if math.Abs(x-got[i]) > 1e-9 {
				t.Fatalf("clamped counts give %v, others %v", x, got[i])
			}
		}
	}
}

// TestFitIsTheProjection: the sums hold, what has them already stays, and no counts with these sums are nearer.
func TestFitIsTheProjection(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		truth := New(2+r.IntN(8), 2+r.IntN(8))
		for i := range truth.At {
			truth.At[i] = math.Floor(100 * r.ExpFloat64() * float64(r.IntN(2)))
		}
		rows, columns := sums(truth)
		for i, x := range Fit(truth, rows, columns).At {
			if math.Abs(x-truth.At[i]) > 1e-3 {
				t.Fatalf("counts that add up become %g of %g", x, truth.At[i])
			}
		}
		y := New(truth.Rows, truth.Columns)
		for i := range y.At {
			y.At[i] = truth.At[i] + 30*r.NormFloat64()
		}
		got := Fit(y, rows, columns)
		gotRows, gotColumns := sums(got)
		for i, x := range slices.Concat(gotRows, gotColumns) {
			if want := slices.Concat(rows, columns)[i]; math.Abs(x-want) > 1e-3*(1+Sum(rows)) {
				t.Fatalf("a sum is %g, not %g", x, want)
			}
		}
		if distance(got, truth) > distance(y, truth)+1e-6 || slices.Min(got.At) < 0 {
			t.Fatalf("fitted counts are %g from the truth, noisy ones %g", distance(got, truth), distance(y, truth))
		}
	}
}

func sums(c Counts) (rows, columns []float64) {
	t := c.Transposed()
	for i := range c.Rows {
		rows = append(rows, Sum(c.Row(i)))
	}
	for j := range c.Columns {
		columns = append(columns, Sum(t.Row(j)))
	}
	return rows, columns
}

func distance(a, b Counts) (d float64) {
	for i := range a.At {
		d += (a.At[i] - b.At[i]) * (a.At[i] - b.At[i])
	}
	return d
}

func TestDependence(t *testing.T) {
	product, diagonal := New(3, 4), New(3, 3)
	for i := range 3 {
		for j := range 4 {
			product.Row(i)[j] = float64((i + 1) * (j + 2))
		}
		diagonal.Row(i)[i] = 10
	}
	if d := Dependence(product, 0); d > 1e-12 {
		t.Errorf("independent attributes have %g", d)
	}
	if d := Dependence(diagonal, 0); math.Abs(d-2./3) > 1e-12 {
		t.Errorf("equal attributes have %g", d)
	}
	if d := Dependence(New(2, 2), 1); d != 0 {
		t.Errorf("no rows have %g", d)
	}
}

// TestTreeIsMaximal compares with all trees of four attributes, and hangs the others on those that are there.
func TestTreeIsMaximal(t *testing.T) {
	weights := [][]float64{{0, 5, 1, 2}, {5, 0, 4, 3}, {1, 4, 0, 6}, {2, 3, 6, 0}}
	weight := func(i, j int) float64 { return weights[i][j] }
	total := 0.0
	seen := map[int]bool{}
	for _, e := range Tree(4, 0, weight) {
		if e.From >= 0 {
			total += weight(e.From, e.To)
		}
		if e.From >= 0 && !seen[e.From] || seen[e.To] {
			t.Errorf("%+v is out of order", e)
		}
		seen[e.To] = true
	}
	if total != 15 {
		t.Errorf("the tree weighs %g", total)
	}
	if got := Tree(4, 2, weight); !slices.Equal(got, []Edge{{1, 2}, {2, 3}}) {
		t.Errorf("on two known ones: %v", got)
	}
	if got := Tree(1, 0, weight); !slices.Equal(got, []Edge{{-1, 0}}) {
		t.Errorf("one attribute: %v", got)
	}
}

// TestDrawnSharesAreExact: the rows with a given value have each value as often as its share says, up to one row, with
// the right mean; and the same seed draws the same.
func TestDrawnSharesAreExact(t *testing.T) {
	shares := Counts{2, 3, []float64{0.5, 0.3, 0.2, 1, 0, 7}}
	given := make([]uint16, 1001)
	for i := range given {
		given[i] = uint16(i % 2)
	}
	const runs = 2000
	mean := 0.0
	for seed := range uint64(runs) {
		got := Draw(rand.New(rand.NewPCG(seed, 0)), given, shares)
		if seed == 0 && !slices.Equal(got, Draw(rand.New(rand.NewPCG(seed, 0)), given, shares)) {
			t.Fatal("one seed draws two ways")
		}
		counts := New(2, 3)
		for row, v := range got {
			counts.Row(int(given[row]))[v]++
		}
		for g, n := range []float64{501, 500} {
			for v, x := range counts.Row(g) {
				if want := n * shares.Row(g)[v] / Sum(shares.Row(g)); math.Abs(x-want) > 1 {
					t.Fatalf("value %d of %d is drawn %g times, not %g", v, g, x, want)
				}
			}
		}
		mean += counts.At[0] / runs
	}
	// Of 250.5 it is 250 or 251: the mean of 2000 is off by more than five of its standard errors once in a million times.
	if math.Abs(mean-250.5) > 5*0.5/math.Sqrt(runs) {
		t.Errorf("the mean is %g", mean)
	}
}

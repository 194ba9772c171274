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

// TestRake: the sums hold, what has them already stays, what is 0 stays, and ratios within blocks do.
func TestRake(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		truth := New(2+r.IntN(8), 2+r.IntN(8))
		for i := range truth.At {
			truth.At[i] = math.Floor(100 * r.ExpFloat64() * float64(r.IntN(2)))
		}
		rows, columns := sums(truth)
		y := New(truth.Rows, truth.Columns)
		for i := range truth.Rows {
			for j, x := range truth.Row(i) { // the truth, by a factor for each row and each column
				y.Row(i)[j] = x * float64(1+i) / float64(1+j)
			}
		}
		got := Rake(y, ColumnSums(columns, truth.Rows), RowSums(rows, truth.Columns))
		gotRows, gotColumns := sums(got)
		for i, x := range slices.Concat(gotRows, gotColumns) {
			if want := slices.Concat(rows, columns)[i]; math.Abs(x-want) > 1e-3*(1+Sum(rows)) {
				t.Fatalf("a sum is %g, not %g", x, want)
			}
		}
		for i, x := range got.At {
			if math.Abs(x-truth.At[i]) > 1e-3*(1+Sum(rows)) {
				t.Fatalf("a count is %g of %g", x, truth.At[i])
			}
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

// TestDrawnSharesAreExact: the rows with a given value have each value as often as its share says, up to one row,
// with the right mean; and the same seed draws the same.
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
	// Of 250.5 it is 250 or 251: the mean of 2000 is off by more than five of its standard errors once in a million
	// times.
	if math.Abs(mean-250.5) > 5*0.5/math.Sqrt(runs) {
		t.Errorf("the mean is %g", mean)
	}
}

// TestSmoothTellsNoiseFromRows: counts above noise stay, and of what noise has put into empty cells little is left,
// near to what is dense. The mean of 400 runs is off by six of its standard errors less than once in a million times.
func TestSmoothTellsNoiseFromRows(t *testing.T) {
	const runs, noise, tail = 400, 10.0, 40
	r := rand.New(rand.NewPCG(3, 3))
	left, squares := 0.0, 0.0
	for range runs {
		list, widths := []float64{1000, 500}, []float64{1, 1}
		for range tail {
			list, widths = append(list, math.Max(0, noise*r.NormFloat64())), append(widths, 5)
		}
		got := Smooth(list, widths, noise)
		if got[0] != 1000 || got[1] != 500 || slices.Min(got) < 0 {
			t.Fatalf("%v becomes %v", list, got)
		}
		sum := Sum(got[2:])
		left, squares = left+sum/runs, squares+sum*sum/runs
		if slices.Max(list[2:]) < significant*noise && got[2] < 0.9*sum {
			t.Fatalf("%g of %g are at the begin of the tail", got[2], sum)
		}
	}
	// The estimate has the mean 0 and about the standard deviation noise·√tail before it is kept above 0.
	if spread := math.Sqrt(squares - left*left); left > 0.5*noise*math.Sqrt(tail)+6*spread/math.Sqrt(runs) {
		t.Errorf("%g rows are left of %g", left, tail*noise*math.Sqrt(1/(2*math.Pi)))
	}
	if got := Smooth([]float64{1, 2}, []float64{1, 3}, 10); math.Abs(got[1]-2.25) > 1e-9 {
		t.Errorf("beside nothing: %v", got)
	}
}

func TestShrinkKeepsWhatIsSure(t *testing.T) {
	y := Counts{2, 3, []float64{100, 6, 0, 90, 8, 12}}
	got := Shrink(y, []float64{190, 20, 10}, 5)
	want := []float64{100, (6 - 5*emptied) * 20 / 30, (6 - 5*emptied) * 10 / 30, 90, 20 * 20. / 30, 20 * 10. / 30}
	for i, x := range got.At {
		if math.Abs(x-want[i]) > 1e-9 {
			t.Errorf("%v becomes %v, want %v", y.At, got.At, want)
			break
		}
	}
}

func TestTiltHasTheMoment(t *testing.T) {
	list, sizes := []float64{70, 10, 10, 12, 0}, []float64{0, 1, 2, 3, 100}
	got, moment := Tilt(list, sizes, 60), 0.0
	for i, x := range got {
		moment += x * sizes[i]
	}
	if math.Abs(Sum(got)-102) > 1e-6 || math.Abs(moment-60) > 1e-3 || got[4] != 0 {
		t.Errorf("%v has the moment %g", got, moment)
	}
	if got := Tilt(list, sizes, 1e6); math.IsNaN(Sum(got)) || math.Abs(Sum(got)-102) > 1e-6 {
		t.Errorf("what no factor does: %v", got)
	}
}

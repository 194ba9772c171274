package mechanism

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// smallCubes are small enough to enumerate: coordinates, rows of a unit, shells.
var smallCubes = []struct {
	moves   []int64
	rows    int64
	epsilon float64
	shells  int64
}{
	{[]int64{1}, 1, 1, 1},
	{[]int64{3}, 2, .7, 2},
	{[]int64{2}, 4, 3, 5},
	{[]int64{5}, 3, 1, 64},
	{[]int64{1, 1}, 1, 1, 1},
	{[]int64{1, 2}, 2, 1, 1},
	{[]int64{3, 1}, 4, 2, 3},
	{[]int64{2, 3}, 3, .5, 4},
	{[]int64{1, 3}, 1, 1, 64},
	{[]int64{2, 1}, 2, 4, 128},
}

// The law that the sampler's odds describe is q^N(x), and no unit moves it by more than ε, in one group or in two.
func TestCubeEnumeration(t *testing.T) {
	for _, c := range smallCubes {
		cube, err := NewCube(CubeShape{c.moves, c.rows, c.shells}, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		reach := make([]int64, len(c.moves))
		for a, m := range c.moves {
			reach[a] = 2*c.rows*m + 3
		}
		table := cube.Tabulate(reach)
		if f := cube.Misfit(table); f > 1e-10 {
			t.Errorf("%+v: the table is off q^N by %g", c, f)
		}
		worst := cube.Worst(table)
		t.Logf("%+v: worst/ε = %.12f", c, worst/c.epsilon)
		if worst > c.epsilon || worst < c.epsilon*(1-1e-6) {
			t.Errorf("%+v: the worst log-ratio is %.12f", c, worst)
		}
		// One row more than the unit may have costs more than ε: the enumeration would see it.
		cube.rows++
		if over := cube.Worst(table); over < c.epsilon*1.1 {
			t.Errorf("%+v: with a row too many the worst log-ratio is %g", c, over)
		}
	}
}

// Draws follow the enumerated law, jointly.
func TestCubeDrawMatchesTable(t *testing.T) {
	const draws = 100000
	src := seededSource(31)
	for _, c := range smallCubes {
		cube, err := NewCube(CubeShape{c.moves, c.rows, c.shells}, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		reach := make([]int64, len(c.moves))
		for a, m := range c.moves {
			reach[a] = int64(math.Ceil(8 * float64(c.rows*m) / c.epsilon))
		}
		table := cube.Tabulate(reach)
		want, counts := map[string]float64{}, map[string]int{}
		table.Each(func(i int, x []int64) { want[fmt.Sprint(x)] = math.Exp(table.Log[i]) })
		noise := make([]int64, len(c.moves))
		for range draws {
			cube.Draw(src, noise)
			counts[fmt.Sprint(noise)]++
		}
		if got, limit := stattest.ChiSquare(counts, want); got > limit {
			t.Errorf("%+v: chi-square %.1f, limit %.1f", c, got, limit)
		}
	}
}

// Every coordinate has the error of the continuum, √((D+1)(D+2)/3)·R·M/ε, and its margin holds 95% of the draws.
func TestCubeErrors(t *testing.T) {
	const draws = 20000
	src := seededSource(32)
	for _, c := range []struct {
		moves   []int64
		rows    int64
		epsilon float64
	}{
		{[]int64{100}, 1, 1},
		{[]int64{1000, 120}, 1, 1},
		{[]int64{50, 7, 1 << 30}, 40, .5},
		{[]int64{1, 1, 1, 1, 1, 1}, 1000, .1},
		{[]int64{3, 1 << 25, 9, 11, 12, 13, 14}, 1 << 20, .001},
		{[]int64{1 << 20, 200}, 1, 8},
	} {
		cube, err := NewCube(CubeShape{Moves: c.moves, Rows: c.rows}, c.epsilon)
		if err != nil {
			t.Fatal(err)
		}
		d := float64(len(c.moves))
		square, inside := make([]float64, len(c.moves)), make([]int, len(c.moves))
		spread := make([]float64, len(c.moves))
		for a, m := range c.moves {
			law := cube.marginal(a)
			spread[a] = law.errorQuantile(confidence)
			near(t, fmt.Sprintf("%v: rmse of coordinate %d", c, a), law.rmse(), math.Sqrt((d+1)*(d+2)/3)*float64(c.rows)*float64(
				m)/c.epsilon, .02)
			if out := 1 - (2*law.upTo(spread[a]-1).m0 - law.point[0]); out < .05*(1-1e-4) {
				t.Errorf("%v: the margin %g of coordinate %d is too wide: one less leaves %g outside", c, spread[a], a, out)
			}
		}
		noise := make([]int64, len(c.moves))
		for range draws {
			cube.Draw(src, noise)
			for a, x := range noise {
				square[a] += float64(x) * float64(x) / draws
				if math.Abs(float64(x)) <= spread[a] {
					inside[a]++
				}
			}
		}
		for a := range c.moves {
			near(t, fmt.Sprintf("%v: drawn rmse of coordinate %d", c, a), math.Sqrt(square[a]), cube.marginal(a).rmse(), .06)
			if !stattest.AtLeast(inside[a], draws, confidence) {
				t.Errorf("%v: %d of %d within the margin of coordinate %d", c, inside[a], draws, a)
			}
		}
	}
}

// With one coordinate joint noise is Laplace noise.
func TestCubeOfOneIsLaplace(t *testing.T) {
	cube, err := NewCube(CubeShape{[]int64{1}, 7, 1}, .9)
	if err != nil {
		t.Fatal(err)
	}
	law, plain := cube.marginal(0), newKernel(Laplace, cube.kernel.kappa)
	near(t, "rmse", law.rmse(), plain.openErrors(), 1e-6)
	if a, b := law.errorQuantile(confidence), plain.plainQuantile(confidence); a != b {
		t.Errorf("margin %g, want %g", a, b)
	}
}

// A trial takes the same number of words whatever it proposes, and the vector two per coordinate.
func TestCubeTrialsAreConstant(t *testing.T) {
	src := seededSource(33)
	for _, moves := range [][]int64{{1}, {40, 1}, {1000, 7, 7}} {
		cube, err := NewCube(CubeShape{Moves: moves, Rows: 3}, 1)
		if err != nil {
			t.Fatal(err)
		}
		noise := make([]int64, len(moves))
		trial := uint64(len(moves)+1)*batch*wordsPerCandidate + 2*uint64(len(moves))
		trials, draws := uint64(0), 3000
		for range draws {
			before := src.Draws()
			cube.Draw(src, noise)
			used := src.Draws() - before - 2*uint64(len(moves))
			if used%trial != 0 {
				t.Fatalf("%v: %d words are not a number of trials of %d", moves, used, trial)
			}
			trials += used / trial
		}
		near(t, "acceptance", float64(draws)/float64(trials), cube.acceptance(), .1)
	}
}

// What the first trial refuses says nothing about the vector that a later one accepts: those vectors have the same law.
func TestCubeTrialsSayNothing(t *testing.T) {
	const draws = 60000
	cube, err := NewCube(CubeShape{Moves: []int64{1, 3}, Rows: 1, Shells: 64}, 1)
	if err != nil {
		t.Fatal(err)
	}
	table := cube.Tabulate([]int64{10, 30})
	want, counts, later := map[[2]int64]float64{}, map[[2]int64]int{}, 0
	table.Each(func(i int, x []int64) { want[[2]int64{x[0], x[1]}] = math.Exp(table.Log[i]) })
	src, noise := seededSource(35), make([]int64, 2)
	for range draws {
		before := src.Draws()
		cube.Draw(src, noise)
		if src.Draws()-before > 3*batch*wordsPerCandidate+8 {
			later++
			counts[[2]int64{noise[0], noise[1]}]++
		}
	}
	if got, limit := stattest.ChiSquare(counts, want); got > limit || later < draws/10 {
		t.Errorf("%d draws of more than one trial: chi-square %.1f, limit %.1f", later, got, limit)
	}
}

func TestCubeBadInput(t *testing.T) {
	for _, c := range []struct {
		moves   []int64
		rows    int64
		epsilon float64
	}{
		{nil, 1, 1},
		{make([]int64, cubeAxes+1), 1, 1},
		{[]int64{0}, 1, 1},
		{[]int64{limit + 1}, 1, 1},
		{[]int64{1}, 0, 1},
		{[]int64{1}, cubeRows + 1, 1},
		{[]int64{1}, 1, 0},
		{[]int64{1}, 1, math.NaN()},
		{[]int64{1}, 1, math.Inf(1)},
		{[]int64{1, 1}, 1, 200},
		{[]int64{1, 1}, cubeRows, .5},
		{[]int64{1 << 50}, 1, 1e12},
	} {
		if _, err := NewCube(CubeShape{Moves: c.moves, Rows: c.rows}, c.epsilon); err == nil {
			t.Errorf("%v: accepted", c)
		}
	}
}

// The widest noise there is stays within ±2^62, on both sides.
func TestCubeWidest(t *testing.T) {
	cube, err := NewCube(CubeShape{Moves: []int64{limit, 1}, Rows: 1 << 20}, minEps)
	if err != nil {
		t.Fatal(err)
	}
	src := seededSource(34)
	noise, low, high := make([]int64, 2), 0, 0
	for range 100 {
		cube.Draw(src, noise)
		switch noise[0] {
		case -noiseLimit:
			low++
		case noiseLimit:
			high++
		default:
			t.Fatalf("%d: the noise is 2^40 times wider than the limit", noise[0])
		}
		if noise[1] == noiseLimit || noise[1] == -noiseLimit {
			t.Fatal("the noise of the narrow coordinate is some 2^40 wide")
		}
	}
	if low < 20 || high < 20 {
		t.Errorf("%d low, %d high", low, high)
	}
}

func BenchmarkCube(b *testing.B) {
	for _, c := range []struct {
		name  string
		moves []int64
		rows  int64
	}{
		{"count+sum/R=1", []int64{1, 120}, 1},
		{"count+sum/R=50", []int64{1, 1 << 20}, 50},
		{"six/R=50", []int64{1, 100, 100, 1000, 1000, 1 << 20}, 50},
	} {
		b.Run(c.name, func(b *testing.B) {
			cube, err := NewCube(CubeShape{Moves: c.moves, Rows: c.rows}, 1)
			if err != nil {
				b.Fatal(err)
			}
			src, noise := NewSource(), make([]int64, len(c.moves))
			cube.Draw(src, noise)
			b.ReportAllocs()
			for b.Loop() {
				cube.Draw(src, noise)
			}
			b.ReportMetric(cube.acceptance(), "acceptance")
		})
		b.Run(c.name+"/calibrate", func(b *testing.B) {
			for b.Loop() {
				if _, err := NewCube(CubeShape{Moves: c.moves, Rows: c.rows}, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

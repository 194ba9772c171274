package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpproxy/dpproxy/internal/synthetic/model"
)

// TestMSTOfAChain: without noise it chooses the pairs of a chain, and has all pairs as they are; columns drawn alone
// have none that depend on each other.
func TestMSTOfAChain(t *testing.T) {
	bins := cut{keys: []string{"a", "b"}}
	f := &flat{
		table:  twinTable{from: "t t", columns: []string{"t.x", "t.y", "t.z"}, rows: 1},
		counts: map[[2]int]model.Counts{}, truth: map[[2]int]model.Counts{},
	}
	for pair, same := range map[[2]int]float64{{0, 1}: 400e3, {1, 2}: 350e3, {0, 2}: 310e3} { // 310 = (400·350 + 100·150) / 500
		f.counts[pair] = model.Counts{Rows: 3, Columns: 3, At: []float64{same, 500e3 - same, 0, 500e3 - same, same, 0, 0, 0, 0}}
		f.truth[pair] = f.counts[pair]
	}
	for range f.table.columns {
		f.cuts, f.alone = append(f.cuts, bins), append(f.alone, []float64{500e3, 500e3, 0})
		f.single, f.paired = append(f.single, bins.within(bins)), append(f.paired, bins.within(bins))
	}
	r := rand.New(rand.NewPCG(seed, 6))
	var exact, alone nearness
	f.mst(&exact, r, 1e3)
	f.independent(&alone, r, 1e3)
	for _, x := range exact.all {
		if x > 1e-4 {
			t.Errorf("a pair is %g off", x)
		}
	}
	if math.Abs(median(alone.all)-0.2) > 1e-3 || alone.chosen.off > 0 { // 350 where 250 are expected, of 1000 rows
		t.Errorf("columns drawn alone: %+v", alone)
	}
}

// TestBinsWithinBins: rows are spread within a bin, NULL and a single value are where they belong.
func TestBinsWithinBins(t *testing.T) {
	fine, coarse := cut{edges: []float64{0, 0, 2, 6, 10}}, cut{edges: []float64{0, 5, 10}}
	got := fine.within(coarse).moved(model.Counts{Rows: 1, Columns: 5, At: []float64{1, 2, 4, 8, 16}}).At
	for i, want := range []float64{6, 9, 16} {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("bin %d has %g rows, want %g", i, got[i], want)
		}
	}
}

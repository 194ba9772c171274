package synthetic

import (
	"math/big"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestGrids: cells of a grid begin at its first value, are in order, and are not too many; its texts are those of the
// type.
func TestGrids(t *testing.T) {
	for _, c := range []struct {
		oid         uint32
		typmod      int32
		low, high   string
		first, last string
		cells       int // at least
	}{
		{pgtype.Int4OID, -1, "-3", "3", "-3", "3", 7},
		{pgtype.Int4OID, -1, "0", "120", "0", "120", 48},
		{pgtype.Int8OID, -1, "-100000", "100000", "-100000", "100000", 48},
		{pgtype.NumericOID, 10<<16 | 2 + 4, "0", "20000", "0.00", "20000.00", 70},
		{pgtype.NumericOID, 10<<16 | 2 + 4, "-0.05", "0.5", "-0.05", "0.50", 48},
		{pgtype.Float8OID, -1, "0", "250", "0.00", "250.00", 48},
		{pgtype.DateOID, -1, "2015-01-15", "2026-12-31", "2015-01-15", "2026-12-31", 144},
		{pgtype.DateOID, -1, "1900-01-01", "2020-12-31", "1900-01-01", "2020-12-31", 48},
		{pgtype.TimestamptzOID, -1, "2024-01-01", "2024-12-31", "2024-01-01 00:00:00Z", "2024-12-31 00:00:00Z", 12},
		{pgtype.TimeOID, -1, "08:00", "18:00", "08:00:00", "18:00:00", 48},
	} {
		r, err := bound.ForColumn(c.oid, c.low, c.high)
		if err != nil {
			t.Fatal(err)
		}
		g, ok := gridOf(&rewrite.Schema{}, &rewrite.RelationColumn{Type: c.oid, Typmod: c.typmod, Bounds: &r})
		if !ok || g.text(g.low) != c.first || g.text(g.high) != c.last {
			t.Errorf("%s to %s: %s to %s, %v", c.low, c.high, g.text(g.low), g.text(g.high), ok)
			continue
		}
		cells := g.cells()
		if !slices.IsSorted(cells) || len(slices.Compact(slices.Clone(cells))) != len(cells) || cells[0] != g.low ||
			cells[len(cells)-1] > g.high || len(cells) < c.cells || len(cells) > monthCells {
			t.Errorf("%s to %s has %d cells: %v", c.low, c.high, len(cells), cells)
		}
	}
	if _, ok := gridOf(&rewrite.Schema{}, &rewrite.RelationColumn{Type: pgtype.IntervalOID, Bounds: &bound.Range{
		Lo: new(big.Rat), Hi: new(big.Rat),
	}}); ok {
		t.Error("an interval has a grid")
	}
}

func TestBinsOfCells(t *testing.T) {
	a := &attribute{values: []string{"a", "b", "c"}, masses: []float64{5, 1, 0, 2}}
	if b := merge(a, 2); b.n != 4 || !slices.Equal(b.of, []int{0, 1, 2, 3}) {
		t.Errorf("few values: %+v", b)
	}
	many := &attribute{}
	for range 100 {
		many.values, many.masses = append(many.values, "x"), append(many.masses, 1)
	}
	many.masses = append(many.masses, 0)
	b := merge(many, 20)
	if b.n != 21 || b.of[100] != 20 || !slices.IsSorted(b.of) {
		t.Errorf("many values: %+v", b)
	}
}

package engine

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
)

// TestEmptyThreshold: an empty count exceeds it in 5% of the draws at most, whatever one unit adds.
func TestEmptyThreshold(t *testing.T) {
	const draws = 10000
	source := mechanism.NewSource()
	for _, g := range []mechanism.Guarantee{{Epsilon: .1}, {Epsilon: .5}, {Epsilon: .5, Delta: 1e-6}} {
		for _, rows := range []int64{1, 50} {
			p, err := mechanism.Prepare(mechanism.Release{Kind: mechanism.Scalar, Sensitivity: rows, Groups: 1, Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}}}, g)
			if err != nil {
				t.Fatal(err)
			}
			hits := 0
			for range draws {
				if p.Draw(source, 0, 0) > p.EmptyThreshold(mechanism.Wrong) {
					hits++
				}
			}
			if !stattest.AtMost(hits, draws, .05) {
				t.Errorf("%+v, %d rows: %d of %d empty counts exceed the threshold", g, rows, hits, draws)
			}
		}
	}
}

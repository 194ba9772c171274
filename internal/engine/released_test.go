package engine

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/gate/gatetest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// width bounds what a row adds: Σ(2x − 2c) lies in [−width, width], where x is in [0, width] and 2c = width.
const width = 60

var (
	laplace = mechanism.Choice{Noise: mechanism.Laplace}

	alone = rewrite.Column{Type: pgtype.Int8OID, Releases: []int{0}}
	// of values in [−width/2, width/2]
	average = rewrite.Column{Type: pgtype.NumericOID, Releases: []int{1, 0}, Average: true}
)

// scalar is a release in [lo, hi] that is moved by one unit by at most sensitivity.
func scalar(lo, hi, sensitivity int64, c mechanism.Choice) mechanism.Release {
	return mechanism.Release{Kind: mechanism.Scalar, Sensitivity: sensitivity, Groups: 1, Range: mechanism.Range{
		{Lo: lo, Hi: hi},
	}, Choice: c, Grid: mechanism.Grid{Step: 1}}
}

// chainedReleases are a count and a sum that is given it.
func chainedReleases(count, sum mechanism.Choice) []mechanism.Release {
	return []mechanism.Release{
		scalar(0, mechanism.NoUpper, 1, count),
		{
			Kind: mechanism.SumGivenCount, Sensitivity: width, Groups: 1, PerRow: mechanism.Interval{Lo: -width, Hi: width},
			Choice: sum, Grid: mechanism.Grid{Step: .5},
		},
	}
}

// calibratedFor has a mechanism for each release of one block.
func calibratedFor(t *testing.T, block rewrite.Block, g mechanism.Guarantee) *calibrated {
	t.Helper()
	p := calibratedOf(block)
	for _, r := range block.Releases {
		prepared, err := mechanism.Prepare(r, g)
		if err != nil {
			t.Fatal(err)
		}
		p.Mechanisms[0].Releases = append(p.Mechanisms[0].Releases, prepared)
	}
	return p
}

// calibratedOf is the statement of one block.
func calibratedOf(block rewrite.Block, prepared ...*mechanism.Prepared) *calibrated {
	plan := &rewrite.Plan{Blocks: []rewrite.Block{block}}
	return &calibrated{
		Statement: estimate.Statement{Plan: plan, Mechanisms: []gate.Mechanisms{{Releases: prepared}}},
		wanted:    make([]map[int]float64, 1),
	}
}

type measured = gatetest.Exact

// draw releases integers as if main had answered them.
func draw(src *mechanism.Source, with gate.Mechanisms, releases []mechanism.Release, m measured) (
	released, gatetest.Shown,
) {
	r, shown := gatetest.Draw(src, with, releases, m)
	return released{Released: r, drawnWith: drawnWith{Chosen: map[int]float64{}}}, shown
}

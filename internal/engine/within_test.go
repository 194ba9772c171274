package engine

import (
	"errors"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestWithin: a release with a margin keeps it, the others keep their share, and the charge is the sum.
func TestWithin(t *testing.T) {
	count := mechanism.Release{Name: "count(*)", Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: 100000}}, Sensitivity: 1, Groups: 2, Weight: 1, Grid: mechanism.Grid{Step: 1}}
	wanted := count
	wanted.Name, wanted.Margin = "count(x)", 40
	chained := mechanism.Release{Name: "avg(x)", Kind: mechanism.SumGivenCount, PerRow: mechanism.Interval{Lo: -60, Hi: 60}, Sensitivity: 60, Groups: 2, Weight: 1, Grid: mechanism.Grid{Step: 1}}
	plan := &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{
		{Epsilon: .75, Releases: []mechanism.Release{wanted, count, chained}}, {Epsilon: .25, Releases: []mechanism.Release{count}},
	}}
	for _, delta := range []float64{0, 1e-6} {
		p, err := shareBudget(plan, statementBudget{epsilon: .5, delta: delta})
		if err != nil {
			t.Fatal(err)
		}
		first := p.blocks[0].releases
		if m := first[0].PlannedMargin(); m > 40 || m < 36 {
			t.Errorf("δ %g: margin %g, want 40 or little less", delta, m)
		}
		sum := 0.0
		for _, b := range p.blocks {
			for _, r := range b.releases {
				sum += r.Epsilon()
			}
		}
		if math.Abs(first[1].Epsilon()-.125) > 1e-12 || math.Abs(first[2].Epsilon()-.125) > 1e-12 || math.Abs(sum-p.epsilon) > 1e-12 || p.charge.Epsilon != p.epsilon {
			t.Errorf("δ %g: %g, %g of the others, %g together, charged %g", delta, first[1].Epsilon(), first[2].Epsilon(), sum, p.charge.Epsilon)
		}
		var curves ledger.Charge
		for _, b := range p.blocks {
			for _, r := range b.releases {
				curves.Curve = curves.Curve.Add(r.Curve())
			}
		}
		for i, rho := range p.charge.Curve.Renyi {
			if rho < curves.Curve.Renyi[i] {
				t.Errorf("δ %g: order %d is charged %g of %g", delta, i, rho, curves.Curve.Renyi[i])
			}
		}
	}
	plan.Blocks[0].Releases[0].Margin = 1
	var refused *pgconn.PgError
	if _, err := shareBudget(plan, statementBudget{epsilon: .5}); !errors.As(err, &refused) || refused.Code != "22023" {
		t.Errorf("a margin of 1: %v", err)
	}
}

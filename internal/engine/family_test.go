package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Quantiles of the same rows rise with their fractions, the least and the greatest value among them, in every group: by
// halving and jointly. EXPLAIN says which.
func TestQuantilesKeepTheirOrder(t *testing.T) {
	t.Run("halving", func(t *testing.T) { quantilesRise(t, policy.RDP, "by halving for 4 quantiles on 3 levels") })
	t.Run("joint", func(t *testing.T) { quantilesRise(t, policy.Pure, "jointly for 4 quantiles") })
}

func quantilesRise(t *testing.T, method policy.Method, explained string) {
	fractions := []float64{.75, 0, .1, .5, .3, 1}
	var releases []mechanism.Release
	for _, q := range fractions {
		releases = append(releases, mechanism.Release{
			Kind: mechanism.Quantile, Range: mechanism.Range{{Lo: 0, Hi: 200}}, Sensitivity: 3, Total: 3, Fraction: q, Family: 1,
			Weight: 2, Grid: mechanism.Grid{Step: 1},
		})
	}
	plan := &rewrite.Plan{EpsilonMax: 2, Blocks: []rewrite.Block{{Releases: releases, Keys: rewrite.KeyRows{nil, nil}}}}
	p := shared(t, plan, budgetOf(method, 20, .5))
	if info := describeRelease(p, 0, 0); !strings.HasSuffix(info.Mechanism, explained) {
		t.Errorf("EXPLAIN says %q", info.Mechanism)
	}
	src, random := mechanism.NewSource(), rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m := measured{Keys: plan.Blocks[0].Keys, Values: make([][]int64, len(releases))}
		groups := make([]mechanism.Histogram, 2)
		for g := range groups {
			for z := int64(0); z < 200; z += 1 + random.Int64N(60) {
				groups[g] = append(groups[g], mechanism.Bin{Step: z, Count: random.Int64N(40)})
			}
		}
		for range releases {
			m.Histograms = append(m.Histograms, groups)
		}
		out, _ := draw(src, p.Mechanisms[0], releases, m)
		for g := range groups {
			rising := []int64{
				out.Values[1][g], out.Values[2][g], out.Values[4][g], out.Values[3][g], out.Values[0][g],
				out.Values[5][g],
			}
			if !slices.IsSorted(rising) {
				t.Fatalf("%v does not rise", rising)
			}
		}
	}
}

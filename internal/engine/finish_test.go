package engine

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// TestEmptyThreshold: an empty count exceeds it in 5% of the draws at most, whatever one unit adds.
func TestEmptyThreshold(t *testing.T) {
	const draws = 10000
	source := mechanism.NewSource()
	for _, g := range []mechanism.Guarantee{{Epsilon: .1}, {Epsilon: .5}, {Epsilon: .5, Delta: 1e-6}} {
		for _, rows := range []int64{1, 50} {
			p, err := mechanism.Prepare(mechanism.Release{
				Kind: mechanism.Scalar, Sensitivity: rows, Groups: 1,
				Range: mechanism.Range{{Lo: 0, Hi: mechanism.NoUpper}},
			}, g)
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

// TestCertainBooleans: bool_or over 60 people for whom it holds is true in 95% of the draws or more, whichever rows they
// have: a unit moves their number by 1 (docs/privacy.md P12c). By 20, as it moves a number of rows, it would be false in
// many.
func TestCertainBooleans(t *testing.T) {
	const draws = 10000
	source := mechanism.NewSource()
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		for _, c := range []struct {
			moves  int64
			groups int
			holds  bool
		}{{1, 1, true}, {1, 3, true}, {20, 1, false}} {
			units := scalar(0, mechanism.NoUpper, c.moves, mechanism.Choice{})
			units.Groups, units.Weight = c.groups, 1
			p := shared(t, statementOf(1, units), budgetOf(method, 10, .5)).Mechanisms[0].Releases[0]
			hits, least := 0, p.EmptyThreshold(mechanism.Wrong)
			for range draws {
				if p.Draw(source, 60, 0) > least {
					hits++
				}
			}
			if stattest.AtLeast(hits, draws, .95) != c.holds {
				t.Errorf("%s, %+v: 60 people of 60 exceed the threshold in %d of %d draws", method, c, hits, draws)
			}
		}
	}
}

// TestDerivedArguments: what the finish query is bound to.
func TestDerivedArguments(t *testing.T) {
	share := .2
	releases := chainedReleases(laplace, laplace)
	releases[0].Sensitivity, releases[1].Sensitivity = 50, 50*width
	releases = append(releases, mechanism.Release{Kind: mechanism.Quantile, Sensitivity: 1, Range: mechanism.Range{
		{Lo: 0, Hi: 120},
	}, Fraction: .5})
	median := rewrite.Column{Releases: []int{2}, Cut: &release.Cut{High: true}}
	r := estimate.Drawn(
		[]gate.Released{{Keys: make(rewrite.KeyRows, 2), Values: [][]int64{{4000, 0}, {120000, 0}, {50, 0}}}})[0]
	for _, c := range []struct {
		name    string
		leftOut *float64
		column  rewrite.Column
		what    rewrite.Derived
		want    string
	}{
		{"low end of a count", &share, alone, rewrite.DerivedLow, "{75,0}"},
		{"high end of a count", &share, alone, rewrite.DerivedHigh, "{1075,75}"},
		{"of the noise alone where nobody says what is left out", nil, alone, rewrite.DerivedHigh, "{75,75}"},
		{"no average of no rows", &share, average, rewrite.DerivedLow, "{100991,NULL}"},
		{"low end of a median", nil, median, rewrite.DerivedLow, "{50,0}"},
		{"no end that nobody knows", nil, median, rewrite.DerivedHigh, "{NULL,NULL}"},
		{"no deviation of no rows", nil, average, rewrite.DerivedStddev, "{0.5929191479758821,NULL}"},
		{"a threshold", &share, alone, rewrite.DerivedThreshold, "{58,58}"},
	} {
		p := &private{calibrated: calibratedFor(t, rewrite.Block{Releases: releases, Rows: 50, LeftOut: c.leftOut},
			mechanism.Guarantee{Epsilon: 2})}
		got, err := p.derivedArg(rewrite.FinishArg{Release: c.column.Releases[0], Column: &c.column, Derived: c.what}, r)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, err)
		}
	}
}

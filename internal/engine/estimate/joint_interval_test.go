package estimate

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// jointReleases are a count, a sum that is given it, and counts of the same rows, with joint noise for all of them.
func jointReleases(counts int) []mechanism.Release {
	list := chainedReleases(mechanism.Choice{}, mechanism.Choice{})
	list[0].Row, list[0].Total = 1, 1
	list[1].Row, list[1].Total = width, width
	for range counts {
		list = append(list, list[0])
	}
	return list
}

// TestJointIntervalsCover draws aggregates from joint noise of up to 40 releases. Two of its coordinates are
// uncorrelated, but the more there are, the nearer are both to a uniform noise, whose 95% quantile says little of their
// sum. Averages and sums have noise of many steps: their intervals hold 95%, of counts what whole numbers allow. False
// alarms as in TestIntervalsCover.
func TestJointIntervalsCover(t *testing.T) {
	const rows = 400
	draws := 10000
	if testing.Short() {
		draws = 3000
	}
	source := mechanism.NewSource()
	for _, c := range []struct {
		counts         int
		epsilon, whole float64 // ε of each release, and how many draws an interval of whole numbers holds at most
	}{{1, .1, .965}, {2, .25, .975}, {4, .1, .965}, {10, .25, .99}, {38, .1, .975}, {38, .25, .99}} {
		list := jointReleases(c.counts)
		prepared, err := mechanism.PrepareVector(context.Background(), list, mechanism.Guarantee{
			Epsilon: c.epsilon * float64(len(list)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if cube, _ := prepared[0].Joint(); cube == nil {
			t.Fatalf("%d releases have no joint noise", len(list))
		}
		b := gate.Mechanisms{Releases: prepared}
		p := &Statement{Plan: &rewrite.Plan{Blocks: []rewrite.Block{{Releases: list}}}, Mechanisms: []gate.Mechanisms{b}}
		for _, each := range []int64{0, width / 2} { // of values in the middle of their bounds, and off it
			exact := make([][]int64, len(list))
			for i := range exact {
				exact[i] = []int64{rows}
			}
			exact[1][0] = rows * each
			hits := make([]int, len(jointKinds))
			for range draws {
				r := draw(source, b, list, measured{Keys: make(rewrite.KeyRows, 1), Values: exact})
				for k, kind := range jointKinds {
					i, ok := p.interval(0, kind.column, r, 0)
					if !ok {
						t.Fatal("no interval")
					}
					z, answer := float64(r.Values[kind.column.Releases[0]][0]), wanted(kind.column, r, 0, exact, 0)
					if z-i.Below <= answer+1e-6 && answer <= z+i.Above+1e-6 {
						hits[k]++
					}
				}
			}
			for k, kind := range jointKinds {
				most := .96
				if kind.whole {
					most = c.whole
				}
				if !stattest.AtLeast(hits[k], draws, .945) || !stattest.AtMost(hits[k], draws, most) {
					t.Errorf("%d releases, %d per row: the interval of a %s holds the answer in %d of %d draws", len(list), each,
						kind.name, hits[k], draws)
				}
			}
		}
	}
}

// jointKinds are what may follow from jointReleases; whole numbers are where few steps of noise are.
var jointKinds = []struct {
	name   string
	column rewrite.Column
	whole  bool
}{
	{"count", alone, true},
	{"average", average, false},
	{"sum", total, false},
	{
		"sum of values far from 0",
		rewrite.Column{Type: pgtype.Int8OID, Releases: []int{1, 0}, DoubledCenter: 100 * width},
		false,
	},
	{"count of parts", rewrite.Column{Type: pgtype.Int8OID, Releases: []int{0, 2}, Parts: true}, true},
}

// wanted is what the first release of a column in group g would have to be for the aggregate to be true, which is exact
// at the place of.
func wanted(c rewrite.Column, r Block, g int, exact [][]int64, of int) float64 {
	answer := float64(exact[c.Releases[0]][of])
	if len(c.Releases) == 1 {
		return answer
	}
	n, rows := float64(r.Values[c.Releases[1]][g]), float64(exact[c.Releases[1]][of])
	switch {
	case c.Parts:
		return answer + rows - n
	case c.Average:
		return answer * n / rows
	}
	return answer + float64(c.DoubledCenter)*(rows-n)
}

package engine

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

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

// TestJointIntervalsCover draws aggregates from joint noise of up to 40 releases: two of its coordinates are uncorrelated, but the more
// there are, the nearer are both to a uniform noise, whose 95% quantile says little of their sum: the interval of an average beside 40
// releases holds 99.2%. False alarms as in TestIntervalsCover.
func TestJointIntervalsCover(t *testing.T) {
	const draws, rows = 8000, 400
	parts := rewrite.Column{Type: pgtype.Int8OID, Releases: []int{0, 2}, Parts: true}
	for _, counts := range []int{1, 4, 38} {
		list := jointReleases(counts)
		prepared, err := mechanism.PrepareVector(list, mechanism.Guarantee{Epsilon: .25 * float64(counts)})
		if err != nil {
			t.Fatal(err)
		}
		if cube, _ := prepared[0].Joint(); cube == nil {
			t.Fatalf("%d releases have no joint noise", len(list))
		}
		b := calibratedBlock{releases: prepared}
		p := &calibrated{plan: &rewrite.Plan{Blocks: []rewrite.Block{{Releases: list}}}, blocks: []calibratedBlock{b}}
		columns := []rewrite.Column{alone, average, total, parts}
		hits := make([]int, len(columns))
		exact := make([][]int64, len(list))
		for i := range exact {
			exact[i] = []int64{rows}
		}
		exact[1][0] = 0 // Σ(2x − width) of values of width/2 on average
		source := mechanism.NewSource()
		for range draws {
			r := b.draw(source, list, measured{keys: make([][]*rewrite.Canonical, 1), exact: exact})
			for k, c := range columns {
				i, ok := p.interval(0, c, r, 0)
				if !ok {
					t.Fatal("no interval")
				}
				z, answer := float64(r.Values[c.Releases[0]][0]), float64(exact[c.Releases[0]][0])
				switch {
				case c.Parts:
					answer += rows - float64(r.Values[2][0])
				case c.DoubledCenter != 0:
					answer += float64(c.DoubledCenter) * (rows - float64(r.Values[0][0]))
				}
				if z-i.below <= answer+1e-6 && answer <= z+i.above+1e-6 {
					hits[k]++
				}
			}
		}
		for k, name := range []string{"count", "average", "sum", "count of parts"} {
			if !stattest.AtLeast(hits[k], draws, .94) || !stattest.AtMost(hits[k], draws, .995) {
				t.Errorf("%d releases: the interval of a %s holds the answer in %d of %d draws", len(list), name, hits[k], draws)
			}
		}
	}
}

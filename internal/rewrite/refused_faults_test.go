package rewrite_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/gate"
)

// certified says why certify refuses the queries of a block as they are now, for what its releases are charged; nil: it
// does not.
func (b *probed) certified() error {
	var claims [][]certify.Claim
	var done []certify.Certified
	for i, m := range gate.Measures(b.block) {
		parameters, err := gate.Parameters(b.sql[i])
		if err != nil {
			return err
		}
		c, err := certify.Check(b.facts, b.sql[i].Text, parameters, m.Claims)
		if err != nil {
			return err
		}
		claims, done = append(claims, m.Claims), append(done, c)
	}
	return certify.Together(claims, done)
}

// equals reports whether main is asked what it would be without a fault, for the same charge: no group is charged as
// one.
func (b *probed) equals(right *probed) bool {
	for i, r := range b.block.Releases {
		b.block.Releases[i].Groups = max(r.Groups, 1)
	}
	return reflect.DeepEqual(b.sql, right.sql) && reflect.DeepEqual(b.block.Releases, right.block.Releases)
}

// sampled is of how many plans one is asked in `make test`.
const sampled = 2

// TestFaultsAreRefused: certify refuses a fault of a plan by the text alone, for what the plan is charged, or the fault
// makes no difference. Whole, those that pass run on databases as TestSensitivity has them.
func TestFaultsAreRefused(t *testing.T) {
	all := slices.DeleteFunc(probes(t, theWorld), func(b *probed) bool { return uncertified[b.query.sql] })
	for _, b := range all {
		if err := b.certified(); err != nil {
			t.Errorf("refused without a fault: %s: %s: %v", b.query.file, b.query.sql, err)
		}
	}
	tried, refused := 0, 0
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			var passed []*probed
			places, plans := 0, 0
			for _, right := range all {
				b := right.copied()
				if !m.made(b) || b.equals(right) {
					continue
				}
				if places++; testing.Short() && places%sampled != 0 {
					continue
				}
				if plans++; b.certified() == nil {
					passed = append(passed, b)
				}
			}
			tried, refused = tried+plans, refused+plans-len(passed)
			t.Logf("%d tried, %d pass", plans, len(passed))
			if float64(plans-len(passed)) < m.refused*float64(plans) {
				t.Errorf("%d of %d are refused, want %g", plans-len(passed), plans, m.refused)
			}
			if testing.Short() {
				return
			}
			probe := newProbe(t, theWorld, passed, nil)
			probe.certified = true
			random := rand.New(rand.NewPCG(11, 12))
			for range mutationDatabases {
				for _, problem := range probe.database(t, random) {
					t.Error(problem)
				}
			}
		})
	}
	t.Logf("%d tried, %d refused", tried, refused)
}

package study

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/mechanism"
)

func TestFamiliesKeepTheirGuarantee(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards enumerates them")
	}
	s, err := quantileFamilies()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Checks[checkFamilies]
	if s.Violations > 0 || c.Count < 10_000 || c.Worst < .5 {
		t.Errorf("%d violations in %d checks: %g at %s", s.Violations, c.Count, c.Worst, c.At)
	}
	if c := s.Checks[checkJointFamilies]; c.Count < 50_000 || c.Worst < .99 {
		t.Errorf("joint: %d checks: %g at %s", c.Count, c.Worst, c.At)
	}
	// A unit with more rows than it is said to have is found.
	joint := familyCase{[]float64{.5, .9}, 1, mechanism.Guarantee{Epsilon: 4}}
	for kind, c := range map[int]familyCase{checkFamilies: familyCases()[1], checkJointFamilies: joint} {
		wrong, err := c.enumerate(3)
		if err != nil || wrong.Violations == 0 || wrong.Checks[kind].Worst < 1.5 {
			t.Errorf("three rows of a unit that is said to have one: %+v, %v", wrong, err)
		}
	}
}

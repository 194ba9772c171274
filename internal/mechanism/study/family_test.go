package study

import "testing"

func TestFamiliesKeepTheirGuarantee(t *testing.T) {
	s, err := quantileFamilies()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Checks[checkFamilies]
	if s.Violations > 0 || c.Count < 10_000 || c.Worst < .5 {
		t.Errorf("%d violations in %d checks: %g at %s", s.Violations, c.Count, c.Worst, c.At)
	}
	// A unit with more rows than it is said to have is found.
	wrong, err := familyCases()[1].enumerate(3)
	if err != nil || wrong.Violations == 0 {
		t.Errorf("three rows of a unit that is said to have one: %+v, %v", wrong, err)
	}
}

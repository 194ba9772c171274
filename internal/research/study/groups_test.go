package study

import "testing"

// Every way to spread up to four rows over two or three groups, for every mechanism that can be selected.
func TestSeveralGroups(t *testing.T) {
	s := severalGroups()
	for _, i := range []int{checkGroupsPure, checkGroupsCurve, checkLayers} {
		c := s.Checks[i]
		t.Logf("%s: %d checks, worst %.12f at %s", c.Name, c.Count, c.Worst, c.At)
		if c.Count < 500 || c.Worst < .9 {
			t.Errorf("%s: %d checks, worst %g: the test sees nothing", c.Name, c.Count, c.Worst)
		}
	}
	if s.Violations > 0 {
		t.Errorf("%d violations", s.Violations)
	}
}

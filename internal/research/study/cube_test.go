package study

import "testing"

func TestCubes(t *testing.T) {
	s, err := cubes()
	if err != nil || s.Violations > 0 || s.Mechanisms < 100 {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, i := range []int{checkJoint, checkJointReleased} {
		if c := s.Checks[i]; c.Worst < .99 {
			t.Errorf("%s: %g of what is allowed: noise is wasted, or the worst case was not among those enumerated", c.Name,
				c.Worst)
		}
	}
	// A unit with one row more than it is said to have is found.
	wrong := newSummary()
	if err := wrong.pair(pair{rows: 1, most: 4, lo: -2, hi: 2}, 1, 2); err != nil || wrong.Violations != 1 {
		t.Errorf("a unit with two rows instead of one: %+v, %v", wrong, err)
	}
}

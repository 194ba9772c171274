package study

import "testing"

func TestCubes(t *testing.T) {
	s, err := cubes()
	if err != nil || s.Violations > 0 || s.Mechanisms < 100 {
		t.Fatalf("%+v, %v", s, err)
	}
	if worst := s.Checks[0].Worst; worst < 1-1e-6 {
		t.Errorf("the worst log-ratio is %g of what is allowed: noise is wasted, or the worst case was not among those enumerated", worst)
	}
}

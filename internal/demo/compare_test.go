package demo

import (
	"strings"
	"testing"
)

// TestCompare holds answers against a truth: those with noise pass, wrong ones and wrong ranks do not.
func TestCompare(t *testing.T) {
	n := noise{epsilon: 0.5, age: 120, income: 500000, cost: 80000, whole: true}
	smokers, diagnoses, wards := comparisons[0], comparisons[1], comparisons[2]
	single := map[string][]float64{"": {19000, 49.6, 19000}}
	grouped := map[string][]float64{
		"flu": {15000, 35000, 12000}, "cold": {14990, 36000, 12000},
		"asthma": {8000, 35500, 7000},
	}
	costs := map[string][]float64{"a": {100e6}, "b": {60e6}, "c": {56e6}, "d": {40e6}}
	for _, c := range []struct {
		name  string
		c     comparison
		truth map[string][]float64
		rows  string // lines, columns parted by blanks
		want  string // of the error; empty: none
	}{
		{"right", smokers, single, "19030 49.7", ""},
		{"count", smokers, single, "19080 49.7", "19080 where the truth is 19000"},
		{"average", smokers, single, "19000 50.2", "50.2 where the truth is 49.6"},
		{"not a number", smokers, single, "19000 NaN", "NaN where the truth is 49.6"},
		{"no number", smokers, single, "19000 x", "invalid syntax"},
		{"groups", diagnoses, grouped, "flu 15010 34000\ncold 14980 36500\nasthma 8010 35000", ""},
		{"noise decides between equals", diagnoses, grouped, "cold 15010 36500\nflu 14980 34000\nasthma 8010 35000", ""},
		{"unordered", diagnoses, grouped, "cold 14990 36500\nflu 15000 34000\nasthma 8010 35000", "15000 stands after 14990"},
		{"one missing", diagnoses, grouped, "flu 15010 34000\nasthma 8010 35000", "asthma stands before cold"},
		{"twice", diagnoses, grouped, "flu 15010 34000\nflu 15010 34000", `no group "flu"`},
		{"unknown", diagnoses, grouped, "gout 15010 34000", `no group "gout"`},
		{"the first three", wards, costs, "a 99e6\nb 61e6\nc 54e6", ""},
		{"more than 5 % off", wards, costs, "a 94e6\nb 61e6\nc 54e6", "9.4e+07 where the truth is 1e+08"},
		{"a smaller one among them", wards, costs, "a 99e6\nb 61e6\nd 41e6", "d stands before c"},
		{"others in their place", wards, costs, "b 61e6\nc 54e6\nd 41e6", "b stands before a"},
	} {
		var a answer
		for line := range strings.Lines(c.rows) {
			a.rows = append(a.rows, strings.Fields(line))
		}
		err := c.c.compare(n, a, c.truth)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

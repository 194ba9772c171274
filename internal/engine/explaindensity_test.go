package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const densitiesGolden = "testdata/densities.txt"

// TestExplainHasDensities: EXPLAIN (FORMAT JSON) has the distribution of a count in short numbers, and none of a
// quantile; the text has none.
func TestExplainHasDensities(t *testing.T) {
	var got strings.Builder
	for _, choice := range []string{
		"{noise: laplace, bounding: clamp}", "{noise: gaussian, bounding: truncate}", "{noise: staircase, bounding: fold}",
		"{noise: laplace, bounding: denoise}",
		"{noise: staircase, bounding: cells}",
	} {
		w := newWorld(t, "epsilon: 50, epsilon_max: 60", "epsilon: 2, epsilon_max: 4, mechanism: "+choice, "{method: pure}",
			"{method: rdp, delta: 1e-6}",
			"budget: {epsilon: 125}", "budget: {epsilon: 20}", "max_rows: 100000", "max_rows: 20")
		for _, sql := range []string{"SELECT count(*) FROM patients", "SELECT max(age) FROM patients"} {
			x, lines, _ := explainedBoth(t, w, sql)
			if strings.Contains(strings.Join(lines, "\n"), "weights") {
				t.Errorf("the text has densities:\n%s", strings.Join(lines, "\n"))
			}
			for _, r := range x.Releases {
				text, err := json.Marshal(r.Density)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "%s, %s: %s\n%s\n", r.Name, r.Mechanism, r.Range, text)
			}
		}
	}
	if *update {
		if err := os.WriteFile(densitiesGolden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(densitiesGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

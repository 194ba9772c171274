package rewrite_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestPlansOfOneAnalysis plans statements for many values at once, and each plan again alone: what an analysis has cut
// and found is shared by all plans of a statement, and none may leave a trace in it.
func TestPlansOfOneAnalysis(t *testing.T) {
	for _, sql := range []string{
		"SELECT ward, count(*), sum(age) FROM patients WHERE age BETWEEN $1 AND 90 GROUP BY ward",
		"SELECT count(*), avg(LEAST(age, $1)) FROM patients WHERE id IN (SELECT patient_id FROM visits WHERE minutes > $1)",
		"WITH v AS (SELECT patient_id, count(*) AS n FROM visits GROUP BY patient_id) SELECT n > $1, count(*) FROM v GROUP BY 1 ORDER BY 1",
		"SELECT (SELECT count(*) FROM visits WHERE minutes < $1), max(age) FROM patients WHERE DATE '2020-01-01' + $1::int < DATE '2021-01-01'",
	} {
		asked := func(value int) (*question, error) { return theWorld.ask(sql, [][]byte{fmt.Append(nil, value)}) }
		q, err := asked(1)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		want := map[int]*rewrite.Plan{}
		for value := 10; value < 50; value += 10 {
			alone, err := asked(value)
			if err != nil {
				t.Fatal(err)
			}
			want[value] = alone.plan
		}
		var all sync.WaitGroup
		for value, plan := range want {
			for range 4 {
				all.Go(func() {
					text := rewrite.Canonical(fmt.Sprint(value))
					got, err := q.analysis.Plan(context.Background(), rewrite.Values{&text}, lookup{theWorld, q},
						rewrite.Options{HashKey: "test"})
					if err != nil {
						t.Error(err)
						return
					}
					if diff := cmp.Diff(plan, got, sameKeys); diff != "" {
						t.Errorf("%s with %d, planned beside others: %s", sql, value, diff)
					}
				})
			}
		}
		all.Wait()
	}
}

// sameKeys compares lists of keys, however they are held.
var sameKeys = cmp.Comparer(func(a, b rewrite.Keys) bool {
	if a == nil || b == nil || a.Len() != b.Len() {
		return a == nil && b == nil
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
})

// TestCountsDecide: a count by which groups are shown says so: no mechanism may be taken for it that is never 0 over no
// rows.
func TestCountsDecide(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT ward, count(*) FROM visits GROUP BY ward":          true, // without rows it is not shown
		"SELECT ward, sum(cost) FROM visits GROUP BY ward":         true,
		"SELECT name, count(*) FROM patients GROUP BY name":        true, // its value is the selection
		"SELECT count(*) FROM visits":                              false,
		"SELECT ward, avg(minutes) FROM visits GROUP BY ROLLUP(1)": true,
	} {
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		block := q.plan.Blocks[0]
		decides := block.SelectBy > 0 && block.Releases[block.SelectBy-1].Decides
		if len(block.Exists) > 0 { // sums besides say it too, where they are far from 0
			decides = block.Releases[block.Exists[0]].Decides
		}
		if decides != want {
			t.Errorf("%s: a count decides: %v", sql, decides)
		}
	}
}

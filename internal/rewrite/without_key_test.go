package rewrite_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestRowsWithoutKey: without an index, the first row of a unit and a row's number go by every column that the
// statement names, and no proof is asked of main that it could not give.
func TestRowsWithoutKey(t *testing.T) {
	visits := policy.Name{Schema: "public", Relation: "visits"}
	keyless := *theWorld.schema.Relations[visits]
	keyless.Unique, keyless.PrimaryKey = nil, nil
	schema := *theWorld.schema
	schema.Relations = maps.Clone(schema.Relations)
	schema.Relations[visits] = &keyless
	w := *theWorld
	w.schema = &schema
	for _, sql := range []string{
		"SELECT avg(cost) FROM (SELECT DISTINCT ON (patient_id) cost FROM visits ORDER BY patient_id, visited) f",
		"SELECT avg(cost) FROM (SELECT cost, row_number() OVER (PARTITION BY patient_id ORDER BY visited DESC) AS n FROM visits) f WHERE n = 1",
		"SELECT avg(cost - before) FROM (SELECT cost, lag(cost) OVER (PARTITION BY patient_id ORDER BY visited) AS before FROM visits) f",
	} {
		q, err := w.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		_, order, _ := strings.Cut(q.plan.Blocks[0].Measure.Text, "ORDER BY")
		for _, c := range keyless.Columns {
			if strings.Contains(order, `"`+c.Name+`"`) != strings.Contains(sql, c.Name) {
				t.Errorf("%s: whether rows that differ in %s alone are in an order: %s", sql, c.Name, order)
			}
		}
		if slices.ContainsFunc(q.plan.Proofs, func(p rewrite.Proof) bool { return p.Relation == visits && p.Shape == "" }) {
			t.Errorf("%s: main has to prove %v", sql, q.plan.Proofs)
		}
	}
}

package rewrite_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestOnlyWhatIsNamedIsBound: of a table a statement gets the columns that it names. It gets all where it may read some
// without their names; ward is one of these, and its values are read where it is bound.
func TestOnlyWhatIsNamedIsBound(t *testing.T) {
	for sql, bound := range map[string]bool{
		"SELECT avg(m) FROM (SELECT minutes AS m, row_number() OVER (PARTITION BY patient_id ORDER BY visited) AS n FROM visits) s WHERE n = 1": false,
		"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id WHERE p.age > 30":                                                 false,
		"SELECT avg(cost) FROM visit_costs":                                                                             false,
		"SELECT count(*) FROM visits WHERE ward = 'icu'":                                                                true,
		"SELECT avg(minutes) FROM (SELECT * FROM visits) s":                                                             true,
		"SELECT avg(minutes) FROM (SELECT v.* FROM visits v) s":                                                         true,
		"SELECT count(DISTINCT b) FROM visits AS v (a, b, c)":                                                           true,
		"SELECT count(*) FROM patients p WHERE EXISTS (SELECT FROM visits WHERE p.id = patient_id AND \"ward\" = 'er')": true,
		`SELECT count(*) FROM visits WHERE U&"w\0061rd" = 'icu'`:                                                        true,
	} {
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		lookup := cachedLookup{lookup{theWorld, q}, map[string]*rewrite.Table{}, map[string][]rewrite.Canonical{}}
		if _, err := q.analysis.Plan(t.Context(), nil, lookup, planOptions); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		_, asked := lookup.distinct["ward"]
		if asked != bound {
			t.Errorf("%s: the values of ward are asked for: %v", sql, asked)
		}
	}
}

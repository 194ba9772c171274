package rewrite_test

import (
	"fmt"
	"testing"
)

// TestDifferences: a sum or an average of a difference that nothing bounds says so.
func TestDifferences(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT avg(p.admitted - v.visited) FROM patients p JOIN visits v ON v.patient_id = p.id":                                                       "p.admitted - v.visited -730 730",
		"SELECT avg(seen - admitted), count(*) FROM patients":                                                                                           "seen - admitted -6.36768e+13 6.37632e+13",
		"SELECT avg(extract(epoch FROM seen - admitted) / 86400) FROM patients":                                                                         "seen - admitted -6.36768e+13 6.37632e+13",
		"SELECT sum(CASE WHEN smoker THEN admitted - seen::date END) FROM patients":                                                                     "admitted - seen::date -738 737",
		"SELECT avg(extract(epoch FROM age(seen, admitted))) FROM patients":                                                                             "age(seen, admitted) -7.29792e+13 7.30656e+13",
		"SELECT avg(upper(stay) - lower(stay)) FROM bookings":                                                                                           "upper(stay) - lower(stay) 0 730",
		"SELECT avg(LEAST(GREATEST(admitted - seen::date, 0), 30)) FROM patients":                                                                       "",
		"SELECT avg(p.admitted - v.visited) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE v.visited BETWEEN p.admitted - 7 AND p.admitted": "p.admitted - v.visited -730 730",
		"SELECT avg(seen::date - date '2020-06-01') FROM patients":                                                                                      "",
		"SELECT avg(income - weight) FROM patients":                                                                                                     "",
		"SELECT avg(weight - height) FROM patients":                                                                                                     "",
		"SELECT sum(CASE WHEN admitted - seen::date > 3 THEN 1 ELSE 0 END) FROM patients":                                                               "",
		"SELECT max(admitted - seen::date), count(admitted - seen::date) FROM patients":                                                                 "",
		"SELECT avg(sign(age - score)) FROM patients":                                                                                                   "",
		"SELECT avg(age + score), sum(age * score) FROM patients":                                                                                       "",
		"SELECT avg(most - least) FROM (SELECT patient_id, max(cost) AS most, min(cost) AS least FROM visits GROUP BY 1) t":                             "most - least -2000 2000",
	} {
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		got := ""
		for _, b := range q.plan.Blocks {
			for _, c := range b.Columns {
				if d := c.Difference; d != nil {
					got += fmt.Sprintf("%s %g %g", d.Text, d.Lo, d.Hi)
				}
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

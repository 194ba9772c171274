package rewrite_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// made takes two statements of one block, and says how the first is made of the second.
func (w *world) made(t *testing.T, sql, of string) (q, o *question, m *rewrite.Made) {
	t.Helper()
	var both []*question
	for _, text := range []string{sql, of} {
		q, err := w.then().ask(text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		both = append(both, q)
	}
	q, o = both[0], both[1]
	if !q.plan.Blocks[0].MayBeMadeOf(&o.plan.Blocks[0]) {
		return q, o, nil
	}
	m, err := q.plan.Blocks[0].MadeOf(&o.plan.Blocks[0], func(list rewrite.Query) (*rewrite.Table, error) {
		return w.backend.Evaluate(context.Background(), list, w.session)
	})
	if err != nil {
		t.Fatalf("%s of %s: %v", sql, of, err)
	}
	return q, o, m
}

// TestMadeOf says which statements are made of which others, and of how many groups.
func TestMadeOf(t *testing.T) {
	const patients = "SELECT diagnosis, smoker, count(*), sum(income) FROM patients GROUP BY diagnosis, smoker"
	const byDay = "SELECT admitted, count(*) FROM patients WHERE age > 40 GROUP BY admitted"
	for _, c := range []struct {
		sql, of string
		most    int // 0: it is not
	}{
		{"SELECT smoker, count(*) FROM patients WHERE diagnosis = 'flu' GROUP BY smoker", patients, 1},
		{"SELECT sum(income) FROM patients WHERE smoker AND diagnosis = 'flu'", patients, 1},
		{"SELECT count(*) FROM patients WHERE smoker IS NULL AND 'flu' = diagnosis", patients, 1},
		{"SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis", patients, 3}, // smoker has every value
		{"SELECT diagnosis, count(*) FROM patients WHERE diagnosis < 'd' GROUP BY diagnosis", patients, 3},
		{"SELECT smoker, count(*) FROM patients WHERE diagnosis IN ('flu', 'cold') GROUP BY smoker", patients, 2},
		{"SELECT smoker, count(*) FROM patients GROUP BY smoker", patients, 0}, // rows may have another diagnosis
		{"SELECT count(*) FROM patients WHERE diagnosis <> 'flu' AND smoker", patients, 0},
		{"SELECT count(*) FROM patients WHERE diagnosis = 'gout' AND smoker", patients, 0}, // not listed
		{"SELECT count(*) FROM patients WHERE diagnosis = 'flu' AND age > 40", patients, 0},
		{"SELECT count(*) FROM patients WHERE diagnosis = 'flu' OR smoker", patients, 0}, // two columns
		{"SELECT count(age) FROM patients WHERE diagnosis = 'flu' AND smoker", patients, 0},
		{"SELECT count(*) FILTER (WHERE age > 3) FROM patients WHERE diagnosis = 'flu' AND smoker", patients, 0},
		{"SELECT avg(income) FROM patients WHERE diagnosis = 'flu' AND smoker", patients, 0},
		{
			"SELECT count(*) FROM patients WHERE age = 3 AND score = 4",
			"SELECT age, score, count(*) FROM patients GROUP BY age, score", 1,
		},
		{ // of too many groups
			"SELECT count(*) FROM patients WHERE admitted = '2020-02-02' AND ward = 'er' AND mood = 'bad'",
			"SELECT admitted, ward, mood, count(*) FROM patients GROUP BY admitted, ward, mood", 0,
		},
		{"SELECT count(*) FROM visits WHERE urgent", patients, 0},
		{"SELECT count(*) FROM patients WHERE age > 40 AND admitted BETWEEN '2020-03-01' AND '2020-03-07'", byDay, 7},
		{"SELECT count(*) FROM patients WHERE age > 40 AND admitted >= '2020-03-01'", byDay, 0}, // and beyond the bounds
		{"SELECT count(*) FROM patients WHERE admitted = '2020-03-01'", byDay, 0},
		{"SELECT count(*) FROM patients WHERE age > 41 AND admitted = '2020-03-01'", byDay, 0},
		{
			"SELECT urgent, count(*), avg(cost) FROM visits WHERE ward = 'er' GROUP BY urgent",
			"SELECT urgent, ward, avg(cost), count(*) FROM visits GROUP BY 1, 2", 1,
		},
		{
			"SELECT count(DISTINCT patient_id) FROM visits WHERE ward = 'er'",
			"SELECT ward, count(DISTINCT patient_id) FROM visits GROUP BY 1", 1,
		},
		{
			"SELECT percentile_disc(.5) WITHIN GROUP (ORDER BY minutes) FROM visits WHERE ward = 'er'",
			"SELECT ward, percentile_disc(.5) WITHIN GROUP (ORDER BY minutes) FROM visits GROUP BY 1", 1,
		},
		{
			"SELECT count(*) FROM visits v JOIN wards w ON w.ward = v.ward WHERE floor = 1",
			"SELECT floor, count(*) FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY 1", 1,
		},
		{
			"SELECT count(*) FROM visits v JOIN wards w ON w.ward = v.ward",
			"SELECT floor, count(*) FROM visits v JOIN wards w ON w.ward = v.ward GROUP BY 1", 3,
		},
		{
			"SELECT note, count(*) FROM patients WHERE smoker GROUP BY note",
			"SELECT note, smoker, count(*) FROM patients GROUP BY 1, 2", 0,
		}, // a selection
		{
			"SELECT kind, count(*) FROM lab_results l JOIN visits v USING (visit_id) WHERE v.ward = 'er' GROUP BY kind",
			"SELECT kind, v.ward, count(*) FROM lab_results l JOIN visits v USING (visit_id) GROUP BY 1, 2", 0,
		}, // picked groups
		{
			"SELECT w.ward, count(p.id) FROM wards w LEFT JOIN patients p ON p.ward = w.ward WHERE w.floor = 1 GROUP BY 1",
			"SELECT w.ward, w.floor, count(p.id) FROM wards w LEFT JOIN patients p ON p.ward = w.ward GROUP BY 1, 2", 0,
		},
	} {
		_, _, m := theWorld.made(t, c.sql, c.of)
		if got := most(m); got != c.most {
			t.Errorf("%s: %d groups of %s, want %d", c.sql, got, c.of, c.most)
		}
	}
}

func most(m *rewrite.Made) int {
	if m == nil {
		return 0
	}
	return m.Most
}

// TestMadeOfOtherSettings: what other settings have a say in is made of nothing.
func TestMadeOfOtherSettings(t *testing.T) {
	const sql, of = "SELECT count(*) FROM visits WHERE urgent", "SELECT urgent, count(*) FROM visits GROUP BY urgent"
	one, _, m := theWorld.made(t, sql, of)
	if m == nil {
		t.Fatal("it is not made of it")
	}
	for name, session := range sessions {
		if session == plain {
			continue
		}
		other, err := theWorld.as(session).then().ask(of, nil)
		if err != nil {
			t.Fatal(err)
		}
		if one.plan.Blocks[0].MayBeMadeOf(&other.plan.Blocks[0]) {
			t.Errorf("it is made of an answer of session %s", name)
		}
	}
}

// TestMadeOfAddsUp measures tables, and slices and sums of them, without noise on hostile rows: what is made of others is
// their sum, in every group.
func TestMadeOfAddsUp(t *testing.T) {
	const aggregates = "SELECT count(*), count(age), sum(age), sum(income) FILTER (WHERE smoker) FROM patients WHERE score < 20"
	conditions := []string{
		"diagnosis = 'flu'", "diagnosis IN ('cold', 'flu')", "diagnosis <> 'flu'", "smoker", "NOT smoker", "smoker IS NULL",
		"smoker IS NOT TRUE", "mood > 'bad'", "mood IN ('good')", "ward = 'er'", "ward IS NULL", "ward IN ('icu', 'zz')",
		"ward LIKE 'i%'", "age BETWEEN 30 AND 33", "age = 30", "age < 3", "age > 118", "age IS NULL", "age * 2 > 230",
		"COALESCE(age, 7) = 7", "age = 120", "score = 9", "score >= 8", "stars BETWEEN 2 AND 3", "stars = 10",
		"admitted = '2020-03-01'", "admitted BETWEEN '2021-12-30' AND '2021-12-31'", "admitted >= '2021-12-31'",
		"extract(year FROM admitted) = 2020", "NULLIF(diagnosis, 'flu') IS NULL", "age + score > 100", "score = 3.5",
	}
	type pair struct {
		q, of *question
		*rewrite.Made
	}
	var found []pair
	for _, by := range []string{
		"diagnosis", "diagnosis, ward", "ward, smoker", "smoker, mood", "mood, age", "age, diagnosis", "age", "score, stars",
		"stars, extract(year FROM admitted)", "admitted", "admitted, smoker",
	} {
		first, _, _ := strings.Cut(by, ", ")
		of := aggregates + " GROUP BY " + by
		for _, condition := range append(conditions, "TRUE") {
			for _, group := range []string{"", " GROUP BY " + first, " GROUP BY " + by} {
				if q, o, m := theWorld.made(t, aggregates+" AND "+condition+group, of); m != nil {
					found = append(found, pair{q, o, m})
				}
			}
		}
	}
	if len(found) < 100 {
		t.Errorf("only %d are made of others", len(found))
	}
	random := rand.New(rand.NewPCG(5, 6))
	rows := 0
	for number := range 3 {
		measured := map[string]*exact{}
		if _, err := theWorld.main.Exec(context.Background(), rewritetest.Hostile(random, number)); err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			for _, q := range []*question{p.q, p.of} {
				if measured[q.sql] == nil {
					all, _, err := theWorld.run(q)
					if err != nil {
						t.Fatal(err)
					}
					measured[q.sql] = all[0]
				}
			}
			whole, parts := measured[p.q.sql], measured[p.of.sql]
			for g, name := range whole.keys {
				sum := make([]int64, len(p.Releases))
				for i, r := range p.Releases {
					for _, part := range p.Groups[g] {
						sum[i] += parts.values[parts.keys[part]][r]
					}
				}
				if rows += int(sum[0]); !slices.Equal(sum, whole.values[name]) {
					t.Errorf("%s: %q is %v, and made of %v: %s", p.q.sql, name, whole.values[name], sum, p.of.sql)
				}
			}
		}
	}
	if rows < 300 {
		t.Errorf("only %d rows are in groups", rows)
	}
}

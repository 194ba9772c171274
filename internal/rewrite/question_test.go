package rewrite_test

import (
	"strings"
	"testing"
)

// asked is a statement with its parameters' values, "a|b|NULL".
type asked struct{ sql, params string }

// TestSameQuestion: within a group all statements are one question, which is charged once; no two groups are.
func TestSameQuestion(t *testing.T) {
	groups := [][]asked{
		{
			{"SELECT count(*) FROM patients", ""},
			{"select COUNT( 1 ) as n from public.patients P", ""},
			{"SELECT count(id) + 1 FROM patients", ""},
			{"SELECT count(score) FROM patients -- never NULL", ""},
			{"SELECT $1, count(*) FROM patients", "7"},
			{"SELECT $1, count(*) FROM patients", "8"},
		},
		{{"SELECT count(age) FROM patients", ""}, {"SELECT count( patients.age ) AS n FROM patients", ""}},
		{{"SELECT count(*) FILTER (WHERE age > 0) FROM patients", ""}},
		{
			{"SELECT count(*) FROM patients WHERE age = 5", ""},
			{"SELECT count(*) FROM patients WHERE 5 = age", ""},
			{`SELECT count(*) FROM "patients" AS p WHERE p."age" = 5`, ""},
			{"SELECT count(*) FROM patients WHERE age = $1", "5"},
			{"SELECT count(*) FROM patients WHERE age = $1::int8", "5"},
			{"SELECT count(*) FROM patients WHERE age = $1::int2", "5"},
			{"SELECT count(*) FROM patients WHERE age = '5'", ""},
			{"SELECT count(*) FROM patients WHERE age = 005", ""},
			{"SELECT count(*) FROM patients WHERE NOT (age <> 5)", ""},
			{"SELECT count(*) FROM patients WHERE age IN (5)", ""},
			{"SELECT count(*) FROM patients WHERE age = 5 AND age = 5", ""},
		},
		{{"SELECT count(*) FROM patients WHERE age = $1", "6"}},
		{
			{"SELECT count(*) FROM patients WHERE age BETWEEN 18 AND 65", ""},
			{"SELECT count(*) FROM patients WHERE age >= 18 AND age <= 65", ""},
			{"SELECT count(*) FROM patients WHERE 65 >= age AND 18 <= age", ""},
			{"SELECT count(*) FROM patients WHERE NOT age < $2 AND NOT age > $1", "65|18"},
		},
		{{"SELECT count(*) FROM patients WHERE age >= 65 AND age <= 65", ""}},
		{
			{"SELECT count(*) FROM patients WHERE smoker AND (age > 30 OR diagnosis = 'flu')", ""},
			{"SELECT count(*) FROM patients WHERE ('flu' = diagnosis OR 30 < age) AND smoker", ""},
			{"SELECT count(*) FROM patients WHERE smoker AND (age > $1 OR diagnosis = $2)", "30|flu"},
		},
		{{"SELECT count(*) FROM patients WHERE smoker OR (age > 30 AND diagnosis = 'flu')", ""}},
		{
			{"SELECT count(*) FROM patients WHERE income = 10", ""},
			{"SELECT count(*) FROM patients WHERE income = 10.00", ""},
			{"SELECT count(*) FROM patients WHERE income = $1", "10.0"},
		},
		{{"SELECT avg(income * 2.00) FROM patients", ""}, {"SELECT avg(income * $1::numeric) AS a FROM patients", "2.00"}},
		{
			{"SELECT count(*) FROM patients WHERE admitted >= '2020-06-01'", ""},
			{"SELECT count(*) FROM patients WHERE admitted >= $1", "2020-06-01"},
			{"SELECT count(*) FROM patients WHERE admitted >= 'June 1, 2020'", ""},
			{"SELECT count(*) FROM patients WHERE date '20200601' <= admitted", ""},
		},
		{
			{"SELECT count(*) FROM patients WHERE seen > '2020-06-01'", ""},
			{"SELECT count(*) FROM patients WHERE seen > timestamptz '2020-06-01 02:00+02'", ""},
			{"SELECT count(*) FROM patients WHERE seen > $1", "2020-06-01 00:00:00+00"},
		},
		{
			{"SELECT count(*) FROM patients WHERE diagnosis IN ('flu', 'cold')", ""},
			{"SELECT count(*) FROM patients WHERE diagnosis = ANY ('{cold,flu,cold}')", ""},
			{"SELECT count(*) FROM patients WHERE diagnosis = ANY ($1)", "{flu,cold}"},
		},
		{
			{"SELECT count(*) FROM patients WHERE diagnosis NOT IN ('flu', 'cold')", ""},
			{"SELECT count(*) FROM patients WHERE diagnosis NOT IN ('cold', 'flu')", ""},
		},
		{{"SELECT count(*) FROM patients WHERE stay > '1 day'", ""}, {
			"SELECT count(*) FROM patients WHERE stay > $1",
			"1 day",
		}, {"SELECT count(*) FROM patients WHERE interval 'P1D' < stay", ""}},
		{{"SELECT count(*) FROM patients WHERE stay > '24 hours'", ""}},
		{
			{"SELECT count(*) FROM patients WHERE admitted < current_date", ""},
			{"SELECT count(*) FROM patients WHERE admitted < 'today'", ""},
			{"SELECT count(*) FROM patients WHERE admitted < '2021-06-15'", ""},
		},
		{
			{"SELECT count(*) FROM patients p, visits v WHERE p.id = v.patient_id AND p.age > 9", ""},
			{"SELECT count(*) FROM patients a JOIN visits b ON b.patient_id = a.id WHERE a.age > 9", ""},
		},
		{{"SELECT count(*) FROM patients WHERE name = 't1'", ""}},
		{{"SELECT count(*) FROM patients WHERE name = 't2'", ""}},
		{{"SELECT count(*) FROM patients WHERE name = 'T1'", ""}},
		{{"SELECT count(*) FROM patients WHERE weight > 1.5", ""}, {
			"SELECT count(*) FROM patients WHERE weight > $1",
			"1.50",
		}},
		{{"SELECT avg(LEAST(age, 50)) FROM patients", ""}, {"SELECT avg(LEAST(age, $1)) FROM patients", "50"}},
		{{"SELECT avg(LEAST(age, $1)) FROM patients", "51"}},
		{
			{"SELECT count(*) FROM patients WHERE age > (SELECT avg(age) FROM patients) - $1::int", "3"},
			{"SELECT $1, count(*) FROM patients WHERE age > (SELECT avg(age) FROM patients) - $2::int", "x|3"},
		},
		{{"SELECT count(*) FROM patients WHERE age > (SELECT avg(age) FROM patients) - $1::int", "4"}},
		{
			{"SELECT n * 2, count(*) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t GROUP BY 1", ""},
			{"SELECT k * 2, count(*) FROM (SELECT patient_id, count(*) AS k FROM visits GROUP BY 1) t GROUP BY 1", ""},
		},
		{{"SELECT count(*) FROM patients WHERE age > " + stageOf("smokers + visits") + " AND age < " +
			stageOf("smokers - visits"), ""}},
		{{"SELECT count(*) FROM patients WHERE age > " + stageOf("smokers + visits") + " AND age < " +
			stageOf("visits - smokers"), ""}},
	}
	seen := map[string]string{}
	for _, group := range groups {
		first := ""
		for _, q := range group {
			a, err := theWorld.then().ask(q.sql, parameters(q.params))
			if err != nil || a.plan == nil {
				t.Errorf("%s: %v", q.sql, err)
				continue
			}
			switch key := a.plan.Fingerprint; {
			case first == "":
				if other, ok := seen[key]; ok {
					t.Errorf("one question:\n%s\n%s", other, q.sql)
				}
				first, seen[key] = key, q.sql
			case key != first:
				t.Errorf("two questions:\n%s\n%s\n%s", seen[first], q.sql, a.plan.Blocks[0].Measure.Text)
			}
		}
	}
}

// stageOf makes a stage of the number of smokers and that of visits.
func stageOf(of string) string {
	return "(SELECT " + strings.NewReplacer("smokers", "(SELECT count(*) FROM patients WHERE smoker)", "visits",
		"(SELECT count(*) FROM visits)").Replace(of) + ")"
}

// TestClockIsPartOfTheQuestion: what depends on the clock is another question on another day.
func TestClockIsPartOfTheQuestion(t *testing.T) {
	for _, sql := range []string{
		"SELECT count(*) FROM patients WHERE admitted < current_date",
		"SELECT count(*) FROM patients WHERE seen > now() - interval '30 days'",
		"SELECT avg(current_date - admitted) FROM patients",
		"SELECT count(*) FROM patients WHERE admitted > 'yesterday'",
		"SELECT current_date - admitted > 365 AS old, count(*) FROM patients GROUP BY 1",
		"SELECT avg(extract(year FROM age(seen))) FROM patients",
	} {
		today := theWorld.then()
		tomorrow := theWorld.then()
		tomorrow.clock = map[string]string{"today": "2021-06-16", "now": "2021-06-16 12:00:00+00", "yesterday": "2021-06-15"}
		var keys []string
		for _, w := range []*world{today, today, tomorrow} {
			q, err := w.ask(sql, nil)
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			keys = append(keys, q.plan.Fingerprint)
		}
		if keys[0] != keys[1] {
			t.Errorf("%s: two questions at one time", sql)
		}
		if keys[0] == keys[2] {
			t.Errorf("%s: one question at two times", sql)
		}
	}
}

package integration_test

import (
	"strings"
	"testing"
)

// TestBreachErrorsOfRows: nothing that ada's row holds makes main fail. Each question is an expression whose bounds
// were once too narrow, or a comparison that nobody had proven.
func TestBreachErrorsOfRows(t *testing.T) {
	p := start(t, strings.Replace(townPolicy, "answers: {ttl: 0}", "answers: {ttl: 0}\nfailures: {per_period: 100}", 1),
		town)
	const instant = "CASE WHEN name = 'ada' THEN timestamptz '2006-10-29 02:30:30+00' ELSE timestamptz '2006-10-28 00:00+00' END"
	var questions []question
	for _, q := range []question{
		{
			name: "USING of numerics beyond float8",
			sql:  "SELECT count(*) FROM (SELECT id, CASE WHEN name = 'ada' THEN 1e400 ELSE 1.0 END AS k FROM people) a JOIN (SELECT id, weight AS k FROM people) b USING (id, k)",
		},
		{
			name: "USING of two collations",
			sql:  `SELECT count(*) FROM (SELECT id, name COLLATE "C" AS k FROM people WHERE name = 'ada') a JOIN (SELECT id, name COLLATE "POSIX" AS k FROM people) b USING (id, k)`,
		},
		{
			name: "a condition that is dearer than the division that it guards",
			sql:  "SELECT count(*) FROM (SELECT id, n FROM (SELECT id, name, CASE WHEN name = 'ada' THEN 0 ELSE 5 END AS n FROM people) a WHERE n > length(lower(upper(lower(upper(left(name, 3))))))) b WHERE 10 / n > 5",
		},
		{
			name: "date_trunc to a later moment", set: "SET TimeZone = 'America/St_Johns'",
			sql: "SELECT sum(1 / (extract(epoch FROM date_trunc('day', " + instant + ")) - 1162092600)) FROM people",
		},
		{name: "date_trunc in a zone", sql: "SELECT sum(1 / (extract(epoch FROM date_trunc('day', " + instant +
			", 'America/St_Johns')) - 1162092600)) FROM people"},
		{
			name: "a day of many hours", set: "SET TimeZone = 'AAA167BBB-167,J60/0,J80/0'",
			sql: "SELECT sum(1 / (extract(epoch FROM CASE WHEN name = 'ada' THEN timestamptz '2020-03-08 01:00+00' ELSE timestamptz '2020-03-01 00:00+00' END + interval '1 day') - 1584918000)) FROM people",
		},
		{
			name: "power",
			sql:  "SELECT count(*) FROM people WHERE power(CASE WHEN name = 'ada' THEN 1.0000000214875628402::float8 ELSE 1.0 END, 1e9::float8)::int4 > 5",
		},
		{
			name: "a small numeric as a float",
			sql:  "SELECT sum(1.0::float8 / CASE WHEN name = 'ada' THEN 1e-100 ELSE 1.0 END) FROM people",
		},
		{
			name: "days against hours",
			sql:  "SELECT sum(1 / (extract(day FROM CASE WHEN name = 'ada' THEN interval '-30 days 720:00' ELSE interval '0' END) + 30)) FROM people",
		},
		{
			name: "a first row by a constant",
			sql:  "SELECT count(*) FROM (SELECT DISTINCT ON (id) id, age FROM people ORDER BY id, 'true'::boolean) s",
		},
	} {
		q.inexact = true // some ask what lies beyond the grid
		questions = append(questions, q)
	}
	betray(t, p, ada, adaLeaves, questions)
}

// TestBreachClampedKeyNamesNoRow: where a key has bounds, a copy of it that is read clamped is one value for many
// units.
func TestBreachClampedKeyNamesNoRow(t *testing.T) {
	policy := strings.Replace(townPolicy, "      id:     {}\n", "      id:     {bounds: [1, 4000]}\n", 1)
	others := strings.NewReplacer("INSERT INTO people SELECT i,", "INSERT INTO people SELECT i + 10000,",
		"p.id = 1 + i % 1000", "p.id = 10001 + i % 1000").Replace(town)
	p := start(t, policy, others)
	within := strings.NewReplacer("5000", "4000")
	betray(t, p, within.Replace(ada), within.Replace(adaLeaves), []question{
		{
			name:    "count",
			sql:     "SELECT count(*) FROM (SELECT id, min(id::bigint) AS m FROM people GROUP BY id) d JOIN people p ON p.id = d.m",
			inexact: true,
		},
		{
			name: "sum",
			sql:  "SELECT sum(p.age) FROM (SELECT id, min(id::bigint) AS m FROM people GROUP BY id) d JOIN people p ON p.id = d.m", inexact: true,
		},
		{
			name: "window",
			sql:  "SELECT count(*) FROM (SELECT id, first_value(id::bigint) OVER (PARTITION BY id) AS m FROM people) d JOIN people p ON p.id = d.m", inexact: true,
		},
	})
}

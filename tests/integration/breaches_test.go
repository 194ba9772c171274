package integration_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// rounding are the settings under which floats that differ are written alike.
var rounding = []string{"SET extra_float_digits = -15", "SET extra_float_digits = 0", "SET extra_float_digits = 3"}

// TestBreachFloatKeys: keys that are written alike in the session are still different keys to main; a person is in one
// group.
func TestBreachFloatKeys(t *testing.T) {
	p := start(t, townPolicy, town)
	var questions []question
	for _, set := range rounding {
		for name, sql := range map[string]string{
			"one of many keys":      "SELECT count(*) AS groups, sum(n) FROM (SELECT CASE WHEN name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + age) / 1e9 END AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k = 0.1 OR k > 0",
			"keys in the last bits": "SELECT sum(n) FROM (SELECT CASE WHEN name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + age) / 1e16 END AS k, count(*) AS n FROM people GROUP BY 1) s",
			"real":                  "SELECT sum(n) FROM (SELECT CASE WHEN name = 'ada' THEN 0.1::float4 WHEN age < 50 THEN 0.1000001::float4 ELSE 0.1000002::float4 END AS k, count(*) AS n FROM people GROUP BY 1) s",
			"a column's floor":      "SELECT sum(n) FROM (SELECT floor(weight) AS k, count(*) AS n FROM people GROUP BY 1) s",
			"a real column's floor": "SELECT sum(n) FROM (SELECT floor(height * 40) AS k, count(*) AS n FROM people GROUP BY 1) s",
			"constants as keys":     "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM people p JOIN (VALUES (45.0::float8), (46), (60)) x(k) ON x.k = p.weight GROUP BY 1) s",
			"public floats":         "SELECT sum(n) FROM (SELECT c.weight, count(*) AS n FROM people p JOIN scales c ON c.weight = p.weight GROUP BY 1) s",
			"two keys":              "SELECT sum(n) FROM (SELECT floor(weight) AS k, age > 50 AS old, count(*) AS n FROM people GROUP BY 1, 2) s",
			"rows of one unit":      "SELECT sum(n) FROM (SELECT CASE WHEN p.name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + p.age) / 1e9 END AS k, count(*) AS n FROM events e JOIN people p ON p.id = e.person_id GROUP BY 1) s",
			"distinct values":       "SELECT sum(n) FROM (SELECT CASE WHEN p.name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + p.age) / 1e9 END AS k, count(DISTINCT e.person_id) AS n FROM events e JOIN people p ON p.id = e.person_id GROUP BY 1) s",
			"sums":                  "SELECT sum(n) FROM (SELECT CASE WHEN name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + age) / 1e9 END AS k, sum(age) AS n FROM people GROUP BY 1) s",
			"grouping sets":         "SELECT sum(n) FROM (SELECT CASE WHEN name = 'ada' THEN 0.1::float8 ELSE 0.1::float8 + (1 + age) / 1e9 END AS k, count(*) AS n FROM people GROUP BY GROUPING SETS ((1))) s",
			"key of a domain":       "SELECT sum(n) FROM (SELECT k, count(*) AS n FROM (SELECT x.k FROM people p JOIN (VALUES (1, 0.1::float8), (2, 0.1000000001), (3, 0.1000000002)) x(i, k) ON x.i = 1 + p.age % 3) s GROUP BY 1) s",
		} {
			questions = append(questions, question{name: name, set: set, sql: sql})
		}
	}
	betray(t, p, ada, adaLeaves, questions)
}

// zones are time zones, with styles, in which main reads two texts as one instant, or a text as another instant.
var zones = []string{
	"SET DateStyle = 'SQL, MDY'; SET TimeZone = 'EST5CST-20,M3.2.0,M11.1.0'",
	"SET DateStyle = 'Postgres, DMY'; SET TimeZone = 'EST5CST-20,M3.2.0,M11.1.0'",
	"SET DateStyle = 'German'; SET TimeZone = 'EST5CST-20,M3.2.0,M11.1.0'",
	"SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Europe/Dublin'",
	"SET TimeZone = 'Europe/Dublin'",
}

// twice are pairs of instants that are different, and the same when read back: in the first three of zones, and in
// Dublin.
var twice = [][2]string{
	{"2019-11-03 05:00:00+00", "2019-11-02 03:00:00+00"},
	{"2024-03-31 00:00:00+00", "2024-03-31 01:00:00+00"},
}

// TestBreachErrorOracle: whether a statement fails does not tell whether somebody is there.
func TestBreachErrorOracle(t *testing.T) {
	p := start(t, townPolicy, town)
	var questions []question
	for _, set := range zones {
		for _, pair := range twice {
			values := fmt.Sprintf("(VALUES (timestamptz '%s'), (timestamptz '%s')) x(k)", pair[0], pair[1])
			unnested := fmt.Sprintf("unnest(ARRAY[timestamptz '%s', timestamptz '%s']) x(k)", pair[0], pair[1])
			for _, instant := range pair {
				person := fmt.Sprintf(
					"(SELECT id, CASE WHEN name = 'ada' THEN timestamptz '%s' ELSE timestamptz '2000-01-01 00:00:00+00' END AS a FROM people) p", instant)
				for name, sql := range map[string]string{
					"scalar subquery": "SELECT count(*) FROM " + person + " WHERE (SELECT x.k FROM " + values +
						" WHERE x.k = p.a) IS NOT NULL",
					"scalar of an array": "SELECT count(*) FROM " + person + " WHERE (SELECT x.k FROM " + unnested +
						" WHERE x.k = p.a) IS NOT NULL",
					"scalar in a sum": "SELECT sum(CASE WHEN (SELECT x.k FROM " + values +
						" WHERE x.k = p.a) IS NOT NULL THEN 1 ELSE 0 END) FROM " + person,
					"scalar in a key": "SELECT sum(n) FROM (SELECT (SELECT x.k FROM " + values +
						" WHERE x.k = p.a) IS NULL AS k, count(*) AS n FROM " + person + " GROUP BY 1) s",
					"scalar of two": "SELECT count(*) FROM " + person + " WHERE (SELECT x.v FROM (VALUES (1, timestamptz '" +
						pair[0] + "'), (2, '" + pair[1] + "')) x(v, k) WHERE x.k = p.a) = 1",
					"scalar of a date": "SELECT count(*) FROM (SELECT id, (CASE WHEN name = 'ada' THEN date '2019-11-03' ELSE date '2000-01-01' END)::timestamptz AS a FROM people) p WHERE (SELECT x.k FROM " + values + " WHERE x.k = p.a) IS NOT NULL",
					"scalar of parameters": "SELECT count(*) FROM " + person +
						" WHERE (SELECT x.k FROM (VALUES ($1::timestamptz), ($2::timestamptz)) x(k) WHERE x.k = p.a) IS NOT NULL",
				} {
					q := question{name: name, set: set, sql: sql}
					if name == "scalar of parameters" {
						q.values = []value{{pgtype.TimestamptzOID, pair[0]}, {pgtype.TimestamptzOID, pair[1]}}
					}
					questions = append(questions, q)
				}
			}
		}
	}
	betray(t, p, ada, adaLeaves, questions)
}

// TestBreachInstantsJoinedTwice: a person's row meets one constant where the constants are different instants.
func TestBreachInstantsJoinedTwice(t *testing.T) {
	p := start(t, townPolicy, town)
	var questions []question
	for _, set := range zones {
		for _, pair := range twice {
			values := fmt.Sprintf("(VALUES (timestamptz '%s'), (timestamptz '%s')) x(k)", pair[0], pair[1])
			for _, instant := range pair {
				person := fmt.Sprintf(
					"(SELECT id, CASE WHEN name = 'ada' THEN timestamptz '%s' WHEN age < 50 THEN '%s' ELSE timestamptz '2000-01-01 00:00:00+00' END AS a FROM people) p", instant, instant)
				for name, sql := range map[string]string{
					"join":      "SELECT count(*) FROM " + person + " JOIN " + values + " ON x.k = p.a",
					"left join": "SELECT count(*) FROM " + person + " LEFT JOIN " + values + " ON x.k = p.a",
					"join of an array": fmt.Sprintf(
						"SELECT count(*) FROM %s JOIN unnest(ARRAY[timestamptz '%s', timestamptz '%s']) x(k) ON x.k = p.a", person,
						pair[0], pair[1]),
					"join of a series": "SELECT count(*) FROM " + person + " JOIN generate_series(LEAST(timestamptz '" + pair[0] +
						"', '" + pair[1] + "'), GREATEST(timestamptz '" + pair[0] + "', '" + pair[1] +
						"'), interval '1 hour') x(k) ON x.k = p.a",
					"membership": "SELECT count(*) FROM " + person + " WHERE p.a IN (SELECT k FROM " + values + ")",
					"key": "SELECT sum(n) FROM (SELECT p.a, count(*) AS n FROM " +
						fmt.Sprintf("(SELECT id, CASE WHEN age < 50 THEN timestamptz '%s' ELSE timestamptz '%s' END AS a FROM people) p",
							pair[0], pair[1]) + " GROUP BY 1) s",
					"key of constants": "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM " + person + " JOIN " + values +
						" ON x.k = p.a GROUP BY 1) s",
					"one of few keys": "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM people p JOIN (VALUES (1, timestamptz '" +
						pair[0] + "'), (2, '" + pair[1] + "')) x(i, k) ON x.i = 1 + p.age % 2 GROUP BY 1) s",
					"rows of one unit": "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM events e JOIN (VALUES (1, timestamptz '" +
						pair[0] + "'), (2, '" + pair[1] + "')) x(i, k) ON x.i = 1 + e.person_id % 2 GROUP BY 1) s",
					"distinct by key": "SELECT sum(n) FROM (SELECT x.k, count(DISTINCT e.amount) AS n FROM events e JOIN (VALUES (1, timestamptz '" + pair[0] + "'), (2, '" + pair[1] + "')) x(i, k) ON x.i = 1 + e.person_id % 2 GROUP BY 1) s",
					"parameters in join": "SELECT count(*) FROM " + person +
						" JOIN (VALUES ($1::timestamptz), ($2::timestamptz)) x(k) ON x.k = p.a",
				} {
					q := question{name: name, set: set, sql: sql, inexact: name == "distinct by key"}
					if name == "parameters in join" {
						q.values = []value{{pgtype.TimestamptzOID, pair[0]}, {pgtype.TimestamptzOID, pair[1]}}
					}
					questions = append(questions, q)
				}
			}
		}
	}
	betray(t, p, ada, adaLeaves, questions)
}

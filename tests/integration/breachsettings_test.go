package integration_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// hostile are sessions whose settings change how values are written or read. PostgreSQL gives each its own answers; so
// does dpproxy.
var hostile = []string{
	"SET extra_float_digits = -15",
	"SET extra_float_digits = 0",
	"SET extra_float_digits = 3",
	"SET DateStyle = 'SQL, MDY'; SET TimeZone = 'Asia/Kolkata'",
	"SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Shanghai'",
	"SET DateStyle = 'German'; SET TimeZone = 'Asia/Kathmandu'",
	"SET DateStyle = 'Postgres, MDY'; SET TimeZone = 'Australia/Lord_Howe'",
	"SET DateStyle = 'ISO, DMY'; SET TimeZone = 'America/St_Johns'",
	"SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Europe/Dublin'",
	"SET DateStyle = 'SQL, MDY'; SET TimeZone = 'EST5CST-20,M3.2.0,M11.1.0'",
	"SET DateStyle = 'Postgres, DMY'; SET TimeZone = 'UTC-05:30'",
	"SET IntervalStyle = 'sql_standard'",
	"SET IntervalStyle = 'iso_8601'; SET bytea_output = 'escape'",
	"SET IntervalStyle = 'postgres_verbose'; SET DateStyle = 'SQL, MDY'; SET TimeZone = 'Asia/Manila'; SET extra_float_digits = -15; SET bytea_output = 'escape'",
}

// tried are the hostile sessions that tests run under: in `make test`, one in five.
func tried() (sets []string) {
	for i, set := range hostile {
		if i%5 == 0 || !testing.Short() {
			sets = append(sets, set)
		}
	}
	return sets
}

// crossings are statements whose constants, keys or parameters go from the session, by the shadow, to main.
var crossings = []question{
	{name: "float8 keys", sql: "SELECT sum(n) FROM (SELECT floor(weight) AS k, count(*) AS n FROM people GROUP BY 1) s"},
	{
		name: "float8 keys by value",
		sql:  "SELECT sum(n) FROM (SELECT floor(weight) AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k = 124",
	},
	{
		name: "float8 constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (45.0::float8), (46), (60)) x(k) ON x.k = p.weight",
	},
	{
		name: "float8 array",
		sql:  "SELECT count(*) FROM people p JOIN unnest(ARRAY[45.0::float8, 46, 138]) x(k) ON x.k = p.weight",
	},
	{name: "float8 list", sql: "SELECT count(*) FROM people WHERE weight IN (45, 46, 138.0::float8)"},
	{name: "float8 comparison", sql: "SELECT count(*) FROM people WHERE weight > 123.4567::float8"},
	{
		name: "float8 arithmetic",
		sql:  "SELECT count(*) FROM people WHERE weight * 0.123456789012345::float8 > 12.3456789012345",
	},
	{
		name: "float8 expression of constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (44.99 + 0.01::float8), (91 / 2.0::float8)) x(k) ON p.weight < x.k",
	},
	{name: "float4 keys", sql: "SELECT sum(n) FROM (SELECT floor(height) AS k, count(*) AS n FROM people GROUP BY 1) s"},
	{
		name: "float4 constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (1.0::float4), (2), (6)) x(k) ON x.k = p.height",
	},
	{
		name: "numeric constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (45.25), (46.250), (60)) x(k) ON x.k = p.price",
	},
	{
		name: "numeric series",
		sql:  "SELECT count(*) FROM people p JOIN generate_series(40.25, 50.25, 2.5) x(k) ON x.k = p.price",
	},
	{
		name: "timestamptz constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (timestamptz '2024-06-12 12:00+00'), ('2024-06-13 00:00+00')) x(k) ON x.k = p.seen",
	},
	{
		name: "timestamptz of the zone",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (timestamptz '2024-06-12 12:30'), ('2024-06-13 01:00')) x(k) ON p.seen < x.k",
	},
	{
		name: "timestamptz array",
		sql:  "SELECT count(*) FROM people p JOIN unnest(ARRAY[timestamptz '2024-06-12 12:00+00', '2024-06-13 00:00+00']) x(k) ON x.k = p.seen",
	},
	{
		name: "timestamptz series",
		sql:  "SELECT count(*) FROM people p JOIN generate_series(timestamptz '2024-06-12 12:00+00', '2024-06-13 12:00+00', '3 hours') x(k) ON x.k = p.seen",
	},
	{
		name: "timestamptz list",
		sql:  "SELECT count(*) FROM people WHERE seen IN (timestamptz '2024-06-12 12:00+00', '2024-06-13 00:00+00')",
	},
	{name: "timestamptz comparison", sql: "SELECT count(*) FROM people WHERE seen >= '2024-06-12 12:00'"},
	{
		name: "timestamptz membership",
		sql:  "SELECT count(*) FROM people WHERE seen IN (SELECT k FROM (VALUES (timestamptz '2024-06-12 12:00+00'), ('2024-06-13 00:00+00')) x(k))",
	},
	{
		name: "timestamptz found",
		sql:  "SELECT count(*) FROM people p WHERE (SELECT x.v FROM (VALUES (1, timestamptz '2024-06-12 12:00+00'), (2, '2024-06-13 00:00+00')) x(v, k) WHERE x.k = p.seen) = 1",
	},
	{
		name: "timestamptz extreme",
		sql:  "SELECT count(*) FROM people p WHERE p.seen < (SELECT max(x.k) FROM (VALUES (timestamptz '2024-06-12 12:00+00'), ('2024-06-13 00:00+00')) x(k))",
	},
	{
		name: "timestamptz keys",
		sql:  "SELECT sum(n) FROM (SELECT date_trunc('day', seen) AS k, count(*) AS n FROM people GROUP BY 1) s",
	},
	{
		name: "timestamptz keys by value",
		sql:  "SELECT sum(n) FROM (SELECT date_trunc('day', seen + interval '3 hours') AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k < '2024-06-12'",
	},
	{
		name: "keys of a zone",
		sql:  "SELECT sum(n) FROM (SELECT date_trunc('day', seen AT TIME ZONE 'Asia/Kolkata') AS k, count(*) AS n FROM people GROUP BY 1) s",
	},
	{
		name: "date of timestamptz",
		sql:  "SELECT sum(n) FROM (SELECT seen::date AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k <= date '2024-06-12'",
	},
	{
		name: "hour of timestamptz",
		sql:  "SELECT sum(n) FROM (SELECT extract(hour FROM seen) AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k < 12",
	},
	{name: "public instants", sql: "SELECT count(*) FROM people p JOIN slots s ON s.at = p.seen WHERE s.label = 'slot 1'"},
	{
		name: "public instants as keys",
		sql:  "SELECT sum(n) FROM (SELECT s.at, count(*) AS n FROM people p JOIN slots s ON s.at = p.seen GROUP BY 1) x",
	},
	{
		name: "public instants kept",
		sql:  "SELECT sum(n) FROM (SELECT s.at, count(p.id) AS n FROM slots s LEFT JOIN people p ON p.seen = s.at GROUP BY 1) x",
	},
	{
		name: "public instants' keys by value",
		sql:  "SELECT sum(n) FROM (SELECT s.at AS k, count(*) AS n FROM people p JOIN slots s ON s.at = p.seen GROUP BY 1) x WHERE k < '2024-06-12 12:00+00'",
	},
	{
		name: "timestamp constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (timestamp '2024-06-12 12:00'), ('2024-06-13 00:00:00.0000')) x(k) ON x.k = p.met",
	},
	{
		name: "timestamp keys",
		sql:  "SELECT sum(n) FROM (SELECT date_trunc('day', met) AS k, count(*) AS n FROM people GROUP BY 1) s WHERE k < '2024-06-12'",
	},
	{
		name: "date constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (date '2024-07-10'), ('2024-08-01')) x(k) ON x.k = p.day",
	},
	{
		name: "date series",
		sql:  "SELECT count(*) FROM people p JOIN generate_series(timestamp '2024-07-01', '2024-07-12', '1 day') x(k) ON x.k = p.met",
	},
	{name: "date list", sql: "SELECT count(*) FROM people WHERE day IN ('2024-07-10', date '2024-08-01', '2024-01-02')"},
	{
		name: "date keys",
		sql:  "SELECT sum(n) FROM (SELECT day, count(*) AS n FROM people GROUP BY 1) s WHERE day < '2024-07-12'",
	},
	{
		name: "time constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (time '06:00'), ('07:00:00.000')) x(k) ON x.k = p.hour",
	},
	{
		name: "interval constants",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (interval '30 hours'), ('-2 hours'), ('1 day')) x(k) ON x.k = p.stay",
	},
	{
		name: "negative intervals",
		sql:  "SELECT count(*) FROM people p JOIN (VALUES (interval '-1 day -2 hours'), ('-1 day 2 hours'), ('1 day -2 hours')) x(k) ON x.k = p.stay",
	},
	{
		name: "interval list",
		sql:  "SELECT count(*) FROM people WHERE stay IN (interval '-1 day -2 hours', '1 day -2 hours', '-1 months 29 days 10 hours')",
	},
	{name: "interval comparison", sql: "SELECT count(*) FROM people WHERE stay > interval '-1 day 2 hours'"},
	{
		name: "interval array",
		sql:  "SELECT count(*) FROM people p JOIN unnest(ARRAY[interval '-1 day -2 hours', '30 hours']) x(k) ON x.k = p.stay",
	},
	{
		name: "interval keys",
		sql:  "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM people p JOIN (VALUES (interval '-26 hours'), ('30 hours')) x(k) ON x.k = p.stay GROUP BY 1) s",
	},
	{
		name: "interval keys of CASE",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN interval '-1 day -2 hours' WHEN age < 80 THEN interval '1 day -2 hours' ELSE interval '1 day' END AS k, count(*) AS n FROM people GROUP BY 1) s",
	},
	{name: "bytes", sql: `SELECT count(*) FROM people WHERE tag = '\x5c30'`},
	{
		name: "bytes in constants",
		sql:  `SELECT count(*) FROM people p JOIN (VALUES ('\x5c30'::bytea), ('\\060'), ('\x5c31')) x(k) ON x.k = p.tag`,
	},
	{
		name: "bytes as keys",
		sql:  `SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN '\x5c30'::bytea ELSE '\x5c5c'::bytea END AS k, count(*) AS n FROM people GROUP BY 1) s`,
	},
	{
		name: "scalar over constants",
		sql:  "SELECT count(*) FROM people p WHERE (SELECT x.v FROM (VALUES (45.25, 1), (46.25, 2)) x(k, v) WHERE x.k = p.price) = 2",
	},
	{
		name: "float8 parameter", sql: "SELECT count(*) FROM people WHERE weight = $1",
		values: []value{{pgtype.Float8OID, "45"}},
	},
	{
		name: "float8 parameters as keys",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::float8 ELSE $2::float8 END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.Float8OID, "0.1"}, {pgtype.Float8OID, "0.10000000000000002"}},
	},
	{
		name: "float4 parameter", sql: "SELECT count(*) FROM people WHERE height = $1",
		values: []value{{pgtype.Float4OID, "3"}},
	},
	{
		name: "numeric parameter", sql: "SELECT count(*) FROM people WHERE price = $1",
		values: []value{{pgtype.NumericOID, "45.250000"}},
	},
	{
		name: "timestamptz parameter", sql: "SELECT count(*) FROM people WHERE seen = $1",
		values: []value{{pgtype.TimestamptzOID, "2024-06-12 12:00:00+00"}},
	},
	{
		name: "timestamptz parameters as keys",
		sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 50 THEN $1::timestamptz ELSE $2::timestamptz END AS k, count(*) AS n FROM people GROUP BY 1) s", values: []value{{pgtype.TimestamptzOID, "2019-11-03 05:00:00+00"}, {pgtype.TimestamptzOID, "2019-11-02 03:00:00+00"}},
	},
	{
		name: "timestamp parameter", sql: "SELECT count(*) FROM people WHERE met = $1",
		values: []value{{pgtype.TimestampOID, "2024-06-12 12:00:00"}},
	},
	{
		name: "date parameter", sql: "SELECT count(*) FROM people WHERE day = $1",
		values: []value{{pgtype.DateOID, "2024-07-10"}},
	},
	{
		name: "time parameter", sql: "SELECT count(*) FROM people WHERE hour = $1",
		values: []value{{pgtype.TimeOID, "06:00:00"}},
	},
	{
		name: "interval parameter", sql: "SELECT count(*) FROM people WHERE stay = $1",
		values: []value{{pgtype.IntervalOID, "-1 days -02:00:00"}},
	},
	{
		name: "mixed interval parameter", sql: "SELECT count(*) FROM people WHERE stay = $1",
		values: []value{{pgtype.IntervalOID, "1 day -02:00:00"}},
	},
	{
		name: "bytes as parameter", sql: "SELECT count(*) FROM people WHERE tag = $1",
		values: []value{{pgtype.ByteaOID, `\x5c30`}},
	},
	{
		name: "array parameter", sql: "SELECT count(*) FROM people WHERE age = ANY($1)",
		values: []value{{pgtype.Int4ArrayOID, "{30,45,60}"}},
	},
	{
		name: "float8 array parameter", sql: "SELECT count(*) FROM people WHERE weight = ANY($1)",
		values: []value{{pgtype.Float8ArrayOID, "{45,46,138}"}},
	},
	{
		name: "timestamptz array parameter", sql: "SELECT count(*) FROM people WHERE seen = ANY($1)",
		values: []value{{pgtype.TimestamptzArrayOID, `{"2024-06-12 12:00:00+00","2024-06-13 00:00:00+00"}`}},
	},
}

// TestBreachSettings: what a session's settings do to texts changes neither what an answer means nor what one person
// can move.
func TestBreachSettings(t *testing.T) {
	p := start(t, townPolicy, town)
	var questions []question
	for _, set := range tried() {
		for _, q := range crossings {
			q.set = set
			questions = append(questions, q)
		}
	}
	betray(t, p, ada, adaLeaves, questions)
}

// TestBreachSelectedKeys: keys that selection let through come back from main as what they are, whatever the session's
// settings. They have tens of units each, so that none is left out but once in e^50 draws.
func TestBreachSelectedKeys(t *testing.T) {
	policy := strings.NewReplacer("seen:   {bounds: [2024-01-01, 2024-12-31]}", "seen:   {}", "weight: {bounds: [0, 250]}",
		"weight: {}").Replace(selectionPolicy())
	p := start(t, policy, town)
	var questions []question
	for _, set := range tried() {
		for _, q := range []question{
			{
				name: "instants",
				sql:  "SELECT sum(n) FROM (SELECT seen AS k, count(*) AS n FROM people WHERE age > 50 GROUP BY 1) s WHERE k < timestamptz '2024-06-13 00:00+00'",
			},
			{
				name: "days",
				sql:  "SELECT sum(n) FROM (SELECT seen::date AS k, count(*) AS n FROM people WHERE age > 40 GROUP BY 1) s WHERE k = date '2024-06-13'",
			},
			{
				name: "floats",
				sql:  "SELECT sum(n) FROM (SELECT weight AS k, count(*) AS n FROM people WHERE age > 50 GROUP BY 1) s WHERE k > 123 AND k < 126",
			},
		} {
			q.set = set
			questions = append(questions, q)
		}
	}
	betray(t, p, ada, adaLeaves, questions)
}

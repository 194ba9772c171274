package integration_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// spellings is a database in which texts that differ are equal: ci knows no case.
const spellings = `
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE people (id bigint PRIMARY KEY, name text NOT NULL, age int NOT NULL, city text COLLATE ci NOT NULL, plain text NOT NULL, half int NOT NULL);
INSERT INTO people SELECT i, 'person ' || i, i % 100, (ARRAY['ann','ANN','bob','Bob'])[1 + i % 4], (ARRAY['ann','ANN','bob','Bob'])[1 + i % 4], i % 2 FROM generate_series(1, 1000) i;
CREATE TABLE events (event_id bigint PRIMARY KEY, person_id bigint NOT NULL REFERENCES people, city text COLLATE ci NOT NULL);
INSERT INTO events SELECT i, 1 + i % 1000, 'ann' FROM generate_series(1, 3000) i;
CREATE TABLE cities (city text PRIMARY KEY, label text NOT NULL);
INSERT INTO cities VALUES ('ann', 'first'), ('ANN', 'second'), ('bob', 'third');
CREATE TABLE towns (number int PRIMARY KEY, city text COLLATE ci UNIQUE NOT NULL, label text NOT NULL);
INSERT INTO towns VALUES (0, 'ann', 'first'), (1, 'bob', 'third');
`

const anna = `
INSERT INTO people VALUES (5000, 'ada', 60, 'aNN', 'ann', 0);
INSERT INTO events SELECT 5000 + i, 5000, 'aNN' FROM generate_series(1, 5) i;
`

// spellingsPolicy declares domain for the column of the collation.
func spellingsPolicy(domain string) string {
	head, _, _ := strings.Cut(townPolicy, "tables:\n")
	return head + `tables:
  people:
    privacy_unit: {name: person, column: id}
    max_rows_per_unit: 1
    max_rows: 100000
    columns:
      id:    {}
      name:  {}
      age:   {bounds: [0, 120]}
      city:  {` + domain + `}
      plain: {values: [ann, ANN, bob, Bob]}
      half:  {bounds: [0, 1]}
  events:
    privacy_unit: {name: person, column: person_id}
    max_rows_per_unit: 5
    columns:
      event_id:  {}
      person_id: {}
      city:      {` + domain + `}
  cities: {public: true}
  towns:  {public: true}
`
}

// TestBreachSpellings: texts that are equal under a column's collation are one group, however many spellings of it a
// policy or a statement lists. A policy that lists two spellings may as well be refused.
func TestBreachSpellings(t *testing.T) {
	questions := []question{
		{name: "key", sql: "SELECT sum(n) FROM (SELECT city, count(*) AS n FROM people GROUP BY city) s"},
		{name: "keys", sql: "SELECT city, count(*) FROM people GROUP BY city", inexact: true},
		{name: "rows of one unit", sql: "SELECT sum(n) FROM (SELECT city, count(*) AS n FROM events GROUP BY city) s"},
		{
			name: "distinct",
			sql:  "SELECT sum(n) FROM (SELECT city, count(DISTINCT person_id) AS n FROM events GROUP BY city) s",
		},
		{name: "two keys", sql: "SELECT sum(n) FROM (SELECT city, plain, count(*) AS n FROM people GROUP BY city, plain) s"},
		{
			name: "grouping sets",
			sql:  "SELECT sum(n) FROM (SELECT city, count(*) AS n FROM people GROUP BY GROUPING SETS ((city))) s",
		},
		{name: "rollup", sql: "SELECT sum(n) FROM (SELECT city, count(*) AS n FROM people GROUP BY ROLLUP (city)) s"},
		{
			name: "coalesce",
			sql:  "SELECT sum(n) FROM (SELECT COALESCE(city, 'nowhere') AS c, count(*) AS n FROM people GROUP BY 1) s",
		},
		{
			name: "spellings in CASE",
			sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 30 THEN 'ann' WHEN age < 60 THEN 'ANN' WHEN name = 'ada' THEN 'aNN' ELSE city END AS c, count(*) AS n FROM people GROUP BY 1) s",
		},
		{
			name: "spellings beside a public text",
			sql:  "SELECT sum(n) FROM (SELECT CASE WHEN p.age < 30 THEN 'ann' WHEN p.age < 60 THEN 'ANN' WHEN p.name = 'ada' THEN 'aNN' ELSE c.city END AS c, count(*) AS n FROM people p JOIN towns c ON c.number = p.half GROUP BY 1) s",
		},
		{
			name: "spellings beside a public row's",
			sql:  "SELECT sum(n) FROM (SELECT CASE WHEN p.age < 30 THEN 'ann' WHEN p.age < 60 THEN 'ANN' ELSE (SELECT c.city FROM towns c WHERE c.number = p.half) END AS c, count(*) AS n FROM people p GROUP BY 1) s",
		},
		{
			name: "spelling of a public text",
			sql:  "SELECT sum(n) FROM (SELECT CASE WHEN p.age < 60 THEN c.city ELSE 'ANN' END AS c, count(*) AS n FROM people p JOIN towns c ON c.number = p.half GROUP BY 1) s",
		},
		{
			name: "simple CASE",
			sql:  "SELECT sum(n) FROM (SELECT CASE city WHEN 'ann' THEN 'x' WHEN 'ANN' THEN 'X' ELSE 'y' END AS c, count(*) AS n FROM people GROUP BY 1) s",
		},
		{name: "NULLIF", sql: "SELECT sum(n) FROM (SELECT NULLIF(city, 'ann') AS c, count(*) AS n FROM people GROUP BY 1) s"},
		{name: "upper", sql: "SELECT sum(n) FROM (SELECT upper(city) AS c, count(*) AS n FROM people GROUP BY 1) s"},
		{name: "filter", sql: "SELECT count(*) FROM people WHERE city = 'ann' OR city = 'ANN'"},
		{name: "list", sql: "SELECT count(*) FROM people WHERE city IN ('ann', 'ANN', 'bob')"},
		{
			name: "list of keys",
			sql:  "SELECT sum(n) FROM (SELECT city, count(*) AS n FROM people WHERE city IN ('ann', 'ANN') GROUP BY city) s",
		},
		{name: "constants", sql: "SELECT count(*) FROM people p JOIN (VALUES ('ann'), ('ANN')) x(k) ON x.k = p.city"},
		{
			name: "constants' keys",
			sql:  "SELECT sum(n) FROM (SELECT x.k, count(*) AS n FROM people p JOIN (VALUES ('ann'), ('ANN'), ('aNn')) x(k) ON x.k = p.city GROUP BY 1) s", inexact: true,
		},
		{name: "array", sql: "SELECT count(*) FROM people p JOIN unnest(ARRAY['ann', 'ANN', 'aNN']) x(k) ON x.k = p.city"},
		{
			name: "constant found",
			sql:  "SELECT count(*) FROM people p WHERE (SELECT x.k FROM (VALUES ('ann'), ('ANN')) x(k) WHERE x.k = p.city) IS NOT NULL",
		},
		{name: "public table", sql: "SELECT count(*) FROM people p JOIN cities c ON c.city = p.city"},
		{
			name: "public row",
			sql:  "SELECT count(*) FROM people p WHERE (SELECT c.label FROM cities c WHERE c.city = p.city) = 'first'",
		},
		{
			name: "public key",
			sql:  "SELECT sum(n) FROM (SELECT c.label, count(*) AS n FROM people p JOIN cities c ON c.city = p.city GROUP BY 1) s", inexact: true,
		},
		{
			name: "public row kept",
			sql:  "SELECT sum(n) FROM (SELECT c.city, count(p.id) AS n FROM cities c LEFT JOIN people p ON p.city = c.city GROUP BY 1) s", inexact: true,
		},
		{name: "public table of the collation", sql: "SELECT count(*) FROM people p JOIN towns c ON c.city = p.city"},
		{
			name: "its key",
			sql:  "SELECT sum(n) FROM (SELECT c.label, count(*) AS n FROM people p JOIN towns c ON c.city = p.city GROUP BY 1) s",
		},
		{name: "distinct values", sql: "SELECT count(DISTINCT city) FROM people", inexact: true},
		{
			name: "rows per spelling",
			sql:  "SELECT sum(c) FROM (SELECT person_id, city, count(*) AS c FROM events GROUP BY person_id, city) s",
		},
		{name: "distinct rows", sql: "SELECT count(*) FROM (SELECT DISTINCT person_id, city FROM events) s"},
		{
			name: "parameters", sql: "SELECT count(*) FROM people p JOIN (VALUES ($1::text), ($2::text)) x(k) ON x.k = p.city",
			values: []value{{25, "ann"}, {25, "ANN"}},
		},
		{
			name: "parameter keys",
			sql:  "SELECT sum(n) FROM (SELECT CASE WHEN age < 30 THEN $1::text WHEN age < 60 THEN $2::text ELSE city END AS c, count(*) AS n FROM people GROUP BY 1) s", values: []value{{25, "ann"}, {25, "ANN"}},
		},
	}
	for name, domain := range map[string]string{
		"two spellings declared":  "values: [ann, ANN, bob, Bob]",
		"domain of public texts":  "values_from: cities.city",
		"one spelling of each":    "values: [ann, bob]",
		"nothing declared":        "",
		"domain of the collation": "values_from: towns.city",
	} {
		t.Run(name, func(t *testing.T) {
			p := tryStart(t, spellingsPolicy(domain), spellings, "people", "city")
			if p == nil {
				return
			}
			betray(t, p, anna, adaLeaves, questions)
		})
	}
}

// tryStart is start, but takes a refusal by setup or serve for an answer, if it names what is wrong: nil then.
func tryStart(t *testing.T, policy, sql string, naming ...string) *proxy {
	t.Helper()
	p := prepare(t, policy, sql)
	for _, verb := range []string{"setup", "check"} {
		cmd := p.command(verb)
		if verb == "check" {
			cmd = p.command(verb, "--live")
		}
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatalf("dpproxy %s: %v", verb, err)
		}
		if err == nil {
			continue
		}
		for _, part := range naming {
			if !strings.Contains(string(out), part) {
				t.Errorf("dpproxy %s refuses, and its message does not name %q:\n%s", verb, part, out)
			}
		}
		return nil
	}
	p.serve()
	return p
}

// prepare is start without setup and serve.
func prepare(t *testing.T, policy, sql string) *proxy {
	t.Helper()
	server, db := pgservertest.Database(t, sql)
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+db+"_shadow WITH (FORCE)")
	})
	p := &proxy{t: t, server: server, db: db, dir: t.TempDir()}
	p.policy = p.dir + "/policy.yaml"
	p.write(policy)
	return p
}

package certify_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestFunctions asks Check about functions in a condition on one row per unit.
func TestFunctions(t *testing.T) {
	const (
		seen = `LEAST(GREATEST(p.seen, '1920-01-01 00:00:00+00'::pg_catalog.timestamptz), '2022-01-01 00:00:00Z'::pg_catalog.timestamptz)`
		name = `pg_catalog."left"(p.name, 1048576)`
		stay = `pg_catalog.age('2024-12-31 00:00:00+00'::pg_catalog.timestamptz, ` + seen + `)`
	)
	similar := func(p string) string {
		return name + ` ~ pg_catalog.similar_to_escape('` + p + `'::pg_catalog.text)`
	}
	picture := func(p string) string {
		return `pg_catalog.to_char(` + seen + `, '` + p + `'::pg_catalog.text) = 'x'::pg_catalog.text`
	}
	trunc := func(field, of string) string {
		return `pg_catalog.date_trunc('` + field + `'::pg_catalog.text, ` + of + `) < p.seen`
	}
	conditions := map[string]bool{
		`pg_catalog.split_part(` + name + `, '@'::pg_catalog.text, 2) = 'x'::pg_catalog.text`:     true,
		`pg_catalog.split_part(` + name + `, ''::pg_catalog.text, 1) = 'x'::pg_catalog.text`:      true,
		`pg_catalog.split_part(` + name + `, p.name, 1) = 'x'::pg_catalog.text`:                   true,
		`pg_catalog.split_part(` + name + `, '@'::pg_catalog.text, 0) = 'x'::pg_catalog.text`:     false,
		`pg_catalog.split_part(` + name + `, '@'::pg_catalog.text, p.age) = 'x'::pg_catalog.text`: false,
		`pg_catalog.split_part(p.name, '@'::pg_catalog.text, 1) = 'x'::pg_catalog.text`:           false,

		`pg_catalog.replace(` + name +
			`, 'a'::pg_catalog.text, 'bb'::pg_catalog.text) = ''::pg_catalog.text`: true,
		`pg_catalog.replace(` + name + `, 'a'::pg_catalog.text, '` + strings.Repeat("b", 17) +
			`'::pg_catalog.text) = ''`: false,
		`pg_catalog.lpad(p.name, 1000, 'x'::pg_catalog.text) = ''::pg_catalog.text`:                        true,
		`pg_catalog.lpad(p.name, p.age, 'x'::pg_catalog.text) = ''::pg_catalog.text`:                       false,
		`pg_catalog."right"(p.name, '-2147483648'::pg_catalog.int4) = ''::pg_catalog.text`:                 false,
		`pg_catalog.ln(LEAST(GREATEST(p.age, 1), 100)::pg_catalog.float8) > 1::pg_catalog.float8`:          true,
		`pg_catalog.ln(LEAST(GREATEST(p.age, 0), 100)::pg_catalog.float8) > 1::pg_catalog.float8`:          false,
		`LEAST(GREATEST(p.age, 0), 999)::pg_catalog.numeric(4,1) > 1::pg_catalog.numeric`:                  true,
		`LEAST(GREATEST(p.age, 0), 1000)::pg_catalog.numeric(4,1) > 1::pg_catalog.numeric`:                 false,
		`p.age::pg_catalog.numeric(4,1) > 1::pg_catalog.numeric`:                                           false,
		`pg_catalog.power(LEAST(GREATEST(p.age, 0), 999)::pg_catalog.numeric, 16::pg_catalog.numeric) > 1`: true,
		`pg_catalog.power(LEAST(GREATEST(p.age, 0), 999)::pg_catalog.numeric, 0.5) > 1`:                    false,
		`p.seen::pg_catalog.date > '2020-01-01'::pg_catalog.date`:                                          true,
		`p.seen::pg_catalog.time > '12:00:00'::pg_catalog.time`:                                            false,
		seen +
			`::pg_catalog.time > '12:00:00'::pg_catalog.time`: true,
		name +
			` ~~ 'a\_b%'::pg_catalog.text`: true,
		name +
			` ~~ 'a\'::pg_catalog.text`: false,
		name +
			` ~~ ANY (ARRAY['a%', 'b\']::pg_catalog.text[])`: false,
		name +
			` ~~ ANY (ARRAY['a%', 'b%']::pg_catalog.text[])`: true,

		similar(`(a|b)+[c-d]*_%`):    true,
		similar(`a**`):               false,
		similar(`10[0-5]%`):          true,
		similar(`[^a-c0-9X]_|%`):     true,
		similar(`10[5-0]%`):          false,
		similar(`10[a-]%`):           false,
		similar(`10[0-5-9]%`):        false,
		similar(`10[0-5%`):           false,
		similar(`10[]%`):             false,
		similar(`10[\d]%`):           false,
		name + ` ~ '^[c-f]{2}$'`:     true,
		name + ` ~ '^[f-c]{2}$'`:     false,
		name + ` ~ '^[a-c5-3]'`:      false,
		name + ` ~* '^[ -9][A-z_]$'`: true,

		picture(`Day`): true, picture(`FMMonth DD, YYYY`): true, picture(`YYYY"s"`): true, picture(`IYYY-IW`): true,
		picture(`HH12:MI am`): true,
		picture(`TMDay`):      false, picture(`DDTH`): false, picture(`"`): false, picture(`"\`): false, picture(`TZ`): false,
		`pg_catalog.to_char(p.seen, 'Day'::pg_catalog.text) = 'x'::pg_catalog.text`: false,

		trunc(`decade`, seen): true, trunc(`century`, seen): true, trunc(`millennium`, seen): true,
		trunc(`MONTH`, seen): true, trunc("WEE\u212a", seen): false, trunc(`decades`, seen): false,
		trunc(`decade`, `p.seen`): false,
		`pg_catalog.date_trunc('millennium'::pg_catalog.text, pg_catalog.date_trunc('millennium'::pg_catalog.text, ` + seen +
			`)) < p.seen`: true,
		`pg_catalog.date_trunc('millennium'::pg_catalog.text, pg_catalog.date_trunc('millennium'::pg_catalog.text, pg_catalog.date_trunc('millennium'::pg_catalog.text,
			pg_catalog.date_trunc('millennium'::pg_catalog.text, ` + seen + `)))) < p.seen`: false,

		`(pg_catalog.date_part('year'::pg_catalog.text, ` + stay + `))::pg_catalog.int4 / 10 * 10 > 5`: true,
		`(pg_catalog.extract('month'::pg_catalog.text, ` + stay + `))::pg_catalog.int2 > 5`:            true,
		// no rule: it is
		`(pg_catalog.extract('second'::pg_catalog.text, ` + stay + `))::pg_catalog.int2 > 5`:                          false,
		`(pg_catalog.date_part('year'::pg_catalog.text, p.stay))::pg_catalog.int4 > 5`:                                false,
		`(SELECT (sum(w.floor))::pg_catalog.numeric / NULLIF(count(*), 0) FROM ONLY public.wards AS w) > p.age`:       true,
		`(SELECT (sum(w.floor))::pg_catalog.numeric / NULLIF(count(*), 1) FROM ONLY public.wards AS w) > p.age`:       false,
		`(SELECT (sum(w.floor))::pg_catalog.int4 FROM ONLY public.wards AS w) > p.age`:                                false,
		`(SELECT sum(w.floor) * sum('NaN'::pg_catalog.numeric) FROM ONLY public.wards AS w)::pg_catalog.int8 > p.age`: false,
	}
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	for c, passes := range conditions {
		_, err := certify.Check(clinic, `SELECT 1::pg_catalog.int8, count(*)`+fromPatients+` AND (`+c+`)`, nil, claims)
		if (err == nil) != passes {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// TestDistinct counts distinct rows of units with many visits.
func TestDistinct(t *testing.T) {
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	for outputs, passes := range map[string]bool{
		`p.id AS u, p.id AS c1, p.age AS c2, p.name AS c3`: true,
		`v.patient_id AS u, p.age AS c2`:                   true,
		`p.id AS u, p.age AS c1, v.visit_id AS c2`:         false,
		`p.id AS u, v.visit_id > 7 AS c1`:                  false,
	} {
		sql := countOf + `(SELECT DISTINCT ` + outputs + ` FROM ONLY public.patients AS p, ONLY public.visits AS v
			WHERE p.id IS NOT NULL AND v.patient_id IS NOT NULL AND p.id = v.patient_id) AS q`
		if _, err := certify.Check(clinic, sql, nil, claims); (err == nil) != passes {
			t.Errorf("%s: %v", outputs, err)
		}
	}
}

// TestLabels joins units with labels of an enum: one row of VALUES meets a unit, if no two are of one label.
func TestLabels(t *testing.T) {
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	for labels, passes := range map[string]bool{
		`('ok'::public.mood, 1), ('sad'::public.mood, 2)`: true,
		`('ok'::public.mood, 1), ('ok'::public.mood, 2)`:  false,
	} {
		sql := `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.patients AS p, (VALUES ` + labels +
			`) AS v (c1, c2) WHERE p.id IS NOT NULL AND p.mood = v.c1`
		if _, err := certify.Check(clinic, sql, nil, claims); (err == nil) != passes {
			t.Errorf("%s: %v", labels, err)
		}
	}
}

// TestProvenRows joins units with a subquery of which main has said that it has two rows.
func TestProvenRows(t *testing.T) {
	facts := clinic
	facts.Proven = []string{
		`SELECT COALESCE(max(g.n), 0) <= 2 FROM (SELECT count(*) AS n FROM (SELECT DISTINCT t1.floor AS c1 FROM ONLY public.wards AS t1 WHERE t1.floor > 3) AS t2) AS g`,
	}
	two := big.NewRat(2, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: two, Total: two, Groups: two}},
	}
	for of, passes := range map[string]bool{
		`(SELECT DISTINCT t1.floor AS c1 FROM ONLY public.wards AS t1 WHERE t1.floor > 3) AS q`: true,
		`(SELECT DISTINCT t7.floor AS c1 FROM ONLY public.wards AS t7 WHERE t7.floor > 3) AS q`: true,
		`(SELECT DISTINCT t7.floor AS c1 FROM ONLY public.wards AS t7 WHERE t7.floor > 2) AS q`: false,
		`(SELECT DISTINCT t7.ward AS c1 FROM ONLY public.wards AS t7 WHERE t7.floor > 3) AS q`:  false,
		`(SELECT DISTINCT floor AS c1 FROM ONLY public.wards AS t7 WHERE t7.floor > 3) AS q`:    false,
		`(SELECT t7.floor AS c1 FROM ONLY public.wards AS t7 WHERE t7.floor > 3) AS q`:          false,
	} {
		sql := countOf + `ONLY public.patients AS p, ` + of + ` WHERE p.id IS NOT NULL`
		if _, err := certify.Check(facts, sql, nil, claims); (err == nil) != passes {
			t.Errorf("%s: %v", of, err)
		}
	}
}

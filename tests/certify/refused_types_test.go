package certify_test

import (
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestTypes asks Check about tables in partitions, and about texts with blanks at the end. One unit has one customer,
// with a country of two characters and a phone of fifteen.
func TestTypes(t *testing.T) {
	customers := columns(
		`id bigint !,,country character(2) !,,home character(2),,phone character(15) !,,code bpchar !,,name character_varying(25) !,,note character_varying,,city text !,,share numeric(4,2) !,,born date`)
	cased := customers["home"]
	cased.Collation, cased.Deterministic = "cased", false
	customers["home"] = cased
	orders := columns(`id bigint !,,customer bigint !,,day date !,,total numeric(15,2) !`)
	facts := certify.Facts{
		Bases: map[string]string{"public.mark": "bpchar", "public.word": "varchar"},
		Tables: map[string]certify.Table{
			"public.customers": {Kind: "customer", Unit: "id", Unique: [][]string{{"id"}}, Columns: customers},
			"public.orders": {
				Kind: "customer", Unit: "customer", Unique: [][]string{{"id", "day"}}, Columns: orders,
				Spread: true,
			},
			"public.far": {Kind: "customer", Unit: "customer", Columns: orders, Spread: true},
			"public.days": {
				Public: true, Unique: [][]string{{"day"}},
				Columns: columns(`day date !,,country character(2) !`), Spread: true,
			},
		},
	}
	s := func(s string) *string { return &s }
	list := func(elements ...string) (v certify.Value) {
		v.Array = true
		for _, e := range elements {
			v.Elements = append(v.Elements, s(e))
		}
		return v
	}
	parameters := []certify.Value{
		list("DE", "FR ", "F", "much more"), list("1.5", "99.99", "-0.004", "nan"),
		list("99.995"), list("1e400"), list("infinity"), list("x"),
		{Elements: []*string{s("100")}},
	}
	const (
		from   = `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.customers AS c WHERE c.id IS NOT NULL`
		keyed  = `SELECT d.o, count(*) FROM (SELECT c.country AS k, c.phone AS p, c.share AS s FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS q INNER JOIN (SELECT v.k COLLATE pg_catalog."default" AS k, min(v.o) AS o FROM pg_catalog.unnest(`
		listed = `) WITH ORDINALITY AS v (k, o) GROUP BY 1) AS d ON `
		bin    = ` GROUP BY 1`
		shared = `SELECT d.o, count(*) FROM (SELECT c.share AS s FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS q INNER JOIN (SELECT v.k, min(v.o) AS o FROM pg_catalog.unnest(`
	)
	good := map[string]string{
		"foreign partitions":   `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT o.customer AS u, count(*) AS n FROM public.far AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u`,
		"NOT NULL of own rows": `SELECT 1::pg_catalog.int8, COALESCE(sum(u.n), 0) FROM (SELECT o.customer AS u, LEAST(1, count(*)) * (max(o.id) & 1) AS n FROM public.orders AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u`,
		"partitions":           `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT o.customer AS u, count(*) AS n FROM public.orders AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u`,
		"public partitions":    `SELECT d.country, count(*) FROM (SELECT o.customer AS u, min(o.day) AS day FROM public.orders AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u, public.days AS d WHERE u.day = d.day GROUP BY 1`,
		"a list of countries": keyed + `($1::pg_catalog.text[])::pg_catalog.bpchar(2)[]` + listed +
			`q.k COLLATE pg_catalog."default" = d.k COLLATE pg_catalog."default"` + bin,
		"a list of shares": shared + `($2::pg_catalog.text[])::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` + bin,
		"countries compared": from +
			` AND c.country = 'DE'::pg_catalog.bpchar AND c.country < c.phone AND c.country = ANY (ARRAY['DE', 'F']::pg_catalog.bpchar[]) AND c.country IS DISTINCT FROM c.code`,
		"countries as text": from +
			` AND (c.country)::pg_catalog.text = 'DE'::pg_catalog.text AND (c.name)::pg_catalog.text = c.city AND (c.phone)::pg_catalog.text || c.name > c.note`,
		"names": from +
			` AND c.name = c.city AND pg_catalog.lower(c.name) ~~ 'a%'::pg_catalog.text AND c.name ~* '^[ab]+$'::pg_catalog.text AND c.name = ANY (ARRAY['a']::pg_catalog.text[])`,
		"countries under a match": from + ` AND c.country ~~ 'D%'::pg_catalog.text AND c.phone ~ '^49'::pg_catalog.text`,
		"countries that differ":   `SELECT 1::pg_catalog.int8, count(DISTINCT c.country) FROM ONLY public.customers AS c WHERE c.id IS NOT NULL`,
		"months": from +
			` AND pg_catalog.width_bucket(c.born, ARRAY['2024-01-01', '2024-02-01']::pg_catalog.date[]) > 1`,
		"another collation": `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT DISTINCT c.home COLLATE pg_catalog."default" AS k, c.id AS u FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS u`,
	}
	bad := map[string]string{
		"one partition":            `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.days AS d, ONLY public.customers AS c WHERE c.id IS NOT NULL AND c.country = d.country AND d.day = '2024-01-01'::pg_catalog.date`,
		"ONLY of partitions":       `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT o.customer AS u, count(*) AS n FROM ONLY public.orders AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u`,
		"without ONLY":             `SELECT 1::pg_catalog.int8, count(*) FROM public.customers AS c WHERE c.id IS NOT NULL`,
		"NOT NULL of foreign rows": `SELECT 1::pg_catalog.int8, sum(u.n) FROM (SELECT o.customer AS u, LEAST(1, count(*)) * (max(o.id) & 1) AS n FROM public.far AS o WHERE o.customer IS NOT NULL GROUP BY 1) AS u`,
		"many orders":              `SELECT 1::pg_catalog.int8, count(*) FROM public.orders AS o WHERE o.customer IS NOT NULL`,
		"part of a key":            `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT o.customer AS u, o.id, count(*) AS n FROM public.orders AS o WHERE o.customer IS NOT NULL GROUP BY 1, 2) AS u`,
		"texts of no length":       keyed + `($1::pg_catalog.text[])::pg_catalog.bpchar[]` + listed + `q.k = d.k` + bin,
		"shares that round up": shared + `($3::pg_catalog.text[])::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` +
			bin,
		"shares too large": shared + `($4::pg_catalog.text[])::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` +
			bin,
		"shares without end": shared + `($5::pg_catalog.text[])::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` +
			bin,
		"shares that are none": shared + `($6::pg_catalog.text[])::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` +
			bin,
		"shares of a scale beyond": shared + `($2::pg_catalog.text[])::pg_catalog.numeric(2,4)[]` + listed + `q.s = d.k` +
			bin,
		"shares as given":  shared + `$3::pg_catalog.numeric(4,2)[]` + listed + `q.s = d.k` + bin,
		"a share as given": from + ` AND c.share = $7::pg_catalog.numeric(4,2)`,
		"months and none": from +
			` AND pg_catalog.width_bucket(c.born, ARRAY['2024-01-01', NULL]::pg_catalog.date[]) > 1`,
		"months of times": from +
			` AND pg_catalog.width_bucket(c.born, ARRAY['2024-01-01 00:00:00']::pg_catalog.timestamp[]) > 1`,
		"a number cut":             from + ` AND (c.share)::pg_catalog.numeric(2,1) > 1`,
		"a key of bpchar":          `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT c.code AS k, c.id AS u, count(*) AS n FROM ONLY public.customers AS c WHERE c.id IS NOT NULL GROUP BY 1, 2) AS u`,
		"a key of no bytes":        `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT c.home AS k, c.id AS u, count(*) AS n FROM ONLY public.customers AS c WHERE c.id IS NOT NULL GROUP BY 1, 2) AS u`,
		"bpchar under a collation": `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT DISTINCT c.code COLLATE pg_catalog."default" AS k, c.id AS u FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS u`,
		"branches of two lengths":  `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT COALESCE(c.country, c.phone) AS k, c.id AS u FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS u`,
		"bpchar and text":          from + ` AND c.country = c.city`,
		"collations in conflict":   from + ` AND c.home COLLATE pg_catalog."C" = c.home`,
		"a match of a collation":   from + ` AND c.home ~~ 'D%'::pg_catalog.text`,
		"numbers of texts":         from + ` AND (c.country)::pg_catalog.int4 > 1`,
		"a picture of another": from +
			` AND pg_catalog.length(c.country) > 1 AND pg_catalog.lower(c.code) = 'a'::pg_catalog.text`,
		"rows of two kinds":         from + ` AND (CASE WHEN c.share > 1 THEN ROW(c.name) ELSE ROW(c.share) END) IS NULL`,
		"rows of two kinds, united": `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT c.id AS u, ROW(c.name) AS r FROM ONLY public.customers AS c WHERE c.id IS NOT NULL UNION SELECT c.id AS u, ROW(c.share) AS r FROM ONLY public.customers AS c WHERE c.id IS NOT NULL) AS u`,
	}
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	for of, q := range good {
		if _, err := checked(facts, q, parameters, claims); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	for of, q := range bad {
		_, err := checked(facts, q, parameters, claims)
		if err == nil {
			t.Errorf("%s passes: %s", of, q)
		} else if testing.Verbose() {
			t.Logf("%s: %v", of, err)
		}
	}
}

package certify_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestCollations: under a collation that is not deterministic, texts are one key by its equality alone, and nothing
// hangs on which of equal texts the plan keeps.
func TestCollations(t *testing.T) {
	text := func(collation string) certify.Column {
		return certify.Column{Type: "text", NotNull: true, Collation: collation, Deterministic: collation == "" ||
			collation == "public.de" || collation == `pg_catalog."C"`}
	}
	facts := certify.Facts{Tables: map[string]certify.Table{
		"public.people": {
			Kind: "person", Unit: "id", Unique: [][]string{{"id"}},
			Columns: map[string]certify.Column{
				"id": {Type: "bigint", NotNull: true, Deterministic: true}, "ci": text("public.ci"), "cj": text("public.cj"),
				"up": text(`public."Up"`), "odd": text(`public."c""k"`), "c": text(`pg_catalog."C"`), "de": text("public.de"),
				"free": text(""),
			},
		},
		"public.ways": {Public: true, Unique: [][]string{{"ci"}}, Columns: map[string]certify.Column{
			"ci": text("public.ci"),
			"cj": text("public.cj"), "free": text(""),
		}},
	}}
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	a, b := "a", "A"
	parameters := []certify.Value{{Array: true, Elements: []*string{&a, &b}}}
	const (
		ofPeople = ` FROM ONLY public.people AS p WHERE p.id IS NOT NULL`
		groups   = `(SELECT p.{of} AS k, count(*) AS m` + ofPeople + ` GROUP BY 1) AS q`
		keys     = `(SELECT v.k COLLATE public.{list} AS k, min(v.o) AS o FROM pg_catalog.unnest(($1::pg_catalog.text[])::pg_catalog.text[]) WITH ORDINALITY AS v (k, o) GROUP BY 1) AS d`
		halves   = `(q.k IS NULL) OPERATOR(pg_catalog.=) (d.k IS NULL) AND `
		equal    = halves +
			`COALESCE(q.k, 'z'::pg_catalog.text) COLLATE public.{on} OPERATOR(pg_catalog.=) COALESCE(d.k, 'z'::pg_catalog.text) COLLATE public.{on}`
		joined = `SELECT x.o, LEAST(GREATEST(sum(x.m), (-9)), 9) FROM (SELECT d.o AS o, q.m AS m FROM (` + groups +
			` INNER JOIN ` + keys + ` ON (` + equal + `))) AS x GROUP BY 1`
		counted = `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.people AS p`
		within  = `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT p.id AS u, {key} AS k FROM ONLY public.people AS p WHERE p.id IS NOT NULL GROUP BY 1, 2) AS s WHERE s.u IS NOT NULL`
	)
	as := func(of, list, on string) string {
		return strings.NewReplacer("{of}", of, "{list}", list, "{on}", on).Replace(joined)
	}
	keyed := func(key, where string) string { return strings.Replace(within, "{key}", key, 1) + where }
	good := map[string]string{
		"one collation":        as(`ci`, `ci`, `ci`),
		"given":                as(`free COLLATE public.ci`, `ci`, `ci`),
		"a deterministic one":  counted + ` WHERE p.id IS NOT NULL AND (p.free COLLATE public.de) = 'a'::pg_catalog.text`,
		"a key of the columns": counted + `, ONLY public.ways AS w WHERE p.id IS NOT NULL AND p.ci = w.ci`,
		"a name in quotes":     strings.ReplaceAll(as(`up`, `Up`, `Up`), `public.Up`, `public."Up"`),
		"its own collation":    counted + ` WHERE p.id IS NOT NULL AND p.c = p.free COLLATE pg_catalog."C"`,
		"a finer equality": counted +
			`, ONLY public.ways AS w WHERE p.id IS NOT NULL AND p.ci COLLATE pg_catalog."C" = w.ci COLLATE pg_catalog."C"`,
		"whether it is NULL": keyed(`p.ci`, ` AND s.k IS NOT NULL`),
	}
	bad := map[string]string{
		"another in capitals":  as(`up`, `Up`, `Up`),
		"a list of another":    as(`ci`, `cj`, `ci`),
		"groups of another":    as(`cj`, `ci`, `ci`),
		"equal by another":     as(`ci`, `ci`, `cj`),
		"equal by a finer one": strings.ReplaceAll(as(`ci`, `ci`, `C`), `public.C`, `pg_catalog."C"`),
		"exact groups":         as(`free`, `ci`, `ci`),
		"an unknown one":       as(`free COLLATE public.ck`, `ci`, `ci`),
		"a key of another":     counted + `, ONLY public.ways AS w WHERE p.id IS NOT NULL AND p.cj = w.cj`,
		"exact text and a key": counted +
			`, ONLY public.ways AS w WHERE p.id IS NOT NULL AND p.free COLLATE public.cj = w.ci COLLATE public.cj`,
		"a key made coarser": counted +
			`, (SELECT w.free AS k FROM ONLY public.ways AS w GROUP BY 1) AS g WHERE p.id IS NOT NULL AND p.free COLLATE public.ci = g.k COLLATE public.ci`,
		"a spelling compared":      keyed(`p.ci`, ` AND s.k COLLATE pg_catalog."C" = 'A'::pg_catalog.text`),
		"a spelling under another": keyed(`p.ci`, ` AND s.k COLLATE public.cj = 'A'::pg_catalog.text`),
		"a spelling's length":      keyed(`p.ci`, ` AND pg_catalog.length(s.k) > 3`),
		"a spelling's pattern":     keyed(`p.ci`, ` AND s.k ~~ 'A%'::pg_catalog.text`),
		"a spelling in a list":     keyed(`p.ci`, ` AND s.k = ANY (ARRAY['A']::pg_catalog.text[])`),
		"a spelling of a group":    `SELECT p.ci, count(*)` + ofPeople + ` GROUP BY 1`,
		"a spelling behind a join": `SELECT q.k, q.m FROM ` + strings.Replace(groups, "{of}", "ci", 1),
		"a spelling of a public one": `SELECT d.k, count(*) FROM ONLY public.people AS p, ` +
			strings.Replace(keys, "{list}", "ci", 1) + ` WHERE p.id IS NOT NULL GROUP BY 1`,
		"a spelling in a subquery": counted + ` WHERE p.id IS NOT NULL AND p.free IN (SELECT d.k FROM ` +
			strings.Replace(keys, "{list}", "ci", 1) + `)`,
		"a pattern under it": counted +
			` WHERE p.id IS NOT NULL AND p.free ~~ ('a%'::pg_catalog.text COLLATE public.ci)`,
		"a text under it, matched": counted +
			` WHERE p.id IS NOT NULL AND (p.free COLLATE public.ci) ~~ 'a%'::pg_catalog.text`,
		"matched without case": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog."left"(p.free, 9) ~~* ('a%'::pg_catalog.text COLLATE public.ci)`,
		"an expression under it": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog."left"(p.free, 9) ~ ('a'::pg_catalog.text COLLATE public.ci)`,
		"a text under it, searched": counted +
			` WHERE p.id IS NOT NULL AND (pg_catalog."left"(p.free, 9) COLLATE public.ci) ~ 'a'::pg_catalog.text`,
		"a place under it": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog."position"(p.free, 'a'::pg_catalog.text COLLATE public.ci) > 0`,
		"replaced under it": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog.replace(pg_catalog."left"(p.free, 9), 'a'::pg_catalog.text COLLATE public.ci, 'b'::pg_catalog.text) = 'b'::pg_catalog.text`,
		"split under it": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog.split_part(pg_catalog."left"(p.free, 9), 'a'::pg_catalog.text COLLATE public.ci, 1) = 'b'::pg_catalog.text`,
		"starts under it": counted +
			` WHERE p.id IS NOT NULL AND pg_catalog.starts_with(p.free, 'a'::pg_catalog.text COLLATE public.ci)`,
		"in conflict": counted + ` WHERE p.id IS NOT NULL AND p.ci = p.cj`,
		"in conflict in a branch": counted +
			` WHERE p.id IS NOT NULL AND (CASE WHEN p.id > 3 THEN p.ci ELSE p.cj END) = 'a'::pg_catalog.text`,
		"the spelling kept": `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT DISTINCT p.ci AS k` + ofPeople +
			`) AS s WHERE s.k COLLATE pg_catalog."C" = 'A'::pg_catalog.text`,
	}
	for name, q := range good {
		if _, err := checked(facts, q, parameters, claims); err != nil {
			t.Errorf("%s: %s\n%v", name, q, err)
		}
	}
	for name, q := range bad {
		o, err := checked(facts, q, parameters, claims)
		if err == nil {
			t.Errorf("%s passes: %s\n%v", name, q, o.Outputs)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestNamesWithDots: a fact is of one table, however names are spelled.
func TestNamesWithDots(t *testing.T) {
	column := map[string]certify.Column{"x": {Type: "integer", NotNull: true}}
	facts := certify.Facts{Tables: map[string]certify.Table{
		certify.TableName("a.b", "c"): {Public: true, Columns: column}, certify.TableName("a", `b\.d`): {
			Public: true, Columns: column,
		},
	}}
	for table, known := range map[string]bool{
		`"a.b".c`: true, `a."b.c"`: false, `"a\.b".c`: false, `a."b\.c"`: false, `a."b\.d"`: true, `"a.b".d`: false,
		`a."b.d"`: false, `"a\"."b.d"`: false,
	} {
		if _, err := certify.Check(facts, `SELECT t.x FROM ONLY `+table+` AS t`, nil, nil); (err == nil) != known {
			t.Errorf("%s: %v", table, err)
		}
	}
}

package certify_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// weighed is a selection by weights of units in the wards of their visits: _w is the weight, _n what it is of, _from the
// rows that have it.
const weighed = `SELECT u.k, COALESCE(sum(_w), 0) FROM (
	SELECT u.u AS u, u.k AS k, u.s AS s, _n AS n FROM (_from) AS u) AS u GROUP BY 1`

// TestWeights: the weights of a unit are certified where their squares add up over its groups, and nowhere else.
func TestWeights(t *testing.T) {
	const (
		weight = `pg_catalog.floor(1048576 / pg_catalog.sqrt((u.n)::pg_catalog.float8))::pg_catalog.int8`
		number = `count(*) OVER (PARTITION BY u.u)`
		from   = `SELECT v.patient_id AS u, v.ward AS k, count(*) AS s FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL GROUP BY 1, 2`
	)
	square := new(big.Rat).SetInt64(1 << 40)
	claims := []certify.Claim{
		{Kind: certify.Private, Type: "text"},
		{Kind: certify.Selection, Influence: certify.Influence{Squares: square, Delta: new(big.Rat).SetInt64(1 << 20)}},
	}
	ask := func(claims []certify.Claim, weighed string, parts ...string) error {
		all := append([]string{"_w", weight, "_n", number, "_from", from}, parts...)
		for i := len(all) - 2; i >= 0; i -= 2 { // the last of a name counts
			weighed = strings.ReplaceAll(weighed, all[i], all[i+1])
		}
		_, err := checked(clinic, weighed, nil, claims)
		return err
	}
	for name, parts := range map[string][]string{
		"as it is":          nil,
		"fewer rows":        {"_from", from + " HAVING count(*) > 2"},
		"of half the scale": {"_w", strings.Replace(weight, "1048576", "524288", 1)},
	} {
		if err := ask(claims, weighed, parts...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	filtered := strings.Replace(weighed, "sum(_w)", "sum(_w) FILTER (WHERE u.s > 1)", 1)
	clamp := func(text string) string {
		return "SELECT g.k, LEAST(GREATEST(g.n, (-4611686018427387904)), 4611686018427387904) FROM (" + text + ") AS g"
	}
	named := strings.Replace(weighed, ", 0)", ", 0) AS n", 1)
	parts := clamp("SELECT p.k AS k, sum(p.n) AS n FROM (" + named +
		" UNION ALL SELECT v.ward AS k, 0 AS n FROM ONLY public.visits AS v WHERE v.patient_id IS NOT NULL GROUP BY 1) AS p GROUP BY 1")
	for name, text := range map[string]string{"a filter": filtered, "a clamp": clamp(named), "parts": parts} {
		if err := ask(claims, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := strings.ReplaceAll(parts, "0 AS n FROM ONLY", "count(DISTINCT v.patient_id) AS n FROM ONLY")
	for name, err := range map[string]error{
		"of another partition":      ask(claims, weighed, "_n", "count(*) OVER (PARTITION BY u.u, u.s)"),
		"of all units":              ask(claims, weighed, "_n", "count(*) OVER ()"),
		"of an order":               ask(claims, weighed, "_n", "count(*) OVER (PARTITION BY u.u ORDER BY u.k)"),
		"of some rows":              ask(claims, weighed, "_n", "count(*) FILTER (WHERE u.s > 1) OVER (PARTITION BY u.u)"),
		"of values":                 ask(claims, weighed, "_n", "count(u.k) OVER (PARTITION BY u.u)"),
		"of a sum":                  ask(claims, weighed, "_n", "sum(u.s) OVER (PARTITION BY u.u)"),
		"of a number in a group":    ask(claims, weighed, "_n", "u.s"),
		"of rows and not of groups": ask(claims, weighed, "_from", strings.Replace(strings.TrimSuffix(from, " GROUP BY 1, 2"), "count(*) AS s", "1 AS s", 1)),
		"a larger scale":            ask(claims, weighed, "_w", strings.Replace(weight, "1048576", "1048577", 1)),
		"no scale":                  ask(claims, weighed, "_w", strings.Replace(weight, "1048576", "0", 1)),
		"rounded up":                ask(claims, weighed, "_w", strings.Replace(weight, "floor", "ceil", 1)),
		"no root":                   ask(claims, weighed, "_w", strings.Replace(weight, "pg_catalog.sqrt((u.n)::pg_catalog.float8)", "pg_catalog.cbrt((u.n)::pg_catalog.float8)", 1)),
		"of less groups":            ask(claims, weighed, "_w", strings.Replace(weight, "(u.n)", "(u.n - 1)", 1)),
		"one more":                  ask(claims, weighed, "_w", weight+" + 1"),
		"the whole in each":         ask(claims, weighed, "_w", "1048576"),
		"repeated rows":             ask(claims, strings.Replace(weighed, ") AS u GROUP BY", ") AS u, ONLY public.wards AS x GROUP BY", 1)),
		"of coarser groups":         ask(claims, strings.Replace(weighed, "u.k, COALESCE", "pg_catalog.left(u.k, 1), COALESCE", 1)),
		"beside a row": ask(claims, `SELECT x.k, COALESCE(sum(x.w), 0) FROM (SELECT u.u AS u, _n AS n FROM (_from) AS u) AS u,
			LATERAL (SELECT v.ward AS k, _w AS w FROM ONLY public.visits AS v WHERE v.patient_id = u.u) AS x GROUP BY 1`),
		"of two parts":          ask(claims, twice),
		"of parts in one group": ask(claims, strings.NewReplacer("p.k AS k", "pg_catalog.left(p.k, 1) AS k").Replace(parts)),
		"no claim of squares":   ask([]certify.Claim{claims[0], {Kind: certify.Selection, Influence: certify.Influence{Delta: claims[1].Delta}}}, weighed),
		"a claim of less": ask([]certify.Claim{claims[0], {
			Kind: certify.Selection, Influence: certify.Influence{Squares: new(big.Rat).Sub(square, new(big.Rat).SetInt64(1))},
		}}, weighed),
	} {
		if err == nil {
			t.Errorf("%s: it is certified", name)
		}
	}
}

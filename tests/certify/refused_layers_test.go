package certify_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// claimed is an integer with a total, in one group, a Row and a layer; 0 is none.
func claimed(total, row int64, layers ...int) certify.Claim {
	c := certify.Claim{Kind: certify.Integer, Layers: layers, Influence: certify.Influence{Total: big.NewRat(total, 1)}}
	if row > 0 {
		c.Row = big.NewRat(row, 1)
	}
	return c
}

// TestExclusions claims that two counts of a table with one row per unit are a layer.
func TestExclusions(t *testing.T) {
	for pair, want := range map[string]bool{
		`p.smoker | NOT p.smoker`:                       true,
		`p.smoker | p.smoker`:                           false,
		`p.smoker | p.smoker IS NULL`:                   true,
		`NOT p.smoker | p.smoker IS NULL`:               true,
		`p.smoker | p.smoker IS NOT TRUE`:               true,
		`NOT p.smoker | p.smoker IS NOT TRUE`:           false,
		`p.smoker IS NOT FALSE | NOT p.smoker`:          true,
		`p.smoker IS NOT FALSE | p.smoker IS NULL`:      false,
		`p.smoker IS NOT NULL | p.smoker`:               false,
		`p.smoker = true | p.smoker = false`:            true,
		`p.smoker = true | p.smoker`:                    false,
		`(p.smoker = false) IS NOT TRUE | NOT p.smoker`: true,
		`(p.smoker = false) IS NOT TRUE | p.smoker`:     false,
		`p.age < 18 | p.age >= 18`:                      true,
		`p.age <= 18 | p.age >= 18`:                     false,
		// integers are not counted out
		`p.age < 18 | p.age > 17`:            false,
		`18 > p.age | p.age >= 18`:           true,
		`18 >= p.age | p.age >= 18`:          false,
		`p.age < 18 | p.age > 60`:            true,
		`p.age < 18 | p.score > 60`:          false,
		`p.age < 18 | p.age IS NULL`:         true,
		`p.age < 18 | p.score IS NULL`:       false,
		`p.age < p.score | p.score IS NULL`:  true,
		`p.age < p.score | p.age >= p.score`: true,
		`p.age < p.score | p.age <= p.score`: false,
		// it is so, but there is no rule
		`p.age < p.score | p.score < p.age`:                               false,
		`p.age <> 1 | p.age = 1`:                                          true,
		`p.age <> 1 | p.age = 2`:                                          false,
		`p.age = 1 | p.age = 2`:                                           true,
		`p.age = 1 | p.age = 1.0`:                                         false,
		`p.age = 1 | p.age = 1.5`:                                         true,
		`(p.age < 18) IS NOT TRUE | p.age < 18`:                           true,
		`(p.age < 18) IS NOT TRUE | p.age IS NULL`:                        false,
		`(p.age < 18) IS NOT TRUE | p.age < 10`:                           true,
		`NOT (p.age < 18) | p.age IS NULL`:                                true,
		`p.age < 18 OR p.age > 60 | p.age = 30`:                           true,
		`p.age < 18 OR p.age > 60 | p.age = 70`:                           false,
		`p.age < 18 OR p.smoker | p.age >= 18 AND NOT p.smoker`:           true,
		`NOT (p.age < 18 AND p.smoker) | p.age < 18 AND p.smoker`:         true,
		`NOT (p.age < 18 AND p.smoker) | p.smoker`:                        false,
		`p.age >= 18 AND p.age <= 30 | NOT (p.age >= 18 AND p.age <= 30)`: true,
		`p.name = 'a'::pg_catalog.text | p.name = 'b'::pg_catalog.text`:   true,
		`p.name = 'a'::pg_catalog.text | p.name = 'A'::pg_catalog.text`:   true,
		`p.name = 'a'::pg_catalog.text | p.name <> 'a'::pg_catalog.text`:  true,
		`p.name < 'a'::pg_catalog.text | p.name >= 'a'::pg_catalog.text`:  true,
		// which is less, only a collation knows
		`p.name < 'a'::pg_catalog.text | p.name > 'b'::pg_catalog.text`:                                                                                 false,
		`p.name = ANY (ARRAY['a', 'b']::pg_catalog.text[]) | p.name = 'c'::pg_catalog.text`:                                                             true,
		`p.name = ANY (ARRAY['a', 'b']::pg_catalog.text[]) | p.name = 'b'::pg_catalog.text`:                                                             false,
		`p.name <> ALL (ARRAY['a', 'b']::pg_catalog.text[]) | p.name = 'b'::pg_catalog.text`:                                                            true,
		`p.name <> ALL (ARRAY['a', 'b']::pg_catalog.text[]) | p.name = 'c'::pg_catalog.text`:                                                            false,
		`p.name <> ALL (ARRAY['a', 'b']::pg_catalog.text[]) | p.name IS NULL`:                                                                           true,
		`(p.name = ANY (ARRAY['a']::pg_catalog.text[])) IS NOT TRUE | p.name = 'b'::pg_catalog.text`:                                                    false,
		`p.mood = 'a'::public.mood | p.mood = 'b'::public.mood`:                                                                                         true,
		`p.admitted < '2020-01-01'::pg_catalog.date | p.admitted >= '2020-01-01'::pg_catalog.date`:                                                      true,
		`p.admitted < '2020-01-01'::pg_catalog.date | p.admitted > '2019-12-31'::pg_catalog.date`:                                                       false,
		`p.weight < '1'::pg_catalog.float8 | p.weight >= '1'::pg_catalog.float8`:                                                                        true,
		`p.weight < '1'::pg_catalog.float8 | p.weight > '0.5'::pg_catalog.float8`:                                                                       false,
		`p.weight <= '0.1'::pg_catalog.float8 | p.weight >= '0.10000000000000000001'::pg_catalog.float8`:                                                false,
		`p.id = 9007199254740993 | p.id = 9007199254740992::pg_catalog.float8`:                                                                          false,
		`EXISTS (SELECT 1 FROM ONLY public.wards AS w WHERE w.ward = p.ward) | NOT EXISTS (SELECT 1 FROM ONLY public.wards AS w WHERE w.ward = p.ward)`: true,
		`p.ward = ANY (SELECT w.ward FROM ONLY public.wards AS w) | p.ward = ANY (SELECT w.name FROM ONLY public.wards AS w)`:                           false,
	} {
		a, b, _ := strings.Cut(pair, " | ")
		claims := []certify.Claim{claimed(1, 0, 7), claimed(1, 0, 7)}
		sql := fmt.Sprintf(`SELECT count(*) FILTER (WHERE %s), count(*) FILTER (WHERE %s)`, a, b) + fromPatients
		if _, err := certify.Check(clinic, sql, nil, claims); (err == nil) != want {
			t.Errorf("%s: %v", pair, err)
		}
		if _, err := certify.Check(clinic, sql, nil, []certify.Claim{claimed(1, 0), claimed(1, 0)}); err != nil {
			t.Errorf("%s without a layer: %v", pair, err)
		}
		var done []certify.Certified
		for _, c := range []string{a, b} { // two texts, one through a subquery
			x, err := certify.Check(clinic, `SELECT count(*) FROM (SELECT p.id AS u, (`+c+`) AS c`+fromPatients+
				` OFFSET 0) AS r WHERE r.c`, nil, claims[:1])
			if err != nil {
				t.Fatal(err)
			}
			done = append(done, x)
		}
		err := certify.Together([][]certify.Claim{claims[:1], claims[:1]}, done)
		if open := strings.Contains(pair, "SELECT"); (err == nil) != (want && !open) {
			t.Errorf("%s of two texts: %v", pair, err)
		}
	}
}

const (
	byPatient = ` FROM (SELECT v.patient_id AS u, count(*) FILTER (WHERE v.urgent) AS a, count(*) FILTER (WHERE %s) AS b, ` +
		`COALESCE(sum(LEAST(GREATEST(v.minutes, 0), 60)) FILTER (WHERE v.urgent), 0) AS s, ` +
		`COALESCE(sum(LEAST(GREATEST(v.minutes, 0), 60)) FILTER (WHERE NOT v.urgent), 0) AS q, count(*) AS n` + fromVisits +
		` GROUP BY 1) AS u`
	bounded = `FROM (SELECT u.a AS a, u.b AS b, u.s AS s, u.q AS q, u.n AS n, LEAST(u.n, 4) AS k, LEAST(u.n, 5) AS l, ` +
		`(pg_catalog.hashtextextended(u.u::pg_catalog.text, $1) & 9223372036854775807)::pg_catalog.numeric AS h` + byPatient +
		`) AS u`
)

// shareOf is what a unit adds of f to a count that has k of n, and cut what it adds behind p.
func shareOf(f, k string) string {
	return fmt.Sprintf(
		`COALESCE(sum(CASE WHEN u.%[2]s >= u.n THEN u.%[1]s ELSE (pg_catalog.sign((u.%[1]s)::pg_catalog.numeric)
		* pg_catalog.div(pg_catalog.abs((u.%[1]s)::pg_catalog.numeric) * u.%[2]s + pg_catalog.mod(pg_catalog.div(u.h, 8), u.n), u.n))::pg_catalog.int8 END), 0)`, f, k)
}

func cut(p, f string) string {
	return fmt.Sprintf(`COALESCE(sum(CASE WHEN u.k >= u.n THEN u.%[2]s ELSE (
		pg_catalog.div((%[1]s + (u.%[2]s)::pg_catalog.numeric) * u.k + pg_catalog.mod(pg_catalog.div(u.h, 8), u.n), u.n)
		- pg_catalog.div(%[1]s * u.k + pg_catalog.mod(pg_catalog.div(u.h, 8), u.n), u.n))::pg_catalog.int8 END), 0)`, p, f)
}

func total(f, u string) string {
	all := `pg_catalog.abs((u.s)::pg_catalog.numeric) + pg_catalog.abs((u.q)::pg_catalog.numeric)`
	return fmt.Sprintf(
		`COALESCE(sum(CASE WHEN %[3]s <= %[2]s THEN u.%[1]s ELSE pg_catalog.div((u.%[1]s)::pg_catalog.numeric * %[2]s, %[3]s)::pg_catalog.int8 END), 0)`, f, u, all)
}

// TestTogether claims layers and rows of integers that a form bounds.
func TestTogether(t *testing.T) {
	seed, other, same := "7", "NOT v.urgent", "v.urgent"
	k, first, second := `COALESCE(sum(u.k), 0)`, shareOf("a", "k"), cut("(u.a)::pg_catalog.numeric", "b")
	rows := func(total, row int64) certify.Claim { return claimed(total, row) }
	in := func(total, row int64) certify.Claim { return claimed(total, row, 1) }
	for name, c := range map[string]struct {
		b      string
		list   []string
		claims []certify.Claim
		passes bool
	}{
		"a layer of counts":          {other, []string{first, second}, []certify.Claim{in(4, 1), in(4, 1)}, true},
		"of rows that are not apart": {same, []string{first, second}, []certify.Claim{in(4, 1), in(4, 1)}, false},
		"each rounded by itself": {
			other,
			[]string{first, shareOf("b", "k")},
			[]certify.Claim{in(4, 1), in(4, 1)},
			false,
		},
		"one of them twice": {other, []string{first, first}, []certify.Claim{in(4, 1), in(4, 1)}, false},
		"behind another": {
			other,
			[]string{first, cut("(u.n)::pg_catalog.numeric", "b")},
			[]certify.Claim{in(4, 1), in(4, 1)},
			false,
		},
		"with all": {other, []string{k, second}, []certify.Claim{in(4, 1), in(4, 1)}, false},
		"rows of one unit": {other, []string{k, first, second}, []certify.Claim{
			rows(4, 1), rows(4, 1),
			rows(4, 1),
		}, true},
		"rows and their sum": {
			other,
			[]string{k, shareOf("s", "k")},
			[]certify.Claim{rows(4, 1), rows(240, 60)},
			true,
		},
		// eight rows, beside four
		"rows that are too light": {other, []string{k, shareOf("s", "k")}, []certify.Claim{rows(4, 1), rows(240, 30)}, true},
		"rows and other rows": {
			other,
			[]string{k, shareOf("s", "l")},
			[]certify.Claim{rows(4, 1), rows(240, 60)},
			false,
		},
		"one number and another": {
			other,
			[]string{`COALESCE(sum(u.k), 0)`, `COALESCE(sum(LEAST(u.n, 4)), 0)`},
			[]certify.Claim{rows(4, 1), rows(4, 1)},
			true,
		},
		"a sum with rows of its own": {
			other,
			[]string{`COALESCE(sum(LEAST(u.s, 240)), 0)`},
			[]certify.Claim{rows(240, 60)},
			true,
		},
		"the same, by steps": {
			other,
			[]string{`COALESCE(sum(LEAST(u.s, 240)), 0)`},
			[]certify.Claim{rows(240, 1)},
			true,
		},
		"a layer of magnitudes": {
			other,
			[]string{total("s", "240"), total("q", "240")},
			[]certify.Claim{in(240, 0), in(240, 0)},
			true,
		},
		"each below its own bound": {
			other,
			[]string{total("s", "240"), total("q", "100")},
			[]certify.Claim{in(240, 0), in(100, 0)},
			true,
		},
		"one magnitude twice": {
			other,
			[]string{total("s", "240"), total("s", "240")},
			[]certify.Claim{in(240, 0), in(240, 0)},
			false,
		},
		"clamped apart": {other, []string{
			`COALESCE(sum(LEAST(u.s, 240)), 0)`,
			`COALESCE(sum(LEAST(u.q, 240)), 0)`,
		}, []certify.Claim{in(240, 0), in(240, 0)}, false},
		"a layer under less than a unit": {
			other,
			[]string{total("s", "240"), total("q", "240")},
			[]certify.Claim{in(240, 7), in(240, 7)},
			false,
		},
	} {
		// a unit is in one group: any numbers fit
		sql := `SELECT ` + strings.Join(c.list, ", ") + ` ` + fmt.Sprintf(bounded, c.b)
		if _, err := checked(clinic, sql, []certify.Value{{Elements: []*string{&seed}}}, c.claims); (err == nil) != c.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGroups claims rows of units that are in two groups.
func TestGroups(t *testing.T) {
	const from = ` FROM (SELECT u.x AS x, LEAST(u.n, 2) AS k, LEAST(u.m, 2) AS l, u.m AS s, sum(pg_catalog.abs((u.m)::pg_catalog.numeric)) OVER (PARTITION BY u.u) AS t
		FROM (SELECT v.patient_id AS u, x.x AS x, count(*) AS n, LEAST(count(*) FILTER (WHERE v.urgent), 9) AS m FROM ONLY public.visits AS v, (VALUES ('1'::pg_catalog.int4), ('2'::pg_catalog.int4)) AS x (x)
		WHERE v.patient_id IS NOT NULL GROUP BY 1, 2) AS u) AS u GROUP BY 1`
	const bounded = `COALESCE(sum(CASE WHEN u.t <= 4 THEN u.s ELSE pg_catalog.div((u.s)::pg_catalog.numeric * 4, u.t)::pg_catalog.int8 END), 0)`
	for list, passes := range map[string]bool{
		`COALESCE(sum(u.k), 0)`:                            true,
		`COALESCE(sum(u.k), 0), COALESCE(sum(u.l), 0)`:     true, // two in each
		`COALESCE(sum(u.k), 0), COALESCE(sum(2 * u.l), 0)`: false,
		bounded:                             true,
		`COALESCE(sum(u.k), 0), ` + bounded: false, // four in one group, and two in another
	} {
		claims := []certify.Claim{{Kind: certify.Public}}
		for range strings.Count(list, "sum(") {
			claims = append(claims, claimed(4, 1))
		}
		if _, err := certify.Check(clinic, `SELECT u.x, `+list+from, nil, claims); (err == nil) != passes {
			t.Errorf("%s: %v", list, err)
		}
	}
}

// TestWindows claims that rows of which a window function says one thing are others than those of which it says
// another, over other rows.
func TestWindows(t *testing.T) {
	const first = `row_number() OVER (PARTITION BY %[1]s.u ORDER BY %[1]s.z) <= 1`
	inner := `SELECT w.u AS u, w.z AS z, ` + fmt.Sprintf(first, "w") +
		` AS a FROM (SELECT v.patient_id AS u, v.visit_id AS z` + fromVisits + `) AS w`
	outer := `SELECT r.u AS u, r.a AS a, ` + fmt.Sprintf(first, "r") +
		` AS b, row_number() OVER (PARTITION BY r.u ORDER BY r.z) AS i FROM (` + inner + `) AS r`
	for filter, passes := range map[string]bool{`NOT s.b`: false, `NOT s.a`: true} {
		sql := `SELECT count(*) FILTER (WHERE s.a), count(*) FILTER (WHERE ` + filter + `) FROM (` + outer +
			` WHERE r.z > 3) AS s WHERE s.i <= 4`
		if _, err := certify.Check(clinic, sql, nil, []certify.Claim{claimed(4, 0, 1), claimed(4, 0, 1)}); (err == nil) != passes {
			t.Errorf("%s: %v", filter, err)
		}
	}
}

// TestSources claims layers over two texts, and over the arms of a UNION ALL.
func TestSources(t *testing.T) {
	picked := func(seed, limit, p string) string {
		return `SELECT count(*) FROM (SELECT w.z AS z, w.p AS p FROM (SELECT w.z AS z, w.p AS p, row_number() OVER (PARTITION BY w.u ORDER BY
			pg_catalog.hashint8extended(w.z, ` + seed + `), w.z, w.p) AS i FROM (SELECT v.patient_id AS u, v.visit_id AS z,
			CASE WHEN v.urgent THEN 0 ELSE 1 END AS p` + fromVisits + `) AS w) AS w WHERE w.i <= ` + limit +
			`) AS h WHERE h.p = ` + p
	}
	age := func(c string) string { return `SELECT p.id AS u, p.age AS a` + fromPatients + ` AND ` + c }
	s := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		texts      []string
		parameters []string
		claim      certify.Claim
		passes     bool
	}{
		"ranked together": {
			[]string{picked("$1", "4", "0"), picked("$1", "4", "1")},
			[]string{"5", "5"},
			claimed(4, 0, 1), true,
		},
		"by other hashes": {
			[]string{picked("$1", "4", "0"), picked("$1", "4", "1")},
			[]string{"5", "6"},
			claimed(4, 0, 1), false,
		},
		"of other limits": {
			[]string{picked("$1", "4", "0"), picked("$1", "3", "1")},
			[]string{"5", "5"},
			claimed(4, 0, 1), false,
		},
		"the same part": {
			[]string{picked("$1", "4", "0"), picked("$1", "4", "0")},
			[]string{"5", "5"},
			claimed(4, 0, 1), false,
		},
		"two tables": {[]string{
			`SELECT count(*)` + fromPatients + ` AND p.age < 18`,
			`SELECT count(*) FROM ONLY public.profiles AS p WHERE p.height >= 18`,
		}, []string{"", ""}, claimed(1, 0, 1), false},
		"many rows": {
			[]string{`SELECT LEAST(count(*), 1)` + fromVisits + ` AND v.urgent`},
			[]string{""},
			claimed(1, 0, 1), false,
		},
		"a row is in one arm": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) + ` UNION ALL ` + age(`p.age >= 18`) +
			`) AS u`}, []string{""}, claimed(1, 1), true},
		"a row is in one of 3": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) + ` UNION ALL ` + age(`p.age >= 60`) +
			` UNION ALL ` + age(`p.age = 30`) + `) AS u`}, []string{""}, claimed(1, 1), true},
		"a row is in two": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) + ` UNION ALL ` + age(`p.age >= 17`) +
			`) AS u`}, []string{""}, claimed(1, 1), false},
		"a row is in 2 of 3": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) + ` UNION ALL ` + age(`p.age >= 60`) +
			` UNION ALL ` + age(`p.age = 70`) + `) AS u`}, []string{""}, claimed(1, 1), false},
		"padded rows": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) +
			` UNION ALL SELECT p.id AS u, p.age AS a FROM ONLY public.patients AS p LEFT JOIN ONLY public.wards AS w ON p.ward = w.ward AND p.age >= 18 WHERE p.id IS NOT NULL) AS u`}, []string{""}, claimed(1, 1), false},
		"a column of the other": {[]string{`SELECT count(*) FROM (` + age(`p.age < 18`) + ` UNION ALL ` +
			age(`p.score >= 18`) + `) AS u`}, []string{""}, claimed(1, 1), false},
	} {
		var claims [][]certify.Claim
		var done []certify.Certified
		failed := false
		for i, text := range c.texts {
			x, err := checked(clinic, text, []certify.Value{{Elements: []*string{s(c.parameters[i])}}}, []certify.Claim{c.claim})
			failed = failed || err != nil
			claims, done = append(claims, []certify.Claim{c.claim}), append(done, x)
		}
		if passes := !failed && certify.Together(claims, done) == nil; passes != c.passes {
			t.Errorf("%s", name)
		}
	}
}

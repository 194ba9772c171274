package certify_test

import (
	"maps"
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// ofUnits counts units by a condition on a row x of theirs; ofVisits makes such rows by a window function over visits.
func ofUnits(rows, condition string) string {
	return countOf + `(SELECT w.u FROM (` + rows + `) AS w WHERE ` + condition + ` GROUP BY 1) AS u`
}

func ofVisits(x string) string { return `SELECT v.patient_id AS u, ` + x + ` AS x` + fromVisits }

// TestWithinUnits asks Check about window functions and aggregates over the rows of one unit: what hangs on the order
// in which rows come, or on which of equal values is met first, is refused, and so is what fails for some rows. One
// unit moves each count by 1.
func TestWithinUnits(t *testing.T) {
	const (
		over    = ` OVER (PARTITION BY v.patient_id ORDER BY v.visit_id)`
		ties    = ` OVER (PARTITION BY v.patient_id ORDER BY v.visited)`
		minutes = `LEAST(GREATEST(v.minutes, 0), 60)`
		third   = `(LEAST(GREATEST(v.cost, '0'::pg_catalog.numeric), '9'::pg_catalog.numeric) / '3'::pg_catalog.numeric)`
		weight  = `LEAST(GREATEST(p.weight, '0'::pg_catalog.float8), '9'::pg_catalog.float8)`
		float   = `(` + minutes + `)::pg_catalog.float8`
	)
	byUnit := func(x string) string { return ofVisits(x) + ` GROUP BY 1` }
	ofPatients := func(x string) string { return `SELECT p.id AS u, ` + x + ` AS x` + fromPatients + ` GROUP BY 1` }
	rangeOf := func(key, frame string) string {
		return ofUnits(ofVisits(`count(*) OVER (PARTITION BY v.patient_id ORDER BY `+key+` RANGE BETWEEN `+frame+
			` AND CURRENT ROW)`), `w.x > 3`)
	}
	clampedDay := `(CASE WHEN v.visited < '2020-01-01'::pg_catalog.date THEN '2020-01-01'::pg_catalog.date WHEN v.visited > '2021-12-31'::pg_catalog.date THEN '2021-12-31'::pg_catalog.date ELSE v.visited END)`
	cut := `LEAST(COALESCE(sum((` + minutes + `)::pg_catalog.float8), 0), 9007199254740992)`
	good := map[string]string{
		"lag":            ofUnits(ofVisits(`lag(v.minutes, 1)`+over), `w.x > 3`),
		"lead of text":   ofUnits(ofVisits(`lead(v.ward, 2)`+over), `w.x = 'er'::pg_catalog.text`),
		"first_value":    ofUnits(ofVisits(`first_value(v.cost)`+over), `w.x > 3::pg_catalog.numeric`),
		"last_value":     ofUnits(ofVisits(`last_value(v.ward)`+over), `w.x = 'er'::pg_catalog.text`),
		"nth_value":      ofUnits(ofVisits(`nth_value(v.minutes, 2)`+over), `w.x > 3`),
		"ntile":          ofUnits(ofVisits(`ntile(4)`+over), `w.x > 3`),
		"ranks of peers": ofUnits(ofVisits(`rank()`+ties), `w.x > 3`),
		"parts of peers": ofUnits(ofVisits(`percent_rank()`+ties+` + cume_dist()`+ties),
			`w.x > '0.5'::pg_catalog.float8`),
		"a frame of peers":    ofUnits(ofVisits(`sum(`+minutes+`)`+ties), `w.x > 3`),
		"a frame with FILTER": ofUnits(ofVisits(`count(*) FILTER (WHERE v.urgent)`+ties), `w.x > 3`),
		"an order of all that is seen": ofUnits(
			`SELECT q.u, lag(q.m, 1) OVER (PARTITION BY q.u ORDER BY q.w, q.m) AS x FROM (SELECT v.patient_id AS u, v.ward AS w, v.minutes AS m`+fromVisits+`) AS q`, `w.x > 3`),
		"an order by a numeric key": ofUnits(
			`SELECT q.u, lag(q.n, 1) OVER (PARTITION BY q.u ORDER BY q.k) AS x FROM (SELECT v.patient_id AS u, `+third+
				` AS k, count(*) AS n`+fromVisits+` GROUP BY 1, 2) AS q`, `w.x > 3`),
		"a deviation of a frame": ofUnits(ofVisits(`stddev_pop(`+minutes+`)`+ties), `w.x > 3`),
		"days before":            rangeOf(clampedDay, `'7 days'::pg_catalog.interval PRECEDING`),
		"numbers before":         rangeOf(`v.minutes`, `10 PRECEDING`),
		"variances": ofUnits(byUnit(`var_samp(v.minutes) + var_pop(v.minutes) + stddev(v.minutes)`),
			`w.x > 3`),
		"a median": ofUnits(byUnit(`percentile_cont('0.5'::pg_catalog.float8) WITHIN GROUP (ORDER BY `+
			float+`)`), `w.x > '3'::pg_catalog.float8`),
		"a quantile": ofUnits(
			byUnit(`percentile_disc('0.9'::pg_catalog.float8) WITHIN GROUP (ORDER BY v.cost DESC)`),
			`w.x > 3::pg_catalog.numeric`),
		"a sum of what is distinct":   ofUnits(byUnit(`sum(DISTINCT v.minutes)`), `w.x > 3`),
		"a sum of floats that is cut": ofUnits(byUnit(cut), `w.x > '3'::pg_catalog.float8`),
		"the least float as a number": ofUnits(ofPatients(`min(`+weight+`)`), `w.x > '3'::pg_catalog.float8`),
		"the first by a number": ofUnits(`SELECT DISTINCT ON (v.patient_id, `+third+
			`) v.patient_id AS u, v.minutes AS x`+fromVisits+` ORDER BY v.patient_id, `+third+`, v.visit_id`, `w.x > 3`),
	}
	bad := map[string]string{
		"lag with ties":        ofUnits(ofVisits(`lag(v.minutes, 1)`+ties), `w.x > 3`),
		"lag without an order": ofUnits(ofVisits(`lag(v.minutes, 1) OVER (PARTITION BY v.patient_id)`), `w.x > 3`),
		"lag of other units": ofUnits(ofVisits(`lag(v.minutes, 1) OVER (PARTITION BY v.ward ORDER BY v.visit_id)`),
			`w.x > 3`),
		"lag by a column":       ofUnits(ofVisits(`lag(v.minutes, v.minutes)`+over), `w.x > 3`),
		"lag of nothing":        ofUnits(ofVisits(`lag()`+over), `w.x > 3`),
		"first_value with ties": ofUnits(ofVisits(`first_value(v.minutes)`+ties), `w.x > 3`),
		"last_value with ties": ofUnits(ofVisits(
			`last_value(v.minutes) OVER (PARTITION BY v.patient_id ORDER BY v.visited GROUPS CURRENT ROW)`), `w.x > 3`),
		"nth_value with ties":   ofUnits(ofVisits(`nth_value(v.minutes, 1)`+ties), `w.x > 3`),
		"nth_value of none":     ofUnits(ofVisits(`nth_value(v.minutes, 0)`+over), `w.x > 3`),
		"nth_value by a column": ofUnits(ofVisits(`nth_value(v.minutes, v.minutes)`+over), `w.x > 3`),
		"ntile with ties":       ofUnits(ofVisits(`ntile(4)`+ties), `w.x > 3`),
		"ntile of none":         ofUnits(ofVisits(`ntile(0)`+over), `w.x > 3`),
		"ntile by a column":     ofUnits(ofVisits(`ntile(v.minutes)`+over), `w.x > 3`),
		"rows with ties": ofUnits(ofVisits(
			`sum(`+minutes+`) OVER (PARTITION BY v.patient_id ORDER BY v.visited ROWS UNBOUNDED PRECEDING)`), `w.x > 3`),
		"an order by a key's part": ofUnits(
			`SELECT q.u, lag(q.n, 1) OVER (PARTITION BY q.u ORDER BY q.k) AS x FROM (SELECT v.patient_id AS u, `+third+
				` AS k, v.ward AS w, count(*) AS n`+fromVisits+` GROUP BY 1, 2, 3) AS q`, `w.x > 3`),
		"an order of all but spelled": ofUnits(
			`SELECT q.u, lag(q.k, 1) OVER (PARTITION BY q.u ORDER BY q.k) AS x FROM (SELECT v.patient_id AS u, `+third+` AS k`+
				fromVisits+`) AS q`, `w.x > 3::pg_catalog.numeric`),
		"a sum of floats in a frame": ofUnits(ofVisits(`sum(`+float+`)`+over), `w.x > '3'::pg_catalog.float8`),
		"an order by a sum of floats": ofUnits(
			`SELECT q.u, rank() OVER (PARTITION BY q.u ORDER BY q.f) AS x FROM (SELECT v.patient_id AS u, v.ward AS w, sum(`+
				float+`) AS f`+fromVisits+` GROUP BY 1, 2) AS q`, `w.x > 3`),
		"the first by a sum of floats": countOf +
			`(SELECT DISTINCT ON (q.u) q.u, q.w FROM (SELECT v.patient_id AS u, v.ward AS w, sum(` + float + `) AS f` +
			fromVisits +
			` GROUP BY 1, 2) AS q ORDER BY q.u, q.f, q.w) AS u WHERE u.w = 'er'::pg_catalog.text`,
		"days before, below zero":    rangeOf(clampedDay, `'-7 days'::pg_catalog.interval PRECEDING`),
		"months and days below zero": rangeOf(clampedDay, `'1 mon -40 days'::pg_catalog.interval PRECEDING`),
		"days before of any day":     rangeOf(`v.visited`, `'7 days'::pg_catalog.interval PRECEDING`),
		"a million years before":     rangeOf(clampedDay, `'1000000 years'::pg_catalog.interval PRECEDING`),
		"a column before":            rangeOf(`v.minutes`, `v.minutes PRECEDING`),
		"less than zero before":      rangeOf(`v.minutes`, `(-1) PRECEDING`),
		"NULL before":                rangeOf(`v.minutes`, `NULL::pg_catalog.int4 PRECEDING`),
		"NaN before":                 rangeOf(`v.cost`, `'NaN'::pg_catalog.numeric PRECEDING`),
		"a median of all":            `SELECT 1::pg_catalog.int8, percentile_disc('0.5'::pg_catalog.float8) WITHIN GROUP (ORDER BY ` + minutes + `)` + fromVisits,
		"a quantile above 1": ofUnits(
			byUnit(`percentile_disc('1.5'::pg_catalog.float8) WITHIN GROUP (ORDER BY v.minutes)`), `w.x > 3`),
		"a quantile that is NaN": ofUnits(
			byUnit(`percentile_disc('NaN'::pg_catalog.float8) WITHIN GROUP (ORDER BY v.minutes)`), `w.x > 3`),
		"a quantile by a column": ofUnits(ofVisits(
			`percentile_disc(v.minutes::pg_catalog.float8) WITHIN GROUP (ORDER BY v.minutes)`)+` GROUP BY 1, v.minutes`,
			`w.x > 3`),
		"a median of any floats": ofUnits(ofPatients(
			`percentile_cont('0.5'::pg_catalog.float8) WITHIN GROUP (ORDER BY p.weight)`), `w.x > '3'::pg_catalog.float8`),
		"a deviation over units":     `SELECT 1::pg_catalog.int8, stddev_pop(` + minutes + `)` + fromVisits,
		"a deviation of floats":      ofUnits(ofPatients(`stddev_pop(`+weight+`)`), `w.x > '3'::pg_catalog.float8`),
		"a deviation of any numbers": ofUnits(ofPatients(`stddev_pop(p.income)`), `w.x > 3::pg_catalog.numeric`),
		"a sum of distinct values": `SELECT 1::pg_catalog.int8, COALESCE(sum(DISTINCT LEAST(GREATEST(p.age, 0), 1)), 0)` +
			fromPatients,
		"a sum of distinct floats": ofUnits(byUnit(`sum(DISTINCT `+float+`)`), `w.x > '3'::pg_catalog.float8`),
		"deviation of distinct":    ofUnits(byUnit(`stddev_pop(DISTINCT `+third+`)`), `w.x > 3::pg_catalog.numeric`),
		"a sum of floats":          ofUnits(byUnit(`sum(`+float+`)`), `w.x > '3'::pg_catalog.float8`),
		"a sum of floats cut later": ofUnits(byUnit(`LEAST(COALESCE(sum(`+float+`), 0), 9007199254740993)`),
			`w.x > '3'::pg_catalog.float8`),
		"a sum of floats from below": ofUnits(
			byUnit(`LEAST(COALESCE(sum((LEAST(GREATEST(v.minutes, (-1)), 9))::pg_catalog.float8), 0), 9007199254740992)`),
			`w.x > '3'::pg_catalog.float8`),
		"a sum of parts": ofUnits(ofPatients(`LEAST(COALESCE(sum(`+weight+`), 0), 9007199254740992)`),
			`w.x > '3'::pg_catalog.float8`),
		"a zero's sign": ofUnits(ofPatients(`min(`+weight+`)::pg_catalog.text`),
			`w.x = '-0'::pg_catalog.text`),
		"a key's sign": ofUnits(`SELECT p.id AS u, (`+weight+`)::pg_catalog.text AS x`+fromPatients+
			` GROUP BY 1, `+weight, `w.x = '-0'::pg_catalog.text`),
		"a part of the least number": ofUnits(byUnit(`min(`+third+`) / '7'::pg_catalog.numeric`),
			`w.x > '0.1'::pg_catalog.numeric`),
		"a part of a key": ofUnits(`SELECT v.patient_id AS u, `+third+` / '7'::pg_catalog.numeric AS x`+
			fromVisits+` GROUP BY 1, `+third, `w.x > '0.1'::pg_catalog.numeric`),
		"the root of a key": ofUnits(`SELECT v.patient_id AS u, pg_catalog.sqrt(`+third+`) AS x`+fromVisits+
			` GROUP BY 1, `+third, `w.x > '0.1'::pg_catalog.numeric`),
		"deviation of a least number": ofUnits(
			`SELECT q.u, stddev_pop(q.k) AS x FROM (SELECT v.patient_id AS u, v.ward AS w, min(`+third+`) AS k`+fromVisits+
				` GROUP BY 1, 2) AS q GROUP BY 1`, `w.x > 3::pg_catalog.numeric`),
		"the root of less than zero": ofUnits(
			byUnit(`pg_catalog.sqrt((min(LEAST(GREATEST(v.minutes, (-1)), 9)))::pg_catalog.numeric)`),
			`w.x > 3::pg_catalog.numeric`),
		"groups by intervals": ofUnits(
			`SELECT p.id AS u, pg_catalog.date_part('epoch'::pg_catalog.text, p.stay) AS x`+fromPatients+` GROUP BY 1, p.stay`,
			`w.x > '3'::pg_catalog.float8`),
		"groups by loose text": ofUnits(
			`SELECT s.u, s.k COLLATE pg_catalog."C" AS x FROM (SELECT c.patient_id AS u, c.kind AS k FROM ONLY public.loose AS c WHERE c.patient_id IS NOT NULL GROUP BY 1, 2) AS s`, `w.x = 'A'::pg_catalog.text`),
		"a join by loose text": countOf +
			`(SELECT c.patient_id AS u, c.kind AS k FROM ONLY public.loose AS c WHERE c.patient_id IS NOT NULL) AS q, ONLY public.wards AS w WHERE q.k = w.ward`,
		"the spelling of a public key": `SELECT s.code, count(*) FROM ONLY public.patients AS p, ONLY public.shifts AS s WHERE p.id IS NOT NULL AND p.age = s.shift_id GROUP BY 1`,
		"the least loose text": ofUnits(
			`SELECT c.patient_id AS u, min(c.kind) AS x FROM ONLY public.loose AS c WHERE c.patient_id IS NOT NULL GROUP BY 1`,
			`w.x = 'A'::pg_catalog.text`),
	}
	facts := clinic
	facts.Tables = maps.Clone(clinic.Tables)
	facts.Tables["public.loose"] = certify.Table{
		Kind: "patient", Unit: "patient_id", Unique: [][]string{{"patient_id"}},
		Columns: map[string]certify.Column{
			"patient_id": {Type: "bigint", Deterministic: true},
			"kind":       {Type: "text", Collation: "ci", NotNull: true},
		},
	}
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	for name, q := range good {
		if _, err := certify.Check(facts, q, nil, claims); err != nil {
			t.Errorf("%s: %s\n%v", name, q, err)
		}
	}
	for name, q := range bad {
		c, err := certify.Check(facts, q, nil, claims)
		if err == nil {
			t.Errorf("%s passes: %s\n%v", name, q, c.Outputs)
		}
		t.Logf("%s: %v", name, err)
	}
}

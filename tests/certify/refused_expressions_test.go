package certify_test

import (
	"math/big"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// TestValues asks Check about conditions on one row per unit: those that no row makes fail pass, the others do not.
func TestValues(t *testing.T) {
	const (
		day     = `(CASE WHEN p.admitted < '2020-01-01'::pg_catalog.date THEN '2020-01-01'::pg_catalog.date WHEN p.admitted > '2021-12-31'::pg_catalog.date THEN '2021-12-31'::pg_catalog.date ELSE p.admitted END)`
		seen    = `LEAST(GREATEST(p.seen, '2020-01-01 00:00:00+00'::pg_catalog.timestamptz), '2022-01-01 00:00:00Z'::pg_catalog.timestamptz)`
		age     = `LEAST(GREATEST(p.age, 0), 120)`
		weight  = `LEAST(GREATEST(p.weight, '0'::pg_catalog.float8), '250'::pg_catalog.float8)`
		flushed = `LEAST(GREATEST((CASE WHEN p.weight OPERATOR(pg_catalog.>) '-1e-60'::pg_catalog.float8 AND p.weight OPERATOR(pg_catalog.<) '1e-60'::pg_catalog.float8 THEN '0'::pg_catalog.float8 ELSE p.weight END), '0'::pg_catalog.float8), '250'::pg_catalog.float8)`
		height  = `LEAST(GREATEST((CASE WHEN p.height OPERATOR(pg_catalog.>) '-1e-12'::pg_catalog.float4 AND p.height OPERATOR(pg_catalog.<) '1e-12'::pg_catalog.float4 THEN '0'::pg_catalog.float4 ELSE p.height END), '0'::pg_catalog.float4), '3'::pg_catalog.float4)`
		name    = `pg_catalog."left"(p.name, 1048576)`
		days    = `pg_catalog.daterange(p.admitted, '2020-06-01'::pg_catalog.date, '[)')`
	)
	good := map[string]string{
		"integers":       `(` + age + ` % 7) > 1`,
		"mod by no zero": `100 % NULLIF(p.age, 0) > 1`,
		"both sides":     `CASE WHEN ` + age + ` >= p.score THEN 1 ELSE 10 / p.score END > 0`,
		"float4":         `p.age > ` + height + ` * ` + height + ` AND p.weight + '0'::pg_catalog.float8 > p.height`,
		"functions of floats": `pg_catalog.sqrt(` + weight + `) + pg_catalog.exp(` + weight +
			`) > '1'::pg_catalog.float8 AND pg_catalog.power(pg_catalog.sin(pg_catalog.radians(` + flushed +
			`)), '2'::pg_catalog.float8) < 1::pg_catalog.float8`,
		"any quotient": `pg_catalog.div(5::pg_catalog.numeric, LEAST(GREATEST(p.income, 1::pg_catalog.numeric), 5::pg_catalog.numeric)) > 3`,
		"times": `(` + seen + ` + '1 mons'::pg_catalog.interval) > ` + day + ` AND (` + seen +
			`)::pg_catalog.date - ` + day + ` > 3 AND ` + seen + ` - ` + seen + ` < p.stay`,
		"far times compared": `p.admitted < p.seen AND p.admitted > '2021-06-15 12:00:00+00'::pg_catalog.timestamptz`,
		"zones": `pg_catalog.timezone('Asia/Tokyo'::pg_catalog.text, ` + seen +
			`) > '2020-06-01 00:00:00'::pg_catalog.timestamp`,
		"bins and parts": `pg_catalog.date_bin('7 days'::pg_catalog.interval, ` + seen +
			`, '2020-01-05 00:00:00+00'::pg_catalog.timestamptz) = p.seen AND (pg_catalog.extract('year'::pg_catalog.text, ` +
			day + `))::pg_catalog.int4 > 2020`,
		"made": day + ` + pg_catalog.make_interval(0, 0, 0, ` + age +
			`, 0, 0, '0'::pg_catalog.float8) > p.admitted`,
		"pictures": `pg_catalog.to_char(` + seen + `, 'YYYY-MM'::pg_catalog.text) = '2020-01'::pg_catalog.text`,
		"text":     `pg_catalog.length(p.name) > 3 AND pg_catalog."position"(p.name, 'a'::pg_catalog.text) > 0 AND pg_catalog.lower(` + name + `) > 'a'::pg_catalog.text AND pg_catalog."substring"(p.name, p.age, 1) = 'x'::pg_catalog.text`,
		"patterns": `p.name ~~ 'A%'::pg_catalog.text AND ` + name + ` ~~* 'a_b%'::pg_catalog.text AND ` + name +
			` !~* '^[[:alpha:]]{2,3}$'::pg_catalog.text AND ` + name +
			` ~ pg_catalog.similar_to_escape('(a|b)%'::pg_catalog.text)`,
		"ranges":               `'[2020-01-01,2020-06-01)'::pg_catalog.daterange @> p.admitted`,
		"distinct":             `p.ward IS DISTINCT FROM 'icu'::pg_catalog.text AND p.age IS NOT DISTINCT FROM 30 AND p.score = ANY (ARRAY['1', NULL]::pg_catalog.int4[])`,
		"labels":               `p.mood = 'ok'::public.mood AND (p.stars)::pg_catalog.int4 > 3`,
		"NULL is in no bounds": `(CASE WHEN p.smoker THEN ` + age + ` ELSE NULL::pg_catalog.int4 END) * 10 > 5`,
	}
	bad := map[string]string{
		"mod of zero":       `100 % p.age > 1`,
		"NULLIF of NULL":    `100 / NULLIF(p.age, NULL::pg_catalog.int4) > 1`,
		"a branch of NULL":  `1 / (COALESCE(CASE WHEN p.smoker THEN NULL ELSE 5 END, 0)) > 0`,
		"a branch of text":  `1 / (CASE WHEN p.smoker THEN '0' ELSE 5 END) > 0`,
		"a small float":     `pg_catalog.radians(` + weight + `) > '1'::pg_catalog.float8`,
		"a small float4":    `p.height * '0.5'::pg_catalog.float4 > '1'::pg_catalog.float4`,
		"a root below zero": `pg_catalog.sqrt(p.weight) > '1'::pg_catalog.float8`,
		"a large exponent":  `pg_catalog.exp('10'::pg_catalog.float8 * ` + flushed + `) > '1'::pg_catalog.float8`,
		"infinity":          `pg_catalog.sin(p.weight) > '0'::pg_catalog.float8`,
		"NaN to an integer": `(pg_catalog.sign(p.weight))::pg_catalog.int4 > 0`,
		"a quotient of NaN": `(LEAST(GREATEST(p.income, '0'::pg_catalog.numeric), 'NaN'::pg_catalog.numeric) / 2::pg_catalog.numeric)::pg_catalog.int8 > 0`,
		"a far time":        `p.seen + '1 days'::pg_catalog.interval > p.seen`,
		"a far date":        `(p.admitted)::pg_catalog.timestamp > '2020-01-01 00:00:00'::pg_catalog.timestamp`,
		"infinite times":    `p.seen - p.seen > p.stay`,
		"no zone":           `pg_catalog.timezone('Middle/Earth'::pg_catalog.text, ` + seen + `) IS NULL`,
		"a zone of the row": `pg_catalog.timezone(p.name, ` + seen + `) IS NULL`,
		"bins of months": `pg_catalog.date_bin('1 mons'::pg_catalog.interval, ` + seen + `, ` + seen +
			`) = p.seen`,
		"far intervals":             day + ` + p.stay > p.admitted`,
		"the lesser interval":       day + ` + LEAST(p.stay, '5 days'::pg_catalog.interval) > p.admitted`,
		"long text":                 `pg_catalog.lower(p.name) > 'a'::pg_catalog.text`,
		"the lesser text":           `pg_catalog.lower(LEAST(p.name, 'z'::pg_catalog.text)) > 'a'::pg_catalog.text`,
		"two long texts":            `(p.name || p.name) = 'x'::pg_catalog.text`,
		"a length below zero":       `pg_catalog."substring"(p.name, 1, p.age) = 'x'::pg_catalog.text`,
		"a picture of the row":      `pg_catalog.to_char(` + seen + `, p.name) = 'x'::pg_catalog.text`,
		"a pattern of the row":      `p.name ~~ p.ward`,
		"an escape at the end":      `p.name ~~ 'a\'::pg_catalog.text`,
		"no expression":             `` + name + ` ~ 'a(b'::pg_catalog.text`,
		"a repeated anchor":         `` + name + ` ~ '^*'::pg_catalog.text`,
		"counts of counts":          `` + name + ` ~ '((a{9}){9}){9}'::pg_catalog.text`,
		"a back reference":          `` + name + ` ~ '(a*)\1'::pg_catalog.text`,
		"an expression over all":    `p.name ~ 'a'::pg_catalog.text`,
		"a range that is made":      days + ` && pg_catalog.daterange(NULL, NULL, '[)')`,
		"no label":                  `(CASE WHEN p.smoker THEN (($3::pg_catalog.text)::public.mood) END) = p.mood`,
		"rows compared":             `ROW(p.age, p.income) = ROW(1, p.income)`,
		"a year that is none":       `p.admitted = (($4::pg_catalog.text)::pg_catalog.date)`,
		"a number too small":        `p.weight = (($5::pg_catalog.text)::pg_catalog.float8)`,
		"a function of other types": `pg_catalog.round(p.age) > 1::pg_catalog.numeric`,
		"seconds of the row":        `pg_catalog.make_interval(secs => p.weight) > p.stay`,
	}
	s := func(s string) *string { return &s }
	var parameters []certify.Value
	for _, p := range []string{"7", "a", "awful", "0000-01-01", "1e-400"} {
		parameters = append(parameters, certify.Value{Elements: []*string{s(p)}})
	}
	one := big.NewRat(1, 1)
	claims := []certify.Claim{
		{Kind: certify.Public},
		{Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one, Groups: one}},
	}
	ask := func(condition string) error {
		_, err := checked(clinic, `SELECT 1::pg_catalog.int8, count(*)`+fromPatients+` AND (`+condition+`)`, parameters,
			claims)
		return err
	}
	for of, condition := range good {
		if err := ask(condition); err != nil {
			t.Errorf("%s: %v", of, err)
		}
	}
	for of, condition := range bad {
		err := ask(condition)
		if err == nil {
			t.Errorf("%s passes: %s", of, condition)
		} else if testing.Verbose() {
			t.Logf("%s: %v", of, err)
		}
	}
}

package certify_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

// valued is a table of one row per unit that has columns of all types, and one of many rows.
var valued = certify.Facts{
	Enums: map[string][]string{"public.mood": {"bad", "ok", "good"}},
	Bases: map[string]string{"public.rating": "integer"},
	Tables: map[string]certify.Table{
		"public.vals":  {Kind: "unit", Unit: "id", Unique: [][]string{{"id"}}, Columns: valuedColumns},
		"public.parts": {Kind: "unit", Unit: "id", Columns: valuedColumns},
	},
}

var valuedColumns = columns(
	`id bigint !,,i2 smallint !,,i2n smallint,,i4 integer !,,i4n integer,,i8 bigint !,,i8n bigint,,n numeric !,,nn numeric,,m numeric(10,2) !,,
			mn numeric(10,2),,k numeric(5,-2) !,,f8 double_precision !,,f8n double_precision,,f4 real !,,f4n real,,b boolean !,,bn boolean,,t text !,,tn text,,
			c text ! collation=C,,p text ! collation=POSIX,,vc character_varying ! collation=C,,vp character_varying ! collation=POSIX,,
			d date !,,dn date,,ts timestamp_without_time_zone !,,tsn timestamp_without_time_zone,,tz timestamp_with_time_zone !,,tzn timestamp_with_time_zone,,
			iv interval !,,u uuid !,,e public.mood !,,s public.rating,,r4 int4range !,,rd daterange !,,rn numrange !,,a text[] ! collation=POSIX`)

const fromVals = ` FROM ONLY public.vals AS v WHERE v.id IS NOT NULL`

// TestRefusedValues has pairs of texts: the first fails for some row, or moves by more than the bound 1 that is
// claimed; the second, which is as near to it as can be, does not.
func TestRefusedValues(t *testing.T) {
	s := func(texts ...string) certify.Value {
		v := certify.Value{Array: len(texts) > 1}
		for i := range texts {
			v.Elements = append(v.Elements, &texts[i])
		}
		return v
	}
	parameters := []certify.Value{
		s("7"), s("abc"), s("2020-01-01", "0000-01-01"), s("2020-01-01 00:00:00", "2020-01-01 00:00:00,5"), s("1", "1e-400"),
		s("2020-01-01", "0001-01-01"), s("2020-01-01 00:00:00", "2020-01-01 00:00:00.5"), s("1", "1e-300"),
	}
	// Conditions on each row.
	for name, c := range map[string][2]string{
		"int4 at its least": {
			`(-2147483648) * LEAST(GREATEST(v.i4, 0), 2) < 0`,
			`(-2147483649) * LEAST(GREATEST(v.i4, 0), 2) < 0`,
		},
		"NaN over 3": {`(v.m / 3)::pg_catalog.int8 > 1`, `(LEAST(v.m, 5.00) / 3)::pg_catalog.int8 > 1`},
		"sign of NaN": {
			`pg_catalog.sign(v.k)::pg_catalog.int8 > 0`,
			`pg_catalog.sign(LEAST(v.k, 5))::pg_catalog.int8 > 0`,
		},
		"NULLIF of two types": {
			`v.i4 = ANY(ARRAY['1']::pg_catalog.int4[]) AND NULLIF(v.i4, 0.0) = ANY(ARRAY['1']::pg_catalog.int4[])`,
			`NULLIF(v.i4, 0) = ANY(ARRAY['1']::pg_catalog.int4[])`,
		},
		"zero put in": {
			`1 / (CASE WHEN GREATEST(v.i4, 1) OPERATOR(pg_catalog.>) (-2) AND GREATEST(v.i4, 1) OPERATOR(pg_catalog.<) 2 THEN 0 ELSE GREATEST(v.i4, 1) END) > 0`, `1 / (CASE WHEN GREATEST(v.i4, 1) OPERATOR(pg_catalog.>) (-2) AND v.b THEN 1 ELSE GREATEST(v.i4, 1) END) > 0`,
		},
		"flushed by NULL": {
			flushed(`(CASE WHEN v.b THEN '-0.5'::pg_catalog.float8 END)`),
			flushed(`'-0.5'::pg_catalog.float8`),
		},
		"length of the lesser": {
			`pg_catalog.upper(LEAST(v.t, 'zz'::pg_catalog.text)) = v.t`,
			`pg_catalog.upper(LEAST(pg_catalog.left(v.t, 5), 'zz'::pg_catalog.text)) = v.t`,
		},
		"lesser of two collations": {`LEAST(v.vc, v.vp) IS NULL`, `LEAST(v.c, v.t) IS NULL`},
		"element of another":       {`v.c = ANY(v.a)`, `v.t = ANY(v.a)`},
		"a pattern among elements": {`v.t ~ ANY(v.a)`, `v.t > ANY(v.a)`},
		"a bare name of two": {
			`EXISTS (SELECT 1 FROM ONLY public.vals AS x WHERE x.id = v.id AND i4 > 0)`,
			`EXISTS (SELECT 1 FROM (SELECT x.i4 AS j FROM ONLY public.vals AS x WHERE x.id = v.id) AS q WHERE q.j > 0)`,
		},
		"a deep tree": {`0` + strings.Repeat(`+0`, 30_000) + ` = 0`, `0` + strings.Repeat(`+0`, 300) + ` = 0`},
		"NULLIF of NULL": {
			`1 / NULLIF(v.i4, CASE WHEN v.b THEN 0 END) > 0`,
			`1 / NULLIF(v.i4, CASE WHEN v.b THEN 0 ELSE 0 END) > 0`,
		},
		"no number": {`v.i8 > '0.2'::pg_catalog.int8`, `v.i8 > '2'::pg_catalog.int8`},
		"ceiling":   {`pg_catalog.ceil(v.n) > 5`, `pg_catalog.ceil(v.m) > 5`},
		"rounding":  {`pg_catalog.round(v.nn, 2) > 5`, `pg_catalog.round(v.mn, 2) > 5`},
		"second type": {
			`v.t = $2::pg_catalog.text OR v.i4 > $2::pg_catalog.int4`,
			`v.t = $2::pg_catalog.text OR v.c > $2::pg_catalog.text`,
		},
		"year 0": {
			`v.d = ANY(($3::pg_catalog.text[])::pg_catalog.date[])`,
			`v.d = ANY(($6::pg_catalog.text[])::pg_catalog.date[])`,
		},
		"comma": {
			`v.ts = ANY(($4::pg_catalog.text[])::pg_catalog.timestamp[])`,
			`v.ts = ANY(($7::pg_catalog.text[])::pg_catalog.timestamp[])`,
		},
		"underflow": {
			`v.f8 = ANY(($5::pg_catalog.text[])::pg_catalog.float8[])`,
			`v.f8 = ANY(($8::pg_catalog.text[])::pg_catalog.float8[])`,
		},
		"digits cut off": {
			`pg_catalog.mod(1.0, ` +
				strings.Repeat(`GREATEST(LEAST(v.m, 1.00), '1e-300'::pg_catalog.numeric) * `, 60) + `1.0) > 0`,
			`pg_catalog.mod(1.0, ` + strings.Repeat(`GREATEST(LEAST(v.m, 1.00), '1e-300'::pg_catalog.numeric) * `, 3) +
				`1.0) > 0`,
		},
		"a number in base 16": {`v.i4 > 0x10`, `v.i4 > 16`},
	} {
		refusedBut(t, name, parameters, `SELECT 1::pg_catalog.int8, count(*)`+fromVals+` AND (`+c[0]+`)`,
			`SELECT 1::pg_catalog.int8, count(*)`+fromVals+` AND (`+c[1]+`)`)
	}
	// Texts.
	for name, q := range map[string][2]string{
		"an alias twice": {
			`SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.vals AS v, ONLY public.vals AS w WHERE v.id = w.id AND EXISTS (SELECT 1 FROM ONLY public.vals AS v WHERE v.id = w.id)`, `SELECT 1::pg_catalog.int8, count(*) FROM ONLY public.vals AS v, ONLY public.vals AS w WHERE v.id = w.id AND EXISTS (SELECT 1 FROM ONLY public.vals AS x WHERE x.id = w.id)`,
		},
		"a fraction for $1": {
			`SELECT v.b, sum(LEAST(GREATEST($1::pg_catalog.numeric, 0), 1))` + fromVals + ` GROUP BY 1`,
			`SELECT v.b, sum(LEAST(GREATEST($1::pg_catalog.int8, 0), 1))` + fromVals + ` GROUP BY 1`,
		},
		"NULL first": {
			`SELECT v.b, sum(CASE WHEN v.b THEN NULL ELSE 1 END)` + fromVals + ` GROUP BY 1`,
			`SELECT v.b, sum(CASE WHEN v.b THEN 0 ELSE 1 END)` + fromVals + ` GROUP BY 1`,
		},
		"a negative fraction": {
			`SELECT v.b, sum(LEAST(GREATEST(v.i4, 0), 1) / (-2.0))` + fromVals + ` GROUP BY 1`,
			`SELECT v.b, sum(LEAST(GREATEST(v.i4, 0), 1) / (-2))` + fromVals + ` GROUP BY 1`,
		},
		"float8 rounds up": {
			`SELECT 1::pg_catalog.int8, COALESCE(sum(GREATEST((LEAST(GREATEST(v.f8, '0'::pg_catalog.float8), '9007199254740995'::pg_catalog.int8))::pg_catalog.int8, 9007199254740994) - 9007199254740994), 0)` + fromVals, `SELECT 1::pg_catalog.int8, COALESCE(sum(GREATEST(LEAST(v.i8, '9007199254740995'::pg_catalog.int8), 9007199254740994) - 9007199254740994), 0)` + fromVals,
		},
		"a sum beyond int8": {
			`SELECT v.b, sum(v.n) FROM (SELECT v.b, v.bn, count(*) AS n` + fromVals +
				` GROUP BY 1, 2) AS v GROUP BY 1`,
			`SELECT v.b, LEAST(GREATEST(sum(v.n), 0), 9) FROM (SELECT v.b, v.bn, count(*) AS n` + fromVals +
				` GROUP BY 1, 2) AS v GROUP BY 1`,
		},
		"a private bound": {`SELECT pg_catalog.width_bucket(5.0, 1.0, CASE WHEN v.b THEN 9.0 END, 4), count(*)` +
			fromVals + ` GROUP BY 1`, `SELECT pg_catalog.width_bucket(5.0, 1.0, 9.0, 4), count(*)` + fromVals + ` GROUP BY 1`},
		"a sum of all numbers": {countOf + `(SELECT v.id AS u, sum(v.n) AS x` + fromVals + ` GROUP BY 1) AS q`, countOf +
			`(SELECT v.id AS u, sum(v.m) AS x` + fromVals + ` GROUP BY 1) AS q`},
		"a sum of all units": {`SELECT q.k, q.c FROM (SELECT 1 AS k, count(*) AS c, sum(v.n) AS x` + fromVals +
			` GROUP BY 1) AS q`, `SELECT q.k, q.c FROM (SELECT 1 AS k, count(*) AS c, sum(v.m) AS x` + fromVals +
			` GROUP BY 1) AS q`},
		"a third of a choice": {countOf + `(SELECT v.id AS u, min(LEAST(GREATEST(v.n, 0), 1)) / 3 AS x` + fromVals +
			` GROUP BY 1) AS q`, countOf + `(SELECT v.id AS u, pg_catalog.trim_scale(min(LEAST(GREATEST(v.n, 0), 1))) / 3 AS x` +
			fromVals + ` GROUP BY 1) AS q`},
		"an order of a user": {
			countOf + `(SELECT v.id AS u, rank() OVER (PARTITION BY v.id ORDER BY v.i4 USING OPERATOR(public.<)) AS x` +
				fromVals + `) AS q`, countOf + `(SELECT v.id AS u, rank() OVER (PARTITION BY v.id ORDER BY v.i4) AS x` + fromVals +
				`) AS q`,
		},
		"a mode by a user's": {
			countOf + `(SELECT v.id AS u, mode() WITHIN GROUP (ORDER BY v.i4 USING OPERATOR(public.<)) AS x` + fromVals +
				` GROUP BY 1) AS q`, countOf + `(SELECT v.id AS u, mode() WITHIN GROUP (ORDER BY v.i4) AS x` + fromVals +
				` GROUP BY 1) AS q`,
		},
		"a quotient rounded up": {
			`SELECT v.b, sum((GREATEST(LEAST(GREATEST(v.m, 0.00), 2.00) / 3.0 * 3 - 2, 0.0) * 100000000000000000000000)::pg_catalog.int8)` + fromVals + ` GROUP BY 1`, `SELECT v.b, sum((GREATEST(LEAST(GREATEST(v.m, 0.00), 2.00) / 3.0 * 3 - 2, 0.0) * 10000)::pg_catalog.int8)` + fromVals + ` GROUP BY 1`,
		},
	} {
		refusedBut(t, name, parameters, q[0], q[1])
	}
}

// TestParameterTypes: main would read a value of another type than its cast makes when a row comes by.
func TestParameterTypes(t *testing.T) {
	for condition, types := range map[string]map[string]bool{
		`v.i8 = $1::pg_catalog.int8`:               {"int8": true, "text": false, "int4": false, "": false},
		`v.t = $1::pg_catalog.text`:                {"text": true, "varchar": true, "int8": false, "bpchar": false},
		`v.i8 = ANY ($1::pg_catalog.int8[])`:       {"int8": true, "text": false},
		`v.t = ANY ($1::pg_catalog.text[])`:        {"text": true, "varchar": true, "int8": false},
		`pg_catalog.hashtextextended(v.t, $1) > 7`: {"int8": true, "text": false, "numeric": false},
	} {
		for typ, passes := range types {
			seven := "7"
			value := certify.Value{Type: typ, Array: strings.Contains(condition, "["), Elements: []*string{&seven}}
			_, err := certify.Check(valued, `SELECT 1::pg_catalog.int8, count(*)`+fromVals+` AND `+condition,
				[]certify.Value{value}, nil)
			if (err == nil) != passes {
				t.Errorf("%s of %q: %v", condition, typ, err)
			}
		}
	}
}

// TestClaimedTypes: a key that cannot be read as what it is claimed to be would fail where a row comes.
func TestClaimedTypes(t *testing.T) {
	of := func(kind, typ string, groups int64) certify.Claim {
		c := certify.Claim{Kind: kind, Type: typ}
		if groups > 0 {
			c.Groups = big.NewRat(groups, 1)
		}
		return c
	}
	for _, c := range []struct {
		key    string
		claim  certify.Claim
		passes bool
	}{
		{`v.t`, of(certify.Listed, "text", 9), true},
		{`v.t`, of(certify.Listed, "varchar", 9), true},
		{`v.t`, of(certify.Listed, "", 9), true},
		{`v.t`, of(certify.Listed, "timestamptz", 9), false},
		{`v.tz`, of(certify.Listed, "timestamptz", 9), true},
		{`v.tz`, of(certify.Listed, "text", 9), false},
		{`v.tz`, of(certify.Listed, "_timestamptz", 9), false},
		{`v.i4`, of(certify.Bin, "", 0), true},
		{`v.t`, of(certify.Bin, "", 0), false},
		{`v.d`, of(certify.Bin, "", 0), false},
		{`2::pg_catalog.int8`, of(certify.Public, "", 2), true},
		{`2::pg_catalog.int8`, of(certify.Public, "", 1), false},
		{`0::pg_catalog.int8`, of(certify.Public, "", 1), false},
		{`'2'::pg_catalog.text`, of(certify.Public, "", 2), false},
		{`2.0`, of(certify.Public, "", 2), false},
	} {
		one := rat("1")
		claims := []certify.Claim{c.claim, {Kind: certify.Integer, Influence: certify.Influence{Delta: one, Total: one}}}
		if _, err := certify.Check(valued, `SELECT `+c.key+`, count(*)`+fromVals+` GROUP BY 1`, nil, claims); (err == nil) != c.passes {
			t.Errorf("%s as %+v: %v", c.key, c.claim, err)
		}
	}
}

// TestShortReasons: a span is printed in a few signs, and a claim is compared as it is.
func TestShortReasons(t *testing.T) {
	_, err := certify.Check(valued, `SELECT 1::pg_catalog.int8, count(*)`+fromVals+
		` AND pg_catalog.ln(GREATEST(LEAST(v.m, '12345678901234567890123'::pg_catalog.numeric), '-1e-300'::pg_catalog.numeric)) > 0`, nil, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "of numeric -1e-300..1.23457e+22") {
		t.Error(err)
	}
}

// flushed is a condition on half of a number that is not near zero, if the bound is as it should be.
func flushed(bound string) string {
	const x, half = `LEAST(GREATEST(v.f8, '0'::pg_catalog.float8), '1'::pg_catalog.float8)`, `'0.5'::pg_catalog.float8`
	return `(CASE WHEN ` + x + ` OPERATOR(pg_catalog.>) ` + bound + ` AND ` + x + ` OPERATOR(pg_catalog.<) ` + half +
		` THEN '0'::pg_catalog.float8 ELSE ` + x + ` END) * ` + half + ` > ` + half
}

// refusedBut asks Check about a text that it has to refuse, and one that it has to pass.
func refusedBut(t *testing.T, name string, parameters []certify.Value, bad, good string) {
	bound := certify.Influence{Delta: rat("1"), Total: rat("1"), Groups: rat("1")}
	claims := []certify.Claim{{Kind: certify.Public}, {Kind: certify.Integer, Influence: bound}}
	if strings.HasPrefix(good, "SELECT v.b") {
		claims = []certify.Claim{{Kind: certify.Listed}, {Kind: certify.Integer, Influence: bound}}
	}
	if c, err := checked(valued, bad, parameters, claims); err == nil {
		t.Errorf("%s passes: %s\n%v", name, bad, c.Outputs)
	}
	if _, err := checked(valued, good, parameters, claims); err != nil {
		t.Errorf("%s, done right, is refused: %s\n%v", name, good, err)
	}
}

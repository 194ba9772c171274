package certify_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// grammar makes expressions of a type: {int4} is an expression of it, {int4#} a constant, {x:int4} one that {x}
// repeats, {int4@} one over the table parts. T is any type of the list before the colon.
var grammar = map[string]string{
	"int2 int4 int8 numeric float8": `LEAST(GREATEST({T}, {T#}), {T#}) ~ LEAST(GREATEST({T}, {T#}), {T#}) ~
		GREATEST(LEAST({T}, {T#}), {T#}) ~ GREATEST(LEAST({T}, {T#}), {T#}) ~ LEAST({T}, {T#}) ~ GREATEST({T#}, {T}) ~
		({T} + {T}) ~ ({T} - {T}) ~ ({T} * {T}) ~ ({T} / {T}) ~ ({T} / {T#}) ~ ({T#} * {x:T} * {x}) ~ (- {T}) ~
		NULLIF({T}, {T#}) ~ CASE WHEN {x:T} > {T#} THEN {T#} / {x} ELSE {T} END ~
		CASE WHEN {x:T} < {T#} OR {x} >= {T#} THEN {T#} ELSE {x} END ~
		CASE WHEN {x:T} > {y:T#} AND {x} < {T#} THEN {T#} / ({x} - {y}) END ~
		CASE WHEN {x:T} <= {T#} THEN {x} * {T#} WHEN {bool} THEN {T} ELSE {T} - {x} END ~
		CASE WHEN {x:T} OPERATOR(pg_catalog.>) {T#} AND {x} OPERATOR(pg_catalog.<) {T#} THEN {T#} ELSE {x} END`,
	"int2 int4 int8 numeric float8 text bool date timestamp timestamptz": `NULLIF({T}, {T}) ~ CASE WHEN {bool} THEN {T} ELSE {T} END ~
		COALESCE({T}, {T}) ~ LEAST({T}, {T}) ~ GREATEST({T}, {T}) ~
		CASE WHEN {bool} THEN NULL WHEN {bool} THEN {T} END ~ (SELECT {T}) ~
		(SELECT q.x FROM (SELECT {T} AS x) AS q) ~ LEAST({T}, {T#})`,
	"int2 int4 int8": `pg_catalog.abs({T}) ~ ({T} % {T#}) ~ pg_catalog.mod({T}, {T}) ~ pg_catalog.mod({T}, {T#}) ~ ({bool})::pg_catalog.int4 ~ ({T} & {T}) ~ ({int2})::pg_catalog.T ~ ({int4})::pg_catalog.T ~
		({int8})::pg_catalog.T ~ ({numeric})::pg_catalog.T ~ ({float8})::pg_catalog.T ~ ({float4})::pg_catalog.T ~
		({T} + {int2}) ~ ({int2} / {T})`,
	"int4": `pg_catalog.strpos({text}, {text}) ~ pg_catalog.char_length({text}) ~ pg_catalog.octet_length({text}) ~ pg_catalog.octet_length(v.c) ~ ({date} - {date}) ~ pg_catalog.width_bucket({numeric}, {numeric#}, {numeric#}, 5) ~
		pg_catalog.width_bucket({float8}, {float8#}, {float8#}, 5) ~
		pg_catalog.width_bucket({int4}, ARRAY['1', '5', '9']::pg_catalog.int4[]) ~ NULLIF({int4}, {int8}) ~
		NULLIF({int4}, {numeric})`,
	"int8 numeric": `(SELECT sum({T@}) FROM ONLY public.parts AS w WHERE w.id = v.id) ~
		(SELECT COALESCE(sum(LEAST(GREATEST({int4@}, {int4#}), {int4#})), 0) FROM ONLY public.parts AS w WHERE w.id = v.id) ~
		(SELECT sum({int2@}) FILTER (WHERE {bool@}) FROM ONLY public.parts AS w WHERE w.id = v.id)`,
	"int2 int4 int8 numeric float8 text date timestamptz": `
		(SELECT min({T@}) FROM ONLY public.parts AS w WHERE w.id = v.id) ~
		(SELECT max({T@}) FILTER (WHERE {bool@}) FROM ONLY public.parts AS w WHERE w.id = v.id)`,
	"int8": `({int4} * {int8}) ~ ({int8} - {int4}) ~ LEAST({int4}, {int8}) ~ COALESCE({int2}, {int8}) ~
		pg_catalog.hashint8extended({int8}, $1) ~ (SELECT count(*) FROM ONLY public.parts AS w WHERE w.id = v.id) ~
		(SELECT count(DISTINCT {text@}) FILTER (WHERE {bool@}) FROM ONLY public.parts AS w WHERE w.id = v.id)`,
	"numeric": `pg_catalog.sqrt(GREATEST({T}, 0.0)) ~ ({T} % {T#}) ~ pg_catalog.extract({field}, {time}) ~ ({float8})::pg_catalog.T ~
		pg_catalog.extract({field}, {interval}) ~ (SELECT pg_catalog.stddev_pop({T@}) FROM ONLY public.parts AS w WHERE w.id = v.id) ~
		pg_catalog.ceil({T}) ~ pg_catalog.floor({T}) ~ pg_catalog.trunc({T}) ~ pg_catalog.round({T}) ~
		pg_catalog.round({T}, 2) ~ pg_catalog.trunc({T}, 2) ~ pg_catalog.trunc({T}, -2) ~ ({T})::pg_catalog.numeric(10,2) ~ ({int8})::pg_catalog.numeric(12,0) ~
		({float8})::pg_catalog.numeric(20,5) ~ pg_catalog.power({T}, 2.0) ~ ({T} ^ '3'::pg_catalog.numeric) ~ pg_catalog.ln({T}) ~ pg_catalog.log(GREATEST({T}, 0.01)) ~
		pg_catalog.ln(GREATEST({T}, {T#})) ~ pg_catalog.round({T}, -3) ~ pg_catalog.trim_scale({T}) ~ pg_catalog.sign({T}) ~
		pg_catalog.abs({T}) ~ pg_catalog.div({T}, {T}) ~ pg_catalog.mod({T}, {T}) ~ pg_catalog.mod({T}, {int8#}) ~
		({int8})::pg_catalog.numeric ~ ({T} / {int4}) ~ ({T} * {int8}) ~ LEAST({T}, {int4}) ~
		pg_catalog.extract({field}, {timestamp}) ~ pg_catalog.extract({field}, {timestamptz}) ~
		pg_catalog.extract({field}, {date}) ~ pg_catalog.extract('epoch', {interval})`,
	"float8": `CASE WHEN {x:float8} > '-0.5'::pg_catalog.float8 AND {x} < '0.1'::pg_catalog.float8 THEN '0'::pg_catalog.float8 ELSE {x} / {float8#} END ~
		CASE WHEN {x:float8} OPERATOR(pg_catalog.>) '-1'::pg_catalog.float8 AND {x} OPERATOR(pg_catalog.<) '3'::pg_catalog.float8 THEN {float8} ELSE '3'::pg_catalog.float8 / {x} END ~
		({int8})::pg_catalog.float8 ~ ({numeric})::pg_catalog.float8 ~ ({float4})::pg_catalog.float8 ~
		pg_catalog.sqrt(GREATEST({T}, '0'::pg_catalog.T)) ~ pg_catalog.exp(LEAST(GREATEST({T}, '-1'::pg_catalog.T), '3'::pg_catalog.T)) ~
		pg_catalog.sin(LEAST({T}, '3'::pg_catalog.T)) ~ pg_catalog.cos(LEAST(GREATEST({T}, '-9'::pg_catalog.T), '3'::pg_catalog.T)) ~ pg_catalog.sign({T}) ~
		pg_catalog.acos(LEAST(GREATEST({T}, '-1'::pg_catalog.T), '1'::pg_catalog.T)) ~ pg_catalog.asin(LEAST(GREATEST({T}, '-1'::pg_catalog.T), '1'::pg_catalog.T)) ~
		pg_catalog.ln({T}) ~ pg_catalog.ln(GREATEST({T}, {T#})) ~ pg_catalog.log10(GREATEST({T}, '0.1'::pg_catalog.T)) ~ pg_catalog.power({T}, '5'::pg_catalog.T) ~ ({T} ^ '2'::pg_catalog.T) ~
		pg_catalog.date_part({field}, ({time})::pg_catalog.time) ~ pg_catalog.date_part({field}, {time}) ~
		pg_catalog.power({float8}, '3'::pg_catalog.float8) ~ ({float8} * {int4}) ~ LEAST({float8}, {int8}) ~
		COALESCE({numeric}, {float8}) ~ ({float8} / {int4#}) ~ pg_catalog.date_part({field}, {timestamp}) ~
		pg_catalog.date_part({field}, {timestamptz}) ~ pg_catalog.date_part('epoch', {interval}) ~
		pg_catalog.date_part({field}, {date})`,
	"interval": `({time} - {time}) ~ pg_catalog.age({time}, {time}) ~ ({seconds} * '1 second'::pg_catalog.interval) ~
		pg_catalog.make_interval(secs => {seconds}) ~ ({T} * {float8}) ~ LEAST({T}, {T})`,
	"seconds": `LEAST(GREATEST({float8}, '-1'::pg_catalog.float8), '3'::pg_catalog.float8) ~ pg_catalog.date_part('epoch', {interval})`,
	"time": `pg_catalog.to_timestamp(LEAST(GREATEST({float8}, '-200000000000'::pg_catalog.float8), '9000000000000'::pg_catalog.float8)) ~ ({interval} + {time}) ~ LEAST(GREATEST({timestamp}, {timestamp#}), {timestamp#}) ~ ({time} + {interval}) ~ ({time} - {interval}) ~
		pg_catalog.timezone('America/Havana', {timestamptz}) ~ pg_catalog.date_trunc({field}, {time}) ~
		pg_catalog.date_bin('2 days'::pg_catalog.interval, {time}, {time}) ~ (LEAST(GREATEST({date}, {date#}), {date#}) + {interval})`,
	"bool": `({x:bool} AND NOT {bool} OR {x}) ~ ({bool} IS TRUE) ~ ({numeric} {op} {int8}) ~
		({float8} {op} {numeric}) ~ ({float4} {op} {float8}) ~ ({int4} {op} {int8}) ~ ({text} {op} {text}) ~
		({date} {op} {date}) ~ ({timestamp} {op} {timestamp}) ~ ({timestamptz} {op} {timestamptz}) ~
		({interval} {op} {interval}) ~ ({text} IS NULL) ~ ({float8} IS NOT NULL) ~
		({text} = ANY(ARRAY['a', NULL]::pg_catalog.text[])) ~ ({text} ~~ ANY(ARRAY['a%', 'b\_%']::pg_catalog.text[])) ~ (v.t = ANY(v.a)) ~ (v.e {op} v.e) ~ (v.u {op} v.u) ~
		(v.r4 @> {int4}) ~ ({date} <@ v.rd) ~ (pg_catalog.lower(v.rd) < {date}) ~
		(pg_catalog.upper(v.rn) {op} {numeric}) ~
		({int8} IN (SELECT w.i8 FROM ONLY public.vals AS w WHERE w.id = v.id))`,
	"text": `pg_catalog.left({text}, 5) ~ pg_catalog.substring({text}, {int4}, 3) ~ pg_catalog.right({text}, 5) ~ pg_catalog.left({text}, -2) ~ pg_catalog.right({text}, -2) ~
		pg_catalog.substr({text}, {int4}) ~ pg_catalog.btrim({text}) ~ pg_catalog.ltrim({text}, 'ab') ~ pg_catalog.replace({text}, {text}, {text}) ~
		pg_catalog.lpad({text}, 7, {text}) ~ pg_catalog.rpad({text}, 7) ~ (({text})::pg_catalog.varchar(3))::pg_catalog.text ~ (({text})::pg_catalog.bpchar(3))::pg_catalog.text ~
		pg_catalog.to_char({time}, 'YYYY-MM-DD HH24:MI:SS Q') ~ ({numeric})::pg_catalog.text ~ pg_catalog.lower({text}) ~ pg_catalog.upper({text}) ~ ({text} || {text}) ~
		({text} || 'x') ~ ({int8})::pg_catalog.text ~ ({float8})::pg_catalog.text ~ ({date})::pg_catalog.text ~
		({timestamptz})::pg_catalog.text ~ ({bool})::pg_catalog.text ~ (v.u)::pg_catalog.text ~
		(v.e)::pg_catalog.text ~ ({text} COLLATE pg_catalog."C") ~ ({float4})::pg_catalog.text`,
	"date timestamp timestamptz": `LEAST(GREATEST({T}, {T#}), {T#}) ~
		CASE WHEN {x:T} < {T#} OR {x} > {T#} THEN {T#} ELSE {x} END`,
	"date":                  `({timestamp})::pg_catalog.date ~ ({timestamptz})::pg_catalog.date ~ ({int4} + {date}) ~ ({date} + {int4}) ~ ({date} - {int4}) ~ ({date} + {int2}) ~ pg_catalog.upper(v.rd)`,
	"timestamp timestamptz": `({date})::pg_catalog.T ~ pg_catalog.date_trunc({field}, {T})`,
}

// leaves are columns and, after ~, constants.
var leaves = map[string]string{
	"int2":        `v.i2 v.i2n ~ '3'::pg_catalog.int2 '-1'::pg_catalog.int2 '0'::pg_catalog.int2`,
	"int4":        `v.i4 v.i4n v.s ~ 0 1 (-1) 5 7 100 (-2147483648) 2147483647`,
	"int8":        `v.i8 v.i8n v.id ~ 0::pg_catalog.int8 3000000000 9007199254740993 '7'::pg_catalog.int8 '-9'::pg_catalog.int8 (-3000000000)`,
	"numeric":     `v.n v.nn v.m v.mn v.k ~ 0.0 1.5 (-5.0) '1e-300'::pg_catalog.numeric 5e3 (-5e3) 0.01 99999999999 '2'::pg_catalog.numeric`,
	"float8":      `v.f8 v.f8n ~ '0'::pg_catalog.float8 '0.1'::pg_catalog.float8 '-1'::pg_catalog.float8 '1e300'::pg_catalog.float8 '1e-300'::pg_catalog.float8 '3'::pg_catalog.float8`,
	"float4":      `v.f4 v.f4n ~ '0.1'::pg_catalog.float4`,
	"bool":        `v.b v.bn ~ true`,
	"text":        `v.t v.tn v.c v.p ~ 'a'::pg_catalog.text ''::pg_catalog.text 'zz'::pg_catalog.text`,
	"date":        `v.d v.dn ~ '2020-01-31'::pg_catalog.date '0001-01-01'::pg_catalog.date '9999-12-31'::pg_catalog.date`,
	"timestamp":   `v.ts v.tsn ~ '2020-11-01·00:30:00'::pg_catalog.timestamp '9999-12-31·23:59:59'::pg_catalog.timestamp '0001-01-01·00:00:00'::pg_catalog.timestamp`,
	"timestamptz": `v.tz v.tzn ~ '2020-11-01·04:30:00+00'::pg_catalog.timestamptz '9999-12-31·23:59:59+00'::pg_catalog.timestamptz '0001-01-01·00:00:00+00'::pg_catalog.timestamptz`,
	"interval":    `v.iv ~ '1·day'::pg_catalog.interval`,
	"time":        `~ '2020-11-01·00:30:00'::pg_catalog.timestamp`,
	"seconds":     `~ '3'::pg_catalog.float8`,
	"field":       `~ 'year' 'month' 'day' 'hour' 'epoch' 'week' 'quarter' 'dow' 'doy' 'isoyear' 'second' 'minute' 'milliseconds' 'microseconds'`,
	"op":          `~ < <= > >= = <>`,
}

// hostileValues are those of each column.
var hostileValues = map[string]string{
	"i2": `-32768 32767 0 1 -1 5`, "i4": `-2147483648 2147483647 0 1 -1 3 100`, "s": `-2147483648 2147483647 0 NULL`,
	"i8": `-9223372036854775808 9223372036854775807 0 1 -1 9007199254740993 3000000000`,
	"n":  `NaN Infinity -Infinity 0 1.0 1.00 -0.5 1e-16383 -1e-400 9e131071 -9e131071 1e400 0.33333333333333333333333 99999999.995`,
	"m":  `NaN 0 -0.01 0.01 99999999.99 -99999999.99 1 2 0.5 1.25`, "k": `NaN 0 9999900 -9999900 100`,
	"f8": `NaN Infinity -Infinity 0 -0 1 -1 1e308 -1e308 5e-324 1e-200 0.1 0.30000000000000004 9007199254740993 0.49999999999999994 2.5`,
	"f4": `NaN Infinity -Infinity 0 -0 3e38 1e-45 0.1 2147483647 9.223372e18`, "b": `t f`,
	"t": `|a|A|ß|zzz|é|İ|ŉ|\x01|x y`,
	"c": `|a|ß|zz`, "p": `|a|İ|zz`, "vc": `|a`, "vp": `|b`,
	"d":  `infinity -infinity 4713-01-01·BC 5874897-12-31 2020-02-29 1970-01-01 9999-12-31 0001-01-01·BC`,
	"ts": `infinity -infinity 4713-01-01·BC 294276-12-31·23:59:59.999999 2020-11-01·00:30:00 1970-01-01 9999-12-31·23:59:59.999999 0001-01-01·BC`,
	"tz": `infinity -infinity 4713-01-01·BC+00 294276-12-31·23:59:59.999999+00 2020-11-01·04:30:00+00 2020-11-01·05:30:00+00 1970-01-01 9999-12-31·23:59:59+00`,
	"iv": `0 178000000·years -178000000·years 1·mon·-30·days 2147483647·days -2147483648·days 24:00 2562047788:00:54.775807 -2562047788:00:54.775807`,
	"u":  `00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff`, "e": `bad good`,
	"r4": `empty (,) [1,5) [2147483646,2147483647) [-2147483648,0)`,
	"rd": `empty (,) [2020-01-01,infinity) [4713-01-01·BC,5874897-12-31) [infinity,infinity]`,
	"rn": `empty (,) (1.0,1.5] [-Infinity,NaN]`, "a": `{} {a,NULL} {NULL} {(,"\\\\"}`,
}

// valuesSchema makes the table that the facts are of.
const valuesSchema = `CREATE TYPE mood AS ENUM ('bad', 'good'); CREATE DOMAIN rating AS integer;
	CREATE TABLE vals (id bigint PRIMARY KEY, i2 smallint NOT NULL, i2n smallint, i4 integer NOT NULL, i4n integer, i8 bigint NOT NULL, i8n bigint,
	n numeric NOT NULL, nn numeric, m numeric(10,2) NOT NULL, mn numeric(10,2), k numeric(5,-2) NOT NULL, f8 double precision NOT NULL,
	f8n double precision, f4 real NOT NULL, f4n real, b boolean NOT NULL, bn boolean, t text NOT NULL, tn text, c text COLLATE "C" NOT NULL,
	p text COLLATE "POSIX" NOT NULL, vc varchar COLLATE "C" NOT NULL, vp varchar COLLATE "POSIX" NOT NULL, d date NOT NULL, dn date,
	ts timestamp NOT NULL, tsn timestamp, tz timestamptz NOT NULL, tzn timestamptz, iv interval NOT NULL, u uuid NOT NULL, e mood NOT NULL,
	s rating, r4 int4range NOT NULL,
	rd daterange NOT NULL, rn numrange NOT NULL, a text[] COLLATE "POSIX" NOT NULL); CREATE TABLE parts AS SELECT * FROM vals`

// sentences makes expressions of the grammar.
type sentences struct {
	random *rand.Rand
	rules  map[string][]string
}

func newSentences(random *rand.Rand) *sentences {
	g := &sentences{random, map[string][]string{}}
	for types, rules := range grammar {
		for _, t := range strings.Fields(types) {
			for _, r := range strings.Split(rules, "~") {
				r = strings.Join(strings.Fields(r), " ")
				g.rules[t] = append(g.rules[t], strings.NewReplacer("{T", "{"+t, ":T", ":"+t, ".T", "."+t).Replace(r))
			}
		}
	}
	for _, rules := range g.rules {
		slices.Sort(rules) // a map has no order
	}
	return g
}

// pick takes one of the words of a list; dots in it are spaces.
func (g *sentences) pick(list string) string {
	words := strings.Fields(list)
	return strings.ReplaceAll(words[g.random.IntN(len(words))], "·", " ")
}

var hole = regexp.MustCompile(`\{(?:(\w):)?(\w+)([#@]?)\}`)

// of makes an expression of a type, of so many levels at most.
func (g *sentences) of(typ string, depth int) string {
	columns, constants, _ := strings.Cut(leaves[typ], "~")
	rules := g.rules[typ]
	if len(rules) == 0 || depth <= 0 || g.random.IntN(6) == 0 {
		if strings.TrimSpace(columns) == "" || g.random.IntN(4) == 0 {
			columns = constants
		}
		return g.pick(columns)
	}
	return g.filled(rules[g.random.IntN(len(rules))], depth)
}

// filled is a rule with expressions in its holes.
func (g *sentences) filled(rule string, depth int) string {
	bound := map[string]string{}
	return hole.ReplaceAllStringFunc(rule, func(h string) string {
		m := hole.FindStringSubmatch(h)
		if v, ok := bound[m[2]]; ok {
			return v
		}
		v := ""
		if m[3] == "#" {
			_, constants, _ := strings.Cut(leaves[m[2]], "~")
			v = g.pick(constants)
		} else {
			v = g.of(m[2], depth-1-g.random.IntN(2))
		}
		if m[3] == "@" {
			v = strings.ReplaceAll(v, "v.", "w.")
		}
		if m[1] != "" {
			bound[m[1]] = v
		}
		return v
	})
}

// everyCall are the functions and operators of pg_catalog on types that leaves have: rules that Check should refuse,
// mostly.
const everyCall = `WITH t (typ, name) AS (SELECT format_type(oid, NULL)::regtype, typname::text FROM pg_type
		WHERE typname IN ('int2', 'int4', 'int8', 'numeric', 'float8', 'float4', 'bool', 'text', 'date', 'timestamp', 'timestamptz', 'interval')),
	p AS (SELECT p.oid, proname, prorettype, string_agg('{' || t.name || '}', ', ' ORDER BY o) AS args, count(*) AS n
		FROM pg_proc p, unnest(proargtypes) WITH ORDINALITY AS a (typ, o), t
		WHERE a.typ = t.typ AND pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proretset
		AND proname !~ '^(pg_|lo_|set_|query_to|table_to|cursor_to|schema_to|database_to|txid|nextval|currval|setval|dblink|binary_upgrade)'
		GROUP BY 1, 2, 3, pronargs HAVING count(*) = pronargs)
	SELECT t.name, 'pg_catalog.' || quote_ident(proname) || '(' || args || ')' FROM p, t WHERE t.typ = prorettype
	UNION SELECT r.name, '({' || a.name || '} OPERATOR(pg_catalog.' || oprname || ') {' || b.name || '})' FROM pg_operator, t a, t b, t r
		WHERE oprleft = a.typ AND oprright = b.typ AND oprresult = r.typ
	UNION SELECT 'bool', '({text} OPERATOR(pg_catalog.' || oprname || ') ANY(v.a))' FROM pg_operator
		WHERE oprleft = 'text'::regtype AND oprright = 'text'::regtype AND oprresult = 'bool'::regtype
	ORDER BY 1, 2`

// measuredValue is an expression that Check certifies: a number up to limit in magnitude, if there is one, and NULL
// nowhere if so derived.
type measuredValue struct {
	sql     string
	limit   *big.Rat
	notNull bool
	typ     string // as Check sees it, or ""
}

// numbers are the types whose values have a limit.
var numbers = []string{"int2", "int4", "int8", "numeric", "float8"}

// certified gives an expression of a type, and others made of it that show its span, as far as Check certifies them.
func certified(e, typ string) (all []measuredValue) {
	check := func(sql string) (certify.Certified, error) {
		return checked(valued, sql, []certify.Value{{Elements: []*string{new(string)}}}, nil)
	}
	add := func(e, typ string) {
		if _, err := check(`SELECT 1, count(*)` + fromVals + ` AND (` + e + `) IS NOT NULL`); err == nil {
			all = append(all, measuredValue{sql: e, typ: typ})
		}
	}
	if add(e, ""); len(all) == 0 {
		return nil
	}
	for _, t := range append(numbers, "float4", "bool", "text", "date", "timestamp", "timestamptz") {
		equal := ` AND (` + e + `) = ANY(NULL::pg_catalog.` + t + `[])`
		if slices.Contains(numbers[:3], t) { // integers are compared across types
			equal = ` AND ((` + e + `) OPERATOR(pg_catalog.#) '0'::pg_catalog.` + t + `) IS NULL`
		}
		if _, err := check(`SELECT 1, count(*)` + fromVals + equal); err == nil {
			all[0].typ += t
		}
	}
	if !slices.Contains(numbers, typ) {
		return all
	}
	zero := `'0'::pg_catalog.` + typ
	thousand := strings.Replace(zero, "0", "1000", 1)
	for _, part := range []string{`GREATEST(%s, %s)`, `LEAST(%s, %s)`, `(%s - %s) * ` + thousand} {
		v := measuredValue{sql: `(` + fmt.Sprintf(part, e, zero) + `)::pg_catalog.int8`}
		c, err := check(`SELECT 1, COALESCE(sum(` + v.sql + `), 0)` + fromVals)
		if err == nil {
			_, nulls := check(`SELECT 1, sum(` + v.sql + `)` + fromVals + ` GROUP BY 1`)
			v.limit, v.notNull = c.Outputs[1].Delta, nulls == nil
			all = append(all, v)
		}
	}
	add(strings.Replace(zero, "0", "3", 1)+` / (`+e+`)`, "")
	add(`(`+e+`) * '0.5'::pg_catalog.float8`, "")
	return all
}

// wrong says what of a value in a row is not as derived.
func (m measuredValue) wrong(value []byte) string {
	switch {
	case m.notNull && value == nil:
		return "NULL"
	case m.limit != nil && value != nil && new(big.Rat).Abs(rat(string(value))).Cmp(m.limit) > 0:
		return string(value) + " is beyond " + m.limit.RatString()
	}
	return ""
}

var seed = flag.Int("seed", 1, "of random values")

// TestRandomValues asks PostgreSQL for random values of hostile rows: those that Check certifies raise no error, are of
// the type and within the span that it derives, and NULL only where it says so.
func TestRandomValues(t *testing.T) {
	server, database := pgservertest.Database(t, valuesSchema)
	ctx, random := context.Background(), rand.New(rand.NewPCG(29, uint64(*seed)))
	conn, err := pgx.Connect(ctx, server.DSN(database, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	g := newSentences(random)
	g.fill(t, conn.PgConn())
	want, tried, done := 20_000, 0, 0
	if testing.Short() {
		want = 300
	}
	types := slices.Sorted(maps.Keys(g.rules))
	calls := conn.PgConn().ExecParams(ctx, everyCall, nil, nil, nil, nil).Read().Rows
	for failed := 0; done < want && failed < 20; {
		var batch []measuredValue
		for len(batch) < 40 {
			typ := types[random.IntN(len(types))]
			e := g.of(typ, 2+random.IntN(4))
			if call := calls[tried/2%len(calls)]; tried%2 == 0 || testing.Short() {
				typ, e = string(call[0]), g.filled(string(call[1]), 1+random.IntN(2))
			}
			tried++
			batch = append(batch, certified(e, typ)...)
		}
		done += len(batch)
		failed += judge(t, conn.PgConn(), batch)
	}
	t.Logf("%d certified of %d expressions and what is made of them", done, tried)
}

// judge asks for values in all rows, and one by one if that fails.
func judge(t *testing.T, conn *pgconn.PgConn, batch []measuredValue) (failed int) {
	var list []string
	for _, m := range batch {
		sql := strings.ReplaceAll(m.sql, "$1", "0::pg_catalog.int8")
		list = append(list, `(`+sql+`)`, `pg_catalog.pg_typeof(`+sql+`)::pg_catalog.text`)
	}
	result := conn.ExecParams(context.Background(), `SELECT `+strings.Join(list, ", ")+fromVals, nil, nil, nil, nil).Read()
	var e *pgconn.PgError
	if len(batch) == 1 && errors.As(result.Err, &e) && e.Code == "42883" {
		return 0 // no such operator: no row has a part in it
	}
	if result.Err != nil && len(batch) == 1 {
		t.Errorf("%v\n%s", result.Err, batch[0].sql)
		return 1
	}
	if result.Err != nil {
		for i := range batch {
			failed += judge(t, conn, batch[i:i+1])
		}
		return failed
	}
	for i, m := range batch {
		for _, row := range result.Rows {
			why := m.wrong(row[2*i])
			if typ := string(row[2*i+1]); m.typ != "" && spelledTypes[typ] != m.typ {
				why = "is " + typ + ", not " + m.typ
			}
			if why != "" {
				t.Errorf("%s\n%s", why, m.sql)
				failed++
				break
			}
		}
	}
	return failed
}

// spelledTypes are the types by the names that PostgreSQL prints.
var spelledTypes = map[string]string{
	"smallint": "int2", "integer": "int4", "public.rating": "int4", "bigint": "int8", "numeric": "numeric",
	"double precision": "float8", "real": "float4", "boolean": "bool", "text": "text", "date": "date",
	"timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
}

// fill inserts rows of hostile values, each in some row at least.
func (g *sentences) fill(t *testing.T, conn *pgconn.PgConn) {
	sql := `SET search_path = pg_catalog; SET timezone = 'America/Havana'; SET extra_float_digits = 3;`
	for i := range 120 {
		names, values := []string{"id"}, []string{fmt.Sprint(i - 60)}
		for _, c := range slices.Sorted(maps.Keys(valued.Tables["public.vals"].Columns)) {
			list := hostileValues[strings.TrimSuffix(c, "n")]
			if c == "n" || c == "rn" || hostileValues[c] != "" {
				list = hostileValues[c]
			}
			if c == "id" {
				continue
			}
			value := g.element(list, i)
			if names = append(names, c); value == "NULL" || strings.HasSuffix(c, "n") && c != "n" && c != "rn" && i%5 == 0 {
				values = append(values, "NULL")
			} else {
				values = append(values, "E'"+value+"'")
			}
		}
		sql += `INSERT INTO public.vals (` + strings.Join(names, ", ") + `) VALUES (` + strings.Join(values, ", ") + `);`
	}
	sql += `INSERT INTO public.parts SELECT w.* FROM public.vals w; UPDATE public.parts SET id = id % 7`
	if _, err := conn.Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
}

// element is the i-th element of a list of words first, and any of them later; texts are after bars.
func (g *sentences) element(list string, i int) string {
	words := strings.Fields(list)
	if strings.HasPrefix(list, "|") {
		words = strings.Split(list[1:], "|")
	}
	if i >= len(words) {
		i = g.random.IntN(len(words))
	}
	return strings.ReplaceAll(words[i], "·", " ")
}

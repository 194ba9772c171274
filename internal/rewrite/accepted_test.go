package rewrite_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/gate"
)

// acceptedRows is a table of the columns that the expressions of package expr's tests are of, with their bounds.
const acceptedRows = `CREATE TYPE mood AS ENUM ('sad', 'ok', 'it''s {0}'); CREATE DOMAIN percent AS int4;
CREATE TABLE r (id int8 PRIMARY KEY, i2 int2, i4 int4, age int4 NOT NULL, i8 int8, n numeric, n2 numeric(12,2), disc numeric(4,2), pn numeric, f4 float4,
	f8 float8, pf8 float8, d date, ts timestamp, tz timestamptz, tm time, iv interval, t text, v varchar(20), c bpchar(5), b bool, nb bool NOT NULL, m mood,
	u uuid, diag text, u4 int4, u8 int8, un numeric, uf float8, ud date, uts timestamp, utz timestamptz, uiv interval, dom percent, dr daterange,
	tzr tstzrange, ir int4range, nr numrange, ur int8range, j jsonb)`

const acceptedColumns = `{id: {}, i2: {bounds: [0, 100]}, i4: {bounds: [-50, 120]}, age: {bounds: [0, 120]}, i8: {bounds: [0, 1000000000000]},
      n: {bounds: [-1000, 1000.5]}, n2: {bounds: [0, 20000]}, disc: {bounds: [0, 0.1]}, pn: {bounds: [0.5, 9]}, f4: {bounds: [0, 100]},
      f8: {bounds: [-1000000, 1000000]}, pf8: {bounds: [0.1, 50]}, d: {bounds: [2015-01-01, 2026-12-31]},
      ts: {bounds: ["2015-01-01", "2026-12-31 23:59:59"]}, tz: {bounds: ["2015-01-01", "2026-12-31"]}, tm: {}, iv: {bounds: ["-10 days", "30 days"]},
      t: {}, v: {}, c: {}, b: {}, nb: {}, m: {}, u: {}, diag: {values: [asthma, cold, flu]}, u4: {}, u8: {}, un: {}, uf: {}, ud: {}, uts: {}, utz: {},
      uiv: {}, dom: {bounds: [0, 100]}, dr: {bounds: [2015-01-01, 2026-12-31]}, tzr: {bounds: ["2015-01-01", "2026-12-31"]}, ir: {bounds: [0, 100]},
      nr: {bounds: [-1000, 1000.5]}, ur: {}, j: {}}`

// uncertifiedExpressions are those that the planner accepts and the certifier has no rule for: constants that a cast
// cuts, times far away, numbers that are closer to zero than their bounds say, and ranges that end after they begin.
var uncertifiedExpressions = map[string]bool{
	`width_bucket(f8, ARRAY[1e-400, 1])`:            true,
	`f8 = ANY (ARRAY[1e-400, 1])`:                   true,
	`t LIKE 'a\\x'::varchar(3)`:                     true,
	`t LIKE 'a% '::bpchar`:                          true,
	`date_part('hours!'::varchar(5), ts)`:           true,
	`date_part('dow '::bpchar, ts)`:                 true,
	`date_part('daysx'::bpchar(4)::varchar(3), ts)`: true,
	`to_char(ts, 'YYYY '::bpchar)`:                  true,
	`split_part(t, 'abc'::varchar(1), 1)`:           true,
	`ts - interval '6500 years'`:                    true,
	`ts + interval '8000 years'`:                    true,
	`LEAST(GREATEST(uts, timestamp '0001-01-01'), timestamp '270000-01-01') - timestamp '0001-01-01'`: true,
	`v ~ 'a.b|\\d{2,}'`:           true,
	`sqrt(upper(ir) - lower(ir))`: true,
	`sqrt(upper(nr) - lower(nr))`: true,
	`f8 / (f8 - 1) < 5`:           true,
}

// uncertifiedCalls are aggregates of what the certifier bounds wider: seconds since 1970 as a float, and instants
// beyond the year 9999.
var uncertifiedCalls = map[string]bool{"avg(date_part('epoch', tz))": true, "min(to_timestamp(i8))": true}

// TestAcceptedIsCertified: what may be computed from rows is certified, so that the planner accepts little that the
// certifier has no rule for.
func TestAcceptedIsCertified(t *testing.T) {
	rules, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(strings.ReplaceAll(string(rules), "REWRITE_TEST_", "ACCEPTED_TEST_"), "tables:\n")
	head += "tables:\n  r:\n    privacy_unit: {name: person, column: id}\n    max_rows_per_unit: 1\n    columns: " +
		acceptedColumns + "\n"
	w, err := newWorld(context.Background(), theServer, "accepted", "ACCEPTED_TEST_", head, acceptedRows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.backend.Close)
	certified := func(form, x string) (bool, string) {
		q, err := w.ask(fmt.Sprintf(form, x), nil)
		if err != nil || q.plan == nil {
			return true, "refused by the planner"
		}
		for _, r := range gate.New(w.schema, q.plan).Readings() {
			if !r.Certified {
				return false, r.Missing + "\n" + r.SQL
			}
		}
		return true, ""
	}
	accepted, err := os.ReadFile("expr/testdata/accepted.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(accepted)) {
		x := strings.TrimSpace(strings.TrimPrefix(line, "! "))
		if x == "" || strings.HasPrefix(x, "#") {
			continue
		}
		ok, missing := certified("SELECT count(*) FROM r WHERE (%s) IS NOT NULL", x)
		if ok == uncertifiedExpressions[x] || ok && missing != "" {
			t.Errorf("%s: certified: %t: %s", x, ok, missing)
		}
		for _, aggregate := range []string{"sum", "avg", "min"} {
			call := aggregate + "(" + x + ")"
			if ok, missing := certified("SELECT %s FROM r", call); !ok && !uncertifiedExpressions[x] && !uncertifiedCalls[call] {
				t.Errorf("%s: %s", call, missing)
			}
		}
	}
}

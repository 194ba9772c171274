package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

const boundsHead = `
version: 1
listen: 127.0.0.1:0
@DATABASES@
accounting: {method: rdp, delta: 1e-6}
timing: {steps: off}
analysts: {alice: {password: "@VERIFIER@", budget: {epsilon: 1000, delta: 1e-4}}}
tables:
  w: {public: true}
  t:
    privacy_unit: {name: person, column: id}
    columns:
      id: {}
`

// readable are bounds that every command accepts, with a query that uses them.
var readable = []struct{ typ, keys, query string }{
	{"int2", "bounds: [0, 1e3]", "avg(@)"},
	{"int4", "bounds: [-5, +5], per_unit: [0, 1e10]", "sum(@)"},
	{"int8", "bounds: [0, 9007199254740], grid: 1000", "avg(@)"},
	{"float4", "bounds: [0, 0.1]", "avg(@)"},
	{"float8", "bounds: [.5, 1e6]", "sum(@)"},
	{"numeric", "bounds: [0.001, 5.0], per_unit: [0, 0.5]", "sum(@)"},
	{"numeric(5,2)", "bounds: [0, 1000]", "avg(@)"},
	{"percent", "bounds: [0, 100], valid: [[0, 10], [90, 100]]", "avg(@)"},
	{"date", "bounds: [2015-01-01, 2026-12-31]", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)"},
	{"timestamp", "bounds: [2015-01-01, 2026-12-31T23:59:59.5]", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)"},
	{"timestamptz", `bounds: [2015-01-01, "2026-12-31 23:59:59-05:30"]`, "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)"},
	{"time", `bounds: ["08:00", "24:00"]`, "count(*) FILTER (WHERE @ > '12:00')"},
	{"interval", `bounds: ["0 days", "1.5 days"], per_unit: [0 s, 2.5 days]`, "sum(@)"},
	{"interval", "bounds: [50 us, 50 ms]", "avg(@)"},
	{"interval", "bounds: [361 days, 1 year]", "avg(@)"},
	{"interval", "bounds: [-1 day -02:00, 1.5 mons]", "avg(@)"},
	{"interval", `bounds: ["08:00", 1 day 02:30]`, "avg(@)"},
	{"interval", "bounds: [-10000 years, 10000 years]", "avg(@)"},
	{"interval", "bounds: [0 us, 10000 years]", "sum(@)"},
	{"date", "bounds: [0001-01-01, 9999-12-31]", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)"},
	{"timestamptz", "bounds: [0001-01-01, 9999-12-31]", "percentile_disc(0.5) WITHIN GROUP (ORDER BY @)"},
	{"numeric", "bounds: [1e-300, 1e-299]", "avg(@)"},
	{"interval", "valid: [[1 h, 2 h], [1 day, 25 hours]], grid: 1 s", "avg(@)"},
}

// TestBoundsReadAlike: what check accepts, check --live, serve and queries accept; for what is refused, each says why.
func TestBoundsReadAlike(t *testing.T) {
	table, policy := "CREATE TABLE w (w int); CREATE DOMAIN percent AS int; CREATE TABLE t (id int PRIMARY KEY", boundsHead
	for i, c := range readable {
		table += fmt.Sprintf(", c%d %s", i, c.typ)
		policy += fmt.Sprintf("      c%d: {%s}\n", i, c.keys)
	}
	p := start(
		t, policy, table+
			", s text, n int, r real, w timestamp, v interval, o time); INSERT INTO t (id) SELECT generate_series(1, 50)")
	for _, args := range [][]string{nil, {"--live"}} {
		if out, err := p.command("check", args...).CombinedOutput(); err != nil {
			t.Fatalf("check %v: %v\n%s", args, err, out)
		}
	}
	conn := p.connect()
	for i, c := range readable {
		sql := "SELECT " + strings.ReplaceAll(c.query, "@", fmt.Sprintf("c%d", i)) + " FROM t"
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Errorf("%s {%s}: %s: %v", c.typ, c.keys, sql, err)
		}
	}
	p.stop()
	for _, c := range []struct {
		column, want string
		live         bool // seen with the column's type alone
	}{
		{
			"v: {bounds: [0 days, soon]}",
			`"soon" is not a finite number, a date (2015-01-01), a timestamp or an interval (1 day, 90m)`, false,
		},
		{"v: {bounds: [1 day, 23:00]}", "lower 1 day is above upper 23:00", false},
		{"v: {bounds: [-1 day 02:00, 1 day]}", "give every part its sign", false},
		{"v: {bounds: [0 days, 1 day 2 days]}", "two parts in days", false},
		{"v: {bounds: [0 days, 1.3 years]}", "no whole number of months", false},
		{"v: {bounds: [0 days, 0.5 us]}", "finer than a microsecond", false},
		{"v: {bounds: [0 days, 20000 years]}", "longer than 10000 years", false},
		{
			"v: {bounds: [0, 5]}", "v.bounds: 0 is a number, but the column's type takes an interval (1 day, 90m) (interval)",
			true,
		},
		{"n: {bounds: [0, 0.5]}", "n.bounds: 0.5 is no whole number, but the column's type is an integer (integer)", true},
		{"n: {bounds: [0, 3e9]}", "n.bounds: 3000000000 is out of range for the column's type (integer)", true},
		{"r: {valid: [[0, 1], [2, 1e39]]}", "r.valid: 1000000000000000000000000000000000000000 is out of range", true},
		{"r: {bounds: [0 d, 1 d]}", "r.bounds: 0 d is an interval, but the column's type takes a number (real)", true},
		{
			"w: {bounds: [2015-01-01, '2015-01-02 00:00:00Z']}",
			"w.bounds: 2015-01-02 00:00:00Z is a timestamp with time zone, but", true,
		},
		{"o: {bounds: [8 h, 18 h]}", "o.bounds: 8 h is an interval, but the column's type takes a time of day", true},
		{"s: {bounds: [0, 5]}", "s.bounds: 0 bounds nothing", true},
	} {
		t.Run(c.column, func(t *testing.T) {
			p.write(policy + "      " + c.column + "\n")
			for _, command := range [][]string{{"check"}, {"setup"}, {"check", "--live"}, {"serve"}} {
				out, err := p.command(command[0], command[1:]...).CombinedOutput()
				if c.live && len(command) == 1 && command[0] == "check" {
					if err != nil {
						t.Errorf("check: %v\n%s", err, out)
					}
					continue
				}
				var exit *exec.ExitError
				if !errors.As(err, &exit) || !strings.Contains(string(out), c.want) {
					t.Errorf("%v: %v\n%s", command, err, out)
				}
			}
		})
	}
}

package integration_test

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestPsql is a person's session: meta-commands, mistakes, queries, transactions.
func TestPsql(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	for _, c := range []struct {
		name, script string
		want         []string
		refuse       []string // must not be printed
	}{
		{"describe", `\d patients`, []string{"numeric(10,2)", "patients_pkey", "PRIMARY KEY, btree (id)"}, nil},
		{"describe more", `\d+ patients`, []string{"bounds [0, 120]", "values asthma, cold, flu, gout"}, nil},
		{"tables", `\dt`, []string{"lab_results", "patients", "visits", "wards"}, []string{"secrets"}},
		{"databases", `\l`, []string{"test_"}, []string{"_shadow", "template0"}},
		{"functions", `\df dpproxy.*`, []string{"interval_low", "noise_stddev"}, nil},
		{"roles", `\du`, nil, []string{"it_main", "it_shadow"}},
		{"privileges", `\dp patients`, []string{"patients"}, nil},
		{"schemas", `\dn`, []string{"public"}, nil},
		{"connection", `\conninfo`, []string{`as user "alice"`}, nil},
		{
			"count", "SELECT count(*) >= 0 AS fine FROM patients WHERE smoker;",
			[]string{" t", "NOTICE:  dpproxy: ", "% of your budget spent, ", "% left, enough for ", "DETAIL:  count(*): ±"},
			nil,
		},
		{
			"quiet", "SET dpproxy.notices = off;\nSELECT count(*) >= 0 AS fine FROM patients;",
			[]string{" t"},
			[]string{"NOTICE"},
		},
		{
			"gdesc", `SELECT diagnosis, avg(income) AS income FROM patients GROUP BY 1 \gdesc`,
			[]string{"income    | numeric"},
			nil,
		},
		{
			"groups", "SELECT diagnosis, count(*) FROM patients GROUP BY diagnosis HAVING count(*) >= 0 ORDER BY 1 LIMIT 2;",
			[]string{" asthma ", " cold "},
			[]string{" flu "},
		},
		{"explain", "EXPLAIN SELECT avg(income) FROM patients;", []string{
			"epsilon:", "sensitivity:", "mechanism:",
			"margin:",
		}, nil},
		{"position", "SELECT agee FROM patients;", []string{`column "agee" does not exist`, "LINE 1: SELECT agee", "^"}, nil},
		{
			"refused", "SELECT * FROM patients LIMIT 1;\nSELECT 'still here';",
			[]string{"ERROR:  ", "HINT:  ", "still here"},
			[]string{"Patient "},
		},
		{"several", `SELECT 1 \; SELECT name FROM patients \; SELECT 2;`, []string{"ERROR:"}, []string{"Patient "}},
		{"copy", `\copy patients TO STDOUT`, []string{"ERROR:"}, []string{"Patient "}},
		{"copy rows", `\copy (SELECT name FROM patients) TO STDOUT`, []string{"ERROR:"}, []string{"Patient "}},
		{
			"copy an answer",
			`\copy (SELECT diagnosis, count(*) >= 0 AS fine, NULL AS n FROM patients GROUP BY 1 ORDER BY 1) TO STDOUT WITH (FORMAT csv, HEADER, DELIMITER ';', NULL 'nil')`,
			[]string{"diagnosis;fine;n\nasthma;t;nil\ncold;t;nil\n", "NOTICE:  dpproxy: "},
			[]string{"ERROR"},
		},
		{"cursor", "\\set FETCH_COUNT 2\nSELECT ward FROM wards ORDER BY ward;", []string{" A", " B", " C"}, nil},
		{
			"transaction", "BEGIN;\nSELECT 1/0;\nSELECT 1;\nROLLBACK;\nSELECT 'after';",
			[]string{"division by zero", "current transaction is aborted", "after"},
			nil,
		},
		{
			"prepare with what only the database knows",
			"PREPARE q (int) AS SELECT count(*) FROM patients WHERE age > $1;\nEXECUTE q((SELECT 30));\nEXECUTE q((TABLE patients));\nEXECUTE q(age);",
			[]string{"EXECUTE takes constants and what can be computed from constants", `column "age" does not exist`},
			[]string{"row"},
		},
		{
			"prepare",
			"PREPARE q (int) AS SELECT count(*) >= 0 AS fine FROM patients WHERE age > $1;\nEXECUTE q(30);\nEXECUTE q(10 * length('abc'));\nDEALLOCATE q;",
			[]string{" t"},
			[]string{"ERROR"},
		},
		{"budget", "SELECT analyst, epsilon_total FROM dpproxy.budget;", []string{"alice", "100000"}, []string{"bob"}},
		{"password", `\password`, nil, []string{"ALTER ROLE done"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.script == `\l` && psqlIsOlder(t, p) {
				t.Skip("this psql asks for a column of pg_database that PostgreSQL 17 has renamed")
			}
			out, err := p.client(c.script+"\n", "psql", "-X", "-a")
			if err != nil && !strings.Contains(out, "ERROR") {
				t.Fatalf("psql: %v\n%s", err, out)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in:\n%s", w, out)
				}
			}
			for _, w := range c.refuse {
				if strings.Contains(out, w) {
					t.Errorf("%q in:\n%s", w, out)
				}
			}
		})
	}
}

// psqlIsOlder reports whether psql is one of before PostgreSQL 17, and the server is not.
func psqlIsOlder(t *testing.T, p *proxy) bool {
	t.Helper()
	var server int
	if err := p.connect().QueryRow(context.Background(), "SELECT current_setting('server_version_num')::int / 10000").Scan(
		&server); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("psql", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Fields(string(out))[2] // psql (PostgreSQL) 15.18 (Debian …)
	major, _, _ := strings.Cut(version, ".")
	client, err := strconv.Atoi(major)
	if err != nil {
		t.Fatalf("psql --version: %s", out)
	}
	return client < 17 && server >= 17
}

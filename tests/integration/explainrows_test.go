package integration_test

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestExplainOfRows: a statement that would return private rows has a plan, the shadow's, which says that it would be
// refused. Its first line has the costs that postgres_fdw reads. What the planner would evaluate passes the checks of
// what runs there.
func TestExplainOfRows(t *testing.T) {
	ctx := context.Background()
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	explain := func(sql string, args ...any) (lines []string, err error) {
		rows, err := conn.Query(ctx, "EXPLAIN "+sql, args...)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		return lines, rows.Err()
	}
	costs := regexp.MustCompile(`\(cost=[0-9.]+\.\.[0-9.]+ rows=[0-9]+ width=[0-9]+\)$`)
	for sql, args := range map[string][]any{
		"SELECT id, age FROM public.patients WHERE age > 30":                                       nil,
		"SELECT * FROM patients p JOIN visits v ON v.patient_id = p.id ORDER BY v.visited LIMIT 5": nil,
		"SELECT id FROM patients WHERE age > $1":                                                   {30},
	} {
		lines, err := explain(sql, args...)
		if err != nil || len(lines) < 2 || !costs.MatchString(lines[0]) ||
			lines[len(lines)-1] != "it would be refused: rows of a private table are never returned" {
			t.Errorf("%s: %v\n%s", sql, err, strings.Join(lines, "\n"))
		}
	}
	for _, sql := range []string{
		"SELECT id FROM patients WHERE pg_sleep(0) IS NULL",
		"SELECT id FROM patients WHERE length(pg_read_file('PG_VERSION')) = age",
		"SELECT id FROM patients, secrets", "SELECT id, set_config('search_path', '', false) FROM patients",
		"SELECT id FROM patients FOR UPDATE",
	} {
		if lines, err := explain(sql); err == nil {
			t.Errorf("%s: %q", sql, lines)
		}
	}
	if lines, err := explain("SELECT count(*) FROM patients"); err != nil || !strings.HasPrefix(lines[1], "share: ") {
		t.Errorf("an answer: %v, %q", err, lines)
	}
}

// TestDumpIsRefused: the first query that pg_dump sends says what to dump instead.
func TestDumpIsRefused(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	dump := exec.Command("pg_dump", "-s", p.dsn("alice"))
	out, err := dump.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "pg_dump is not answered") ||
		!strings.Contains(string(out), "Dump the main database itself") {
		t.Errorf("%v: %s", err, out)
	}
}

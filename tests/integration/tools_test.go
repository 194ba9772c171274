package integration_test

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// interpreters run the scripts of tools, by their endings. Python and Ruby are the system's, for which the packages are.
var interpreters = map[string]string{
	".py": "/usr/bin/python3", ".js": "node", ".rb": "/usr/bin/ruby", ".php": "php", ".R": "Rscript", ".sh": "sh",
}

// refusal is what a tool shows of a statement that would return rows.
const refusal = "rows of a private table are never returned"

// TestTools has tools of others do, against dpproxy and, as a role that may read the
// same tables, against the database itself, what they do for their users. A script in tools prints lines: "catalog …" is the same of both, "answer WHAT NUMBER" near, and "rows N" of the database
// is "refused …" of dpproxy, with the reason.
func TestTools(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs them")
	}
	if _, err := os.Stat("tools/node_modules"); err != nil {
		t.Skip("make install-tools installs them")
	}
	whole, _, _ := strings.Cut(clinic, "CREATE TABLE secrets")
	p := start(t, strings.Replace(everyKey(clinicPolicy()), "      value: ", "      lab_id:   {}\n      value: ", 1), whole)
	admin := p.server.DSN(p.db, pgserver.Superuser)
	pgservertest.Exec(t, admin, `DO $$BEGIN IF to_regrole('it_plain') IS NULL THEN CREATE ROLE it_plain LOGIN; END IF; END$$;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO it_plain`)
	plain, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	itself := append(p.environment(), "PGHOST="+plain.Hostname(), "PGPORT="+plain.Port(), "PGUSER=it_plain")
	scripts, err := filepath.Glob("tools/*_tool.*")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no tool: %v", err)
	}
	var group errgroup.Group
	group.SetLimit(2)
	for _, script := range scripts {
		group.Go(func() error {
			got, err := runTool(script, p.environment())
			want, errItself := runTool(script, itself)
			if err := errors.Join(err, errItself); err != nil {
				t.Errorf("%s: %v", script, err)
				return nil
			}
			for _, problem := range compareTool(got, want) {
				t.Errorf("%s: %s", script, problem)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are reported above
}

// runTool returns the lines that a script prints.
func runTool(script string, environment []string) ([]string, error) {
	cmd := exec.Command(interpreters[filepath.Ext(script)], script)
	cmd.Env = environment
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s%s", err, out, problems.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// compareTool says where the lines of dpproxy are not those that the database's own ask for.
func compareTool(got, want []string) (problems []string) {
	if len(got) != len(want) || len(want) < 3 {
		return []string{fmt.Sprintf("it prints\n%s\nand of the database itself\n%s", strings.Join(got, "\n"),
			strings.Join(want, "\n"))}
	}
	for i, w := range want {
		g := got[i]
		switch kind, _, _ := strings.Cut(w, " "); {
		case kind == "catalog" && g == w, kind == "answer" && near(g, w):
		case kind == "rows" && w != "rows 0" && strings.HasPrefix(g, "refused ") && strings.Contains(g, refusal):
		default:
			problems = append(problems, fmt.Sprintf("%s\nof the database itself: %s", g, w))
		}
	}
	return problems
}

// near compares two lines that end in a number: a tenth is many times what noise makes of it.
func near(got, want string) bool {
	i, j := strings.LastIndexByte(strings.TrimSpace(got), ' '), strings.LastIndexByte(strings.TrimSpace(want), ' ')
	if i < 0 || j < 0 || got[:i] != want[:j] {
		return false
	}
	g, err := strconv.ParseFloat(strings.TrimSpace(got[i:]), 64)
	w, errWant := strconv.ParseFloat(strings.TrimSpace(want[j:]), 64)
	return err == nil && errWant == nil && math.Abs(g-w) <= w/10
}

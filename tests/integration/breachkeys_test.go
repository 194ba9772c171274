package integration_test

import (
	"bufio"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// family is a chain of foreign keys whose types the cases choose: a child's row belongs to the person of its mother.
const family = `
CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE mothers (mother_key %[1]s PRIMARY KEY, person_id bigint NOT NULL);
CREATE TABLE children (child_id bigint PRIMARY KEY, mother_ref %[1]s NOT NULL);
CREATE TABLE toys (toy_id bigint PRIMARY KEY, child_ref bigint NOT NULL);
INSERT INTO mothers SELECT %[2]s, i FROM generate_series(1, 2) i;
INSERT INTO children SELECT i, %[2]s FROM generate_series(1, 2) i;
INSERT INTO toys SELECT i, i FROM generate_series(1, 2) i;
CREATE TABLE kinds (kind text PRIMARY KEY);
`

func familyPolicy() string {
	head, _, _ := strings.Cut(townPolicy, "tables:\n")
	return head + `tables:
  mothers:
    privacy_unit: {name: person, column: person_id}
    columns: {mother_key: {}, person_id: {}}
  children:
    privacy_unit: {name: person, via: {column: mother_ref, references: mothers.mother_key}}
    columns: {child_id: {}, mother_ref: {}}
  toys:
    privacy_unit: {name: person, via: {column: child_ref, references: children.child_id}}
    columns: {toy_id: {}, child_ref: {}}
  kinds: {public: true}
`
}

// TestBreachForeignKeysOfAnotherType: a foreign key of the policy that compares otherwise than the key it refers to
// gives a row two units. Every command that compares the policy with the databases refuses it, and says which column.
func TestBreachForeignKeysOfAnotherType(t *testing.T) {
	if testing.Short() {
		t.Skip("make guards asks it")
	}
	for _, c := range []struct{ name, key, value, change, want string }{
		{
			"float8 to bigint", "bigint", "9007199254740992 + i", "ALTER TABLE children ALTER mother_ref TYPE float8",
			"mother_ref",
		},
		{"real to int", "int", "16777216 + i", "ALTER TABLE children ALTER mother_ref TYPE float4", "mother_ref"},
		{"float8 to numeric", "numeric", "1 + i / 1e20", "ALTER TABLE children ALTER mother_ref TYPE float8", "mother_ref"},
		{
			"timestamptz to timestamp", "timestamp", "timestamp '2024-03-10 01:30' + i * interval '1 hour'",
			"SET TimeZone = 'America/New_York'; ALTER TABLE children ALTER mother_ref TYPE timestamptz", "mother_ref",
		},
		{
			"text that knows no case to text", "text", "(ARRAY['ann','ANN'])[i]",
			"ALTER TABLE children ALTER mother_ref TYPE text COLLATE ci", "mother_ref",
		},
		{"a key of float8", "bigint", "i", "ALTER TABLE toys ALTER child_ref TYPE float8", "child_ref"},
		{"int to bigint", "bigint", "i", "ALTER TABLE children ALTER mother_ref TYPE int", ""},
		{"varchar to text", "text", "'m' || i", "ALTER TABLE children ALTER mother_ref TYPE varchar(20)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, familyPolicy(), fmt.Sprintf(family, c.key, c.value))
			pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser), c.change)
			setUp, failed := p.command("setup").CombinedOutput()
			judge := func(what string, refused bool, text string) {
				t.Helper()
				for _, aside := range regexp.MustCompile(`(?m)^.*(advice: |note: |"note":).*\n`).FindAllString(text, -1) {
					text = strings.Replace(text, aside, "", 1)
				}
				if refused != (c.want != "") || !strings.Contains(text, c.want) {
					t.Errorf("%s: refused: %v, want %v and %q named\n%s", what, refused, c.want != "", c.want, text)
				}
			}
			if failed != nil { // it may, but then for the right reason
				judge("setup", true, string(setUp))
			}
			out, err := p.command("check", "--live").CombinedOutput()
			judge("check --live", err != nil, string(out))
			refused, text := p.reload(t)
			judge("reload", refused, text)
			p.stop()
			refused, text = p.servesNot(t)
			judge("serve", refused, text)
		})
	}
}

// TestBreachForeignKeyRetypedWhileServing: a proxy that was started before the column became another type either does
// not answer or gives no row two units.
func TestBreachForeignKeyRetypedWhileServing(t *testing.T) {
	p := start(t, familyPolicy(), fmt.Sprintf(family, "bigint", "9007199254740992 + i"))
	pgservertest.Exec(t, p.server.DSN(p.db, pgserver.Superuser),
		"ALTER TABLE children ALTER mother_ref TYPE float8; INSERT INTO mothers VALUES (9007199254740992, 3); DELETE FROM children WHERE child_id = 2; DELETE FROM mothers WHERE mother_key > 9007199254740993")
	if a := putQuestion(t, p.dsn("alice"), question{name: "count", sql: "SELECT count(*) FROM children"}, 0); a.code == "" && total(a.column) > 1 {
		t.Errorf("one row of children counts %v times", a)
	}
}

// reload has the proxy read its policy again and says whether it refused, and what it logged since.
func (p *proxy) reload(t *testing.T) (refused bool, logged string) {
	t.Helper()
	before := len(p.log.String())
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the policy is read again", func() bool {
		logged = p.log.String()[before:]
		refused = strings.Contains(logged, "not reloaded")
		return refused || strings.Contains(logged, "policy reloaded")
	})
	return refused, logged
}

// servesNot starts the proxy, ends it if it listens, and says whether it refused to and what it printed.
func (p *proxy) servesNot(t *testing.T) (refused bool, printed string) {
	t.Helper()
	cmd := p.command("serve")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	listens := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "dpproxy: listening on ") {
			listens = true
			_ = cmd.Process.Kill()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !listens && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Errorf("serve: %v, want exit status 1\n%s", err, printed)
	}
	return !listens, printed
}

package catalog_test

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// fixtureRoot holds what real clients send, captured from them in front of a plain PostgreSQL, or taken from their
// published source where the client cannot be installed.
const fixtureRoot = "../../../tests/integration/clients"

// statement is one statement of a fixture with the values of its parameters as text.
type statement struct {
	file, sql  string
	parameters []*string
}

var parameterLine = regexp.MustCompile(`^-- \$\d+ = (?:'(.*)'|NULL)$`)

// fixtures reads every fixture, sorted by file. Statements end with a line that is a semicolon; "-- $1 = 'x'" lines in
// front of a statement are its parameters.
func fixtures(t testing.TB) []statement {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtureRoot, "*", "*.sql"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures under %s: %v", fixtureRoot, err)
	}
	sort.Strings(files)
	var out []statement
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(fixtureRoot, f)
		for _, part := range strings.Split(string(raw)+"\n", "\n;\n") {
			s := statement{file: name}
			lines := strings.Split(strings.TrimSpace(part), "\n")
			for len(lines) > 0 && (strings.HasPrefix(lines[0], "--") || lines[0] == "") {
				if m := parameterLine.FindStringSubmatch(lines[0]); m != nil {
					s.parameters = append(s.parameters, parameter(lines[0], m[1]))
				}
				lines = lines[1:]
			}
			if s.sql = strings.Join(lines, "\n"); s.sql != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

func parameter(line, value string) *string {
	if strings.HasSuffix(line, "= NULL") {
		return nil
	}
	value = strings.ReplaceAll(value, "''", "'")
	return &value
}

var oidToken = regexp.MustCompile(`\{(class|type):(\w+)\}`)

// withOIDs puts a database's OIDs in the place of {class:patients} and {type:severity}.
func withOIDs(text string, oids map[string]string) string {
	return oidToken.ReplaceAllStringFunc(text, func(tok string) string { return oids[strings.Trim(tok, "{}")] })
}

package expr

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// TestResolution compares the choice of operator with PostgreSQL's, for every operator of the table over every pair of
// types that expressions have, literals of unknown type included.
func TestResolution(t *testing.T) {
	s := startServer(t)
	columns := []string{
		"i2", "i4", "i8", "n", "f4", "f8", "d", "ts", "tz", "tm", "iv", "t", "v", "c", "b", "u", "m",
		"dom", "'1'", "NULL",
	}
	names := map[string]bool{}
	for signature := range allRules.bySignature {
		name, _, _ := strings.Cut(signature, "(")
		if len(pgresolve.Operators(name)) > 0 {
			names[name] = true
		}
	}
	for name := range names {
		t.Run(name, func(t *testing.T) {
			for _, l := range columns {
				for _, r := range columns {
					if strings.HasPrefix(l, "'") && strings.HasPrefix(r, "'") || l == "NULL" && r == "NULL" {
						continue // no column: resolved like others, but PostgreSQL then reads the literals
					}
					s.checkResolution(t, l+" "+name+" "+r)
				}
			}
		})
	}
}

// checkResolution: where both sides resolve, types are equal; what PostgreSQL finds no operator for, we do not find
// either.
func (s *server) checkResolution(t *testing.T, text string) {
	t.Helper()
	e, err := Build(parseExpr(t, text), s.scope)
	d, pgErr := s.conn.PgConn().Prepare(t.Context(), "", "SELECT "+text+" FROM benign AS r", nil)
	if err != nil {
		return // refused here, whatever PostgreSQL says
	}
	if pgErr != nil {
		t.Errorf("%s is accepted as %s; PostgreSQL says %s", text, sqlOf(e), full(pgErr))
		return
	}
	if e.Type() != d.Fields[0].DataTypeOID {
		t.Errorf("%s has type %d, PostgreSQL says %d", text, e.Type(), d.Fields[0].DataTypeOID)
	}
	got, err := s.text(fmt.Sprintf("SELECT count(*) FROM benign AS r WHERE (%s) IS DISTINCT FROM (%s)", sqlOf(e), text))
	if err != nil {
		if code := full(err)[:5]; code != "22012" { // only the original divides by zero
			t.Errorf("%s: %s\nSQL: %s", text, full(err), sqlOf(e))
		}
		return
	}
	if *got[0][0] != "0" {
		t.Errorf("%s differs from its SQL %s in %s rows", text, sqlOf(e), *got[0][0])
	}
}

// TestCommonType does the same for constructs that unite types.
func TestCommonType(t *testing.T) {
	s := startServer(t)
	columns := []string{
		"i2", "i4", "i8", "n", "f4", "f8", "d", "ts", "tz", "iv", "t", "v", "c", "b", "u", "m", "dom",
		"NULL", "1", "2.5",
	}
	for _, form := range []string{
		"COALESCE(%s, %s)", "CASE WHEN nb THEN %s ELSE %s END", "GREATEST(%s, %s)",
		"NULLIF(%s, %s)",
	} {
		for _, l := range columns {
			for _, r := range columns {
				s.checkResolution(t, fmt.Sprintf(form, l, r))
			}
		}
	}
}

// TestFunctions calls every function of the table with every type, to compare the choice among overloads.
func TestFunctions(t *testing.T) {
	s := startServer(t)
	columns := []string{
		"i2", "i4", "i8", "n", "f4", "f8", "d", "ts", "tz", "tm", "iv", "t", "v", "c", "b", "u", "m",
		"dom", "NULL", "1",
	}
	var names []string
	for signature := range allRules.bySignature {
		name, args, _ := strings.Cut(signature, "(")
		if len(pgresolve.Functions(name)) > 0 && !strings.Contains(args, ",") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		for _, c := range columns {
			if c == "NULL" && name == "sign" {
				continue
			}
			s.checkResolution(t, pgresolve.QuoteName(name)+"("+c+")")
		}
	}
}

// TestCatalog holds catalog.txt against the server's catalogs: what the rules rely on must exist there, with the same
// result.
func TestCatalog(t *testing.T) {
	s := startServer(t)
	query, err := os.ReadFile("../pgresolve/catalog.sql")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for statement := range strings.SplitSeq(string(query), ";") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		got, err := s.text(statement)
		if err != nil {
			t.Fatal(full(err))
		}
		for _, row := range got {
			var line []string
			for _, cell := range row {
				line = append(line, show(cell))
			}
			have[strings.TrimSpace(strings.Join(line, " "))] = true
		}
	}
	if len(have) < 1000 {
		t.Fatalf("catalog.sql gives %d lines", len(have))
	}
	embedded, err := os.ReadFile("../pgresolve/catalog.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(string(embedded)), "\n") {
		if f := strings.Fields(line); !have[strings.TrimSpace(line)] && (f[0] == "oper" || f[0] == "func") && relied(f) {
			t.Errorf("not on the server: %s", line)
		}
	}
}

// relied says whether a line's candidate has a rule.
func relied(f []string) bool {
	args := f[3:]
	if f[0] == "oper" {
		args = f[2:4]
		if f[2] == "-" {
			args = f[3:4]
		}
	}
	_, ok := allRules.bySignature[f[1]+"("+strings.Join(args, ",")+")"]
	return ok
}

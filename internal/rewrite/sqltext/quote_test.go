package sqltext_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

func TestLiteral(t *testing.T) {
	for in, want := range map[string]string{"": "''", "a'b": "'a''b'", `a\b`: `'a\b'`, "'": "''''"} {
		if got := sqltext.Literal(in); got != want {
			t.Errorf("%q is quoted as %s", in, got)
		}
	}
}

func TestEscapedLiteral(t *testing.T) {
	for in, want := range map[string]string{"a'b": "'a''b'", `a\b`: `E'a\\b'`, `\'`: `E'\\'''`} {
		if got := sqltext.EscapedLiteral(in); got != want {
			t.Errorf("%q is quoted as %s", in, got)
		}
	}
}

func TestIdent(t *testing.T) {
	for in, want := range map[string]string{"a": `"a"`, `a"b`: `"a""b"`, "A b": `"A b"`} {
		if got := sqltext.Ident(in); got != want {
			t.Errorf("%q is quoted as %s", in, got)
		}
	}
}

func TestName(t *testing.T) {
	for _, name := range []string{"a", `a"b`, "A b", `"`, `""a`, ""} {
		if got := sqltext.Name(sqltext.Ident(name)); got != name {
			t.Errorf("%q is read as %q", name, got)
		}
	}
	if got := sqltext.Name("k1"); got != "k1" {
		t.Errorf("k1 is read as %q", got)
	}
}

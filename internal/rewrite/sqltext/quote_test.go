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

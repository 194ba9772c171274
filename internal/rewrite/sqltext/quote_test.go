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

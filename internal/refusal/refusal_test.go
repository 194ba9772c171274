package refusal

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// TestReasons: each has an anchor of its own and a code of the refusals.
func TestReasons(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range All() {
		if r.Anchor() == "" || seen[r.Anchor()] || strings.Trim(r.Anchor(), "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("reason %d has the anchor %q", r, r.Anchor())
		}
		seen[r.Anchor()] = true
		switch r.Code() {
		case pgerr.FeatureNotSupported, pgerr.InsufficientPrivilege, pgerr.ProgramLimitExceeded, pgerr.StatementTooComplex:
		default:
			t.Errorf("%s has the code %q", r.Anchor(), r.Code())
		}
	}
}

func TestHintsEndWithTheSection(t *testing.T) {
	for _, c := range []struct{ hint, want string }{
		{"Leave it out.", "Leave it out. More: SELECT text FROM dpproxy.help WHERE topic = 'read-only'"},
		{"", reasons[ReadOnly].instead + " More: SELECT text FROM dpproxy.help WHERE topic = 'read-only'"},
	} {
		e := New(ReadOnly, "no", pgerr.Hint("%s", c.hint), pgerr.At(7))
		if e.Hint != c.want || e.Code != pgerr.InsufficientPrivilege || e.Message != "no" || e.Position != 7 {
			t.Errorf("%+v", e)
		}
	}
}

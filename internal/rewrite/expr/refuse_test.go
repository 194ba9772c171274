package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// TestRefused: every refusal has a code of the contract, names the piece, points into the text, and hints where it can.
func TestRefused(t *testing.T) {
	scope := offlineScope(t)
	for _, line := range corpus(t, "testdata/refused.txt") {
		text, rest, _ := cutLine(line)
		message, hint, _ := cutLine(rest)
		t.Run(text, func(t *testing.T) {
			e, err := Build(parseExpr(t, text), scope)
			if err == nil {
				t.Fatalf("accepted as %s in %s", sqlOf(e), e.Bounds())
			}
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%T: %v", err, err)
			}
			if !strings.Contains(r.Err.Message, message) || !strings.Contains(r.Err.Hint, hint) {
				t.Errorf("message %q, hint %q", r.Err.Message, r.Err.Hint)
			}
			if r.Err.Code != pgerr.FeatureNotSupported && r.Err.Code != pgerr.InsufficientPrivilege {
				t.Errorf("code %s", r.Err.Code)
			}
			if r.Location >= len("SELECT "+text) {
				t.Errorf("location %d lies outside the text", r.Location)
			}
		})
	}
}

func cutLine(s string) (before, after string, found bool) {
	before, after, found = strings.Cut(s, " | ")
	if !found {
		before, after, found = strings.Cut(s, " |")
	}
	return strings.TrimSpace(before), strings.TrimSpace(after), found
}

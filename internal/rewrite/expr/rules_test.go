package expr

import (
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// TestRules: each rule is of operations that PostgreSQL has, and says when they are total.
func TestRules(t *testing.T) {
	if len(allRules.bySignature) < 300 {
		t.Errorf("%d rules", len(allRules.bySignature))
	}
	for signature, r := range allRules.bySignature {
		name, _, _ := strings.Cut(signature, "(")
		candidates := slices.Concat(pgresolve.Operators(name), pgresolve.Functions(name))
		if !slices.ContainsFunc(candidates, func(c *pgresolve.Candidate) bool { return c.Signature() == signature }) {
			t.Errorf("PostgreSQL has no %s", signature)
		}
		if r.total == "" {
			t.Errorf("the rule of %s does not say when it is total", signature)
		}
	}
	for name, r := range allRules.builders {
		if r.total == "" || r.args != "" || r.apply != nil {
			t.Errorf("the rule of %s does not say when it is total, or mixes two kinds", name)
		}
	}
}

// TestSignatures: how lists of types are written.
func TestSignatures(t *testing.T) {
	r := rule{names: "f g", args: "int2|int4,text bool"}
	want := []string{"f(int2,text)", "f(int4,text)", "f(bool)", "g(int2,text)", "g(int4,text)", "g(bool)"}
	if got := r.signatures(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := (rule{names: "pi"}).signatures(); !slices.Equal(got, []string{"pi()"}) {
		t.Errorf("%q", got)
	}
}

package expr

import (
	"slices"
	"strings"
	"testing"
)

// TestRules: each entry of the table is an operation that PostgreSQL has, and says when it is total.
func TestRules(t *testing.T) {
	all := Rules()
	if len(all) < 300 || !slices.IsSortedFunc(all, func(a, b Rule) int { return strings.Compare(a.Signature, b.Signature) }) {
		t.Errorf("%d rules", len(all))
	}
	for _, r := range all {
		if r.Result == "" {
			t.Errorf("PostgreSQL has no %s", r.Signature)
		}
		if r.Total == "" {
			t.Errorf("%s does not say when it is total", r.Signature)
		}
	}
}

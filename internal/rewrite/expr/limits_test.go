package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// TestLimits: expressions that are deep, long, or multiply when they are written out are refused or stay small.
func TestLimits(t *testing.T) {
	scope := offlineScope(t)
	nest := func(n int, before, core, after string) string {
		return strings.Repeat(before, n) + core + strings.Repeat(after, n)
	}
	for name, c := range map[string]struct {
		text string
		code string // empty: accepted
	}{
		"between":           {nest(30, "(", "b", " BETWEEN b AND nb)"), pgerr.StatementTooComplex},
		"between symmetric": {nest(20, "(", "b", " BETWEEN SYMMETRIC b AND nb)"), pgerr.StatementTooComplex},
		"in":                {nest(30, "(", "b", " IN (nb, b))"), pgerr.StatementTooComplex},
		"deep":              {nest(1000, "abs(", "age", ")"), pgerr.StatementTooComplex},
		"long product":      {"n" + strings.Repeat(" * n", 380), pgerr.FeatureNotSupported}, // more than 1000 digits
		"long quotient":     {"n2" + strings.Repeat(" / 3", 380), ""},
		"long sum":          {"n2" + strings.Repeat(" + n2", 380), ""},
		"long list":         {"age IN (0" + strings.Repeat(", 1", 9000) + ")", ""},
		"long and":          {"b" + strings.Repeat(" AND nb", 3000), ""},
		"floats":            {"f8" + strings.Repeat(" + f8 / pf8", 150), ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := parseExpr(t, c.text)
			e, err := Build(node, scope)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				if n := len(sqlOf(e)); n > 4<<20 {
					t.Errorf("prints %d bytes", n)
				}
				return
			}
			var r *Refusal
			if !errors.As(err, &r) || r.Err.Code != c.code {
				t.Fatalf("%v", err)
			}
		})
	}
}

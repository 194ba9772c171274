package expr

import "testing"

// TestDescribe: how messages name what the analyst wrote.
func TestDescribe(t *testing.T) {
	for _, text := range []string{
		"(a + b) * c", "a - (b - c)", "mod(a, b) > c AND d", "a IN (1, 2) OR b", "NOT a", "a IS NULL", "COALESCE(a, b)",
		"x.y::text", "a BETWEEN 1 AND 2", "$1 = ANY (ARRAY[1, 2])",
	} {
		if got := describe(parseExpr(t, text)); got != text {
			t.Errorf("%s is named %s", text, got)
		}
	}
}

package rewrite_test

import (
	"strings"
	"testing"
)

// TestTextGrowth nests expressions that print an operand more than once. What is sent to main must stay small, or be
// refused: a text that doubles at every level would exhaust the proxy's memory.
func TestTextGrowth(t *testing.T) {
	for _, form := range []string{
		"abs(@)", "coalesce(nullif(@, 1), 2)", "greatest(least(@, 100), 0)", "round(@)", "(@ / 7)", "(@ % 7)",
		"case when @ > 3 then @ else 0 end",
		"least(@, 50)", "(@ + 1 - 1)", "nullif(@, 3)", "(12 / nullif(@, 0))", "trunc(@)", "mod(@, 9)", "sign(@)", "(100 / @)",
	} {
		x := "age"
		for range 24 {
			x = strings.ReplaceAll(form, "@", x)
			if len(x) > 4000 {
				break
			}
		}
		q, err := theWorld.ask("SELECT sum("+x+") FROM patients", nil)
		if err != nil || q.plan == nil || len(q.plan.Blocks) == 0 {
			continue
		}
		if n := len(q.plan.Blocks[0].Measure.Text); n > 1<<20 {
			t.Errorf("%s: %d bytes for a statement of %d", form, n, len(x))
		}
	}
}

package engine

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// wideHint names the first difference of columns that a sum or an average is of, whose bounds are as far apart as the columns' allow:
// a stay of days between two dates of ten years. It follows from the plan alone; empty where there is none.
func wideHint(plan *rewrite.Plan) string {
	for i := range plan.Blocks {
		for _, c := range plan.Blocks[i].Columns {
			if d := c.Difference; d != nil {
				return fmt.Sprintf("The bounds of %[1]s are %[2]s to %[3]s, as far apart as those of its columns allow. If values lie nearer to 0, "+
					"LEAST(GREATEST(%[1]s, low), high) takes noise off in proportion: bounds a tenth as wide leave a tenth.", d.Text, signed(d.Type, d.Lo), signed(d.Type, d.Hi))
			}
		}
	}
	return ""
}

// signed prints a bound of a type.
func signed(oid uint32, v float64) string {
	if v < 0 {
		return "-" + amount(oid, -v)
	}
	return amount(oid, v)
}

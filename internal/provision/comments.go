package provision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// The comments of the shadow are what \d+ and every database tool show of the policy.

const viewComment = "private view: ask for aggregates"

// syntheticComment ends the comments of private tables and of their columns where there is a twin. Shadow and twin have
// the same, since clients read the shadow's.
const syntheticComment = "; rows that are shown are synthetic, nobody's data"

func tableComment(t *policy.Table) string {
	if t.Public {
		return "public"
	}
	s := fmt.Sprintf("private: aggregates only; protects each %s, with at most %d row%s here", t.Unit.Name,
		t.MaxRowsPerUnit, plural(t.MaxRowsPerUnit))
	if t.MaxRows > 0 {
		s += fmt.Sprintf(", %d rows in all", t.MaxRows)
	}
	return s
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// maxCommentValues is how many values of a domain a comment spells out.
const maxCommentValues = 20

func columnComment(t *policy.Table, c *policy.Column) string {
	var parts []string
	if t.Unit != nil && t.Unit.Column == c.Name {
		parts = append(parts, "privacy unit: never returned")
	}
	if c.Bounds != nil {
		parts = append(parts, "bounds ["+c.Bounds.Lo+", "+c.Bounds.Hi+"]")
	}
	if len(c.Valid) > 0 {
		ranges := make([]string, len(c.Valid))
		for i, v := range c.Valid {
			ranges[i] = "[" + v.Lo + ", " + v.Hi + "]"
		}
		parts = append(parts, "valid "+strings.Join(ranges, " "))
	}
	switch {
	case len(c.Values) > maxCommentValues:
		parts = append(parts, fmt.Sprintf("values %s, … (%d)", strings.Join(c.Values[:maxCommentValues], ", "),
			len(c.Values)))
	case len(c.Values) > 0:
		parts = append(parts, "values "+strings.Join(c.Values, ", "))
	case c.ValuesFrom != nil:
		parts = append(parts, "values of "+strings.TrimPrefix(c.ValuesFrom.Table.String(), "public.")+"."+c.ValuesFrom.Column)
	}
	if c.PerUnit != nil {
		parts = append(parts, "per unit ["+c.PerUnit.Lo+", "+c.PerUnit.Hi+"]")
	}
	for _, cut := range slices.Sorted(maps.Keys(c.MaxRowsPerGroup)) {
		n := c.MaxRowsPerGroup[cut]
		parts = append(parts, fmt.Sprintf("a %s counts with at most %d row%s in one %s", t.Unit.Name, n, plural(n),
			cmp.Or(cut, "group")))
	}
	if len(parts) == 0 {
		return "no bounds or values in the policy"
	}
	return strings.Join(parts, "; ")
}

package finish_test

import (
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/finish"
)

// TestTemplateIsCutAtItsStubs: a text is taken apart at the stubs alone, whatever else looks like one, and not at all
// where they are not what was put there.
func TestTemplateIsCutAtItsStubs(t *testing.T) {
	const one, two = "(SELECT 1 AS dpproxy_block_1)", "(SELECT 1 AS dpproxy_block_2)"
	for _, c := range []struct {
		name, text string
		stubs      int
		around     []string // nil: refused
		reads      []int
	}{
		{"none", "SELECT 1", 0, []string{"SELECT 1"}, nil},
		{"one", "SELECT a1 FROM " + one + " dp1", 1, []string{"SELECT a1 FROM ", " dp1"}, []int{0}},
		{"at the ends", one, 1, []string{"", ""}, []int{0}},
		{
			"two, the second first", "SELECT 1 FROM " + two + " a, " + one + " b", 2,
			[]string{"SELECT 1 FROM ", " a, ", " b"},
			[]int{1, 0},
		},
		{
			"in a literal", "SELECT '" + one + "' FROM " + one + " a", 1,
			[]string{"SELECT '" + one + "' FROM ", " a"},
			[]int{0},
		},
		{"in a comment", "SELECT 1 /* " + one + " */ FROM " + one + " a", 1, []string{
			"SELECT 1 /* " + one + " */ FROM ",
			" a",
		}, []int{0}},
		{"in quotes", `SELECT 1 AS "dpproxy_block_1" FROM ` + one + " a", 1, []string{
			`SELECT 1 AS "dpproxy_block_1" FROM `,
			" a",
		}, []int{0}},
		{
			"letters of more than a byte before it", "SELECT 'é' FROM " + one + " a", 1,
			[]string{"SELECT 'é' FROM ", " a"},
			[]int{0},
		},
		{"a name that goes on", "SELECT dpproxy_block_10 FROM " + one + " a", 1, []string{
			"SELECT dpproxy_block_10 FROM ",
			" a",
		}, []int{0}},
		{"one that is missing", "SELECT 1", 1, nil, nil},
		{"one more than there are", one + " UNION " + one, 1, nil, nil},
		{"outside its place", "SELECT dpproxy_block_1 FROM " + one + " a", 1, nil, nil},
		{"without parentheses", "SELECT 1 AS dpproxy_block_1", 1, nil, nil},
		{"no SQL", "SELECT '", 0, nil, nil},
	} {
		around, reads, err := finish.Split(c.text, c.stubs)
		switch {
		case c.around == nil && err == nil:
			t.Errorf("%s: it is cut into %q", c.name, around)
		case c.around != nil && (err != nil || !slices.Equal(around, c.around) || !slices.Equal(reads, c.reads)):
			t.Errorf("%s: cut into %q at %v, %v; want %q at %v", c.name, around, reads, err, c.around, c.reads)
		}
	}
}

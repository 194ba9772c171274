package initpolicy

import (
	"regexp"
	"strings"
)

// How pg_get_constraintdef prints what it parsed: CHECK (((age >= 0) AND (age <= 120))), and
// CHECK ((kind = ANY (ARRAY['a'::text, 'b'::text]))).
var (
	operand    = `(?:("[^"]+"|\w+)|\(("[^"]+"|\w+)\)(?:::\w+(?: \w+)*)?)`
	comparison = regexp.MustCompile(operand + ` (>=|<=|>|<) \(?'?(\d{4}-\d\d-\d\d|-?\d+(?:\.\d+)?)'?\)?`)
	membership = regexp.MustCompile(operand + ` = ANY \(\(?ARRAY\[([^\]]*)\]`)
	element    = regexp.MustCompile(`'((?:[^']|'')*)'`)
)

// facts holds what CHECK constraints say of one column.
type facts struct {
	lo, hi string
	values []string
}

// checked reads the constraints of a table. One with OR or NOT says too little of a single column and is left out.
func checked(t *table) map[string]facts {
	found := map[string]facts{}
	for _, def := range t.Checks {
		if strings.Contains(def, " OR ") || strings.Contains(def, "NOT ") {
			continue
		}
		for _, m := range matchesOf(comparison, def) {
			f := found[m[0]]
			if m[1] == ">=" || m[1] == ">" {
				f.lo = m[2]
			} else {
				f.hi = m[2]
			}
			found[m[0]] = f
		}
		for _, m := range matchesOf(membership, def) {
			f := found[m[0]]
			for _, e := range element.FindAllStringSubmatch(m[1], -1) {
				f.values = append(f.values, strings.ReplaceAll(e[1], "''", "'"))
			}
			found[m[0]] = f
		}
	}
	return found
}

// matchesOf returns the column's name and what follows it, for every match whose operand is the column itself and not
// the argument of a function.
func matchesOf(form *regexp.Regexp, def string) [][]string {
	var all [][]string
	for _, at := range form.FindAllStringSubmatchIndex(def, -1) {
		if at[0] > 0 && !strings.ContainsRune(" (", rune(def[at[0]-1])) {
			continue
		}
		var m []string
		for i := 2; i+1 < len(at); i += 2 {
			if at[i] >= 0 {
				m = append(m, def[at[i]:at[i+1]])
			}
		}
		m[0] = strings.Trim(m[0], `"`)
		all = append(all, m)
	}
	return all
}

package policy

import (
	"slices"
	"strings"
)

// Suggestion asks whether the known name was meant that is nearest to one that is not known; empty when none is near.
func Suggestion(name string, known []string) string {
	if near := nearest(name, known); near != "" {
		return "; did you mean " + quoted(near) + "?"
	}
	return ""
}

// nearest returns the known name that name is most likely a slip of; empty when none is near.
func nearest(name string, known []string) string {
	best, least := "", (len(name)+1)/3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// distance is Levenshtein's, in bytes, with a swap of neighbours counted once (Damerau's restricted form).
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64 // no key is that long
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last = last, slices.Clone(row)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

func list(names []string) string { return strings.Join(names, ", ") }

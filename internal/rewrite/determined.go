package rewrite

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Made says how what is released of a block is made of what is released of another (docs/privacy.md P23b).
type Made struct {
	Groups   [][]int // of the other block, that together are each group
	Most     int     // the most groups that one is made of
	Releases []int   // of the other block, by release
}

// MayBeMadeOf says whether a block has the rows and releases of another, so that keys alone decide whether it is made
// of its groups.
func (b *Block) MayBeMadeOf(of *Block) bool {
	q, o := b.Question, of.Question
	if q == nil || o == nil || q.Rows != o.Rows || b.sameReleases(of) == nil {
		return false
	}
	has := func(list []release.Condition, c release.Condition) bool {
		return slices.ContainsFunc(list, func(d release.Condition) bool { return d.Text == c.Text })
	}
	for _, c := range o.Conditions {
		if !has(q.Conditions, c) {
			return false
		}
	}
	for _, c := range q.Conditions {
		if at := keyAt(o, c.Column); !has(o.Conditions, c) && (at < 0 || !o.Keys[at].Column) {
			return false
		}
	}
	return !slices.ContainsFunc(q.Keys, func(key release.Part) bool {
		at := keyAt(o, key.Text)
		return at < 0 || !(key.Column && o.Keys[at].Column) && key.Inside != o.Keys[at].Inside
	})
}

// keyAt is the place of a key; −1: there is none.
func keyAt(q *release.Question, text string) int {
	return slices.IndexFunc(q.Keys, func(key release.Part) bool { return key.Text == text })
}

// sameReleases finds each release of a block among those of another; nil: one is not there.
func (b *Block) sameReleases(of *Block) []int {
	at := make([]int, len(b.Releases))
	for i, r := range b.Question.Releases {
		at[i] = slices.IndexFunc(of.Question.Releases, func(o release.Integer) bool { return o.Text == r.Text })
		if at[i] < 0 || of.Releases[at[i]].Running > 0 && !of.Releases[at[i]].InChain() { // whose noises are not independent
			return nil
		}
	}
	for i, r := range b.Releases {
		if r.Kind == mechanism.SumGivenCount && at[r.CountRef] != of.Releases[at[i]].CountRef {
			return nil
		}
	}
	return at
}

// MadeOf says how a block that may be is made of another; nil: it is not, as rows of its groups are in none of the
// other's. rows asks the shadow.
func (b *Block) MadeOf(of *Block, rows func(Query) (*Table, error)) (*Made, error) {
	q, o := b.Question, of.Question
	kept := slices.Repeat([]bool{true}, of.Keys.Len())
	covered := make([]bool, len(o.Keys))
	for i, key := range o.Keys {
		all, left := valuesOf(of.Keys, i), q.Left[key.Text]
		missing := slices.ContainsFunc(left, func(v string) bool { return !all[v] })
		covered[i] = key.Whole || keyAt(q, key.Text) >= 0 || key.Column && left != nil && !missing
	}
	for _, c := range q.Conditions {
		at := keyAt(o, c.Column)
		if at < 0 || !o.Keys[at].Column {
			continue // it is one of the other's
		}
		holds, err := rows(expr.Fulfilling(c.Holds, distinct(of.Keys, at)))
		if err != nil {
			return nil, err
		}
		fulfil, null := valuesOf(holds, 0), holds.HoldsNull(0)
		for g := range kept {
			v, known := of.Keys.Value(g, at)
			kept[g] = kept[g] && (known && fulfil[string(v)] || !known && null)
		}
	}
	if slices.Contains(covered, false) {
		return nil, nil
	}
	m := &Made{Groups: b.groupsOf(of, kept), Releases: b.sameReleases(of)}
	for _, groups := range m.Groups {
		if m.Most = max(m.Most, len(groups)); len(groups) == 0 {
			return nil, nil
		}
	}
	return m, nil
}

// groupsOf finds for each group of a block those of another's that are kept and have its keys.
func (b *Block) groupsOf(of *Block, kept []bool) [][]int {
	columns := make([]int, len(b.Question.Keys))
	for i, key := range b.Question.Keys {
		columns[i] = keyAt(of.Question, key.Text)
	}
	name := func(keys Keys, g int, columns []int) string {
		var out []byte
		for _, column := range columns {
			out = AppendKeyValue(out, keys, g, column)
		}
		return string(out)
	}
	parts := map[string][]int{}
	for g, is := range kept {
		if is {
			key := name(of.Keys, g, columns)
			parts[key] = append(parts[key], g)
		}
	}
	out := make([][]int, b.Keys.Len())
	for i := range columns {
		columns[i] = i
	}
	for g := range out {
		out[g] = parts[name(b.Keys, g, columns)]
	}
	return out
}

// valuesOf are the values of a column of keys but NULL.
func valuesOf(keys Keys, column int) map[string]bool {
	out := map[string]bool{}
	for g := range keys.Len() {
		if v, known := keys.Value(g, column); known {
			out[string(v)] = true
		}
	}
	return out
}

// distinct lists the values of a column of keys, NULL among them, in an array.
func distinct(keys Keys, column int) Canonical {
	seen := map[string]bool{}
	return schema.TextArray(func(yield func(*Canonical) bool) {
		for v := range schema.KeyColumn(keys, column) {
			name := "" // NULL
			if v != nil {
				name = "=" + string(*v)
			}
			if !seen[name] && !yield(v) {
				return
			}
			seen[name] = true
		}
	})
}

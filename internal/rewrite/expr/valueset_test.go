package expr

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// places are all points that the tests of sets look at: whole numbers and halves, infinities and NaN; and texts.
func places() (numbers, texts []*point) {
	numbers = []*point{{beyond: -1}}
	for i := int64(-6); i <= 6; i++ {
		numbers = append(numbers, numberPoint(big.NewRat(i, 2)))
	}
	for _, text := range []string{"", " ", "A", "a", "a ", "aa", "b", "é", "e\u0301"} {
		texts = append(texts, &point{text: text})
	}
	slices.SortFunc(texts, (*point).compare)
	return append(numbers, &point{beyond: 1}, &point{beyond: 2}), texts
}

func (p *point) isWhole() bool { return p.number == nil || p.number.IsInt() }

func (s valueSet) has(p *point) bool {
	return slices.ContainsFunc(s.segments, func(x segment) bool { return x.contains(p) })
}

func onlyOf(list []*point) (all []segment) {
	for _, p := range list {
		all = append(all, only(p))
	}
	return all
}

// drawn draws a set by operations, and says of each point whether it is in it.
func drawn(t *rapid.T, all []*point, whole bool) (valueSet, map[*point]bool) {
	var parts []segment
	in := map[*point]bool{}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		operator := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "operator")
		at := rapid.SampledFrom(all).Draw(t, "at")
		parts = append(parts, compared(operator, only(at))...)
		for _, p := range all {
			c := p.compare(at)
			in[p] = in[p] || map[string]bool{
				"=": c == 0, "<>": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0,
			}[operator]
		}
	}
	if whole {
		for i := range parts {
			parts[i] = parts[i].whole()
		}
	}
	return valueSet{segments: joined(parts), null: rapid.Bool().Draw(t, "null")}, in
}

// TestValueSets: every operation on sets does to each point, and to NULL, what its name says.
func TestValueSets(t *testing.T) {
	numbers, texts := places()
	rapid.Check(t, func(t *rapid.T) {
		all, whole := texts, false
		if rapid.Bool().Draw(t, "numbers") {
			all, whole = numbers, rapid.Bool().Draw(t, "whole")
		}
		a, inA := drawn(t, all, whole)
		b, inB := drawn(t, all, whole)
		both, not := a.intersect(b), complement(a.segments)
		either := joined(slices.Concat(a.segments, b.segments))
		few, known := a.values()
		for _, p := range all {
			if whole && !p.isWhole() {
				continue
			}
			for what, c := range map[string]struct{ got, want bool }{
				"the set":      {a.has(p), inA[p]},
				"both":         {both.has(p), inA[p] && inB[p]},
				"either":       {valueSet{segments: either}.has(p), inA[p] || inB[p]},
				"the others":   {valueSet{segments: not}.has(p), !inA[p]},
				"those listed": {!known || valueSet{segments: onlyOf(few)}.has(p), !known || inA[p]},
			} {
				if c.got != c.want {
					t.Fatalf("%s of %v and %v: %v is in it: %v", what, a, b, p, c.got)
				}
			}
		}
		if both.null != (a.null && b.null) || both.empty() != (len(both.segments) == 0 && !both.null) {
			t.Fatalf("NULL in %v", both)
		}
	})
}

// TestValueSetBounds: the hull of a set holds its numbers, and with a granule those that are multiples of it; and
// what a clamp takes into a set is what its result is in.
func TestValueSetBounds(t *testing.T) {
	numbers, _ := places()
	half := big.NewRat(1, 2)
	rapid.Check(t, func(t *rapid.T) {
		set, in := drawn(t, numbers, false)
		plain, granular := set.hull(nil), set.hull(half)
		for _, p := range numbers {
			if p.number == nil && in[p] && (p.beyond < 0 && plain.Lo != nil || p.beyond > 0 && plain.Hi != nil) {
				t.Fatalf("%v lies beyond %s", p, plain)
			}
			if p.number != nil && in[p] && !(plain.Contains(p.number) && granular.Contains(p.number)) {
				t.Fatalf("%v lies outside %s or %s", p, plain, granular)
			}
		}
		limits := bounds.Between(int64(rapid.IntRange(-2, 0).Draw(t, "lo")), int64(rapid.IntRange(0, 2).Draw(t, "hi")))
		before := set.beforeClamp(limits)
		for _, p := range numbers {
			read := p
			switch lo, hi := numberPoint(limits.Lo), numberPoint(limits.Hi); {
			case p.compare(lo) < 0:
				read = lo
			case p.compare(hi) > 0:
				read = hi
			}
			if before.has(p) != set.has(read) || before.null != set.null {
				t.Fatalf("%v is clamped to %v by %s: it is in %v", p, read, limits, before)
			}
		}
	})
}

// TestCompared: what a comparison with a value somewhere between two says holds of all that it is true of.
func TestCompared(t *testing.T) {
	numbers, _ := places()
	for operator := range comparisons {
		for i, lo := range numbers {
			for _, hi := range numbers[i:] {
				set := valueSet{segments: compared(operator, segment{end{at: lo}, end{at: hi}})}
				for _, q := range numbers {
					if q.compare(lo) < 0 || q.compare(hi) > 0 {
						continue
					}
					is := valueSet{segments: compared(operator, only(q))}
					for _, p := range numbers {
						if is.has(p) && !set.has(p) {
							t.Fatalf("%v %s %v, which is between %v and %v: not in %v", p, operator, q, lo, hi, set)
						}
					}
				}
			}
		}
	}
}

package estimate

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// ranked is a group in an order: its value, and how far it may be off.
type ranked struct {
	value, margin float64
	joint         bool // what others are computed of may be in it, too
}

// mostPlaces bounds the places of which is said whether they are certain.
const mostPlaces = 1000

// Places are the places of an answer that is sorted by released values: the first sure of shown are certain.
type Places struct {
	by          *rewrite.Formula
	ranked      bool // by a window: the answer may be in another order
	sure, shown int
	unknown     bool // nobody knows whether any is
}

// Places finds those of an answer; none: it is in no order of released values, or has one row.
func (a *Answer) Places() Places {
	o := a.Plan.Order
	if o == nil {
		return Places{}
	}
	list, block, ok := a.ranking(*o)
	if !ok {
		several := slices.ContainsFunc(a.Blocks, func(r Block) bool { return r.Keys.Len() > 1 })
		return Places{by: o.By, ranked: o.Ranked, unknown: several}
	}
	shown := len(list)
	if limit := a.Plan.Blocks[block].Limit; limit > 0 {
		shown = min(shown, limit)
	}
	sure := min(certain(list), shown)
	if shown == len(list) && sure == shown-1 {
		sure = shown // the last place follows from the others
	}
	return Places{by: o.By, ranked: o.Ranked, sure: sure, shown: shown}
}

// Hint says how many of the first places of an answer are certain; empty: all that are shown are (docs/mechanisms.md,
// section 18).
func (p Places) Hint() string {
	if p.sure == p.shown && !p.unknown {
		return ""
	}
	text := fmt.Sprintf("Places 1 to %d are within the noise.", p.shown)
	switch first := firstPlaces(p.sure); {
	case p.unknown:
		text = "Any place may be within the noise."
	case p.sure == 0:
	case p.shown == p.sure+1:
		text = fmt.Sprintf("%s, place %d is within the noise.", first, p.shown)
	default:
		text = fmt.Sprintf("%s, places %d to %d are within the noise.", first, p.sure+1, p.shown)
	}
	if p.ranked {
		return "By rank: " + strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// Of lists the places of rows that are sorted by a formula, those that are certain each by itself: «1, 2, 3–10»; empty:
// they are in another order.
func (p Places) Of(f *rewrite.Formula) string {
	if p.shown == 0 || !reflect.DeepEqual(f, p.by.Same()) {
		return ""
	}
	var list []string
	for i := 1; i <= p.sure && p.sure <= 3; i++ {
		list = append(list, strconv.Itoa(i))
	}
	if p.sure > 3 {
		list = append(list, fmt.Sprintf("1, 2 … %d", p.sure))
	}
	switch p.shown - p.sure {
	case 0:
	case 1:
		list = append(list, fmt.Sprintf("≥%d", p.shown))
	default:
		list = append(list, fmt.Sprintf("%d–%d", p.sure+1, p.shown))
	}
	return strings.Join(list, ", ")
}

func firstPlaces(n int) string {
	if n == 1 {
		return "The first place is certain"
	}
	return fmt.Sprintf("The first %d places are certain", n)
}

// ranking lists the groups of a block in an order. Not ok: they are not in one, or one has no value or no margin.
func (a *Answer) ranking(o rewrite.Order) (list []ranked, block int, ok bool) {
	of, block, ok := a.leaves(o.By)
	if !ok {
		return nil, 0, false
	}
	c := &computing{Answer: Answer{a.Statement, slices.Clone(a.Blocks)}, part: 1}
	if len(of) > 1 {
		c.part = 1 / float64(2*len(of)) // two groups are compared
	}
	for i := range c.Blocks {
		c.Blocks[i].chosen = 0 // places are held to a probability of their own
	}
	for c.group = range a.Blocks[block].Keys.Len() {
		e, _, ok := c.value(o.By)
		if !ok {
			return nil, 0, false
		}
		one := ranked{e.at, e.margin(), len(of) > 1}
		if o.Descending {
			one.value = -one.value
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.value, b.value) })
	return list, block, true
}

// certain is how many of the first places are further from all that follow than by the margin of the difference. It
// ends at the first that is not: so it says more than is true as seldom as one comparison errs.
func certain(list []ranked) int {
	for i, a := range list[:min(len(list), mostPlaces)] {
		if slices.ContainsFunc(list[i+1:], func(b ranked) bool { return b.value-a.value <= a.from(b) }) {
			return i
		}
	}
	return min(len(list), mostPlaces)
}

// from is the margin of the difference of two groups.
func (a ranked) from(b ranked) float64 {
	if a.joint {
		return a.margin + b.margin
	}
	return math.Hypot(a.margin, b.margin)
}

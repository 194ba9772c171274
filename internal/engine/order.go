package engine

import (
	"cmp"
	"fmt"
	"math"
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

// ordering are the places of an answer that is sorted by released values: the first sure of shown are certain.
type ordering struct {
	by          *rewrite.Formula
	ranked      bool // by a window: the answer may be in another order
	sure, shown int
	unknown     bool // nobody knows whether any is
}

// ordered finds the places of an answer; none: it is in no order of released values, or has one row.
func (p *calibrated) ordered(answer []released) ordering {
	o := p.plan.Order
	if o == nil {
		return ordering{}
	}
	list, block, ok := p.ranking(*o, answer)
	if !ok {
		several := slices.ContainsFunc(answer, func(r released) bool { return r.Keys.Len() > 1 })
		return ordering{by: o.By, ranked: o.Ranked, unknown: several}
	}
	shown := len(list)
	if limit := p.plan.Blocks[block].Limit; limit > 0 {
		shown = min(shown, limit)
	}
	sure := min(certain(list), shown)
	if shown == len(list) && sure == shown-1 {
		sure = shown // the last place follows from the others
	}
	return ordering{by: o.By, ranked: o.Ranked, sure: sure, shown: shown}
}

// hint says how many of the first places of an answer are certain; empty: all that are shown are (docs/mechanisms.md,
// section 18).
func (of ordering) hint() string {
	if of.sure == of.shown && !of.unknown {
		return ""
	}
	text := fmt.Sprintf("Places 1 to %d are within the noise.", of.shown)
	switch first := firstPlaces(of.sure); {
	case of.unknown:
		text = "Any place may be within the noise."
	case of.sure == 0:
	case of.shown == of.sure+1:
		text = fmt.Sprintf("%s, place %d is within the noise.", first, of.shown)
	default:
		text = fmt.Sprintf("%s, places %d to %d are within the noise.", first, of.sure+1, of.shown)
	}
	if of.ranked {
		return "By rank: " + strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// text lists the places, those that are certain each by itself: «1, 2, 3–10».
func (of ordering) text() string {
	var list []string
	for i := 1; i <= of.sure && of.sure <= 3; i++ {
		list = append(list, strconv.Itoa(i))
	}
	if of.sure > 3 {
		list = append(list, fmt.Sprintf("1, 2 … %d", of.sure))
	}
	switch of.shown - of.sure {
	case 0:
	case 1:
		list = append(list, fmt.Sprintf("≥%d", of.shown))
	default:
		list = append(list, fmt.Sprintf("%d–%d", of.sure+1, of.shown))
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
func (p *calibrated) ranking(o rewrite.Order, answer []released) (list []ranked, block int, ok bool) {
	of, block, ok := p.leaves(o.By, answer)
	if !ok {
		return nil, 0, false
	}
	c := &computing{calibrated: p, answer: slices.Clone(answer), part: 1}
	if len(of) > 1 {
		c.part = 1 / float64(2*len(of)) // two groups are compared
	}
	for i := range c.answer {
		c.answer[i].share = 0 // places are held to a probability of their own
	}
	for c.group = range answer[block].Keys.Len() {
		e, _, ok := c.value(o.By)
		if !ok {
			return nil, 0, false
		}
		value, margin := e.at, math.Max(e.at-e.lo, e.hi-e.at)
		if o.Descending {
			value = -value
		}
		list = append(list, ranked{value, margin, len(of) > 1})
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

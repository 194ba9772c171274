package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// ranked is a group in the order of an aggregate: its value, and how far it may be off.
type ranked struct{ value, margin float64 }

// mostPlaces bounds the places of which is said whether they are certain.
const mostPlaces = 1000

// ordering are the places of an answer that is sorted by an aggregate: the first sure of shown are certain.
type ordering struct {
	block, column int
	ranked        bool // by a window: the answer may be in another order
	sure, shown   int
}

// ordered finds the places of an answer; none: it is in no order of an aggregate, or its margins are not known.
func (p *calibrated) ordered(answer []released) ordering {
	for i := range p.plan.Blocks {
		o := p.plan.Blocks[i].Order
		if o == nil {
			continue
		}
		list := p.ranking(i, p.plan.Blocks[i].Columns[o.Column], answer[i], o.Descending)
		shown := len(list)
		if limit := p.plan.Blocks[i].Limit; limit > 0 {
			shown = min(shown, limit)
		}
		sure := min(certain(list), shown)
		if shown == len(list) && sure == shown-1 {
			sure = shown // the last place follows from the others
		}
		return ordering{i, o.Column, o.Ranked, sure, shown}
	}
	return ordering{}
}

// hint says how many of the first places of an answer are certain; empty: all that are shown are, or it is not known (docs/mechanisms.md,
// section 18).
func (of ordering) hint() string {
	if of.sure == of.shown {
		return ""
	}
	text := fmt.Sprintf("Places 1 to %d are within the noise.", of.shown)
	switch first := firstPlaces(of.sure); {
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

// ranking lists the groups in the order of an aggregate; empty where one has no value or no margin.
func (p *calibrated) ranking(block int, c rewrite.Column, r released, descending bool) []ranked {
	if c.Choice || c.Type == pgtype.BoolOID {
		return nil
	}
	r.share = 0 // places are held to a probability of their own
	var list []ranked
	for g := range r.Keys.Len() {
		i, ok := p.interval(block, c, r, g)
		value, by := p.steps(block, c, r, g)
		if !ok || by <= 0 {
			return nil
		}
		if descending {
			value = -value
		}
		list = append(list, ranked{value, math.Max(i.below, i.above) / by})
	}
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Compare(a.value, b.value) })
	return list
}

// certain is how many of the first places are further from all that follow than by the margin of the difference. It
// ends at the first that is not: so it says more than is true as seldom as one comparison errs.
func certain(list []ranked) int {
	for i, a := range list[:min(len(list), mostPlaces)] {
		if slices.ContainsFunc(list[i+1:], func(b ranked) bool { return b.value-a.value <= math.Hypot(a.margin, b.margin) }) {
			return i
		}
	}
	return min(len(list), mostPlaces)
}

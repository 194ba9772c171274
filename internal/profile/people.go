package profile

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Quantiles below leastQuantile say little, and none is taken below goodQuantile to find more.
const leastQuantile, goodQuantile = 0.9, 0.95

// takeUnits reads how many units there are, at least.
func (f *findings) takeUnits(at *answer) {
	if !f.usable(at) {
		return
	}
	if n, err := strconv.ParseFloat(at.rows[0][0], 64); err == nil {
		f.units[place{at.table, at.column}] = n
	}
}

// unitsFor is how many units have what a question is about, at least.
func (f *findings) unitsFor(q *question) float64 {
	if n, ok := f.units[place{q.table, q.column}]; ok {
		return n
	}
	return f.units[place{q.table, ""}]
}

// measureOff says of planned questions how many units each needs beyond its quantile, so that it says something of
// them: by how many ranks that may be beside its own, the exponential mechanism being on so many points
// (docs/mechanisms.md, section 9). All of them together are within that 95 % of the time. Of values it is how many
// units must have one for it to be shown, about.
func measureOff(answers []*answer) {
	together := 0
	for _, at := range answers {
		if at.Err == nil && at.kind != valuesKind {
			together += at.releases
		}
	}
	for _, at := range answers {
		epsilon := at.Charge.Curve.Pure / float64(at.releases)
		if at.kind == valuesKind {
			at.off = math.Ceil(1 - math.Log(at.Charge.SelectionDelta)/epsilon)
		} else {
			at.off = math.Ceil(2 * math.Log(float64(at.points*together)/0.05) / epsilon)
		}
	}
}

// support is the best quantile that the units allow, at most the one that is wanted.
func (c *course) support(at *answer) float64 {
	q := 1 - at.off/c.unitsFor(at.question)
	if !(q > 0) {
		return 0
	}
	return math.Min(c.most, math.Floor(1000*q)/1000)
}

// need is how many units would do, rounded up to two digits.
func (c *course) need(at *answer) float64 {
	n := at.off / (1 - c.least())
	digits := math.Pow(10, math.Max(0, math.Floor(math.Log10(n))-1))
	return math.Ceil(n/digits) * digits
}

func (c *course) least() float64 { return math.Min(leastQuantile, c.most) }

// choose plans what the units allow, the most urgent first, each with the best quantile. Where they allow nothing, it
// says how many would.
func (c *course) choose(ctx context.Context, all []*question) (planned, error) {
	var kept []*question
	for u := range urgencies {
		next := kept[:len(kept):len(kept)]
		for _, q := range all {
			if q.urgency == u {
				next = append(next, q)
			}
		}
		if len(next) == len(kept) {
			continue
		}
		tried, err := c.plan(ctx, next, c.price.among(next, 1-countPart))
		if err != nil {
			return planned{}, err
		}
		measureOff(tried.answers)
		if kept = c.fitting(tried.answers, len(kept)); len(kept) == 0 {
			return planned{}, nil
		}
	}
	plan, err := c.plan(ctx, kept, c.price.among(kept, 1-countPart))
	if err != nil {
		return planned{}, err
	}
	measureOff(plan.answers)
	for _, at := range plan.answers {
		if at.Err == nil && at.kind != valuesKind {
			at.fraction = c.support(at)
		}
	}
	if plan, err = c.plan(ctx, kept, c.price.among(kept, 1-countPart)); err == nil {
		measureOff(plan.answers)
	}
	return plan, err
}

// fitting lists the questions that the units allow. The first of them are kept whatever comes; where more would take
// from them what they need, nothing more is asked.
func (c *course) fitting(answers []*answer, kept int) []*question {
	crowded, few := false, answers[0]
	var fit []*question
	for i, at := range answers {
		if i < kept {
			crowded = crowded || at.Err == nil && c.support(at) < math.Min(goodQuantile, c.most)
		}
		// why it cannot be asked is said with what is found
		if i < kept || !crowded && (at.Err != nil || c.support(at) >= c.least()) {
			fit = append(fit, at.question)
		} else if c.need(at) > c.need(few) {
			few = at
		}
	}
	if len(fit) == 0 {
		c.result.TooFew = fmt.Errorf(
			"too few for bounds: at least %.0f are counted (privacy unit: %s), and at this epsilon about %.0f would do. "+
				"A twentieth of the price is spent, the rest is not", c.unitsFor(few.question), few.table.Unit.Name, c.need(few))
		return nil
	}
	for _, at := range answers[kept:] {
		switch {
		case slices.Contains(fit, at.question):
		case crowded:
			c.remark(
				at.question,
				"not asked, as it would take from what is worth more; a larger --epsilon or --table leaves room for it")
		default:
			c.remark(
				at.question, "not asked: at least %.0f have one (privacy unit: %s), and at this epsilon it takes about %.0f",
				c.unitsFor(at.question), at.table.Unit.Name, c.need(at))
		}
	}
	return fit
}

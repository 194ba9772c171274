package mechanism

import (
	"context"
	"fmt"
)

// PrepareVector prepares the releases of one block, which share one guarantee: every layer gets the part of it that its
// weight says. Under a pure guarantee it also tries one vector of joint noise for all releases that can be its
// coordinates, at what their layers have together, and takes it if the sum of their expected squared errors, in units
// of Total², is smaller (docs/mechanisms.md, section 14). A coordinate is a Scalar with one interval or a SumGivenCount
// whose Row is set and whose policy leaves the mechanism open; all of them count the same rows of a unit. The others
// keep their share. It stops where ctx ends, between two releases.
func PrepareVector(ctx context.Context, list []Release, g Guarantee) ([]*Prepared, error) {
	out := make([]*Prepared, len(list))
	parts := share(list, g)
	for _, sorted := range Families(list) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := prepareQuantiles(list, sorted, parts[sorted[0]], out); err != nil {
			return nil, err
		}
	}
	for i, part := range parts {
		if list[i].InFamily() {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p, err := Prepare(list[i], part)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	if g.pure() {
		join(list, out)
	}
	return out, nil
}

// share gives every release its part of g: layers share it by weight, the largest of their members', and every member
// has the whole part of its layer.
func share(list []Release, g Guarantee) []Guarantee {
	groups := layers(list)
	weights, total := make([]int, len(groups)), 0
	for k, members := range groups {
		for _, i := range members {
			weights[k] = max(weights[k], list[i].Weight, 1)
		}
		total += weights[k]
	}
	parts := make([]Guarantee, len(list))
	for k, members := range groups {
		f := float64(weights[k]) / float64(total)
		for _, i := range members {
			parts[i] = Guarantee{Epsilon: g.Epsilon * f, Delta: g.Delta * f, Order: g.Order}
		}
	}
	return parts
}

// String names a candidate: "laplace truncate (tight, pure)".
func (c Candidate) String() string {
	joint := ""
	if c.Joint {
		joint = " joint"
	}
	return fmt.Sprintf("%s %s%s (%s, %s)", c.Noise, c.Bounding, joint, c.Calibration, c.Guarantee)
}

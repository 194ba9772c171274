package release

import (
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// PlanWithin notes wanted margins at the releases, in grid steps. A release that makes an aggregate alone, with a range
// that follows from no other, has a margin before anything is known of the rows. That of an average follows from its
// count, once that is released.
func (k *Block) PlanWithin(b *relation.Base, list []bind.Within) error {
	for _, w := range list {
		column := k.Columns[w.Call]
		if r := k.averaged(column); r != nil {
			if margin := w.Margin / stepOf(*r); r.RowMargin == 0 || margin < r.RowMargin {
				r.RowMargin = margin
			}
			continue
		}
		counted := len(column.Releases) == 1 && column.Type != pgtype.BoolOID && column.Type != pgtype.IntervalOID &&
			!column.Choice
		if !counted || k.Releases[column.Releases[0]].Kind != mechanism.Scalar {
			return b.Refuse(refusal.Margin, w.Node, fmt.Sprintf(
				"the margin of %s follows from released values, and cannot be chosen before", column.Name),
				"Only counts, averages, and sums of numbers that the query does not average too, keep a margin.")
		}
		r := &k.Releases[column.Releases[0]]
		steps := int64(math.Min(w.Margin/stepOf(*r), bounds.MaxTotal))
		if steps < 1 {
			return b.Error(pgerr.InvalidParameterValue, w.Node, fmt.Sprintf("a margin of %g is finer than the grid of %s, %g",
				w.Margin, column.Name, stepOf(*r)), "Ask for a wider margin.")
		}
		if r.Margin == 0 || steps < r.Margin {
			r.Margin = steps
		}
	}
	return nil
}

// averaged returns the sum that an average of numbers is made of; nil for anything else.
func (k *Block) averaged(c Column) *mechanism.Release {
	if !c.Average || c.Type == pgtype.IntervalOID || len(c.Releases) != 2 {
		return nil
	}
	r := &k.Releases[c.Releases[0]]
	if r.Kind != mechanism.SumGivenCount || r.CountRef != c.Releases[1] {
		return nil
	}
	return r
}

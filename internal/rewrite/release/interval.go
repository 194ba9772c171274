package release

import (
	"fmt"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// PlanIntervals computes intervals from the released value and public quantities (docs/mechanisms.md, section 8).
func (k *Block) PlanIntervals(b *relation.Base, list []bind.Interval) error {
	for _, i := range list {
		uses := k.Columns[i.Call].Releases
		if len(uses) == 0 {
			return b.Refuse(pgerr.FeatureNotSupported, i.Node, "this aggregate has no interval", "")
		}
		main := k.Releases[uses[0]]
		if i.What != aggregate.DerivedStddev {
			end, err := k.intervalEnd(k.Outputs[i.Call], uses, i.What)
			if err != nil {
				return b.Located(err, i.Node)
			}
			k.Intervals = append(k.Intervals, end)
			continue
		}
		sd := query.Scalar(query.F("{} * {}::float8", k.derive(uses[0], i.What), fmt.Sprintf("%g", stepOf(main))))
		switch {
		case main.Kind == mechanism.Scalar && len(uses) == 1, main.Kind == mechanism.Quantile:
		case main.Kind == mechanism.SumGivenCount && len(uses) == 2:
			if k.Columns[i.Call].Average {
				sd = query.F("{} / NULLIF({}, 0)", sd, ReleasedColumn(uses[1]))
			}
		default:
			return b.Refuse(pgerr.FeatureNotSupported, i.Node, "noise_stddev is available for counts, sums, averages and quantiles", "Ask for noise_stddev of a count or an average of the same column instead.")
		}
		k.Intervals = append(k.Intervals, sd)
	}
	return nil
}

// intervalEnd prints the aggregate's formula with ends of intervals in place of its releases. The formula of a sum given its count
// grows with the sum and is monotone in the count, so its extremes lie at corners.
func (k *Block) intervalEnd(formula query.Scalar, uses []int, what aggregate.Derived) (query.Scalar, error) {
	with := func(formula query.Scalar, release int, value query.Scalar) query.Scalar {
		return query.Map{Scalar: func(x query.Scalar) query.Scalar {
			if n, ok := x.(query.Name); ok && n == ReleasedColumn(release) {
				return value
			}
			return x
		}}.OfScalar(formula)
	}
	first := with(formula, uses[0], k.derive(uses[0], what))
	switch {
	case len(uses) == 1:
		return first, nil
	case len(uses) == 2 && k.Releases[uses[0]].Kind == mechanism.SumGivenCount:
		extreme := "LEAST"
		if what == aggregate.DerivedHigh {
			extreme = "GREATEST"
		}
		few := with(first, uses[1], query.F("GREATEST({}, 1)", k.derive(uses[1], aggregate.DerivedLow)))
		many := with(first, uses[1], k.derive(uses[1], aggregate.DerivedHigh))
		return query.F("{}({}, {})", extreme, few, many), nil
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "intervals are available for counts, sums, averages and quantiles",
		pgerr.Hint("Ask for the interval of an average or a sum instead."))
}

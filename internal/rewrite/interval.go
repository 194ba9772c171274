package rewrite

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// interval is a call of dpproxy.interval_low, interval_high or noise_stddev on one aggregate.
type interval struct {
	call int
	what Derived
	node *pg_query.Node
}

// intervalFunction recognises the functions of schema dpproxy that speak of noise; "" for any other.
func intervalFunction(f *pg_query.FuncCall) Derived {
	names := stringList(f.Funcname)
	if len(names) != 2 || names[0] != "dpproxy" {
		return ""
	}
	return map[string]Derived{"interval_low": DerivedLow, "interval_high": DerivedHigh, "noise_stddev": DerivedStddev}[names[1]]
}

// interval replaces such a call by a column of the block.
func (c *cut) interval(n *pg_query.Node, f *pg_query.FuncCall, what Derived) (*pg_query.Node, bool, error) {
	if len(f.Args) != 1 || !isAggregate(f.Args[0]) {
		return nil, false, c.b.refuse(pgerr.FeatureNotSupported, n, "the argument must be one aggregate over private rows", "Write dpproxy.interval_low(avg(x)), and compute above it.")
	}
	c.intervals = append(c.intervals, interval{c.call(f.Args[0]), what, n})
	return columnRef(c.table, fmt.Sprintf("i%d", len(c.intervals))), false, nil
}

// planIntervals computes intervals from the released value and public quantities (docs/privacy.md, P16).
func (k *block) planIntervals(b *builder, list []interval) error {
	for _, i := range list {
		uses := k.columns[i.call].Releases
		if len(uses) == 0 {
			return b.refuse(pgerr.FeatureNotSupported, i.node, "this aggregate has no interval", "")
		}
		main := k.releases[uses[0]]
		if i.what != DerivedStddev {
			end, err := k.intervalEnd(k.outputs[i.call], uses, i.what)
			if err != nil {
				return b.located(err, i.node)
			}
			k.intervals = append(k.intervals, end)
			continue
		}
		sd := query.Scalar(query.F("{} * {}::float8", k.derive(uses[0], i.what), fmt.Sprintf("%g", stepOf(main))))
		switch {
		case main.Kind == mechanism.Scalar && len(uses) == 1, main.Kind == mechanism.Quantile:
		case main.Kind == mechanism.Chained && len(uses) == 2:
			if k.columns[i.call].Average {
				sd = query.F("{} / NULLIF({}, 0)", sd, r(uses[1]))
			}
		default:
			return b.refuse(pgerr.FeatureNotSupported, i.node, "noise_stddev is available for counts, sums, averages and quantiles", "Ask for that of the counts and averages beside it.")
		}
		k.intervals = append(k.intervals, sd)
	}
	return nil
}

// intervalEnd is the aggregate's own formula with ends of intervals in place of its releases. A chained sum's formula grows
// with the sum and is monotone in the count, so its extremes lie at corners.
func (k *block) intervalEnd(formula query.Scalar, uses []int, what Derived) (query.Scalar, error) {
	with := func(formula query.Scalar, release int, value query.Scalar) query.Scalar {
		return query.Map{Scalar: func(x query.Scalar) query.Scalar {
			if n, ok := x.(query.Name); ok && n == r(release) {
				return value
			}
			return x
		}}.OfScalar(formula)
	}
	first := with(formula, uses[0], k.derive(uses[0], what))
	switch {
	case len(uses) == 1:
		return first, nil
	case len(uses) == 2 && k.releases[uses[0]].Kind == mechanism.Chained:
		extreme := "LEAST"
		if what == DerivedHigh {
			extreme = "GREATEST"
		}
		few := with(first, uses[1], query.F("GREATEST({}, 1)", k.derive(uses[1], DerivedLow)))
		many := with(first, uses[1], k.derive(uses[1], DerivedHigh))
		return query.F("{}({}, {})", extreme, few, many), nil
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "intervals are available for counts, sums, averages and quantiles",
		pgerr.Hint("Ask for the interval of an average or a sum instead."))
}

package bind

import (
	"fmt"
	"math"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Interval is a call of dpproxy.interval_low, interval_high or noise_stddev on one aggregate.
type Interval struct {
	Call int
	What aggregate.Derived
	Node *pg_query.Node
}

// IntervalFunction recognises dpproxy.interval_low, interval_high and noise_stddev; "" for any other function.
func IntervalFunction(f *pg_query.FuncCall) aggregate.Derived {
	names := sqltree.StringList(f.GetFuncname())
	if len(names) != 2 || names[0] != "dpproxy" {
		return ""
	}
	return map[string]aggregate.Derived{
		"interval_low": aggregate.DerivedLow, "interval_high": aggregate.DerivedHigh,
		"noise_stddev": aggregate.DerivedStddev,
	}[names[1]]
}

// interval replaces such a call by a column of the block.
func (c *AggregateSplitter) interval(n *pg_query.Node, f *pg_query.FuncCall, what aggregate.Derived) (
	*pg_query.Node, bool, error,
) {
	if len(f.Args) == 1 && f.Args[0].GetFuncCall().GetOver() != nil && what != aggregate.DerivedStddev {
		return n, true, nil // of a sum over groups
	}
	if len(f.Args) != 1 || !sqltree.IsAggregate(f.Args[0]) {
		return nil, false, c.b.Refuse(refusal.NeedsAggregate, n, "the argument must be one aggregate over private rows",
			"Write dpproxy.interval_low(avg(x)), and compute above it.")
	}
	c.Intervals = append(c.Intervals, Interval{c.call(f.Args[0]), what, n})
	return sqltree.ColumnRef(c.table, fmt.Sprintf("i%d", len(c.Intervals))), false, nil
}

// Within is a call of dpproxy.within(agg, margin): the aggregate itself, whose release gets what keeps the margin in
// place of its share of ε.
type Within struct {
	Call   int
	Margin float64
	Node   *pg_query.Node
}

// within replaces such a call by the aggregate.
func (c *AggregateSplitter) within(n *pg_query.Node, f *pg_query.FuncCall) (*pg_query.Node, bool, error) {
	if len(f.Args) != 2 || !sqltree.IsAggregate(f.Args[0]) {
		return nil, false, c.b.Refuse(refusal.NeedsAggregate, n, "the first argument must be one aggregate over private rows",
			"Write dpproxy.within(count(*), 20), and compute above it.")
	}
	margin, ok := positive(f.Args[1])
	if !ok {
		return nil, false, c.b.Error(pgerr.InvalidParameterValue, n, "the margin must be a positive constant",
			"Write dpproxy.within(count(*), 20).")
	}
	i := c.call(f.Args[0])
	c.Withins = append(c.Withins, Within{i, margin, n})
	return sqltree.ColumnRef(c.table, fmt.Sprintf("a%d", i+1)), false, nil
}

func positive(n *pg_query.Node) (float64, bool) {
	k := n.GetAConst()
	text := k.GetFval().GetFval()
	if k.GetIval() != nil {
		text = strconv.Itoa(int(k.GetIval().Ival))
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v > 0 && !math.IsInf(v, 0)
}

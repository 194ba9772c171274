package rewrite

import (
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// within is a call of dpproxy.within(agg, margin): the aggregate itself, whose release gets what keeps the margin in place
// of its share of ε.
type within struct {
	call   int
	margin float64
	node   *pg_query.Node
}

func isWithin(f *pg_query.FuncCall) bool {
	names := stringList(f.Funcname)
	return len(names) == 2 && names[0] == "dpproxy" && names[1] == "within"
}

// within replaces such a call by the aggregate.
func (c *cut) within(n *pg_query.Node, f *pg_query.FuncCall) (*pg_query.Node, bool, error) {
	if len(f.Args) != 2 || !isAggregate(f.Args[0]) {
		return nil, false, c.b.refuse(pgerr.FeatureNotSupported, n, "the first argument must be one aggregate over private rows", "Write dpproxy.within(count(*), 20), and compute above it.")
	}
	margin, ok := positive(f.Args[1])
	if !ok {
		return nil, false, c.b.refuse(pgerr.InvalidParameterValue, n, "the margin must be a positive constant", "Write dpproxy.within(count(*), 20).")
	}
	i := c.call(f.Args[0])
	c.withins = append(c.withins, within{i, margin, n})
	return columnRef(c.table, fmt.Sprintf("a%d", i+1)), false, nil
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

// planWithin notes wanted margins at the releases, in grid steps. Only a release that makes an aggregate alone, with a range
// that follows from no other, has a margin before anything is known of the rows.
func (k *block) planWithin(b *builder, list []within) error {
	for _, w := range list {
		column := k.columns[w.call]
		counted := len(column.Releases) == 1 && column.Type != pgtype.BoolOID && column.Type != pgtype.IntervalOID
		if !counted || k.releases[column.Releases[0]].Kind != mechanism.Scalar {
			return b.refuse(pgerr.FeatureNotSupported, w.node, fmt.Sprintf("the margin of %s follows from released values, and cannot be chosen before", column.Name),
				"Only counts, and sums of numbers without an average of the same beside them, keep a margin: the average of n rows is as far off as their sum, divided by n.")
		}
		r := &k.releases[column.Releases[0]]
		steps := int64(math.Min(w.margin/stepOf(*r), maxTotal))
		if steps < 1 {
			return b.refuse(pgerr.InvalidParameterValue, w.node, fmt.Sprintf("a margin of %g is finer than the grid of %s, %g", w.margin, column.Name, stepOf(*r)), "Ask for a wider margin.")
		}
		if r.Margin == 0 || steps < r.Margin {
			r.Margin = steps
		}
	}
	return nil
}

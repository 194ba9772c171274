package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// WithIntervals gives a statement whose outermost SELECT aggregates private rows two more columns behind each aggregate
// x that it returns, x_low and x_high: dpproxy.interval_low(x) and interval_high(x). A cast, a rounding or COALESCE of
// x counts as x: all of them grow with it. So does a sum of the groups of a subquery, as a running total, that has an
// interval. false: there is nothing to add. To DISTINCT nothing is added, since rows that were one would be several.
func (a *Analysis) WithIntervals(st *Statement, maxBytes int) (_ *Statement, added bool, err error) {
	defer guarded(&err)
	if a.cut == nil || !a.cut.Outermost && a.cut.Ends == nil {
		return nil, false, nil
	}
	if x := st.Explain(); x != nil {
		st = x.Inner
	}
	query := sqltree.Clone(st.Node.GetSelectStmt())
	if len(query.DistinctClause) > 0 {
		return nil, false, nil
	}
	// places[i]: where the i-th column is now
	places, targets := make([]int32, len(query.TargetList)+1), []*pg_query.Node(nil)
	for i, t := range query.TargetList {
		targets = append(targets, t)
		places[i+1] = int32(len(targets))
		r := t.GetResTarget()
		if star(r.Val) {
			return nil, false, nil // GROUP BY's columns by * alone: what follows has no number that is known here
		}
		for _, end := range []struct {
			suffix string
			what   aggregate.Derived
		}{{"_low", aggregate.DerivedLow}, {"_high", aggregate.DerivedHigh}} {
			if value := endOf(r.Val, end.what, a.cut.Ends[i]); value != nil && (a.cut.Outermost || a.cut.Ends[i]) {
				targets = append(targets, &pg_query.Node{Node: &pg_query.Node_ResTarget{
					ResTarget: &pg_query.ResTarget{Name: sqltree.OutputName(r) + end.suffix, Val: value},
				}})
			}
		}
	}
	if len(targets) == len(query.TargetList) {
		return nil, false, nil
	}
	query.TargetList = targets
	renumber(query.GroupClause, places)
	renumber(query.SortClause, places)
	text, err := sqltree.Deparse(query)
	if err != nil {
		return nil, false, err
	}
	list, err := Parse(text, maxBytes)
	if err != nil {
		return nil, false, err
	}
	list[0].Offset = st.Offset
	return list[0], true, nil
}

func star(n *pg_query.Node) bool {
	fields := n.GetColumnRef().GetFields()
	return len(fields) > 0 && fields[len(fields)-1].GetAStar() != nil
}

// growing are functions of pg_catalog that do not fall where their first argument grows.
var growing = map[string]bool{"round": true, "trunc": true, "floor": true, "ceil": true, "ceiling": true}

// endOf copies an expression that is an aggregate, or grows with one, with the end of the aggregate's interval in its
// place; nil: it is none. groups says that it is a sum of groups of a subquery.
func endOf(n *pg_query.Node, what aggregate.Derived, groups bool) *pg_query.Node {
	end := sqltree.Clone(n)
	at := aggregateIn(&end, groups)
	if at == nil {
		return nil
	}
	*at = sqltree.OwnCall("interval_"+string(what), *at)
	return end
}

// aggregateIn is the place of the aggregate that an expression is, or grows with; nil: there is none.
func aggregateIn(at **pg_query.Node, groups bool) **pg_query.Node {
	if n := *at; sqltree.IsAggregate(n) && ordered[sqltree.FunctionName(n.GetFuncCall())] {
		return at
	}
	switch v := (*at).GetNode().(type) {
	case *pg_query.Node_TypeCast:
		return aggregateIn(&v.TypeCast.Arg, groups)
	case *pg_query.Node_CoalesceExpr:
		if args := v.CoalesceExpr.Args; len(args) == 2 && args[1].GetAConst() != nil {
			return aggregateIn(&args[0], groups)
		}
	case *pg_query.Node_FuncCall:
		f := v.FuncCall
		switch {
		case sqltree.IsWithin(f) && len(f.Args) == 2:
			*at = f.Args[0]
			return aggregateIn(at, groups)
		case f.Over != nil && sqltree.FunctionName(f) == "sum" && len(f.Args) == 1 &&
			(groups || sqltree.IsAggregate(f.Args[0])):
			return at // of aggregates over groups
		case growing[sqltree.FunctionName(f)] && f.Over == nil && len(f.Args) > 0:
			return aggregateIn(&f.Args[0], groups)
		}
	}
	return nil
}

// ordered are the aggregates whose values have an order: the others have no interval.
var ordered = map[string]bool{
	"count": true, "sum": true, "avg": true, "min": true, "max": true, "stddev": true, "stddev_pop": true,
	"stddev_samp": true, "variance": true, "var_pop": true,
	"var_samp": true, "corr": true, "covar_pop": true, "covar_samp": true, "regr_r2": true, "regr_slope": true,
	"regr_intercept": true, "regr_count": true,
	"regr_avgx": true, "regr_avgy": true, "regr_sxx": true, "regr_sxy": true, "regr_syy": true, "percentile_cont": true,
	"percentile_disc": true,
}

// renumber follows the columns that ORDER BY 2 and GROUP BY 2 name by where they were.
func renumber(clause []*pg_query.Node, places []int32) {
	for _, n := range clause {
		if o := n.GetSortBy(); o != nil {
			n = o.Node
		}
		if set := n.GetGroupingSet(); set != nil {
			renumber(set.Content, places)
		}
		if k := n.GetAConst().GetIval(); k != nil && k.Ival > 0 && int(k.Ival) < len(places) {
			k.Ival = places[k.Ival]
		}
	}
}

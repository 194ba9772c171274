package sqltree

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// HasWindow reports whether an expression calls a window function, outside its subqueries.
func HasWindow(n *pg_query.Node) bool {
	found := false
	Visit(n, func(n *pg_query.Node) bool {
		found = found || n.GetFuncCall().GetOver() != nil
		return !found && n.GetSubLink() == nil
	})
	return found
}

// DistinctOn lists the expressions of DISTINCT ON; nil for any other SELECT.
func DistinctOn(s *pg_query.SelectStmt) []*pg_query.Node {
	if len(s.DistinctClause) == 0 || s.DistinctClause[0].GetNode() == nil {
		return nil
	}
	return s.DistinctClause
}

// Aggregates reports whether a query aggregates: by GROUP BY, HAVING or an aggregate function of its own level.
func Aggregates(s *pg_query.SelectStmt) bool {
	if len(s.GroupClause) > 0 || s.HavingClause != nil {
		return true
	}
	for _, list := range [][]*pg_query.Node{s.TargetList, s.SortClause} {
		for _, n := range list {
			if hasAggregate(n) {
				return true
			}
		}
	}
	return false
}

func hasAggregate(n *pg_query.Node) bool {
	found := false
	Visit(n, func(n *pg_query.Node) bool {
		found = found || IsAggregate(n)
		return !found && n.GetSubLink() == nil
	})
	return found
}

// IsAggregate reports whether a node is a call of one of PostgreSQL's aggregates, and not as a window function.
func IsAggregate(n *pg_query.Node) bool {
	f := n.GetFuncCall()
	if f == nil || f.Over != nil {
		return false
	}
	return f.AggStar || f.AggWithinGroup || f.AggFilter != nil || f.AggDistinct || AggregateNames[FunctionName(f)]
}

// AggregateNames holds the names of all aggregates of PostgreSQL 12 to 17 (pg_aggregate), supported or not.
var AggregateNames = map[string]bool{
	"any_value": true, "array_agg": true, "avg": true, "bit_and": true, "bit_or": true, "bit_xor": true, "bool_and": true,
	"bool_or": true, "corr": true,
	"count": true, "covar_pop": true, "covar_samp": true, "cume_dist": true, "dense_rank": true, "every": true,
	"json_agg": true, "json_object_agg": true,
	"json_agg_strict": true, "json_object_agg_strict": true, "json_object_agg_unique": true,
	"json_object_agg_unique_strict": true,
	"jsonb_agg":                     true, "jsonb_agg_strict": true, "jsonb_object_agg": true,
	"jsonb_object_agg_strict":        true,
	"jsonb_object_agg_unique":        true,
	"jsonb_object_agg_unique_strict": true, "max": true, "min": true, "mode": true, "percent_rank": true,
	"percentile_cont": true, "percentile_disc": true,
	"range_agg": true, "range_intersect_agg": true, "rank": true, "regr_avgx": true, "regr_avgy": true, "regr_count": true,
	"regr_intercept": true,
	"regr_r2":        true, "regr_slope": true, "regr_sxx": true, "regr_sxy": true, "regr_syy": true, "stddev": true,
	"stddev_pop": true, "stddev_samp": true,
	"string_agg": true, "sum": true, "var_pop": true, "var_samp": true, "variance": true, "xmlagg": true,
}

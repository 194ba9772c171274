package rewrite

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// kind says what the rows of a query are.
type kind int

const (
	public   kind = iota // public rows and constants
	released             // computed from released values: anything may be done with them
	private              // about persons: only an aggregate may follow
)

// kindOf sorts a query without planning it.
func (b *builder) kindOf(s *pg_query.SelectStmt, e *env) (kind, error) {
	key := kindKey{s, e}
	if k, ok := b.kinds[key]; ok {
		return k, nil
	}
	if err := b.step(); err != nil {
		return 0, err
	}
	k, err := b.findKind(s, e)
	if err == nil {
		b.kinds[key] = k
	}
	return k, err
}

func (b *builder) findKind(s *pg_query.SelectStmt, e *env) (kind, error) {
	e = withCTEs(s.WithClause, e)
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		l, err := b.kindOf(s.Larg, e)
		if err != nil {
			return 0, err
		}
		r, err := b.kindOf(s.Rarg, e)
		return max(l, r), err
	}
	k := public
	for _, n := range s.FromClause {
		item, err := b.kindOfItem(n, e)
		if err != nil {
			return 0, err
		}
		k = max(k, item)
	}
	if k != private {
		return b.kindOfSubqueries(s, e, k)
	}
	if !aggregates(s) && len(s.DistinctClause) == 0 {
		return private, nil
	}
	probe := *b
	src, err := probe.source(s, e)
	if err != nil {
		return 0, err
	}
	keys, err := probe.groupColumns(s, src)
	if err != nil {
		return 0, err
	}
	for _, c := range keys {
		if c != nil && c.isUnit {
			return private, nil
		}
	}
	return released, nil
}

// kindOfSubqueries raises public to released where an expression holds a subquery over private tables.
func (b *builder) kindOfSubqueries(s *pg_query.SelectStmt, e *env, k kind) (kind, error) {
	var failed error
	for _, t := range s.TargetList {
		visit(t, func(n *pg_query.Node) bool {
			if l := n.GetSubLink(); l != nil && failed == nil {
				var inner kind
				if inner, failed = b.kindOf(l.Subselect.GetSelectStmt(), e); inner != public {
					k = released
				}
				return false
			}
			return failed == nil
		})
	}
	return k, failed
}

func (b *builder) kindOfItem(n *pg_query.Node, e *env) (kind, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_RangeVar:
		if v.RangeVar.Schemaname == "" {
			if c := e.cte(v.RangeVar.Relname); c != nil {
				return b.kindOf(c.query, c.env)
			}
		}
		if t := b.table(v.RangeVar); t != nil {
			if t.Public {
				return public, nil
			}
			return private, nil
		}
		if w := b.view(v.RangeVar); w != nil {
			query, err := viewQuery(w)
			if err != nil {
				return 0, err
			}
			return b.kindOf(query, nil)
		}
		return public, nil
	case *pg_query.Node_RangeSubselect:
		k, err := b.kindOf(v.RangeSubselect.Subquery.GetSelectStmt(), e)
		if err != nil && v.RangeSubselect.Lateral {
			return private, nil // it reads the items beside it: rows per row of those
		}
		return k, err
	case *pg_query.Node_JoinExpr:
		l, err := b.kindOfItem(v.JoinExpr.Larg, e)
		if err != nil {
			return 0, err
		}
		r, err := b.kindOfItem(v.JoinExpr.Rarg, e)
		return max(l, r), err
	case *pg_query.Node_RangeFunction:
		return public, nil
	case *pg_query.Node_RangeTableSample:
		return 0, b.refuse(pgerr.FeatureNotSupported, n, "TABLESAMPLE is not supported", "Leave it out: noise takes nothing from large tables.")
	}
	return 0, b.refuse(pgerr.FeatureNotSupported, n, fmt.Sprintf("this kind of FROM item is not supported: %T", n.GetNode()), "")
}

// withCTEs adds a WITH clause to the environment. A CTE sees those before it.
func withCTEs(w *pg_query.WithClause, outer *env) *env {
	if w == nil {
		return outer
	}
	e := outer
	for _, n := range w.Ctes {
		c := n.GetCommonTableExpr()
		e = &env{outer: e, ctes: map[string]*cte{c.Ctename: {query: c.Ctequery.GetSelectStmt(), columns: stringList(c.Aliascolnames), env: e}}}
	}
	if e != outer && outer != nil {
		e.scope = outer.scope
	}
	return e
}

// aggregates says whether a query aggregates: by GROUP BY, HAVING or an aggregate function of its own level.
func aggregates(s *pg_query.SelectStmt) bool {
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
	visit(n, func(n *pg_query.Node) bool {
		found = found || isAggregate(n)
		return !found && n.GetSubLink() == nil
	})
	return found
}

// isAggregate says whether a node is a call of one of PostgreSQL's aggregates, and not as a window function.
func isAggregate(n *pg_query.Node) bool {
	f := n.GetFuncCall()
	if f == nil || f.Over != nil {
		return false
	}
	return f.AggStar || f.AggWithinGroup || f.AggFilter != nil || f.AggDistinct || aggregateNames[functionName(f)]
}

// functionName is a function's name without its schema; "" for one outside pg_catalog.
func functionName(f *pg_query.FuncCall) string {
	names := stringList(f.Funcname)
	if len(names) == 2 && names[0] != "pg_catalog" {
		return ""
	}
	return names[len(names)-1]
}

// aggregateNames holds the names of all aggregates of PostgreSQL 12 to 17 (pg_aggregate), supported or not.
var aggregateNames = map[string]bool{
	"any_value": true, "array_agg": true, "avg": true, "bit_and": true, "bit_or": true, "bit_xor": true, "bool_and": true, "bool_or": true, "corr": true,
	"count": true, "covar_pop": true, "covar_samp": true, "cume_dist": true, "dense_rank": true, "every": true, "json_agg": true, "json_object_agg": true,
	"json_agg_strict": true, "json_object_agg_strict": true, "json_object_agg_unique": true, "json_object_agg_unique_strict": true,
	"jsonb_agg": true, "jsonb_agg_strict": true, "jsonb_object_agg": true, "jsonb_object_agg_strict": true, "jsonb_object_agg_unique": true,
	"jsonb_object_agg_unique_strict": true, "max": true, "min": true, "mode": true, "percent_rank": true, "percentile_cont": true, "percentile_disc": true,
	"range_agg": true, "range_intersect_agg": true, "rank": true, "regr_avgx": true, "regr_avgy": true, "regr_count": true, "regr_intercept": true,
	"regr_r2": true, "regr_slope": true, "regr_sxx": true, "regr_sxy": true, "regr_syy": true, "stddev": true, "stddev_pop": true, "stddev_samp": true,
	"string_agg": true, "sum": true, "var_pop": true, "var_samp": true, "variance": true, "xmlagg": true,
}

// mixedUnits is said of a query over tables with two kinds of units (PRIVACY 1).
func mixedUnits(a, b string) string {
	return fmt.Sprintf("tables whose privacy unit is %s and tables whose privacy unit is %s cannot be used in one query", a, b)
}

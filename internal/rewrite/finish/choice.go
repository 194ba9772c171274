package finish

import (
	"slices"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Which groups an answer shows may follow from what was released of them: by HAVING, by LIMIT behind an order, or by
// conditions of the queries around (docs/privacy.md P17a). Of these queries names are looked at alone: what may be so
// counts as being so.

// choices say what released values may choose in the queries around the one that is being rewritten.
type choices struct {
	rows   bool                   // by conditions
	limits []*pg_query.SelectStmt // of queries in an order by them
}

func (c choices) and(o choices) choices {
	return choices{c.rows || o.rows, slices.Concat(c.limits, o.limits)}
}

// valueNames are the names of outputs that any query of the statement computes of aggregates, or may compute of them.
func valueNames(query *pg_query.SelectStmt) map[string]bool {
	names := map[string]bool{}
	add := func(n *pg_query.Node) bool {
		for _, t := range n.GetSelectStmt().GetTargetList() {
			if r := t.GetResTarget(); ofValues(r.GetVal(), names) {
				names[sqltree.OutputName(r)] = true
			}
		}
		renamed := slices.Concat(n.GetRangeSubselect().GetAlias().GetColnames(), n.GetRangeVar().GetAlias().GetColnames(),
			n.GetCommonTableExpr().GetAliascolnames())
		for _, alias := range renamed {
			names[alias.GetString_().GetSval()] = true
		}
		return true
	}
	for before := -1; before < len(names); {
		before = len(names)
		sqltree.Visit(sqltree.SelectNode(query), add)
	}
	return names
}

// ofValues reports whether an expression reads an output of one of these names, or aggregates.
func ofValues(n *pg_query.Node, names map[string]bool) bool {
	return sqltree.Any(n, func(n *pg_query.Node) bool {
		fields := sqltree.StringList(n.GetColumnRef().GetFields())
		return sqltree.IsAggregate(n) || n.GetFuncCall().GetOver() != nil ||
			len(fields) > 0 && names[fields[len(fields)-1]]
	})
}

// valued reports whether an expression may read released values. The names are found when the first query that asks is
// rewritten, and none within it is yet.
func (b *finisher) valued(n *pg_query.Node) bool {
	if n == nil {
		return false
	}
	if b.values == nil {
		b.values = valueNames(b.root)
	}
	return ofValues(n, b.values)
}

// choicesOf are those of one query over released values.
func (b *finisher) choicesOf(s *pg_query.SelectStmt) (c choices) {
	conditions := []*pg_query.Node{s.WhereClause, s.HavingClause}
	for _, n := range s.FromClause {
		sqltree.Visit(n, func(n *pg_query.Node) bool {
			j := n.GetJoinExpr()
			conditions = append(conditions, j.GetQuals())
			for _, name := range sqltree.StringList(j.GetUsingClause()) {
				conditions = append(conditions, sqltree.ColumnRef("", name))
			}
			c.rows = c.rows || j.GetIsNatural()
			return n.GetRangeSubselect() == nil && n.GetSubLink() == nil
		})
	}
	sorted := (limited(s) || distinctOn(s)) && slices.ContainsFunc(s.SortClause, func(n *pg_query.Node) bool {
		return s.Op != pg_query.SetOperation_SETOP_NONE || b.valued(output(s, n.GetSortBy().GetNode()))
	})
	c.rows = c.rows || sorted && distinctOn(s) || s.Op == pg_query.SetOperation_SETOP_EXCEPT ||
		s.Op == pg_query.SetOperation_SETOP_INTERSECT ||
		slices.ContainsFunc(conditions, b.valued)
	if sorted && limited(s) {
		c.limits = []*pg_query.SelectStmt{s}
	}
	return c
}

// anyChoices are those of all queries within one: any of them may read its CTEs.
func (b *finisher) anyChoices(s *pg_query.SelectStmt) (c choices) {
	sqltree.Visit(sqltree.SelectNode(s), func(n *pg_query.Node) bool {
		if q := n.GetSelectStmt(); q != nil {
			c = c.and(b.choicesOf(q))
		}
		return true
	})
	return c
}

func distinctOn(s *pg_query.SelectStmt) bool {
	return slices.ContainsFunc(s.DistinctClause, func(n *pg_query.Node) bool { return n.GetNode() != nil })
}

// limited reports whether a query leaves out rows by their place.
func limited(s *pg_query.SelectStmt) bool {
	return s.GetLimitCount() != nil || s.GetLimitOffset() != nil
}

// limit is a LIMIT that is a constant, of the first rows; 0: there is none.
func limit(s *pg_query.SelectStmt) int {
	if first := s.GetLimitOffset(); first != nil && first.GetAConst().GetIval() == nil ||
		first.GetAConst().GetIval().GetIval() > 0 {
		return 0
	}
	return int(s.GetLimitCount().GetAConst().GetIval().GetIval())
}

// chosen notes how released values choose among the groups of a block, and which calls are read for that. direct says
// that the answer has all groups but for that.
func (b *finisher) chosen(s *pg_query.SelectStmt, alias string, l *level, direct bool) {
	by, calls := b.limitOf(s, alias)
	exact := direct && limit(by) > 0 && len(l.groups.sets) == 1
	if exact {
		l.limit = limit(by)
	}
	having := callsIn(s.HavingClause, alias)
	if distinctOn(s) {
		having = append(having, sortedBy(s, alias)...)
	}
	around := b.choosing.rows || slices.ContainsFunc(b.choosing.limits, func(q *pg_query.SelectStmt) bool {
		return q != s && q != by
	})
	l.chosen = around || by != nil && !exact || len(having) > 0
	l.choosers = append(calls, having...)
	if around {
		for i := range l.calls {
			l.choosers = append(l.choosers, i)
		}
	}
}

// sortedBy are the calls of a block that its query sorts by.
func sortedBy(s *pg_query.SelectStmt, alias string) (calls []int) {
	for _, t := range s.SortClause {
		calls = append(calls, callsIn(output(s, t.GetSortBy().GetNode()), alias)...)
	}
	return calls
}

// limitOf is the query of groups, or the query around it, that leaves groups out by their place in an order of what is
// released of them, and the calls that it orders by; nil: neither does.
func (b *finisher) limitOf(s *pg_query.SelectStmt, alias string) (by *pg_query.SelectStmt, calls []int) {
	if calls = sortedBy(s, alias); limited(s) && len(calls) > 0 {
		return s, calls
	}
	calls = nil
	around := b.around[s]
	if !limited(around) {
		return nil, nil
	}
	for _, t := range around.SortClause {
		sqltree.Visit(output(around, t.GetSortBy().GetNode()), func(n *pg_query.Node) bool {
			if names := sqltree.StringList(n.GetColumnRef().GetFields()); len(names) > 0 {
				calls = append(calls, callsIn(named(s, names[len(names)-1]), alias)...)
			}
			return true
		})
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return around, calls
}

// callsIn are the calls of a block that an expression above it reads.
func callsIn(n *pg_query.Node, alias string) (calls []int) {
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		names := sqltree.StringList(n.GetColumnRef().GetFields())
		if len(names) == 2 && names[0] == alias && names[1][0] == 'a' {
			if i, err := strconv.Atoi(names[1][1:]); err == nil {
				calls = append(calls, i-1)
			}
		}
		return true
	})
	return calls
}

package finish

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// Each result column of an answer has a margin, or the answer says that none is known: so every column is followed to
// the released values that it is computed of, through the queries of the finish query.

// column is an output of a query.
type column struct {
	name string
	of   *Formula
}

// source is a FROM item: its outputs, or the block that it reads. A public table has neither.
type source struct {
	alias    string
	columns  []column
	block    int                  // 1 + the placeholder
	released bool                 // which rows there are was released
	query    *pg_query.SelectStmt // of a CTE
}

// names is what the names in a query mean.
type names struct {
	*finisher
	items []source
	ctes  map[string]source
	outer *names
	query *pg_query.SelectStmt

	released bool // which rows the query has was released
}

// namesOf returns what the names in a query mean.
func (b *finisher) namesOf(s *pg_query.SelectStmt, outer *names) *names {
	in := &names{finisher: b, ctes: map[string]source{}, outer: outer, query: s}
	for _, n := range s.GetWithClause().GetCtes() {
		c := n.GetCommonTableExpr()
		query := c.Ctequery.GetSelectStmt()
		list, released := b.columns(query, in)
		in.ctes[c.Ctename] = source{columns: renamed(list, c.Aliascolnames), released: released, query: query}
	}
	for _, n := range s.FromClause {
		in.add(n)
	}
	in.released = slices.ContainsFunc(in.items, func(of source) bool { return of.released }) ||
		sqltree.Any(s.WhereClause, func(n *pg_query.Node) bool { return placeholderOf(n) > 0 })
	return in
}

// placeholderOf is 1 + the number of the block that a FROM item reads; 0: it reads another relation.
func placeholderOf(n *pg_query.Node) int {
	groups := n.GetRangeSubselect().GetSubquery().GetSelectStmt()
	if len(groups.GetFromClause()) > 0 && len(groups.TargetList) > 0 &&
		sqltree.Star(groups.TargetList[0].GetResTarget().Val) {
		n = groups.FromClause[0] // with windows over all groups (addGroups)
	}
	number, is := strings.CutPrefix(n.GetRangeVar().GetRelname(), blockPrefix)
	if i, err := strconv.Atoi(number); is && err == nil {
		return i
	}
	return 0
}

func renamed(list []column, by []*pg_query.Node) []column {
	for i, name := range sqltree.StringList(by) {
		if i < len(list) {
			list[i].name = name
		}
	}
	return list
}

func (in *names) add(n *pg_query.Node) {
	of := source{alias: sqltree.ItemName(n), block: placeholderOf(n)}
	switch v := n.GetNode().(type) {
	case *pg_query.Node_JoinExpr:
		in.add(v.JoinExpr.Larg)
		in.add(v.JoinExpr.Rarg)
		return
	case *pg_query.Node_RangeVar:
		cte := in.cte(v.RangeVar)
		of.columns, of.released = renamed(in.again(cte.columns), v.RangeVar.GetAlias().GetColnames()), cte.released
	case *pg_query.Node_RangeSubselect:
		if of.block == 0 {
			of.columns, of.released = in.columns(v.RangeSubselect.Subquery.GetSelectStmt(), in)
			of.columns = renamed(of.columns, v.RangeSubselect.GetAlias().GetColnames())
		}
	}
	of.released = of.released || of.block > 0
	in.items = append(in.items, of)
}

// cte finds the one that a FROM item names.
func (in *names) cte(v *pg_query.RangeVar) source {
	for ; in != nil && v.GetSchemaname() == ""; in = in.outer {
		if c, ok := in.ctes[v.GetRelname()]; ok {
			return c
		}
	}
	return source{}
}

// again are the outputs of a query that is read once more: of other groups.
func (in *names) again(list []column) (out []column) {
	rows := map[int]int{0: 0}
	for _, c := range list {
		out = append(out, column{c.name, c.of.replaced(func(x Formula) *Formula {
			if _, met := rows[x.Row]; !met {
				in.rows++
				rows[x.Row] = in.rows
			}
			x.Row = rows[x.Row]
			return &x
		})})
	}
	return out
}

// columns are the outputs of a query; released: which rows it has was.
func (b *finisher) columns(s *pg_query.SelectStmt, outer *names) (list []column, released bool) {
	in := b.namesOf(s, outer)
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		list, released = b.columns(s.Larg, in)
		right, also := b.columns(s.Rarg, in)
		for i, c := range right {
			if i < len(list) {
				list[i].of = either(list[i].of, c.of)
			}
		}
		return list, released || also
	}
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		if !sqltree.Star(r.Val) {
			list = append(list, column{sqltree.OutputName(r), in.value(r.Val)})
			continue
		}
		fields := sqltree.StringList(r.Val.GetColumnRef().Fields)
		for _, of := range in.items {
			if len(fields) == 1 || fields[len(fields)-2] == of.alias {
				list = append(list, of.columns...)
			}
		}
	}
	return list, in.released
}

// named is what a column reference means.
func (in *names) named(fields []string) *Formula {
	if in == nil || len(fields) == 0 {
		return public
	}
	name := fields[len(fields)-1]
	for _, of := range in.items {
		if len(fields) > 1 && fields[len(fields)-2] != of.alias {
			continue
		}
		if of.block > 0 {
			return in.ofBlock(of.block-1, name)
		}
		for _, c := range of.columns {
			if c.name == name {
				return c.of
			}
		}
		if len(fields) > 1 {
			return public
		}
		if name == of.alias { // the whole row
			var all []*Formula
			for _, c := range of.columns {
				all = append(all, c.of)
			}
			return mixed(all...)
		}
	}
	return in.outer.named(fields)
}

// ofBlock is what a column of a block's groups means: those but aggregates and windows are keys, or say how far others
// are off.
func (in *names) ofBlock(block int, name string) *Formula {
	f := &Formula{Op: FormulaAggregate, Block: block}
	number, is := strings.CutPrefix(name, "a")
	if !is {
		f.Op = FormulaWindow
		number, is = strings.CutPrefix(name, "w")
	}
	at, err := strconv.Atoi(number)
	if !is && ofEnd(name) {
		f.Op = formulaEnd
		return f
	}
	if !is || err != nil || in.levels[block].compared {
		return public
	}
	f.Column = at - 1
	if !in.oneRow(block) {
		f.Row = block + 1
	}
	return f
}

// ofEnd reports whether a column of a block's groups says how far another is off.
func ofEnd(name string) bool { return strings.HasPrefix(name, "i") || strings.HasPrefix(name, "m") }

// oneRow reports whether a block has one group, of all rows.
func (in *names) oneRow(block int) bool { return len(in.levels[block].groups.keys) == 0 }

// outputsOf are the result columns of a statement that released values are in.
func (b *finisher) outputsOf(s *pg_query.SelectStmt) (out []column) {
	b.rows = len(b.levels)
	list, _ := b.columns(s, nil)
	for _, c := range list {
		if c.of.Derived() {
			out = append(out, c)
		}
	}
	return out
}

package finish

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// decorrelation takes one subquery over private rows apart: what it reads of the public rows around it becomes a group
// key.
type decorrelation struct {
	*outer
	inner   *relation.Relation // the columns of its own FROM
	defined map[string]bool    // the names of FROM items in it
	columns []outerColumn
	failed  bool // it reads what is not public
	grouped bool // a scalar one: it has a row if there are rows (oneValue)
}

// outerColumn is a public column that the subquery reads.
type outerColumn struct {
	of       item
	name     string
	key      *pg_query.Node // as the block reads it
	strict   bool           // a condition holds for no NULL of it
	original *pg_query.Node // as the level around reads it
}

// replaced reads the block's columns in place of those around the subquery. In subqueries of it, names without a table
// are theirs.
func (d *decorrelation) replaced(n *pg_query.Node, nested bool) *pg_query.Node {
	if a := n.GetAExpr(); a != nil && !nested && a.Kind == pg_query.A_Expr_Kind_AEXPR_OP {
		for _, side := range []*pg_query.Node{a.Lexpr, a.Rexpr} {
			if c := d.around(side.GetColumnRef(), false); c != nil {
				c.strict = c.strict || comparisonNames[a.Name[len(a.Name)-1].GetString_().GetSval()]
			}
		}
	}
	out, err := sqltree.RewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if l := n.GetSubLink(); l != nil {
			l.Testexpr = d.replaced(l.Testexpr, nested)
			d.replaced(l.Subselect, true)
			return n, false, nil
		}
		if c := d.around(n.GetColumnRef(), nested); c != nil {
			return sqltree.Clone(c.key), false, nil
		}
		return n, true, nil
	})
	if err != nil {
		panic(err) // the callback gives none
	}
	return out
}

var comparisonNames = map[string]bool{"=": true, "<": true, "<=": true, ">": true, ">=": true, "<>": true}

// around finds the public column that a name in the subquery means; nil where it is one of its own.
func (d *decorrelation) around(ref *pg_query.ColumnRef, nested bool) *outerColumn {
	if ref == nil || len(ref.Fields) > 2 {
		return nil
	}
	names := sqltree.StringList(ref.Fields)
	if len(names) == 2 && d.defined[names[0]] || len(names) == 1 && nested || ref.Fields[len(names)-1].GetAStar() != nil {
		return nil
	}
	if len(names) == 1 {
		if c, err := d.inner.Find("", names[0]); c != nil || err != nil {
			return nil
		}
	}
	return d.column(ref)
}

// column registers a column of the level around once.
func (d *decorrelation) column(ref *pg_query.ColumnRef) *outerColumn {
	of, name, ok := d.outer.column(ref)
	if !ok {
		d.failed = true
		return nil
	}
	for i := range d.columns {
		if c := &d.columns[i]; c.of.node == of.node && c.name == name {
			return c
		}
	}
	c := outerColumn{of: of, name: name, original: sqltree.ColumnRef(of.name, name)}
	c.key = sqltree.ColumnRef("dpo_"+of.name, fmt.Sprintf("c%d", len(d.columns)+1))
	d.columns = append(d.columns, c)
	return &d.columns[len(d.columns)-1]
}

// outside reads the block's columns in an expression of the level around.
func (d *decorrelation) outside(n *pg_query.Node) *pg_query.Node {
	bare := n.GetColumnRef() != nil
	out, err := sqltree.RewriteNode(n, func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if n.GetSubLink() != nil {
			d.failed = true
		}
		ref := n.GetColumnRef()
		if ref == nil {
			return n, true, nil
		}
		c := d.column(ref)
		if c == nil {
			return n, false, nil
		}
		c.strict = c.strict || bare
		return sqltree.Clone(c.key), false, nil
	})
	if err != nil {
		panic(err) // the callback gives none
	}
	return out
}

// block makes the query that releases outputs for every combination of the public columns.
func (d *decorrelation) block(s *pg_query.SelectStmt, conds, outputs []*pg_query.Node) *pg_query.SelectStmt {
	out := newSelect()
	var on, where []*pg_query.Node
	for _, cond := range conds {
		if d.readsKey(cond) {
			on = append(on, cond)
		} else {
			where = append(where, cond)
		}
	}
	from := product(sqltree.Clone(s).FromClause)
	if public := d.public(); len(public) > 0 {
		from = join(pg_query.JoinType_JOIN_INNER, product(public), from, and(on))
	}
	out.FromClause, out.WhereClause = []*pg_query.Node{from}, and(where)
	for i, c := range d.columns {
		out.TargetList = append(out.TargetList, target(fmt.Sprintf("k%d", i+1), sqltree.Clone(c.key)))
		out.GroupClause = append(out.GroupClause, sqltree.Clone(c.key))
	}
	for i, n := range outputs {
		out.TargetList = append(out.TargetList, target(fmt.Sprintf("a%d", i+1), n))
	}
	return out
}

func (d *decorrelation) readsKey(n *pg_query.Node) bool {
	found := false
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if ref := n.GetColumnRef(); ref != nil {
			names := sqltree.StringList(ref.Fields)
			for _, c := range d.columns {
				found = found || len(names) == 2 && names[0] == "dpo_"+c.of.name
			}
		}
		return !found
	})
	return found
}

// public lists the distinct values of the public columns, of each item by itself.
func (d *decorrelation) public() []*pg_query.Node {
	var all []*pg_query.Node
	done := map[*pg_query.Node]bool{}
	for _, c := range d.columns {
		if done[c.of.node] {
			continue
		}
		done[c.of.node] = true
		s := newSelect()
		s.DistinctClause = []*pg_query.Node{{}}
		s.FromClause = []*pg_query.Node{sqltree.Clone(c.of.node)}
		for i, o := range d.columns {
			if o.of.node == c.of.node {
				s.TargetList = append(s.TargetList, target(fmt.Sprintf("c%d", i+1), sqltree.Clone(o.original)))
			}
		}
		all = append(all, subselect(s, "dpo_"+c.of.name))
	}
	return all
}

// neverNull says that what IN compares is NULL in no row of the subquery: by schema, or by its WHERE.
func (d *decorrelation) neverNull(s *pg_query.SelectStmt) bool {
	column := func(n *pg_query.Node) *relation.Column {
		ref := n.GetColumnRef()
		if ref == nil || len(ref.Fields) > 2 {
			return nil
		}
		names := append([]string{""}, sqltree.StringList(ref.Fields)...)
		c, err := d.inner.Find(names[len(names)-2], names[len(names)-1])
		if err != nil {
			return nil
		}
		return c
	}
	x := s.TargetList[0].GetResTarget().GetVal()
	c := column(x)
	if c == nil || !c.Value.Nullable {
		return c != nil || x.GetAConst() != nil && !x.GetAConst().Isnull
	}
	for _, q := range sqltree.Conjuncts(s.WhereClause) {
		if t := q.GetNullTest(); t.GetNulltesttype() == pg_query.NullTestType_IS_NOT_NULL && column(t.GetArg()) == c {
			return true
		}
		a := q.GetAExpr()
		if a.GetKind() == pg_query.A_Expr_Kind_AEXPR_OP && comparisonNames[a.Name[len(a.Name)-1].GetString_().GetSval()] &&
			(column(a.Lexpr) == c || column(a.Rexpr) == c) {
			return true
		}
	}
	return false
}

// matches makes the conditions that find the combination of the row around.
func (d *decorrelation) matches(alias string) []*pg_query.Node {
	var all []*pg_query.Node
	for i, c := range d.columns {
		same := operator("=", sqltree.ColumnRef(alias, fmt.Sprintf("k%d", i+1)), sqltree.Clone(c.original))
		if !c.strict {
			same.GetAExpr().Kind = pg_query.A_Expr_Kind_AEXPR_NOT_DISTINCT
		}
		all = append(all, same)
	}
	return all
}

// exists asks whether the released number of rows can be told from that of no rows: where it cannot, the block has no
// row (docs/privacy.md P17a).
func (d *decorrelation) exists(l *pg_query.SubLink, s *pg_query.SelectStmt, conds []*pg_query.Node) *pg_query.Node {
	block, alias := d.block(s, conds, []*pg_query.Node{countRows()}), d.alias("b")
	d.compare[block] = true
	out := newSelect()
	out.TargetList = []*pg_query.Node{target("", pg_query.MakeAConstIntNode(1, -1))}
	out.FromClause = []*pg_query.Node{subselect(block, alias)}
	out.WhereClause = and(append(d.matches(alias), operator(">", sqltree.ColumnRef(alias, "a1"),
		pg_query.MakeAConstIntNode(0, -1))))
	return sublink(pg_query.SubLinkType_EXISTS_SUBLINK, out, l.Location)
}

// scalar reads the released aggregates: over no rows a count is 0 and any other NULL, or all are if it is grouped.
// Without public columns the subquery is a block already.
func (d *decorrelation) scalar(l *pg_query.SubLink, s *pg_query.SelectStmt, conds []*pg_query.Node) *pg_query.Node {
	alias, counts := d.alias("b"), true
	var outputs []*pg_query.Node
	t := s.TargetList[0].GetResTarget()
	value, err := sqltree.RewriteNode(sqltree.Clone(t.Val), func(n *pg_query.Node) (*pg_query.Node, bool, error) {
		if sqltree.IsAggregate(n) {
			outputs = append(outputs, d.replaced(sqltree.Clone(n), false))
			read := sqltree.ColumnRef(alias, fmt.Sprintf("a%d", len(outputs)))
			if sqltree.FunctionName(n.GetFuncCall()) == "count" && !d.grouped {
				read = coalesce(read, pg_query.MakeAConstIntNode(0, -1))
			} else {
				counts = false
			}
			return read, false, nil
		}
		if n.GetSubLink() != nil {
			d.failed = true
		}
		if c := d.around(n.GetColumnRef(), false); c != nil {
			return sqltree.Clone(c.original), false, nil
		}
		return n, n.GetColumnRef() == nil, nil
	})
	if err != nil {
		panic(err) // the callback gives none
	}
	if d.failed || len(d.columns) == 0 {
		return nil
	}
	one, out, block := newSelect(), newSelect(), d.block(s, conds, outputs)
	d.every[block] = counts
	if d.grouped {
		out.TargetList = []*pg_query.Node{target(sqltree.OutputName(t), value)}
		out.FromClause, out.WhereClause = []*pg_query.Node{subselect(block, alias)}, and(d.matches(alias))
		return sublink(pg_query.SubLinkType_EXPR_SUBLINK, out, l.Location)
	}
	one.TargetList = []*pg_query.Node{target("one", pg_query.MakeAConstIntNode(1, -1))}
	out.TargetList = []*pg_query.Node{target(sqltree.OutputName(t), value)}
	out.FromClause = []*pg_query.Node{join(pg_query.JoinType_JOIN_LEFT, subselect(one, d.alias("o")),
		subselect(block, alias), and(d.matches(alias)))}
	return sublink(pg_query.SubLinkType_EXPR_SUBLINK, out, l.Location)
}

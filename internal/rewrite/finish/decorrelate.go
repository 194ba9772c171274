package finish

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// decorrelation rewrites one subquery over private rows: what it reads of the public rows around it becomes a group
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
	if op := sqltree.Operator(n); op != "" && !nested {
		for _, side := range []*pg_query.Node{n.GetAExpr().Lexpr, n.GetAExpr().Rexpr} {
			if c := d.around(side.GetColumnRef(), false); c != nil {
				c.strict = c.strict || comparisonNames[op]
			}
		}
	}
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if l := n.GetSubLink(); l != nil {
			l.Testexpr = d.replaced(l.Testexpr, nested)
			d.replaced(l.Subselect, true)
			return n, false
		}
		if c := d.around(n.GetColumnRef(), nested); c != nil {
			return sqltree.Clone(c.key), false
		}
		return n, true
	})
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
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		if n.GetSubLink() != nil {
			d.failed = true
		}
		ref := n.GetColumnRef()
		if ref == nil {
			return n, true
		}
		c := d.column(ref)
		if c == nil {
			return n, false
		}
		c.strict = c.strict || bare
		return sqltree.Clone(c.key), false
	})
}

// block makes the query that releases outputs for every combination of the public columns.
func (d *decorrelation) block(s *pg_query.SelectStmt, conds, outputs []*pg_query.Node) *pg_query.SelectStmt {
	out := sqltree.NewSelect()
	var on, where []*pg_query.Node
	for _, cond := range conds {
		if d.readsKey(cond) {
			on = append(on, cond)
		} else {
			where = append(where, cond)
		}
	}
	from := sqltree.Product(sqltree.Clone(s).FromClause)
	if public := d.public(); len(public) > 0 {
		from = sqltree.Join(pg_query.JoinType_JOIN_INNER, sqltree.Product(public), from, sqltree.And(on))
	}
	out.FromClause, out.WhereClause = []*pg_query.Node{from}, sqltree.And(where)
	for i, c := range d.columns {
		out.TargetList = append(out.TargetList, sqltree.Target(fmt.Sprintf("k%d", i+1), sqltree.Clone(c.key)))
		out.GroupClause = append(out.GroupClause, sqltree.Clone(c.key))
	}
	for i, n := range outputs {
		out.TargetList = append(out.TargetList, sqltree.Target(fmt.Sprintf("a%d", i+1), n))
	}
	return out
}

func (d *decorrelation) readsKey(n *pg_query.Node) bool {
	return sqltree.Any(n, func(n *pg_query.Node) bool {
		names := sqltree.StringList(n.GetColumnRef().GetFields())
		return len(names) == 2 && slices.ContainsFunc(d.columns, func(c outerColumn) bool {
			return names[0] == "dpo_"+c.of.name
		})
	})
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
		s := sqltree.NewSelect()
		s.DistinctClause = []*pg_query.Node{{}}
		s.FromClause = []*pg_query.Node{sqltree.Clone(c.of.node)}
		for i, o := range d.columns {
			if o.of.node == c.of.node {
				s.TargetList = append(s.TargetList, sqltree.Target(fmt.Sprintf("c%d", i+1), sqltree.Clone(o.original)))
			}
		}
		all = append(all, sqltree.Subselect(s, "dpo_"+c.of.name))
	}
	return all
}

// selectsNull reports whether what a subquery selects may be NULL in one of its rows.
func (d *decorrelation) selectsNull(s *pg_query.SelectStmt) bool {
	x := s.TargetList[0].GetResTarget().GetVal()
	c, err := find(d.inner, x.GetColumnRef())
	if err != nil || c == nil {
		return x.GetAConst() == nil || x.GetAConst().Isnull
	}
	return !neverNull(d.inner, c, s.WhereClause)
}

// matches makes the conditions that find the combination of the row around.
func (d *decorrelation) matches(alias string) []*pg_query.Node {
	var all []*pg_query.Node
	for i, c := range d.columns {
		same := sqltree.Operation("=", sqltree.ColumnRef(alias, fmt.Sprintf("k%d", i+1)), sqltree.Clone(c.original))
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
	block, alias := d.block(s, conds, []*pg_query.Node{sqltree.CountRows()}), d.alias("b")
	d.compare[block] = true
	out := sqltree.NewSelect(sqltree.Target("", sqltree.Integer(1)))
	out.FromClause = []*pg_query.Node{sqltree.Subselect(block, alias)}
	out.WhereClause = sqltree.And(append(d.matches(alias), sqltree.Operation(">", sqltree.ColumnRef(alias, "a1"),
		sqltree.Integer(0))))
	return sqltree.SubLink(pg_query.SubLinkType_EXISTS_SUBLINK, out, l.Location)
}

// scalar reads the released aggregates: over no rows a count is 0 and any other NULL, or all are if it is grouped.
// Without public columns the subquery is a block already.
func (d *decorrelation) scalar(l *pg_query.SubLink, s *pg_query.SelectStmt, conds []*pg_query.Node) *pg_query.Node {
	alias, counts := d.alias("b"), true
	var outputs []*pg_query.Node
	t := s.TargetList[0].GetResTarget()
	value := sqltree.Replace(sqltree.Clone(t.Val), func(n *pg_query.Node) (*pg_query.Node, bool) {
		if sqltree.IsAggregate(n) {
			outputs = append(outputs, d.replaced(sqltree.Clone(n), false))
			read := sqltree.ColumnRef(alias, fmt.Sprintf("a%d", len(outputs)))
			if sqltree.FunctionName(n.GetFuncCall()) == "count" && !d.grouped {
				read = sqltree.Coalesce(read, sqltree.Integer(0))
			} else {
				counts = false
			}
			return read, false
		}
		if n.GetSubLink() != nil {
			d.failed = true
		}
		if c := d.around(n.GetColumnRef(), false); c != nil {
			return sqltree.Clone(c.original), false
		}
		return n, n.GetColumnRef() == nil
	})
	if d.failed || len(d.columns) == 0 {
		return nil
	}
	out, block := sqltree.NewSelect(sqltree.Target(sqltree.OutputName(t), value)), d.block(s, conds, outputs)
	d.every[block] = counts
	from, on := sqltree.Subselect(block, alias), sqltree.And(d.matches(alias))
	if d.grouped {
		out.WhereClause = on
	} else { // it has a row where there are no rows, too
		one := sqltree.Subselect(sqltree.NewSelect(sqltree.Target("one", sqltree.Integer(1))), d.alias("o"))
		from = sqltree.Join(pg_query.JoinType_JOIN_LEFT, one, from, on)
	}
	out.FromClause = []*pg_query.Node{from}
	return sqltree.SubLink(pg_query.SubLinkType_EXPR_SUBLINK, out, l.Location)
}

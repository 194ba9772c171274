package finish

import (
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// readsDeviation reports whether an expression reads the ends of an interval, or a deviation: it is the analyst's own
// word on how far another is off.
func (in *names) readsDeviation(n *pg_query.Node) bool {
	return sqltree.Any(n, func(n *pg_query.Node) bool {
		fields := sqltree.StringList(n.GetColumnRef().GetFields())
		return len(fields) == 2 && ofEnd(fields[1]) &&
			slices.ContainsFunc(in.items, func(of source) bool { return of.block > 0 && of.alias == fields[0] })
	})
}

// value is what an expression of a query computes.
func (in *names) value(n *pg_query.Node) *Formula {
	in.Take(1)
	switch v := n.GetNode().(type) {
	case nil:
		return public
	case *pg_query.Node_ColumnRef:
		return in.named(sqltree.StringList(v.ColumnRef.Fields))
	case *pg_query.Node_AConst:
		return number(v.AConst)
	case *pg_query.Node_TypeCast:
		return in.cast(v.TypeCast)
	case *pg_query.Node_AExpr:
		return in.operator(n, v.AExpr)
	case *pg_query.Node_FuncCall:
		return in.call(n, v.FuncCall)
	case *pg_query.Node_CoalesceExpr:
		args := in.values(v.CoalesceExpr.Args)
		if !slices.ContainsFunc(args[1:], func(x *Formula) bool { return x.Op != FormulaNumber }) {
			return args[0]
		}
		return mixed(args...)
	case *pg_query.Node_MinMaxExpr:
		args := in.values(v.MinMaxExpr.Args)
		if args[0].Op == FormulaWindow { // of counts (windows.value)
			return args[0]
		}
		return mixed(args...)
	case *pg_query.Node_SubLink:
		if v.SubLink.SubLinkType == pg_query.SubLinkType_EXPR_SUBLINK {
			return in.subquery(v.SubLink.Subselect.GetSelectStmt())
		}
	}
	return in.any(n)
}

func (in *names) values(list []*pg_query.Node) (out []*Formula) {
	for _, n := range list {
		out = append(out, in.value(n))
	}
	return out
}

// any is what something computes of which nothing is known but what it reads.
func (in *names) any(n *pg_query.Node) *Formula {
	if in.readsDeviation(n) {
		return public
	}
	var reads []*Formula
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		if ref := n.GetColumnRef(); ref != nil {
			reads = append(reads, in.named(sqltree.StringList(ref.Fields)))
		}
		if l := n.GetSubLink(); l != nil {
			within := in.namesOf(l.Subselect.GetSelectStmt(), in)
			for _, t := range within.query.TargetList {
				reads = append(reads, within.value(t.GetResTarget().GetVal()))
			}
			reads = append(reads, within.value(within.query.WhereClause), in.value(l.Testexpr))
		}
		return n.GetSubLink() == nil
	})
	return mixed(reads...)
}

func number(c *pg_query.A_Const) *Formula {
	f := &Formula{Op: FormulaNumber, Integer: c.GetFval() == nil, Number: float64(c.GetIval().GetIval())}
	var err error
	if !f.Integer {
		f.Number, err = strconv.ParseFloat(c.GetFval().Fval, 64)
	}
	if err != nil || c.GetIval() == nil && f.Integer {
		return public
	}
	return f
}

func (in *names) cast(c *pg_query.TypeCast) *Formula {
	of, to := in.value(c.Arg), sqltree.StringList(c.TypeName.Names)
	if !of.Derived() || len(c.TypeName.ArrayBounds) > 0 {
		return mixed(of)
	}
	switch name := to[len(to)-1]; {
	case (name == "int2" || name == "int4" || name == "int8") && len(c.TypeName.Typmods) == 0:
		return apply(FormulaWhole, of)
	case (name == "numeric" || name == "float4" || name == "float8") && len(c.TypeName.Typmods) == 0:
		return apply(FormulaNumeric, of)
	case name == "numeric" && len(c.TypeName.Typmods) == 2:
		return apply("round", of, in.value(c.TypeName.Typmods[1]))
	}
	return mixed(of)
}

func (in *names) operator(n *pg_query.Node, x *pg_query.A_Expr) *Formula {
	left, right := in.value(x.Lexpr), in.value(x.Rexpr)
	switch op := sqltree.Operator(n); {
	case x.Kind == pg_query.A_Expr_Kind_AEXPR_NULLIF && right.Op == FormulaNumber:
		return left
	case op == "" || !strings.Contains("+-*/", op):
	case x.Lexpr == nil:
		return apply(op, &Formula{Op: FormulaNumber, Integer: true}, right)
	default:
		return apply(op, left, right)
	}
	return mixed(left, right)
}

func (in *names) call(n *pg_query.Node, f *pg_query.FuncCall) *Formula {
	switch {
	case f.Over != nil:
		return in.window(n, f)
	case sqltree.IsAggregate(n) && in.released:
		return in.aggregate(f)
	}
	args := in.values(f.Args)
	switch name := sqltree.FunctionName(f); {
	case (name == "round" || name == "trunc") && (len(args) == 1 || len(args) == 2 && args[1].Op == FormulaNumber),
		name == "floor", name == "ceil":
		return apply(name, args...)
	case name == "ceiling":
		return apply("ceil", args...)
	}
	return mixed(args...)
}

// aggregate is that of groups. A sum of one group is what is added up.
func (in *names) aggregate(f *pg_query.FuncCall) *Formula {
	if sqltree.FunctionName(f) != "sum" || len(f.Args) != 1 {
		return other
	}
	of := in.value(f.Args[0])
	switch single := in.single[in.query] || len(in.items) == 1 && in.oneRow(of.Block); {
	case single && of.Op == formulaEnd:
		return of
	case single && of.Op == FormulaAggregate && additive(in.levels[of.Block].calls[of.Column]):
		return apply(FormulaNumeric, of)
	}
	return other
}

// window is a window function: the number of a group in an order of released values, or something of which it is not
// known how far it is off.
func (in *names) window(n *pg_query.Node, f *pg_query.FuncCall) *Formula {
	order := rankedBy(n)
	switch by := in.value(order.GetNode()); {
	case by.Derived():
		f := of(FormulaRank, by)
		f.Integer = order.SortbyDir == pg_query.SortByDir_SORTBY_DESC
		return f
	case order != nil:
		return public
	case aggregatesOver(f) && in.released:
		return other
	}
	reads := in.values(slices.Concat(f.Args, f.Over.PartitionClause))
	over := &pg_query.Node{Node: &pg_query.Node_WindowDef{WindowDef: f.Over}}
	for _, w := range append(slices.Clone(in.query.WindowClause), over) {
		for _, by := range w.GetWindowDef().OrderClause {
			reads = append(reads, in.value(by.GetSortBy().Node))
		}
	}
	return mixed(reads...)
}

// subquery is the one value of a query.
func (in *names) subquery(s *pg_query.SelectStmt) *Formula {
	list, _ := in.columns(s, in)
	if len(list) != 1 {
		return public
	}
	return list[0].of
}

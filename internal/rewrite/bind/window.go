package bind

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// does adds the work of a window function's call.
func (w *windowBinder) does(f *pg_query.FuncCall, win *window) error {
	work := win.work.Plus(expr.Work{Row: relation.WindowSteps})
	if !win.frame.grows && !ranking[sqltree.FunctionName(f)] { // the frame of each row is read anew
		work.Row += expr.MulSteps(w.d.Source.Size(), relation.FrameSteps)
	}
	for _, n := range append(slices.Clone(f.Args), f.AggFilter) {
		if n == nil {
			continue
		}
		x, err := w.sc.Expression(n)
		if err != nil {
			return err
		}
		work = work.Plus(x.Work()).Plus(x.Work())
	}
	w.work = w.work.Plus(work.Repeated(aggregate.Computed(f)))
	return nil
}

// withWindows computes the window functions of a subquery's SELECT list. Each becomes a column of a subselect, and its
// call a reference to that column. What a window function sees are rows of one unit alone, and their order is total
// where it matters, so each row stays a function of its unit's rows.
func (b *Binder) withWindows(s *pg_query.SelectStmt, src *relation.Relation, e *Env) (*pg_query.SelectStmt,
	*relation.Relation, error,
) {
	if !slices.ContainsFunc(slices.Concat(s.TargetList, s.SortClause, s.DistinctClause), sqltree.HasWindow) {
		return s, src, nil
	}
	if !src.Private() {
		return nil, nil,
			refusal.New(refusal.Window, "window functions over public tables cannot be combined with private tables")
	}
	w := &windowBinder{
		b: b, sc: NewScope(b, src, e), d: relation.NewDerived(b.Base, src), clause: s.WindowClause,
		names: map[string]string{},
	}
	w.d.PassAll()
	out := sqltree.Clone(&pg_query.SelectStmt{
		TargetList: s.TargetList, SortClause: s.SortClause,
		DistinctClause: s.DistinctClause,
	})
	for _, n := range out.TargetList {
		if t := n.GetResTarget(); sqltree.HasWindow(t.Val) {
			t.Name = sqltree.OutputName(t)
		}
	}
	if err := sqltree.RewriteNodes(out.ProtoReflect(), w.replace); err != nil {
		return nil, nil, err
	}
	r := w.d.Relation()
	r.AddColumnWork(src.Size(), src.Columns)
	r.AddWork(w.work, src.Size())
	r.Proofs = append(slices.Clone(r.Proofs), w.proofs...)
	r.Plan = relation.NewPlanNode(fmt.Sprintf("windows per %s, %s", r.UnitName, r.RowBound()), src.Plan)
	return out, r, nil
}

// windowBinder makes the subselect that computes the window functions of one SELECT.
type windowBinder struct {
	b      *Binder
	sc     *Scope
	d      *relation.Derived
	clause []*pg_query.Node  // WINDOW w AS (…)
	names  map[string]string // of the columns, by scope key of the call
	proofs []schema.Proof
	work   expr.Work // for each row
}

func (w *windowBinder) replace(n *pg_query.Node) (*pg_query.Node, bool, error) {
	f := n.GetFuncCall()
	if f.GetOver() == nil {
		return n, n.GetSubLink() == nil, nil
	}
	if name := sqltree.FunctionName(f); (name != "lag" && name != "lead") || len(f.Args) != 3 {
		ref, err := w.column(f)
		return ref, false, err
	}
	// lag(x, n, default) is the default where lag(TRUE, n) finds no row.
	at := func(first *pg_query.Node) (*pg_query.Node, error) {
		g := sqltree.Clone(f)
		g.Args = []*pg_query.Node{first, f.Args[1]}
		return w.column(g)
	}
	found, err := at(&pg_query.Node{Node: &pg_query.Node_AConst{
		AConst: &pg_query.A_Const{Val: &pg_query.A_Const_Boolval{Boolval: &pg_query.Boolean{Boolval: true}}},
	}})
	if err != nil {
		return nil, false, err
	}
	value, err := at(f.Args[0])
	if err != nil {
		return nil, false, err
	}
	return sqltree.When(found, value, f.Args[2]), false, nil
}

// column adds the column of a call, once, and returns a reference to it.
func (w *windowBinder) column(f *pg_query.FuncCall) (*pg_query.Node, error) {
	node := &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}}
	key := w.sc.Key(node)
	if name := w.names[key]; name != "" {
		return sqltree.ColumnRef(w.d.Table(), name), nil
	}
	win, err := w.window(f, node)
	if err != nil {
		return nil, w.b.Located(err, node)
	}
	x, sql, err := w.value(f, win, node)
	if err != nil {
		return nil, w.b.Located(w.b.Refusal(err), node)
	}
	if err := w.does(f, win); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("w%d", len(w.names)+1)
	w.names[key] = name
	function := sqltree.FunctionName(f)
	same := win.frame.whole && !ranking[function] || win.frame.initial && function == "first_value"
	c := w.d.AddColumn(x, sql, name, win.perUnit && same)
	c.Hidden = true
	if function == "row_number" && len(w.d.Result.UnitColumns) > 0 && win.columns {
		set := []*relation.Column{w.d.Result.UnitColumns[0], c}
		for _, p := range win.partitionCols {
			set = append(set, w.d.Passed[p])
		}
		w.d.Result.Unique = append(w.d.Result.Unique, relation.UniqueSet{Columns: set})
	}
	return sqltree.ColumnRef(w.d.Table(), name), nil
}

// ranking lists the window functions that ignore the frame.
var ranking = map[string]bool{
	"row_number": true, "rank": true, "dense_rank": true, "percent_rank": true, "cume_dist": true, "ntile": true,
	"lag": true, "lead": true,
}

// mostRank is more rows than any table has: one has 2^32 pages at most, and so many parts that it is less than 2^16 of
// such.
const mostRank = 1 << 60

// value prints a call and describes its value.
func (w *windowBinder) value(f *pg_query.FuncCall, win *window, node *pg_query.Node) (*expr.Column, query.Scalar,
	error,
) {
	name := sqltree.FunctionName(f)
	x := &expr.Column{Name: name + "()", Typmod: -1, Scale: -1, DeterministicCollation: true}
	number := func(typ uint32, lo, hi int64) {
		x.Type, x.TypeName, x.Bounds, x.Enforced, x.Scale = typ, schema.TypeName(typ), bounds.Between(lo, hi), true, 0
	}
	switch name {
	case "row_number", "rank", "dense_rank": // counts as no more than the unit is said to have rows
		number(pgtype.Int8OID, 1, w.d.Source.MaxRowsPerUnit)
		x.Reach(bounds.Between(1, mostRank), bounds.Between(1, w.b.DeclaredRows(w.d.Source)))
		return w.call(x, query.F("pg_catalog.{}()", name), win, name == "row_number", false)
	case "percent_rank", "cume_dist":
		number(pgtype.Float8OID, 0, 1)
		x.Scale = -1
		return w.call(x, query.F("pg_catalog.{}()", name), win, false, false)
	case "ntile":
		k, err := w.sc.constantInteger(f.Args[0], "the number of buckets", 1)
		if err != nil {
			return nil, nil, err
		}
		number(pgtype.Int4OID, 1, k)
		return w.call(x, query.F("pg_catalog.ntile({})", k), win, true, false)
	case "lag", "lead", "first_value", "last_value", "nth_value":
		return w.rowOf(f, win, node)
	}
	c, err := aggregate.NewUnitCall(w.b.Base, f, w.sc)
	if err != nil {
		return nil, nil, err
	}
	over, err := w.over(win, win.frame.rows && !win.frame.whole, true)
	if err != nil {
		return nil, nil, err
	}
	return aggregate.UnitValue(w.b.Base, w.d.Source, c, over, win.frame.current)
}

// call completes a call with its window.
func (w *windowBinder) call(x *expr.Column, call query.Scalar, win *window, total, framed bool) (
	*expr.Column, query.Scalar, error,
) {
	over, err := w.over(win, total, framed)
	if err != nil {
		return nil, nil, err
	}
	over.Call = call
	return x, *over, nil
}

// rowOf prints a function that returns an expression's value in another row of the window.
func (w *windowBinder) rowOf(f *pg_query.FuncCall, win *window, node *pg_query.Node) (*expr.Column, query.Scalar,
	error,
) {
	name := sqltree.FunctionName(f)
	e, err := w.sc.Expression(f.Args[0])
	if err != nil {
		return nil, nil, err
	}
	x, sql := aggregate.RowValue(e, fmt.Sprintf("%s(%s)", name, e.Text()))
	shift := name == "lag" || name == "lead"
	x.Nullable = x.Nullable || shift || name == "nth_value" || !win.frame.current
	n, what, least := int64(1), "the row of nth_value", int64(1)
	if shift {
		what, least = "the offset of "+name, 0
	}
	if len(f.Args) > 1 {
		if n, err = w.sc.constantInteger(f.Args[1], what, least); err != nil {
			return nil, nil, err
		}
	}
	of := func(value query.Scalar) query.Scalar {
		if shift || name == "nth_value" {
			return query.F("pg_catalog.{}({}, {})", name, value, n)
		}
		return query.F("pg_catalog.{}({})", name, value)
	}
	// A longer ORDER BY would move the ends of other frames, which are where rows stop being equal.
	if !shift && !win.frame.rows && !win.frame.whole && !(name == "first_value" && win.frame.initial) {
		return nil, nil, w.b.Refuse(refusal.RowOrder, node,
			fmt.Sprintf("which of equal rows %s takes in this frame is not defined", name),
			"Give the window the frame ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, or … AND UNBOUNDED FOLLOWING.")
	}
	if inside := e.AllInside(); inside != nil {
		if _, x.InBounds, err = w.call(x, of(inside), win, true, !shift); err != nil {
			return nil, nil, err
		}
		x.Work = x.Work.Plus(e.InsideWork())
	}
	return w.call(x, of(sql), win, true, !shift)
}

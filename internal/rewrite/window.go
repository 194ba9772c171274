package rewrite

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// windowed computes the window functions of a subquery's SELECT list. Each becomes a column of a subselect, and its call a
// reference to that column. What a window function sees are rows of one unit alone, and their order is total where it matters,
// so each row stays a function of its unit's rows.
func (b *builder) windowed(s *pg_query.SelectStmt, src *relation, e *env) (*pg_query.SelectStmt, *relation, error) {
	if !slices.ContainsFunc(slices.Concat(s.TargetList, s.SortClause, s.DistinctClause), hasWindow) {
		return s, src, nil
	}
	if !src.private() {
		return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "window functions over public tables cannot be combined with private tables")
	}
	w := &windows{b: b, sc: &scope{b: b, rel: src, env: e, outer: e.enclosing()}, d: newDerived(b, src), clause: s.WindowClause, names: map[string]string{}}
	w.d.passAll()
	out := clone(&pg_query.SelectStmt{TargetList: s.TargetList, SortClause: s.SortClause, DistinctClause: s.DistinctClause})
	for _, n := range out.TargetList {
		if t := n.GetResTarget(); hasWindow(t.Val) {
			t.Name = outputName(t)
		}
	}
	if err := rewriteNodes(out.ProtoReflect(), w.replace); err != nil {
		return nil, nil, err
	}
	r := w.d.relation()
	r.reads(src.size(), src.cols)
	r.takes(w.work, src.size())
	r.proofs = append(slices.Clone(r.proofs), w.proofs...)
	r.plan = planned(fmt.Sprintf("windows per %s, %s", r.kind, r.rowBound()), src.plan)
	return out, r, nil
}

func hasWindow(n *pg_query.Node) bool {
	found := false
	visit(n, func(n *pg_query.Node) bool {
		found = found || n.GetFuncCall().GetOver() != nil
		return !found && n.GetSubLink() == nil
	})
	return found
}

// windows is the subselect that computes them.
type windows struct {
	b      *builder
	sc     *scope
	d      *derived
	clause []*pg_query.Node  // WINDOW w AS (…)
	names  map[string]string // of the columns, by scope key of the call
	proofs []Proof
	work   expr.Work // for each row
}

func (w *windows) replace(n *pg_query.Node) (*pg_query.Node, bool, error) {
	f := n.GetFuncCall()
	if f.GetOver() == nil {
		return n, n.GetSubLink() == nil, nil
	}
	if name := functionName(f); (name != "lag" && name != "lead") || len(f.Args) != 3 {
		ref, err := w.column(f)
		return ref, false, err
	}
	// lag(x, n, default) is the default where lag(TRUE, n) finds no row.
	at := func(first *pg_query.Node) (*pg_query.Node, error) {
		g := clone(f)
		g.Args = []*pg_query.Node{first, f.Args[1]}
		return w.column(g)
	}
	found, err := at(&pg_query.Node{Node: &pg_query.Node_AConst{AConst: &pg_query.A_Const{Val: &pg_query.A_Const_Boolval{Boolval: &pg_query.Boolean{Boolval: true}}}}})
	if err != nil {
		return nil, false, err
	}
	value, err := at(f.Args[0])
	if err != nil {
		return nil, false, err
	}
	when := &pg_query.Node{Node: &pg_query.Node_CaseWhen{CaseWhen: &pg_query.CaseWhen{Expr: found, Result: value, Location: f.Location}}}
	return &pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: &pg_query.CaseExpr{Args: []*pg_query.Node{when}, Defresult: f.Args[2], Location: f.Location}}}, false, nil
}

// column adds the column of a call, once, and gives a reference to it.
func (w *windows) column(f *pg_query.FuncCall) (*pg_query.Node, error) {
	node := &pg_query.Node{Node: &pg_query.Node_FuncCall{FuncCall: f}}
	key := w.sc.key(node)
	if name := w.names[key]; name != "" {
		return columnRef(w.d.table(), name), nil
	}
	win, err := w.window(f, node)
	if err != nil {
		return nil, w.b.located(err, node)
	}
	x, sql, err := w.value(f, win, node)
	if err != nil {
		return nil, w.b.located(w.b.refusal(err), node)
	}
	if err := w.does(f, win); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("w%d", len(w.names)+1)
	w.names[key] = name
	c := w.d.addColumn(x, sql, name, win.perUnit && win.frame.whole && !ranking[functionName(f)])
	c.hidden = true
	if functionName(f) == "row_number" && len(w.d.out.unitCols) > 0 && win.columns {
		set := []*column{w.d.out.unitCols[0], c}
		for _, p := range win.partitionCols {
			set = append(set, w.d.moved[p])
		}
		w.d.out.unique = append(w.d.out.unique, uniqueSet{cols: set})
	}
	return columnRef(w.d.table(), name), nil
}

// ranking are the window functions that ignore the frame: they tell the rows of a partition apart.
var ranking = map[string]bool{
	"row_number": true, "rank": true, "dense_rank": true, "percent_rank": true, "cume_dist": true, "ntile": true, "lag": true, "lead": true,
}

// value prints a call and describes its value.
func (w *windows) value(f *pg_query.FuncCall, win *window, node *pg_query.Node) (*expr.Column, query.Scalar, error) {
	name := functionName(f)
	x := &expr.Column{Name: name + "()", Typmod: -1, Scale: -1, DeterministicCollation: true}
	number := func(typ uint32, lo, hi int64, enforced bool) {
		x.Type, x.TypeName, x.Bounds, x.Enforced, x.Scale = typ, typeName(typ), expr.Between(lo, hi), enforced, 0
	}
	switch name {
	case "row_number", "rank", "dense_rank": // at most as many as the unit is said to have rows: clamped where arithmetic reads it
		number(pgtype.Int8OID, 1, w.d.src.rows, false)
		return w.call(x, query.F("pg_catalog.{}()", name), win, name == "row_number", false)
	case "percent_rank", "cume_dist":
		number(pgtype.Float8OID, 0, 1, true)
		x.Scale = -1
		return w.call(x, query.F("pg_catalog.{}()", name), win, false, false)
	case "ntile":
		k, err := w.sc.constantInteger(f.Args[0], "the number of buckets", 1)
		if err != nil {
			return nil, nil, err
		}
		number(pgtype.Int4OID, 1, k, true)
		return w.call(x, query.F("pg_catalog.ntile({})", k), win, true, false)
	case "lag", "lead", "first_value", "last_value", "nth_value":
		return w.rowOf(f, win, node)
	}
	c, err := w.b.newCall(f, w.sc)
	if err != nil {
		return nil, nil, err
	}
	over, err := w.over(win, win.frame.rows && !win.frame.whole, true)
	if err != nil {
		return nil, nil, err
	}
	return w.b.unitValue(w.d.src, c, over, win.frame.current)
}

// call completes a call with its window.
func (w *windows) call(x *expr.Column, call query.Scalar, win *window, total, framed bool) (*expr.Column, query.Scalar, error) {
	over, err := w.over(win, total, framed)
	if err != nil {
		return nil, nil, err
	}
	over.Call = call
	return x, *over, nil
}

// rowOf prints a function that gives an expression's value in another row of the window.
func (w *windows) rowOf(f *pg_query.FuncCall, win *window, node *pg_query.Node) (*expr.Column, query.Scalar, error) {
	name := functionName(f)
	e, err := w.sc.expression(f.Args[0])
	if err != nil {
		return nil, nil, err
	}
	x, sql := rowValue(e, fmt.Sprintf("%s(%s)", name, e.Text()))
	switch name {
	case "lag", "lead":
		x.Nullable = true
		offset := int64(1)
		if len(f.Args) > 1 {
			offset, err = w.sc.constantInteger(f.Args[1], "the offset of "+name, 0)
		}
		if err != nil {
			return nil, nil, err
		}
		return w.call(x, query.F("pg_catalog.{}({}, {})", name, sql, offset), win, true, false)
	case "nth_value":
		x.Nullable = true
		n, err := w.sc.constantInteger(f.Args[1], "the row of nth_value", 1)
		sql = query.F("pg_catalog.nth_value({}, {})", sql, n)
		if err != nil {
			return nil, nil, err
		}
	default:
		x.Nullable = x.Nullable || !win.frame.current
		sql = query.F("pg_catalog.{}({})", name, sql)
	}
	// A longer ORDER BY would move the ends of other frames, which are where rows stop being equal.
	if !win.frame.rows && !win.frame.whole && !(name == "first_value" && win.frame.initial) {
		return nil, nil, w.b.refuse(pgerr.FeatureNotSupported, node, fmt.Sprintf("which of equal rows %s takes in this frame is not defined", name),
			"Give the window the frame ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, or … AND UNBOUNDED FOLLOWING.")
	}
	return w.call(x, sql, win, true, true)
}

// constantInteger reads a constant or parameter of at least least; least itself while the value is not known.
func (s *scope) constantInteger(n *pg_query.Node, what string, least int64) (int64, error) {
	x, err := s.expression(n)
	if err != nil {
		return 0, err
	}
	if x.Provisional() {
		return least, nil
	}
	v := x.Bounds()
	if len(x.Columns()) > 0 || !schema.IsInteger(x.Type()) || !v.Finite() || v.Lo.Cmp(v.Hi) != 0 {
		return 0, s.b.refuse(pgerr.FeatureNotSupported, n, what+" must be a constant integer", "")
	}
	if i := floorInt(v.Lo); i >= least && i <= maxWindowOffset {
		return i, nil
	}
	return 0, s.b.refuse(pgerr.InvalidParameterValue, n, fmt.Sprintf("%s must lie between %d and %d", what, least, maxWindowOffset), "")
}

// maxWindowOffset is far beyond the rows of one unit.
const maxWindowOffset = 1 << 30

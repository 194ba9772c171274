package bind

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// window is one window definition: rows of one unit, in an order.
type window struct {
	partition     []query.Scalar // the unit first
	partitionCols []*relation.Column
	columns       bool           // the partition's keys are the unit, functions of it, and partitionCols
	perUnit       bool           // the partition is all rows of a unit
	order         []query.Scalar // the analyst's ORDER BY
	frame         frame
	work          expr.Work // of the keys, for each row
}

// frame says which rows of a partition a function sees, from one of them.
type frame struct {
	text    query.Scalar // nil: the default
	rows    bool         // counted in rows, so that the order of equal ones matters
	whole   bool         // all rows of the partition
	initial bool         // from the first row to the last that is equal to this one
	current bool         // this row is always among them
	grows   bool         // from row to row it only gets longer, so that each row is added once
}

// Bits of a WindowDef's frame options (parsenodes.h).
const (
	frameNonDefault = 1 << iota
	frameRange
	frameRows
	frameGroups
	frameBetween
	frameStartFirst
	frameEndFirst
	frameStartLast
	frameEndLast
	frameStartCurrent
	frameEndCurrent
	frameStartPreceding
	frameEndPreceding
	frameStartFollowing
	frameEndFollowing
	frameExcludeCurrent
	frameExcludeGroup
	frameExcludeTies
)

// window binds a call's window, and refuses one that holds rows of several units. The unit is printed in every
// PARTITION BY, so the test decides what a window means, and not what it may see.
func (w *windowBinder) window(f *pg_query.FuncCall, node *pg_query.Node) (*window, error) {
	def, err := w.definition(f.Over, w.clause)
	if f.Over.Name != "" { // OVER w
		def, err = w.named(f.Over.Name, w.clause)
	}
	if err != nil {
		return nil, err
	}
	src := w.d.Source
	out := &window{partition: []query.Scalar{src.Unit}, columns: true, perUnit: true}
	units := false
	for _, n := range def.PartitionClause {
		c := w.sc.bare(n)
		units = units || c != nil && w.b.DeterminesUnit(c)
		if c != nil && c.IsUnit {
			continue
		}
		x, err := w.sc.Expression(n)
		if err != nil {
			return nil, err
		}
		out.partition, out.work = append(out.partition, query.F("({})", x.SQL())), out.work.Plus(x.Work())
		inside := x.AllInside()
		if inside != nil { // rows beyond are a partition of their own
			out.partition, out.work = append(out.partition, query.F("({})", inside)), out.work.Plus(x.InsideWork())
		}
		switch {
		case c == nil || inside != nil:
			out.columns, out.perUnit = false, false
		case !c.PerUnit:
			out.partitionCols, out.perUnit = append(out.partitionCols, c), false
		}
	}
	if !units {
		return nil, w.b.Refuse(refusal.Window, node, fmt.Sprintf("the window of %s holds rows of more than one %s",
			sqltree.FunctionName(f), src.UnitName),
			fmt.Sprintf("Put the %s into PARTITION BY, or use windows over aggregates.", src.UnitName))
	}
	out.partition = append(out.partition[:1], query.Sorted(out.partition[1:])...) // one window whatever their order
	for _, n := range def.OrderClause {
		x, err := w.sc.Expression(n.GetSortBy().Node)
		if err != nil {
			return nil, err
		}
		out.work = out.work.Plus(x.Work())
		key, err := w.sc.sortKey(n, n.GetSortBy().Node)
		if err != nil {
			return nil, err
		}
		out.order = append(out.order, key)
	}
	if out.frame, err = w.frame(def, node); err != nil {
		return nil, err
	}
	return out, nil
}

// definition completes OVER (w …) and WINDOW v AS (w …) by what w says.
func (w *windowBinder) definition(def *pg_query.WindowDef, clause []*pg_query.Node) (*pg_query.WindowDef, error) {
	if def.Refname == "" {
		return def, nil
	}
	base, err := w.named(def.Refname, clause)
	if err != nil {
		return nil, err
	}
	out := sqltree.Clone(def)
	out.PartitionClause = base.PartitionClause
	if len(base.OrderClause) > 0 {
		out.OrderClause = base.OrderClause
	}
	return out, nil
}

// named finds a window of the WINDOW clause; one may refer to those before it.
func (w *windowBinder) named(name string, clause []*pg_query.Node) (*pg_query.WindowDef, error) {
	for i, n := range clause {
		if n.GetWindowDef().GetName() == name {
			return w.definition(n.GetWindowDef(), clause[:i])
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, fmt.Sprintf("window %q does not exist", name))
}

// frame reads the frame clause.
func (w *windowBinder) frame(def *pg_query.WindowDef, node *pg_query.Node) (frame, error) {
	bits := int(def.FrameOptions)
	has := func(b int) bool { return bits&b != 0 }
	if has(frameGroups|frameExcludeCurrent|frameExcludeGroup|frameExcludeTies) ||
		has(frameRange) && (def.StartOffset != nil || def.EndOffset != nil) {
		return frame{}, w.b.Refuse(refusal.Window, node,
			"over private rows a frame has no GROUPS, no EXCLUDE, and no offset of RANGE",
			"Write ROWS BETWEEN n PRECEDING AND CURRENT ROW, or join the rows with those of the same person and compare their times.")
	}
	allEqual := has(frameRange) && len(def.OrderClause) == 0
	f := frame{rows: has(frameRows)}
	f.initial = !f.rows && has(frameStartFirst) && has(frameEndCurrent)
	f.whole = (has(frameStartFirst) || allEqual && has(frameStartCurrent)) &&
		(has(frameEndLast) || allEqual && has(frameEndCurrent))
	f.grows = f.whole || has(frameStartFirst)
	f.current = has(frameStartFirst|frameStartCurrent|frameStartPreceding) &&
		has(frameEndLast|frameEndCurrent|frameEndFollowing)
	if !has(frameNonDefault) {
		return f, nil
	}
	start, err := w.bound(def.StartOffset, has(frameStartFirst), has(frameStartCurrent), has(frameStartPreceding))
	if err != nil {
		return f, err
	}
	end, err := w.bound(def.EndOffset, false, has(frameEndCurrent), has(frameEndPreceding))
	if err != nil {
		return f, err
	}
	mode := "RANGE"
	if f.rows {
		mode = "ROWS"
	}
	f.text = query.F("{} BETWEEN {} AND {}", mode, start, end)
	return f, nil
}

// bound prints one end of a frame.
func (w *windowBinder) bound(offset *pg_query.Node, first, current, preceding bool) (query.Scalar, error) {
	side := " FOLLOWING"
	if first || preceding {
		side = " PRECEDING"
	}
	switch {
	case current:
		return query.Raw("CURRENT ROW"), nil
	case offset == nil:
		return query.Raw("UNBOUNDED" + side), nil
	}
	n, err := w.sc.constantInteger(offset, "the offset of a frame", 0)
	return query.F("{}{}", n, side), err
}

// over prints the window of a call: with a key of the rows behind the analyst's order where equal rows must not be
// interchangeable, and with the frame where the function heeds it.
func (w *windowBinder) over(win *window, total, framed bool) (*query.Over, error) {
	over := &query.Over{Partition: win.partition, Order: win.order}
	if framed {
		over.Frame = win.frame.text
	}
	if !total {
		return over, nil
	}
	src := w.d.Source
	order, proofs, work, err := src.TotalOrder()
	if err != nil {
		return nil, err
	}
	w.work = w.work.Plus(work)
	over.Order = slices.Clone(over.Order)
	for _, key := range order {
		key = query.F("({})", key)
		if !slices.ContainsFunc(over.Order, func(o query.Scalar) bool { return query.Equal(o, key) }) {
			over.Order = append(over.Order, key)
		}
	}
	w.proofs = append(w.proofs, proofs...)
	if framed && win.frame.whole {
		over.Frame = query.Raw("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
	}
	return over, nil
}

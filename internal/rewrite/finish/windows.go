package finish

import (
	"fmt"
	"slices"
	"strconv"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/aggregate"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// A window that adds up groups by their keys, as a running total does, reads all groups, shown or not, as they were
// drawn before anything was kept within its range: what is added up has no bias then, and a margin (docs/privacy.md
// P20c).

// windows finds them in what a query of a block selects and sorts by.
type windows struct {
	*level
	alias   string
	clause  []*pg_query.Node // WINDOW w AS (…)
	numbers map[string]int   // by tree
	inner   []*pg_query.Node // what is computed over all groups
	having  bool             // groups are left out by what was released
	shown   bool             // others add up the groups that are shown
}

// addGroups has a query over a block read all of its groups for such windows.
func (b *finisher) addGroups(s *pg_query.SelectStmt, alias string, l *level) {
	w := &windows{level: l, alias: alias, clause: s.WindowClause, numbers: map[string]int{}, having: s.HavingClause != nil}
	for _, t := range s.TargetList {
		r := t.GetResTarget()
		of := w.number(uncast(r.Val))
		if r.Val = w.replaced(r.Val); of > 0 && l.outputs != nil {
			l.windows[of-1].Output = r.Name
		}
	}
	replaceEach(s.SortClause, w.replaced)
	replaceEach(s.DistinctClause, w.replaced)
	b.overShown = b.overShown || w.shown
	w.alone(slices.Concat(s.TargetList, s.SortClause, s.DistinctClause, s.WindowClause))
	if len(w.inner) == 0 {
		return
	}
	all := sqltree.NewSelect(append([]*pg_query.Node{sqltree.Target("", sqltree.AllColumns())}, w.inner...)...)
	all.FromClause = s.FromClause
	s.FromClause, s.WhereClause = []*pg_query.Node{sqltree.Subselect(all, alias)}, sqltree.ColumnRef(alias, "shown")
}

// alone says of each window whether nothing else reads what it adds up: neither other expressions nor what
// dpproxy's functions say of its noise.
func (w *windows) alone(rest []*pg_query.Node) {
	var read []int
	for _, n := range rest {
		read = append(read, callsIn(n, w.alias)...)
	}
	for _, i := range w.intervals {
		read = append(read, i.Call)
	}
	for i := range w.windows {
		w.windows[i].Alone = !slices.Contains(read, w.windows[i].Call)
	}
}

// order is 1 + the only key in whose order a window adds up all groups so far; 0: it adds up others, or in another.
func (w *windows) order(over *pg_query.WindowDef) (key int, desc bool) {
	if len(over.OrderClause) != 1 || over.FrameOptions != plainFrame {
		return 0, false
	}
	by := over.OrderClause[0].GetSortBy()
	at, ok := w.column(by.Node, 'k')
	if desc = by.SortbyDir == pg_query.SortByDir_SORTBY_DESC; !ok || by.SortbyDir == pg_query.SortByDir_SORTBY_USING ||
		by.SortbyNulls != pg_query.SortByNulls_SORTBY_NULLS_DEFAULT {
		return 0, false
	}
	return 1 + at, desc
}

func uncast(n *pg_query.Node) *pg_query.Node {
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n
}

func (w *windows) replaced(n *pg_query.Node) *pg_query.Node {
	return sqltree.Replace(n, func(n *pg_query.Node) (*pg_query.Node, bool) {
		f := n.GetFuncCall()
		what := bind.IntervalFunction(f)
		if what != "" {
			n = f.Args[0]
		}
		number := w.number(n)
		switch {
		case number > 0:
			return w.value(number, what), false
		case what == "":
			w.shown = w.shown || aggregatesOver(f)
			return n, n.GetSubLink() == nil
		}
		// NULL of its type
		return sqltree.When(sqltree.NullTest(sqltree.Integer(0), pg_query.NullTestType_IS_NULL), n, nil), true
	})
}

// number numbers a window from 1 on; 0: the node is none, or its frame depends on which groups are shown.
func (w *windows) number(n *pg_query.Node) int {
	f := n.GetFuncCall()
	at, ok := w.summed(f)
	if !ok {
		return 0
	}
	over := w.definition(f.Over)
	if over == nil || !w.ofKeys(over) {
		return 0
	}
	key := sqltree.TreeKey(f)
	if w.numbers[key] > 0 {
		return w.numbers[key]
	}
	found := release.Window{Call: at}
	found.Whole = len(over.OrderClause) == 0 && over.FrameOptions == plainFrame
	found.Order, found.Desc = w.order(over)
	for _, k := range over.PartitionClause {
		key, ok := w.column(k, 'k')
		if !ok {
			found.Partition, found.Whole, found.Order = nil, false, 0
			break
		}
		found.Partition = append(found.Partition, key)
	}
	w.windows = append(w.windows, found)
	number := len(w.windows)
	w.numbers[key] = number
	of := func(function, column string) *pg_query.Node {
		return sqltree.Call(function, sqltree.ColumnRef(w.alias, fmt.Sprintf("%s%d", column, at+1)))
	}
	names := []string{"w", "n", "e"}
	for i, n := range []*pg_query.Node{of("sum", "p"), sqltree.CountRows(), of("min", "m")} {
		n.GetFuncCall().Over = sqltree.Clone(over)
		w.inner = append(w.inner, sqltree.Target(fmt.Sprintf("%s%d", names[i], number), n))
	}
	return number
}

// summed finds the call of which a window function is the sum.
func (w *windows) summed(f *pg_query.FuncCall) (of int, ok bool) {
	if f.GetOver() == nil || sqltree.FunctionName(f) != "sum" || len(f.Args) != 1 || f.AggDistinct || f.AggFilter != nil ||
		len(w.groups.sets) > 1 || w.having {
		return 0, false
	}
	of, ok = w.column(f.Args[0], 'a')
	return of, ok && additive(w.calls[of])
}

// column returns the number of a key or a call of the block, by its letter.
func (w *windows) column(n *pg_query.Node, letter byte) (at int, ok bool) {
	ref := sqltree.StringList(n.GetColumnRef().GetFields())
	if len(ref) != 2 || ref[0] != w.alias || ref[1][0] != letter {
		return 0, false
	}
	at, err := strconv.Atoi(ref[1][1:])
	return at - 1, err == nil
}

// definition resolves a window that a WINDOW clause defines; nil: by another one.
func (w *windows) definition(over *pg_query.WindowDef) *pg_query.WindowDef {
	if over.Name != "" {
		at := slices.IndexFunc(w.clause, func(n *pg_query.Node) bool { return n.GetWindowDef().Name == over.Name })
		if at < 0 {
			return nil
		}
		over = sqltree.Clone(w.clause[at].GetWindowDef())
		over.Name = ""
	}
	if over.Refname != "" {
		return nil
	}
	return over
}

// Of a window's frame options (parsenodes.h): it is of rows, or of groups of equal ones.
const frameRows, frameGroups = 4, 8

// ofKeys reports whether which groups are in a frame follows from their keys, and groups without rows may be in it as
// well.
func (w *windows) ofKeys(over *pg_query.WindowDef) bool {
	if over.FrameOptions&(frameRows|frameGroups) != 0 && (over.StartOffset != nil || over.EndOffset != nil) {
		return false
	}
	for _, n := range slices.Concat(over.PartitionClause, over.OrderClause) {
		if by := n.GetSortBy(); by != nil {
			n = by.Node
		}
		// anything else may fail for a group that PostgreSQL does not have
		if !ofOneKey(n) || sqltree.Any(n, func(n *pg_query.Node) bool {
			_, key := w.column(n, 'k')
			return n.GetColumnRef() != nil && !key
		}) {
			return false
		}
	}
	return true
}

// ofOneKey reports whether an expression is a column, or the part of one that is a time: it has a value whatever the
// column is.
func ofOneKey(n *pg_query.Node) bool {
	if f := n.GetFuncCall(); f != nil && f.Over == nil {
		name := sqltree.FunctionName(f)
		return (name == "date_trunc" || name == "date_part" || name == "extract") && len(f.Args) == 2 &&
			f.Args[0].GetAConst() != nil && f.Args[1].GetColumnRef() != nil
	}
	return n.GetColumnRef() != nil
}

// value is what a window is, or an end of its interval. Of counts neither is below 0.
func (w *windows) value(number int, what aggregate.Derived) *pg_query.Node {
	of := w.windows[number-1].Call
	column := func(letter string, i int) *pg_query.Node {
		return sqltree.ColumnRef(w.alias, fmt.Sprintf("%s%d", letter, i))
	}
	sum := column("w", number)
	counts := sqltree.FunctionName(w.calls[of]) == "count"
	atLeast0 := func(x *pg_query.Node) *pg_query.Node {
		if !counts {
			return x
		}
		return sqltree.Greatest(x, sqltree.Integer(0))
	}
	if what == "" {
		return atLeast0(sum)
	}
	root := sqltree.Call("round", sqltree.Call("sqrt", sqltree.Cast(column("n", number), "numeric")), sqltree.Integer(4))
	noise := sqltree.Operation("*", column("e", number), root)
	if counts {
		noise = sqltree.Call("floor", noise)
	}
	leftOut := sqltree.Operation("*", sqltree.Greatest(sum, sqltree.Operation("-", nil, sum)), column("s", of+1))
	sign := "+"
	if what == aggregate.DerivedLow {
		sign = "-"
	}
	return sqltree.When(sqltree.NullTest(column("m", of+1), pg_query.NullTestType_IS_NOT_NULL),
		atLeast0(sqltree.Operation(sign, sum, sqltree.Operation("+", noise, leftOut))), nil)
}

// aggregatesOver reports whether a window function aggregates.
func aggregatesOver(f *pg_query.FuncCall) bool {
	if f.GetOver() == nil {
		return false
	}
	switch name := sqltree.FunctionName(f); name {
	case "rank", "dense_rank", "percent_rank", "cume_dist":
		return false
	default:
		return sqltree.AggregateNames[name]
	}
}

// aggregatesGroups reports whether a query over released values aggregates groups.
func aggregatesGroups(s *pg_query.SelectStmt, e *bind.Env) bool {
	aggregates := func(n *pg_query.Node) bool {
		return sqltree.AnyOutside(n, func(n *pg_query.Node) bool {
			return sqltree.IsAggregate(n) || aggregatesOver(n.GetFuncCall())
		})
	}
	var grouped func(n *pg_query.Node) bool
	grouped = func(n *pg_query.Node) bool {
		if v := n.GetRangeVar(); v != nil && v.Schemaname == "" && e.Inlined(v.Relname) != nil {
			return sqltree.Any(sqltree.SelectNode(e.Inlined(v.Relname)), grouped)
		}
		return len(n.GetSelectStmt().GetGroupClause()) > 0
	}
	return slices.ContainsFunc(slices.Concat(s.TargetList, s.SortClause, []*pg_query.Node{s.HavingClause}), aggregates) &&
		slices.ContainsFunc(s.FromClause, func(n *pg_query.Node) bool { return sqltree.Any(n, grouped) })
}

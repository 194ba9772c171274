package rewrite

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// How long main works on one unit's rows can be seen by the clock, so a statement must not make much of them: every relation
// carries a public bound of the steps that the rows of one unit cause, every expression that of a row, and what exceeds the limit
// is refused (P22a). Nothing here reads a row: the bounds come from the statement, the policy, and the sizes of public tables.

// maxUnitSteps is the most that a statement may do with one unit's rows beyond reading its tables. The costs below were measured
// on PostgreSQL 15 and one core of a server: of the statements near the limit, the slowest took 8 ns of processor time per step
// (BenchmarkStep), so that one unit's rows make a difference of at most about 70 ms there.
const maxUnitSteps = 8 << 20

// What reading a table's rows once may take is never too much: a statement that does no more is an ordinary one, and the DBA
// declared how many rows there are.
const (
	stepsPerUnitRow   = 200 // of a private table, for each row that a unit may have
	stepsPerPublicRow = 64  // of a public table, for each of its rows
)

const (
	rowSteps      = 8  // a row of a table, or of a subselect
	constantSteps = 16 // a row of VALUES, whose cells are expressions
	pairSteps     = 6  // a row of one side of a join with a row of the other
	lookupSteps   = 40 // a row found by a unique index
	groupSteps    = 30 // a row that is sorted into its group and added to one aggregate
	windowSteps   = 80 // a row that is sorted and given one window function
	frameSteps    = 6  // a row of a window's frame that is read for another row
	hashSteps     = 25 // a row of a subquery that is put into a hash table, to be looked up by the rows outside
	outerSteps    = 60 // a unit's group on its way through selection, ordinals and the outer sum
)

// hashedRows is how many rows of an IN subquery PostgreSQL hashes within work_mem; more are compared one by one.
const hashedRows = 1 << 15

// size is how many rows of one unit there may be; of public rows, how many there are in all.
func (r *relation) size() int64 {
	if r.private() {
		return r.rows
	}
	return max(1, r.extent)
}

// scanned accounts for reading a table.
func (r *relation) scanned(t *policy.Table, m *Relation) {
	if t.Public {
		r.extent = publicRows(t, m)
	}
	r.steps = expr.MulSteps(r.size(), rowSteps)
}

// publicRows is the size of a public table: declared, or as main's catalogs estimate it.
func publicRows(t *policy.Table, m *Relation) int64 {
	if t.MaxRows > 0 {
		return t.MaxRows
	}
	return max(1, m.Rows)
}

// does adds the work of evaluating expressions for so many rows.
func (r *relation) does(rows int64, of ...*expr.Expr) {
	for _, x := range of {
		r.takes(x.Work(), rows)
	}
}

// takes adds work for so many rows.
func (r *relation) takes(w expr.Work, rows int64) {
	r.steps = min(r.steps+w.Times(rows), expr.MostWork)
}

// reads adds the work of reading columns for so many rows.
func (r *relation) reads(rows int64, cols []*column) {
	for _, c := range cols {
		r.takes(c.x.Work, rows)
	}
}

// joins adds the work of joining another relation, before its rows multiply r's. set is the unique set that lets at most one of
// them through; a table has an index for it, while constants are compared one by one.
func (r *relation) joins(o *relation, set *uniqueSet) {
	once, each := o.steps, expr.MulSteps(o.size(), pairSteps)
	switch {
	case o.lateral:
		once, each = 0, o.steps+pairSteps
	case o.constants:
		each = expr.MulSteps(o.size(), constantSteps)
	case set != nil:
		each = lookupSteps + o.steps/o.size()
	}
	r.takes(expr.Work{Row: each, Once: once}, r.size())
}

// filters adds the work of conditions on the rows of a join of items. One that reads a single public item may be evaluated for all
// rows of that, before the join.
func (r *relation) filters(items []*relation, conds []*expr.Expr) {
	for _, c := range conds {
		rows := r.size()
		if item := only(items, c); item != nil && !item.private() {
			rows = max(rows, item.size())
		}
		r.does(rows, c)
	}
}

// only is the item whose columns are all that an expression reads; nil: there are several, or none.
func only(items []*relation, x *expr.Expr) *relation {
	var found *relation
	for _, c := range x.Columns() {
		source, _ := c.Source.(*column)
		i := slices.IndexFunc(items, func(r *relation) bool { return slices.Contains(r.cols, source) })
		if i < 0 || found != nil && found != items[i] {
			return nil
		}
		found = items[i]
	}
	return found
}

// foundByIndex says that a unique index finds the one row of a relation that conditions leave, and makes its work that of a lookup.
func (r *relation) foundByIndex() bool {
	one := r.uniqueOver(nil)
	if one == nil || one.proof == nil {
		return false
	}
	r.steps = lookupSteps + r.steps/r.size()
	return true
}

// subqueryWork is the work of a subquery for a row of the query around it: once for all rows where it reads nothing of them.
// compared is that of comparing a value with one of its rows, 0 for EXISTS and scalar subqueries.
func (s *scope) subqueryWork(r *relation, correlated, hashed bool, compared int64) expr.Work {
	each := int64(0)
	if compared > 0 {
		each = expr.MulSteps(r.size(), compared+rowSteps)
	}
	table := expr.MulSteps(r.size(), hashSteps)
	if correlated {
		return expr.Work{Row: r.steps + each + pairSteps, Once: table}
	}
	if hashed && r.size() <= hashedRows {
		each = min(each, compared+rowSteps)
	}
	return expr.Work{Row: each + pairSteps, Once: r.steps + table}
}

// mostPrints is how often the SQL of an aggregate's argument prints an expression at most: for its value, its bounds, and to see
// whether there is one.
const mostPrints = 4

// work is what an aggregate does with a row.
func (c *call) work() expr.Work {
	w := expr.Work{Row: groupSteps}
	of := c.args
	if c.filter != nil {
		of = append(slices.Clone(of), c.filter)
	}
	for _, x := range of {
		w = w.Plus(x.Work().Repeated(mostPrints))
	}
	if c.distinct || len(c.fractions) > 0 || c.name == "min" || c.name == "max" {
		w.Row += windowSteps
	}
	return w
}

// allowance is what reading the relation's tables once may take.
func (b *builder) allowance(tables []*policy.Table) int64 {
	steps := int64(0)
	for i, t := range tables {
		if slices.Contains(tables[:i], t) {
			continue
		}
		if t.Public {
			steps += expr.MulSteps(publicRows(t, b.schema.Relations[t.Name]), stepsPerPublicRow)
		} else {
			steps += expr.MulSteps(max(1, int64(t.MaxRowsPerUnit)), stepsPerUnitRow)
		}
	}
	return steps
}

// bounded refuses a relation whose rows alone are too much work. Before the values of constants are known there may be less of it
// than there will be.
func (b *builder) bounded(r *relation, n *pg_query.Node) error {
	return b.boundedWork(r.steps, r.tables, n, "this join", "Join on unique keys, aggregate before the join, or list fewer constants.")
}

// boundedSubquery refuses an expression whose subqueries are too much work.
func (s *scope) boundedSubquery(x *expr.Expr, n *pg_query.Node) error {
	w := x.Work()
	return s.b.boundedWork(w.Times(s.rel.size()), s.rel.tables, n, "this subquery", "Equate a unique key in it, or list fewer constants.")
}

// boundedConditions refuses conditions that are too much work for the rows that they are evaluated for, at the worst of them.
func (b *builder) boundedConditions(r *relation, conds []*expr.Expr, n *pg_query.Node) error {
	if len(conds) == 0 {
		return b.bounded(r, n)
	}
	worst := slices.MaxFunc(conds, func(x, y *expr.Expr) int { return int(x.Work().Times(r.size()) - y.Work().Times(r.size())) })
	at := &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{Location: int32(worst.Location())}}}
	return b.boundedWork(r.steps, r.tables, at, "this condition", "List fewer constants, compare shorter texts (left(x, 100)), or join instead of nesting subqueries.")
}

func (b *builder) boundedWork(steps int64, tables []*policy.Table, n *pg_query.Node, what, hint string) error {
	if steps-b.allowance(tables) <= maxUnitSteps {
		return nil
	}
	return b.refuse(pgerr.StatementTooComplex, n, fmt.Sprintf("%s may take more than %d steps for the rows of one unit", what, int64(maxUnitSteps)), hint)
}

// does adds the work of a window function's call.
func (w *windows) does(f *pg_query.FuncCall, win *window) error {
	w.work = w.work.Plus(win.work).Plus(expr.Work{Row: windowSteps})
	if !win.frame.grows && !ranking[functionName(f)] { // the frame of each row is read anew
		w.work.Row += expr.MulSteps(w.d.src.size(), frameSteps)
	}
	for _, n := range append(slices.Clone(f.Args), f.AggFilter) {
		if n == nil {
			continue
		}
		x, err := w.sc.expression(n)
		if err != nil {
			return err
		}
		w.work = w.work.Plus(x.Work()).Plus(x.Work())
	}
	return nil
}

// queries is how many queries measure a block: distinct values and histograms have their own, each of which reads the source again.
func (k *block) queries() int64 {
	n := int64(1 + len(k.hists))
	for _, m := range k.measured {
		if m.distinct != nil {
			n++
		}
	}
	return n
}

// weigh counts the work of a block.
func (k *block) weigh(calls []*call) {
	r := &relation{unit: k.src.unit, rows: k.src.rows, steps: k.src.steps}
	for _, g := range k.keys {
		r.takes(g.Work().Repeated(int64(max(1, strings.Count(query.Key(g.selection), query.Key(g.SQL()))))), r.rows)
	}
	r.steps = expr.MulSteps(r.steps, k.queries())
	for _, c := range calls {
		r.takes(c.work(), r.rows)
	}
	if !k.single() {
		r.takes(expr.Work{Row: outerSteps}, r.rows)
	}
	k.steps = r.steps
}

// begun is what a statement's plan may begin lazily. Of two tables that are joined, main may read one only when the other has a row
// that asks for it, and a subquery's when a row around it does: so one unit's row may be what has a whole table read. That is not
// bounded by the rows of a unit. What reading a table's row takes is: its conditions are no more than mostConditionSteps.
type begun struct {
	conditions int64 // the most work of one level's conditions for a row, without that of subqueries
}

// mostConditionSteps lets through what analysts filter by: texts of unknown length under LIKE, long lists, a logarithm or two.
const mostConditionSteps = 16 << 10

func (l *begun) filters(conds []*expr.Expr) {
	steps := int64(0)
	for _, c := range conds {
		steps += c.Own()
	}
	l.conditions = max(l.conditions, steps)
}

// boundedBlock refuses a block which, with those before it, is too much work.
func (b *builder) boundedBlock(k *block, calls []*call) error {
	if len(k.src.tables) > 1 && b.begun.conditions > mostConditionSteps {
		return b.refuse(pgerr.StatementTooComplex, nil, fmt.Sprintf("a condition may take more than %d steps for a row, where several tables are read", mostConditionSteps),
			"Compare with simpler expressions, or filter one table in a statement of its own.")
	}
	total := int64(0)
	for _, o := range append(slices.Clone(b.blocks), k) {
		total += max(0, o.steps-expr.MulSteps(b.allowance(o.src.tables), o.queries()))
	}
	if total <= maxUnitSteps {
		return nil
	}
	err := b.boundedWork(total, nil, nil, "this statement", "Aggregate fewer rows, or ask for less at a time.")
	if len(calls) == 0 {
		return err
	}
	return b.locatedCall(err, calls[0])
}

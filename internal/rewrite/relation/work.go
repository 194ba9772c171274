package relation

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// How long main works on one unit's rows can be seen by the clock, so a statement must not make much of them: every
// relation carries a public bound of the steps that the rows of one unit cause, every expression that of a row, and
// what exceeds the limit is refused (P22a). Nothing here reads a row: the bounds come from the statement, the policy,
// and the sizes of public tables.

// MaxUnitSteps is the most that a statement may do with one unit's rows beyond reading its tables. The costs below were
// measured on PostgreSQL 15 and one core of a server: of the statements near the limit, the slowest took 8 ns of
// processor time per step (BenchmarkStep), so that one unit's rows make a difference of at most about 70 ms there.
const MaxUnitSteps = 8 << 20

// What reading a table's rows once may take is never too much: a statement that does no more is an ordinary one, and
// the DBA declared how many rows there are.
const (
	stepsPerUnitRow   = 200 // of a private table, for each row that a unit may have
	stepsPerPublicRow = 64  // of a public table, for each of its rows
)

const (
	rowSteps      = 8  // a row of a table, or of a subselect
	constantSteps = 16 // a row of VALUES, whose cells are expressions
	PairSteps     = 6  // a row of one side of a join with a row of the other
	lookupSteps   = 40 // a row found by a unique index
	GroupSteps    = 30 // a row that is sorted into its group and added to one aggregate
	WindowSteps   = 80 // a row that is sorted and given one window function
	FrameSteps    = 6  // a row of a window's frame that is read for another row
	hashSteps     = 25 // a row of a subquery that is put into a hash table, to be looked up by the rows outside
	OuterSteps    = 60 // a unit's group on its way through selection, ordinals and the outer sum
)

// hashedRows bounds the rows of an IN subquery that PostgreSQL hashes within work_mem; more are compared one by one.
const hashedRows = 1 << 15

// Size bounds the rows of one unit; of public rows, it counts all.
func (r *Relation) Size() int64 {
	if r.Private() {
		return r.MaxRowsPerUnit
	}
	return max(1, r.publicRows)
}

// addScanWork accounts for reading a table.
func (r *Relation) addScanWork(t *policy.Table, m *schema.Relation) {
	if t.Public {
		r.publicRows = publicRows(t, m)
	}
	r.Steps = expr.MulSteps(r.Size(), rowSteps)
}

// publicRows gives the size of a public table: declared, or as main's catalogs estimate it.
func publicRows(t *policy.Table, m *schema.Relation) int64 {
	if t.MaxRows > 0 {
		return t.MaxRows
	}
	return max(1, m.Rows)
}

// AddExpressionWork adds the work of evaluating expressions for a number of rows.
func (r *Relation) AddExpressionWork(rows int64, of ...*expr.Expr) {
	for _, x := range of {
		r.AddWork(x.Work(), rows)
	}
}

// AddWork adds work for a number of rows.
func (r *Relation) AddWork(w expr.Work, rows int64) {
	r.Steps, r.once = min(r.Steps+w.Times(rows), expr.MostWork), min(r.once+w.Once, expr.MostWork)
}

// AddColumnWork adds the work of reading columns for a number of rows.
func (r *Relation) AddColumnWork(rows int64, cols []*Column) {
	for _, c := range cols {
		r.AddWork(c.Value.Work, rows)
	}
}

// addJoinWork adds the work of joining another relation, before its rows multiply r's. set is the unique set that lets
// at most one of them through; a table has an index for it, while constants are compared one by one.
func (r *Relation) addJoinWork(o *Relation, set *UniqueSet) {
	once, each := o.Steps, expr.MulSteps(o.Size(), PairSteps)
	switch {
	case o.Lateral:
		once, each = 0, o.Steps+PairSteps
	case o.constants:
		each = expr.MulSteps(o.Size(), constantSteps)
	case set != nil:
		each = lookupSteps + o.Steps/o.Size()
	}
	r.AddWork(expr.Work{Row: each, Once: once}, r.Size())
}

// AddFilterWork adds the work of conditions on the rows of a join of items. One that reads a single public item may be
// evaluated for all rows of that, before the join.
func (r *Relation) AddFilterWork(items []*Relation, conds []*expr.Expr) {
	for _, c := range conds {
		rows := r.Size()
		if item := only(items, c); item != nil && !item.Private() {
			rows = max(rows, item.Size())
		}
		r.AddExpressionWork(rows, c)
	}
}

// only gives the one item whose columns an expression reads; nil where it reads several, or none.
func only(items []*Relation, x *expr.Expr) *Relation {
	var found *Relation
	for _, c := range x.Columns() {
		source, _ := c.Source.(*Column)
		i := slices.IndexFunc(items, func(r *Relation) bool { return slices.Contains(r.Columns, source) })
		if i < 0 || found != nil && found != items[i] {
			return nil
		}
		found = items[i]
	}
	return found
}

// FoundByIndex says that a unique index finds the one row of a relation that conditions leave, and makes its work that
// of a lookup.
func (r *Relation) FoundByIndex() bool {
	one := r.UniqueOver(nil)
	if one == nil || one.Proof == nil {
		return false
	}
	r.Steps, r.once, r.indexedRows = lookupSteps+r.Steps/r.Size(), 0, nil
	return true
}

// SubqueryWork bounds the work of a subquery for a row of the query around it: once for all rows where it reads nothing
// of them. compared is that of comparing a value with one of its rows, 0 for EXISTS and scalar subqueries.
func SubqueryWork(r *Relation, correlated, hashed bool, compared int64) expr.Work {
	rows, steps := r.Size(), r.Steps
	if correlated {
		rows, steps = r.correlatedWork()
	}
	each := int64(0)
	if compared > 0 {
		each = expr.MulSteps(rows, compared+rowSteps)
	}
	table := expr.MulSteps(r.Size(), hashSteps)
	if correlated {
		return expr.Work{Row: steps + each + PairSteps, Once: table}
	}
	if hashed && r.Size() <= hashedRows {
		each = min(each, compared+rowSteps)
	}
	return expr.Work{Row: each + PairSteps, Once: r.Steps + table}
}

// Allowance gives the steps that reading the relation's tables once may take.
func (b *Base) Allowance(tables []*policy.Table) int64 {
	steps := int64(0)
	for i, t := range tables {
		if slices.Contains(tables[:i], t) {
			continue
		}
		if t.Public {
			steps += expr.MulSteps(publicRows(t, b.Schema.Relations[t.Name]), stepsPerPublicRow)
		} else {
			steps += expr.MulSteps(max(1, int64(t.MaxRowsPerUnit)), stepsPerUnitRow)
		}
	}
	return steps
}

// CheckWork refuses a relation whose rows alone are too much work. Before the values of constants are known there may
// be less of it than there will be.
func (b *Base) CheckWork(r *Relation, n *pg_query.Node) error {
	return b.CheckSteps(r.Steps, r.Tables, n, "this join",
		"Join on unique keys, aggregate before the join, or list fewer constants.")
}

// CheckConditionWork refuses conditions that are too much work for the rows that they are evaluated for, at the worst
// of them.
func (b *Base) CheckConditionWork(r *Relation, conds []*expr.Expr, n *pg_query.Node) error {
	if len(conds) == 0 {
		return b.CheckWork(r, n)
	}
	worst := slices.MaxFunc(conds, func(x, y *expr.Expr) int {
		return int(x.Work().Times(r.Size()) - y.Work().Times(r.Size()))
	})
	at := &pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{Location: int32(worst.Location())}}}
	return b.CheckSteps(r.Steps, r.Tables, at, "this condition",
		"List fewer constants, compare shorter texts (left(x, 100)), or join instead of nesting subqueries.")
}

func (b *Base) CheckSteps(steps int64, tables []*policy.Table, n *pg_query.Node, what, hint string) error {
	if steps-b.Allowance(tables) <= MaxUnitSteps {
		return nil
	}
	return b.Refuse(refusal.TooMuchWork, n, fmt.Sprintf("%s may take more than %d steps for the rows of one unit", what,
		int64(MaxUnitSteps)), hint)
}

// MostConditionSteps bounds what the conditions of one query level may take for a row, where several tables are read.
// Of two tables that are joined, main may read one only when the other has a row that asks for it, and a subquery's
// when a row around it does: so one unit's row may be what has a whole table read, which no bound on the rows of a unit
// limits. What reading a row takes is limited instead. The bound lets through what analysts filter by: texts of unknown
// length under LIKE, long lists, a logarithm or two.
const MostConditionSteps = 16 << 10

// NoteConditions keeps the most work that the conditions of one query level take for a row, without that of subqueries,
// and which bounded columns they read clamped.
func (b *Base) NoteConditions(conds []*expr.Expr) {
	steps := int64(0)
	for _, c := range conds {
		steps += c.Own()
		b.NoteBeyond(Condition, c.OutOfBounds())
	}
	b.ConditionSteps = max(b.ConditionSteps, steps)
}

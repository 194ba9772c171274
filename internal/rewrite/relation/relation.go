package relation

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Relation is a node of the plan below a release: rows on main, with what is known, and enforced, about them.
type Relation struct {
	From       query.Source
	Where      []query.Scalar // conditions that belong to it
	Conditions []*expr.Expr   // the analyst's among them, for what they say of columns
	Columns    []*Column

	Unit        query.Scalar    // the unit, never NULL in a row; nil: public
	UnitColumns []*Column       // columns that equal the unit in every row
	UnitName    string          // the unit's name: "patient"
	ToUnit      *ForeignKeyStep // unit not joined yet

	// MaxRowsPerUnit bounds the rows of one unit: declared by the policy, multiplied through joins. It is a fact about
	// main only if proven; else whoever aggregates the relation has to enforce it (docs/privacy.md, Terms). Of public rows
	// it bounds all, where they are constants; 0: no bound is known.
	MaxRowsPerUnit int64
	Proven         bool
	// RowsOf is the table of whose rows of one unit MaxRowsPerUnit is a multiple; nil: of several, or nobody knows.
	RowsOf  *policy.Table
	MaxRows int64 // public upper bound of all rows; 0: unknown
	// of a UNION ALL, those together that exclude each other, or the one scan that its rows are of; nil: not known
	branches    [][]*branch
	publicRows  int64 // of public rows: how many there are, for their work alone
	Steps       int64 // the most that main does for the rows of one unit; of public rows, for all (work.go)
	once        int64 // how much of it does not grow with the rows
	indexedRows indexedRows

	public    publicParts // of a private relation: the public rows that its rows hold
	Preserved *Preserved  // public rows that a LEFT JOIN keeps; the relation itself is the inner join
	open      bool        // its items are not joined yet: Unit is that of the first private one
	constants bool        // the statement alone gives its rows
	Lateral   bool        // reads columns of items beside it: all that is known of it holds per row of those
	Empty     bool        // a condition that is never true holds no row: nothing is measured

	Unique []UniqueSet    // sets of columns that hold each combination at most once
	Order  []query.Scalar // total order of the rows of one unit; nil: none is known (docs/privacy.md P8a)
	// OrderProofs has to hold on main for Order to be total.
	OrderProofs []schema.Proof
	Tables      []*policy.Table
	Proofs      []schema.Proof
	Correlated  []Correlation
	Plan        PlanNode // for EXPLAIN
}

// ForeignKeyStep is a foreign key that a join still has to take to reach the unit.
type ForeignKeyStep struct {
	Via    *Column
	target policy.Name
	column string
}

// UniqueSet says that no two rows agree in all its columns; proof is what main has to prove for it, nil where the
// relation's own SQL does.
type UniqueSet struct {
	Columns []*Column
	Proof   *schema.Proof
}

func (r *Relation) Private() bool { return r.Unit != nil || r.ToUnit != nil }

// UnnamedOutputs makes outputs that nothing refers to.
func UnnamedOutputs(list []query.Scalar) []query.Output {
	out := make([]query.Output, len(list))
	for i, x := range list {
		out[i] = query.Output{X: x}
	}
	return out
}

// Select makes the query of the relation's rows with the given outputs.
func (r *Relation) Select(outputs ...query.Output) *query.Select {
	where := sorted(r.Where)
	if r.Empty {
		where = append(where, never)
	}
	return &query.Select{Outputs: outputs, From: r.From, Where: where}
}

// FilteredBy keeps the rows where a condition holds, too; nil keeps all.
func (r *Relation) FilteredBy(where query.Scalar) *Relation {
	if where == nil {
		return r
	}
	out := *r
	out.Where = append(append([]query.Scalar{}, r.Where...), where)
	return &out
}

// MixedUnits words the refusal of a query over tables with two kinds of units (docs/privacy.md P9).
func MixedUnits(a, b string) string {
	return fmt.Sprintf("tables whose privacy unit is %s and tables whose privacy unit is %s cannot be used in one query",
		a, b)
}

// hiddenColumns keeps the nameless columns that carry unit and order of derived items.
func hiddenColumns(r *Relation, shown []*Column) []*Column {
	var hidden []*Column
	isShown := make(map[*Column]bool, len(shown))
	for _, c := range shown {
		isShown[c] = true
	}
	for _, c := range r.Columns {
		if !isShown[c] {
			hidden = append(hidden, c)
		}
	}
	return hidden
}

func itemName(r *Relation) string {
	for _, c := range r.Columns {
		if c.Table != "" {
			return c.Table
		}
	}
	if len(r.Tables) == 0 {
		return "VALUES"
	}
	return r.Tables[0].Name.Relation
}

func hasPrivate(items []*Relation) bool {
	return slices.ContainsFunc(items, func(r *Relation) bool { return r.Private() })
}

// rowsLimit keeps products of row bounds within what a sensitivity can be computed from.
const rowsLimit = 1 << 40

func saturatingMul(a, b int64) int64 {
	if b != 0 && a > rowsLimit/b {
		return rowsLimit
	}
	return a * b
}

// saturatingAdd adds row bounds; of public rows, 0 says that none is known.
func saturatingAdd(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return min(rowsLimit, a+b)
}

// RowBound words the row bound for EXPLAIN.
func (r *Relation) RowBound() string {
	switch {
	case !r.Private():
		return "public"
	case r.MaxRowsPerUnit == 1 && r.Proven:
		return "one row per unit (proven)"
	case r.Proven:
		return fmt.Sprintf("at most %d rows per unit (proven)", r.MaxRowsPerUnit)
	}
	return fmt.Sprintf("at most %d rows per unit (clamped)", r.MaxRowsPerUnit)
}

// oneValue makes a FROM item of one row.
func oneValue(as *query.Alias) query.Source {
	return &query.Values{Rows: [][]query.Scalar{{query.Integer(1)}}, As: as}
}

// SetAlias renames the relation for the analyst: every column gets the table name; names replaces column names from the
// left. Names of tables behind the alias are gone.
func (r *Relation) SetAlias(table string, names []string) error {
	visible := r.Visible()
	if len(names) > len(visible) {
		return pgerr.New(pgerr.SyntaxError, fmt.Sprintf("table %q has %d columns available but %d columns specified", table,
			len(visible), len(names)))
	}
	for _, c := range r.Columns {
		if c.Hidden {
			c.Table, c.Name = "", ""
		}
	}
	for i, c := range visible {
		c.Table, c.place = table, i
		if i < len(names) {
			c.Name = names[i]
		}
		if r.constants {
			c.Value.Name = c.Name
		}
	}
	return nil
}

// Visible lists the columns that * means.
func (r *Relation) Visible() []*Column {
	var v []*Column
	for _, c := range r.Columns {
		if !c.Hidden {
			v = append(v, c)
		}
	}
	return v
}

// OfTable lists the columns that table.* means: those that a join has merged are among them.
func (r *Relation) OfTable(table string) []*Column {
	var list []*Column
	for _, c := range r.Columns {
		if c.Table == table && c.Name != "" {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *Column) int { return cmp.Compare(a.place, b.place) })
	return list
}

// SetOneRowPerUnit notes that the SQL lets through at most one row of each unit: every column is a function of the unit
// then.
func (r *Relation) SetOneRowPerUnit() {
	r.MaxRowsPerUnit, r.Proven = 1, true
	for _, c := range r.Columns {
		c.PerUnit = true
	}
	if len(r.UnitColumns) > 0 {
		r.Unique = append(r.Unique, UniqueSet{Columns: r.UnitColumns[:1]})
	}
}

// limit lowers the row bound where a unique set of the unit and of bounded integers leaves a unit few rows, as
// row_number() <= 3 does. It prints the bounds that it counts with, so that they are facts.
func (r *Relation) limit() {
	for _, set := range r.Unique {
		rows := int64(1)
		var where []query.Scalar
		for _, c := range set.Columns {
			if slices.Contains(r.UnitColumns, c) {
				continue
			}
			if !pgresolve.IsInt(c.Value.Type) || c.Value.Nullable || c.Value.GoesBeyond() || !c.Value.Bounds.Finite() {
				rows = rowsLimit
				break
			}
			lo, hi := bounds.CeilInt(c.Value.Bounds.Lo), bounds.FloorInt(c.Value.Bounds.Hi)
			rows = saturatingMul(rows, max(1, hi-lo+1))
			where = append(where, query.F("({} OPERATOR(pg_catalog.>=) ({}))", c.Value.Ref, lo),
				query.F("({} OPERATOR(pg_catalog.<=) ({}))", c.Value.Ref, hi))
		}
		if rows > r.MaxRowsPerUnit || rows == r.MaxRowsPerUnit && (r.Proven || rows > 1) {
			continue
		}
		r.Where = append(r.Where, where...)
		if set.Proof != nil {
			r.Proofs = append(r.Proofs, *set.Proof)
		}
		if r.MaxRowsPerUnit, r.Proven = rows, true; rows == 1 {
			r.SetOneRowPerUnit()
		}
		r.Plan = NewPlanNode("filter, "+r.RowBound(), r.Plan)
	}
}

// Find resolves a name; an empty table means any.
func (r *Relation) Find(table, name string) (*Column, error) {
	var found *Column
	for _, c := range r.Columns {
		if c.Name != name || (table != "" && c.Table != table) || (table == "" && c.Hidden) {
			continue
		}
		if found != nil {
			return nil, pgerr.New("42702", fmt.Sprintf("column reference %q is ambiguous", name))
		}
		found = c
	}
	return found, nil
}

// UniqueOver finds a unique set among the columns; nil if there is none.
func (r *Relation) UniqueOver(cols map[*Column]bool) *UniqueSet {
	for i := range r.Unique {
		if r.Unique[i].within(cols) {
			return &r.Unique[i]
		}
	}
	return nil
}

func (s *UniqueSet) within(cols map[*Column]bool) bool {
	return !slices.ContainsFunc(s.Columns, func(c *Column) bool { return !cols[c] })
}

// Equals compares operands of one type; both sides of every use have a type whose equality is pg_catalog's.
func Equals(l, r query.Scalar) query.Scalar { return query.F("({} OPERATOR(pg_catalog.=) {})", l, r) }

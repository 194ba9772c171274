package rewrite

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// relation is a node of the plan below a release: rows on main, with what is known, and enforced, about them.
type relation struct {
	from  query.Source
	where []query.Scalar // conditions that belong to it
	conds []*expr.Expr   // the analyst's among them, for what they say of columns
	cols  []*column

	unit     query.Scalar // the unit, never NULL in a row; nil: public
	unitCols []*column    // columns that equal the unit in every row
	kind     string       // the unit's name: "patient"
	chain    *chain       // unit not joined yet

	// rows bounds the rows of one unit: declared by the policy, multiplied through joins. It is a fact about main only
	// if proven; else whoever aggregates the relation has to enforce it (PRIVACY 2).
	// Of public rows it bounds all, where they are constants; 0: no bound is known.
	rows   int64
	proven bool
	max    int64 // public upper bound of all rows; 0: unknown
	extent int64 // of public rows: how many there are, for their work alone
	steps  int64 // the most that main does for the rows of one unit; of public rows, for all (work.go)

	preserved *preserved // public rows that a LEFT JOIN keeps; the relation itself is the inner join
	constants bool       // the statement alone gives its rows
	lateral   bool       // reads columns of items beside it: all that is known of it holds per row of those
	empty     bool       // a condition that is never true holds no row: nothing is measured

	unique []uniqueSet    // sets of columns that hold each combination at most once
	order  []query.Scalar // total order of the rows of one unit; nil: none is known (PRIVACY 7)
	// orderProofs is what main has to prove of order, for whoever uses it.
	orderProofs []Proof
	tables      []*policy.Table
	proofs      []Proof
	correlated  []correlation
	plan        step // for EXPLAIN
}

// chain is a foreign-key step that has still to be joined to reach the unit.
type chain struct {
	via    *column
	target policy.Name
	column string
}

// uniqueSet says that no two rows agree in all its columns; proof is what main has to prove for it, nil where the
// relation's own SQL does.
type uniqueSet struct {
	cols  []*column
	proof *Proof
}

// column is a column of a relation.
type column struct {
	table, name string // as the analyst may call it; hidden ones have no name
	x           *expr.Column
	origin      policy.ColumnOf // the table column whose value it is, of a row of the same unit; zero for computed ones
	policy      *policy.Column  // what the policy says of it; nil for computed and public ones
	isUnit      bool
	holdsUnit   bool // the unit of its row, or NULL on the optional side of an outer join
	perUnit     bool // a function of the unit: the same in all rows of one unit
	hidden      bool // merged by USING or NATURAL: only reachable with its table's name
	// literal is the untyped literal that a SELECT list gives as this output: a set operation may make it another type.
	literal *expr.Expr
}

// copied is a column of its own: an outer join may make this one nullable, and no function of the unit any more, while
// the original stays what it is.
func (c *column) copied() *column {
	n, x := *c, *c.x
	n.x, x.Source, n.literal = &x, &n, nil
	return &n
}

func (r *relation) private() bool { return r.unit != nil || r.chain != nil }

// alias renames the relation for the analyst: every column gets the table name; names replaces column names from the left.
func (r *relation) alias(table string, names []string) error {
	visible := r.visible()
	if len(names) > len(visible) {
		return pgerr.New(pgerr.SyntaxError, fmt.Sprintf("table %q has %d columns available but %d columns specified", table, len(visible), len(names)))
	}
	for i, c := range visible {
		c.table = table
		if i < len(names) {
			c.name = names[i]
		}
		if r.constants {
			c.x.Name = c.name
		}
	}
	return nil
}

// visible lists the columns that * means.
func (r *relation) visible() []*column {
	var v []*column
	for _, c := range r.cols {
		if !c.hidden {
			v = append(v, c)
		}
	}
	return v
}

// oneRow notes that the SQL lets through at most one row of each unit: every column is a function of the unit then.
func (r *relation) oneRow() {
	r.rows, r.proven = 1, true
	for _, c := range r.cols {
		c.perUnit = true
	}
	if len(r.unitCols) > 0 {
		r.unique = append(r.unique, uniqueSet{cols: r.unitCols[:1]})
	}
}

// limit lowers the row bound where a unique set of the unit and of bounded integers leaves a unit few rows, as
// row_number() <= 3 does. It prints the bounds that it counts with, so that they are facts.
func (r *relation) limit() {
	for _, set := range r.unique {
		rows := int64(1)
		var where []query.Scalar
		for _, c := range set.cols {
			if slices.Contains(r.unitCols, c) {
				continue
			}
			if !schema.IsInteger(c.x.Type) || c.x.Nullable || !c.x.Bounds.Finite() {
				rows = rowsLimit
				break
			}
			lo, hi := ceilInt(c.x.Bounds.Lo), floorInt(c.x.Bounds.Hi)
			rows = saturatingMul(rows, max(1, hi-lo+1))
			where = append(where, query.F("({} OPERATOR(pg_catalog.>=) ({}))", c.x.Ref, lo), query.F("({} OPERATOR(pg_catalog.<=) ({}))", c.x.Ref, hi))
		}
		if rows > r.rows || rows == r.rows && (r.proven || rows > 1) {
			continue
		}
		r.where = append(r.where, where...)
		if set.proof != nil {
			r.proofs = append(r.proofs, *set.proof)
		}
		if r.rows, r.proven = rows, true; rows == 1 {
			r.oneRow()
		}
		r.plan = planned("filter, "+r.rowBound(), r.plan)
	}
}

// find resolves a name; an empty table means any.
func (r *relation) find(table, name string) (*column, error) {
	var found *column
	for _, c := range r.cols {
		if c.name != name || (table != "" && c.table != table) || (table == "" && c.hidden) {
			continue
		}
		if found != nil {
			return nil, pgerr.New("42702", fmt.Sprintf("column reference %q is ambiguous", name))
		}
		found = c
	}
	return found, nil
}

// uniqueOver finds a unique set among the columns; nil if there is none.
func (r *relation) uniqueOver(cols map[*column]bool) *uniqueSet {
	for i, set := range r.unique {
		all := true
		for _, c := range set.cols {
			all = all && cols[c]
		}
		if all {
			return &r.unique[i]
		}
	}
	return nil
}

// scan makes the relation of a policy table.
func (b *builder) scan(t *policy.Table) (*relation, error) {
	meta := b.schema.Relations[t.Name]
	if meta == nil {
		return nil, pgerr.New(pgerr.UndefinedTable, fmt.Sprintf("relation %q does not exist", t.Name.Relation))
	}
	if meta.Kind == 'v' || meta.Kind == 'm' {
		return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%q is a view: list it under views, not tables", t.Name.Relation))
	}
	alias := b.newAlias()
	r := &relation{from: tableSource(meta, alias), tables: []*policy.Table{t}, max: t.MaxRows, proofs: []Proof{meta.ShapeProof()}}
	for i := range meta.Columns {
		mc := &meta.Columns[i]
		pc := t.Column(mc.Name)
		if pc == nil && t.Columns != nil {
			continue
		}
		x, err := b.columnOf(alias, mc, pc)
		if err != nil {
			return nil, err
		}
		c := &column{table: t.Name.Relation, name: mc.Name, x: x, origin: policy.ColumnOf{Table: t.Name, Column: mc.Name}, policy: pc}
		x.Source = c
		r.cols = append(r.cols, c)
	}
	b.scanUnique(r, meta)
	if t.Public {
		r.plan = planned("scan " + t.Name.String() + " (public)")
	} else if err := b.scanUnit(r, t); err != nil {
		return nil, err
	}
	r.scanned(t, meta)
	return r, nil
}

// tableSource reads a table; ONLY keeps inheritance children, which have indexes of their own, out of what an index proves.
func tableSource(m *Relation, as *query.Alias) query.Source {
	return &query.Table{Name: m.Name, Only: m.Kind == 'r' && !m.Inherits, As: as}
}

// scanUnique notes what main's unique indexes prove.
func (b *builder) scanUnique(r *relation, m *Relation) {
	if m.Inherits {
		return
	}
	for _, names := range m.Unique {
		set := make([]*column, 0, len(names))
		for _, n := range names {
			if c, _ := r.find("", n); c != nil && !c.x.Nullable {
				set = append(set, c)
			}
		}
		if len(set) != len(names) {
			continue // a nullable or unlisted column: many rows with NULL are possible, or the analyst cannot name it
		}
		r.unique = append(r.unique, uniqueSet{set, &Proof{Relation: m.Name, Columns: names}})
		if r.order == nil {
			for _, c := range set {
				r.order = append(r.order, c.x.Ref)
			}
			r.orderProofs = []Proof{{Relation: m.Name, Columns: names}}
		}
	}
}

// scanUnit finds the unit column, or the first step towards it.
func (b *builder) scanUnit(r *relation, t *policy.Table) error {
	r.kind, r.rows = t.Unit.Name, max(1, int64(t.MaxRowsPerUnit))
	if t.Unit.Via != nil {
		via, _ := r.find("", t.Unit.Via.Column)
		if via == nil {
			return missingUnit(t, t.Unit.Via.Column)
		}
		var err error
		if r.chain, err = b.chainStep(t, via); err != nil {
			return err
		}
		r.plan = planned(fmt.Sprintf("scan %s, unit %s via %s, at most %d rows per unit (clamped)", t.Name, r.kind, t.Unit.Via.Column, r.rows))
		return nil
	}
	unit, _ := r.find("", t.Unit.Column)
	if unit == nil {
		return missingUnit(t, t.Unit.Column)
	}
	r.setUnit(unit)
	var err error
	if r.unit, err = spelledAlike(unit.x.Ref, unit.x); err != nil {
		return err
	}
	r.where = append(r.where, query.F("{} IS NOT NULL", unit.x.Ref))
	unit.x.Nullable = false
	if b.provesUnit(t) {
		r.rows, r.proven = 1, true
		one := Proof{Relation: t.Name, Columns: []string{t.Unit.Column}}
		r.proofs = append(r.proofs, one)
		r.unique = append(r.unique, uniqueSet{[]*column{unit}, &one})
		for _, c := range r.cols {
			c.perUnit = true
		}
		r.plan = planned(fmt.Sprintf("scan %s, unit %s = %s, one row per unit (unique index)", t.Name, r.kind, t.Unit.Column))
		return nil
	}
	r.plan = planned(fmt.Sprintf("scan %s, unit %s = %s, at most %d rows per unit (clamped)", t.Name, r.kind, t.Unit.Column, r.rows))
	return nil
}

// setUnit makes c the unit column.
func (r *relation) setUnit(c *column) {
	r.unit, r.chain = c.x.Ref, nil
	r.unitCols = append(r.unitCols, c)
	c.isUnit, c.holdsUnit, c.perUnit, c.x.Unit = true, true, true, true
}

// provesUnit says whether a unique index on the unit column alone exists; NULLs are filtered out, so they don't matter.
func (b *builder) provesUnit(t *policy.Table) bool {
	m := b.schema.Relations[t.Name]
	return t.Unit.Column != "" && uniqueColumn(m, t.Unit.Column)
}

func uniqueColumn(m *Relation, name string) bool {
	if m == nil || m.Inherits {
		return false
	}
	for _, u := range m.Unique {
		if len(u) == 1 && u[0] == name {
			return true
		}
	}
	return false
}

func missingUnit(t *policy.Table, name string) error {
	return pgerr.New(pgerr.InternalError, fmt.Sprintf("the unit column %q of %s is not listed in the policy", name, t.Name))
}

// reach joins what is needed until the unit is a column of the relation.
func (b *builder) reach(r *relation) error {
	for r.chain != nil {
		t := b.schema.Policy.Table(r.chain.target)
		m := b.schema.Relations[r.chain.target]
		if t == nil || m == nil || t.Unit == nil || t.Unit.Name != r.kind {
			return pgerr.New(pgerr.InternalError, "the foreign-key chain of the policy leaves the private tables")
		}
		if !uniqueColumn(m, r.chain.column) {
			return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s.%s is not unique in the main database, so rows of %s cannot be traced to one unit", t.Name.Relation, r.chain.column, r.tables[0].Name.Relation),
				pgerr.Hint("Ask the administrator for a unique index on that column."))
		}
		alias := b.newAlias()
		r.from = &query.Join{Kind: "INNER", Left: r.from, Right: tableSource(m, alias), On: []query.Scalar{equals(r.chain.via.x.Ref, alias.Column(query.Quote(r.chain.column)))}}
		r.proofs = append(r.proofs, m.ShapeProof(), Proof{Relation: t.Name, Columns: []string{r.chain.column}})
		r.takes(expr.Work{Row: lookupSteps}, r.size())
		if t.Unit.Via == nil {
			return b.endChain(r, t, m, alias)
		}
		var err error
		if r.chain, err = b.chainStep(t, &column{x: &expr.Column{Ref: alias.Column(query.Quote(t.Unit.Via.Column))}}); err != nil {
			return err
		}
	}
	return nil
}

// chainStep is what a table's foreign key leaves to be joined. reach prints it with =, which finds one row only where both sides
// are under one equality.
func (b *builder) chainStep(t *policy.Table, via *column) (*chain, error) {
	to := t.Unit.Via
	if !b.schema.ViaEquality(t) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s.%s and %s.%s have types or collations that do not compare as one, so rows of %s cannot be traced to one %s",
			t.Name.Relation, to.Column, to.References.Relation, to.ReferencesColumn, t.Name.Relation, t.Unit.Name),
			pgerr.Hint("Ask the administrator to give both columns one type and collation."))
	}
	return &chain{via: via, target: to.References, column: to.ReferencesColumn}, nil
}

// endChain takes the unit from the last table of a chain.
func (b *builder) endChain(r *relation, t *policy.Table, m *Relation, alias *query.Alias) error {
	mc := m.Column(t.Unit.Column)
	if mc == nil {
		return missingUnit(t, t.Unit.Column)
	}
	unit, err := b.columnOf(alias, mc, nil)
	if err != nil {
		return err
	}
	if r.unit, err = spelledAlike(unit.Ref, unit); err != nil {
		return err
	}
	r.chain, r.where = nil, append(r.where, query.F("{} IS NOT NULL", unit.Ref))
	return nil
}

// equals compares operands of one type; both sides of every use have a type whose equality is pg_catalog's.
func equals(l, r query.Scalar) query.Scalar { return query.F("({} OPERATOR(pg_catalog.=) {})", l, r) }

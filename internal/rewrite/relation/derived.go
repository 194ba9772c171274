package relation

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Project keeps some columns under other names. It computes nothing: the FROM is the same.
func (r *Relation) Project(cols []*Column, names []string) *Relation {
	out := *r
	out.Columns = nil
	used := map[*Column]*Column{}
	for i, of := range cols {
		c := of.copied()
		c.Name, c.Table, c.Hidden = names[i], "", false
		used[of] = c
		out.Columns = append(out.Columns, c)
	}
	for _, c := range r.Columns {
		if used[c] == nil {
			h := c.copied()
			h.Name, h.Table, h.Hidden = "", "", true
			used[c] = h
			out.Columns = append(out.Columns, h)
		}
	}
	out.UnitColumns, out.Unique, out.indexedRows = nil, nil, r.indexedRows.through(used)
	for _, c := range r.UnitColumns {
		if used[c] != nil {
			out.UnitColumns = append(out.UnitColumns, used[c])
		}
	}
	for _, set := range r.Unique {
		cols := make([]*Column, 0, len(set.Columns))
		for _, c := range set.Columns {
			if used[c] != nil {
				cols = append(cols, used[c])
			}
		}
		if len(cols) == len(set.Columns) {
			out.Unique = append(out.Unique, UniqueSet{cols, set.Proof})
		}
	}
	return &out
}

// Derived builds a relation that is a subselect of another.
type Derived struct {
	Source  *Relation
	Alias   *query.Alias
	Outputs []query.Output
	Result  *Relation
	Passed  map[*Column]*Column // columns of the source that pass through
}

func NewDerived(b *Base, src *Relation) *Derived {
	d := &Derived{Source: src, Alias: b.NewAlias(), Passed: map[*Column]*Column{}}
	d.Result = &Relation{
		UnitName: src.UnitName, MaxRowsPerUnit: src.MaxRowsPerUnit, Proven: src.Proven, RowsOf: src.RowsOf,
		MaxRows: src.MaxRows, Tables: src.Tables, Proofs: src.Proofs, Plan: src.Plan, Empty: src.Empty,
		Correlated: src.Correlated, publicRows: src.publicRows, Steps: src.Steps, once: src.once,
	}
	if src.Private() {
		d.Result.public = src.publicPart().holding(src.Conditions)
		d.Result.public.columns = map[string]publicColumn{}
		d.Outputs = append(d.Outputs, query.Output{X: src.Unit, Name: "u"})
		d.Result.Unit = d.Alias.Column("u")
	}
	return d
}

// Pass lets a column through unchanged.
func (d *Derived) Pass(c *Column, name string) {
	d.passAs(c, name, c.Value.Ref)
	if inside := c.Value.InBounds; inside != nil {
		d.Passed[c].Value.InBounds = d.output(inside)
	}
}

// PassKey lets a column through whose equal values the subselect merges, in the rows that are within bounds. What is a
// function of the unit is one value.
func (d *Derived) PassKey(b *Base, c *Column, name string) error {
	sql := c.Value.Ref
	if !c.PerUnit {
		var err error
		if sql, err = CanonicalText(sql, c.Value); err != nil {
			return err
		}
	}
	d.passAs(c, name, sql)
	x := d.Passed[c].Value
	x.OutOfBounds = nil
	b.Within(d.Source, d.Result, expr.Read(c.Value, -1), x)
	return nil
}

func (d *Derived) passAs(c *Column, name string, sql query.Scalar) {
	n := *c
	x := *c.Value
	x.Ref, x.PartOf, x.InBounds = d.output(sql), nil, nil
	n.Name, n.Table, n.Hidden, n.Literal, n.Value = name, "", false, nil, &x
	x.Source = &n
	d.Result.Columns = append(d.Result.Columns, &n)
	d.Passed[c] = &n
	if public, ok := d.Source.public.columns[query.Key(c.Value.Ref)]; ok && d.Source.Private() {
		d.Result.public.columns[query.Key(x.Ref)] = public
	}
	if slices.Contains(d.Source.UnitColumns, c) {
		d.Result.UnitColumns = append(d.Result.UnitColumns, &n)
	}
}

// Add computes a column, and beside it whether all that it clamps is within bounds: a key above has no group where it
// is not.
func (d *Derived) Add(e *expr.Expr, name string) *Column {
	c := d.addAs(e, name, e.SQL())
	if inside := e.AllInside(); inside != nil {
		c.Value.InBounds, c.Value.Work = d.output(inside), c.Value.Work.Plus(e.InsideWork())
	}
	return c
}

// AddKey computes a column whose equal values the subselect merges, in the rows that are within bounds.
func (d *Derived) AddKey(b *Base, e *expr.Expr, name string) (*Column, error) {
	sql, err := CanonicalText(e.SQL(), e.AsColumn(nil, e.Text()))
	if err != nil {
		return nil, err
	}
	c := d.addAs(e, name, sql)
	c.Value.OutOfBounds = nil
	b.Within(d.Source, d.Result, e, c.Value)
	return c, nil
}

func (d *Derived) addAs(e *expr.Expr, name string, sql query.Scalar) *Column {
	x := e.AsColumn(d.output(sql), name)
	for _, c := range e.Columns() {
		if !c.DeterministicCollation {
			x.DeterministicCollation = false
		}
	}
	n := &Column{Name: name, Value: x, PerUnit: PerUnit(e), cut: CutOf(e)}
	x.Source = n
	d.Result.Columns = append(d.Result.Columns, n)
	return n
}

// AddColumn adds a column that sql computes and x describes.
func (d *Derived) AddColumn(x *expr.Column, sql query.Scalar, name string, perUnit bool) *Column {
	x.Ref = d.output(sql)
	if x.InBounds != nil {
		x.InBounds = d.output(x.InBounds)
	}
	n := &Column{Table: d.Table(), Name: name, Value: x, PerUnit: perUnit}
	if source, ok := x.Source.(*Column); ok { // its value in one of the unit's rows
		n.Origin, n.HoldsUnit = source.Origin, source.HoldsUnit
	}
	x.Source = n
	d.Result.Columns = append(d.Result.Columns, n)
	return n
}

// PassAll lets all columns through under their names.
func (d *Derived) PassAll() {
	for _, c := range d.Source.Columns {
		d.Pass(c, c.Name)
		d.Passed[c].Table, d.Passed[c].Hidden = c.Table, c.Hidden
	}
}

// output adds a column to the subselect and returns its reference.
func (d *Derived) output(sql query.Scalar) query.Scalar {
	name := fmt.Sprintf("c%d", len(d.Outputs)+1)
	d.Outputs = append(d.Outputs, query.Output{X: sql, Name: name})
	return d.Alias.Column(name)
}

// Table names the subselect in expressions that the binder makes itself.
func (d *Derived) Table() string { return fmt.Sprintf("t%d", d.Alias.ID) }

// Relation prints the subselect, which has a row for each of its source.
func (d *Derived) Relation() *Relation {
	if d.Source.Private() {
		d.Result.branches = d.Source.parts()
	}
	for _, set := range d.Source.Unique {
		var cols []*Column
		for _, c := range set.Columns {
			m := d.Passed[c]
			if m == nil && slices.Contains(d.Source.UnitColumns, c) {
				m = d.UnitColumn()
			}
			if m != nil {
				cols = append(cols, m)
			}
		}
		if len(cols) == len(set.Columns) {
			d.Result.Unique = append(d.Result.Unique, UniqueSet{cols, set.Proof})
		}
	}
	if d.Source.Order != nil {
		for _, ref := range d.Source.Order {
			d.Result.Order = append(d.Result.Order, d.output(ref))
		}
		d.Result.OrderProofs = d.Source.OrderProofs
	}
	d.Result.From = &query.Derived{Query: d.Source.Select(d.Outputs...), As: d.Alias}
	d.Inherit()
	return d.Result
}

// Inherit takes over what the source reads, once all expressions are built: subqueries in them add to it.
func (d *Derived) Inherit() { d.Result.Tables, d.Result.Proofs = d.Source.Tables, d.Source.Proofs }

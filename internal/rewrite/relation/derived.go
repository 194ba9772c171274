package relation

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Rename is a projection that computes nothing: the same FROM, these columns under other names.
func (r *Relation) Rename(cols []*Column, names []string) *Relation {
	out := *r
	out.Cols = nil
	used := map[*Column]*Column{}
	for i, of := range cols {
		c := of.copied()
		c.Name, c.Table, c.Hidden = names[i], "", false
		used[of] = c
		out.Cols = append(out.Cols, c)
	}
	for _, c := range r.Cols {
		if used[c] == nil {
			h := c.copied()
			h.Name, h.Table, h.Hidden = "", "", true
			used[c] = h
			out.Cols = append(out.Cols, h)
		}
	}
	out.UnitCols, out.Unique = nil, nil
	for _, c := range r.UnitCols {
		if used[c] != nil {
			out.UnitCols = append(out.UnitCols, used[c])
		}
	}
	for _, set := range r.Unique {
		cols := make([]*Column, 0, len(set.Cols))
		for _, c := range set.Cols {
			if used[c] != nil {
				cols = append(cols, used[c])
			}
		}
		if len(cols) == len(set.Cols) {
			out.Unique = append(out.Unique, UniqueSet{cols, set.Proof})
		}
	}
	return &out
}

// Derived builds a relation that is a subselect of another.
type Derived struct {
	Src     *Relation
	Alias   *query.Alias
	Outputs []query.Output
	Out     *Relation
	Moved   map[*Column]*Column // columns of src that pass through
}

func NewDerived(b *Base, src *Relation) *Derived {
	d := &Derived{Src: src, Alias: b.NewAlias(), Moved: map[*Column]*Column{}}
	d.Out = &Relation{Kind: src.Kind, Rows: src.Rows, Proven: src.Proven, Max: src.Max, Tables: src.Tables, Proofs: src.Proofs, Plan: src.Plan, Empty: src.Empty, Correlated: src.Correlated, extent: src.extent, Steps: src.Steps}
	if src.Private() {
		d.Outputs = append(d.Outputs, query.Output{X: src.Unit, Name: "u"})
		d.Out.Unit = d.Alias.Column("u")
	}
	return d
}

// Pass lets a column through unchanged.
func (d *Derived) Pass(c *Column, name string) { d.passAs(c, name, c.X.Ref) }

// PassKey lets a column through whose equal values the subselect merges. What is a function of the unit is one value.
func (d *Derived) PassKey(c *Column, name string) error {
	sql := c.X.Ref
	if !c.PerUnit {
		var err error
		if sql, err = SpelledAlike(sql, c.X); err != nil {
			return err
		}
	}
	d.passAs(c, name, sql)
	return nil
}

func (d *Derived) passAs(c *Column, name string, sql query.Scalar) {
	n := *c
	x := *c.X
	x.Ref = d.output(sql)
	n.Name, n.Table, n.Hidden, n.Literal, n.X = name, "", false, nil, &x
	x.Source = &n
	d.Out.Cols = append(d.Out.Cols, &n)
	d.Moved[c] = &n
	if slices.Contains(d.Src.UnitCols, c) {
		d.Out.UnitCols = append(d.Out.UnitCols, &n)
	}
}

// Add computes a column.
func (d *Derived) Add(e *expr.Expr, name string) *Column { return d.addAs(e, name, e.SQL()) }

// AddKey computes a column whose equal values the subselect merges.
func (d *Derived) AddKey(e *expr.Expr, name string) (*Column, error) {
	sql, err := SpelledAlike(e.SQL(), e.AsColumn(nil, e.Text()))
	if err != nil {
		return nil, err
	}
	return d.addAs(e, name, sql), nil
}

func (d *Derived) addAs(e *expr.Expr, name string, sql query.Scalar) *Column {
	x := e.AsColumn(d.output(sql), name)
	perUnit := true
	for _, c := range e.Columns() {
		source, ok := c.Source.(*Column)
		perUnit = perUnit && ok && source.PerUnit
		if !c.DeterministicCollation {
			x.DeterministicCollation = false
		}
	}
	n := &Column{Name: name, X: x, PerUnit: perUnit}
	x.Source = n
	d.Out.Cols = append(d.Out.Cols, n)
	return n
}

// AddColumn adds a column that sql computes and x describes.
func (d *Derived) AddColumn(x *expr.Column, sql query.Scalar, name string, perUnit bool) *Column {
	x.Ref = d.output(sql)
	n := &Column{Table: d.Table(), Name: name, X: x, PerUnit: perUnit}
	if source, ok := x.Source.(*Column); ok { // its value in one of the unit's rows
		n.Origin, n.HoldsUnit = source.Origin, source.HoldsUnit
	}
	x.Source = n
	d.Out.Cols = append(d.Out.Cols, n)
	return n
}

// PassAll lets all columns through under their names.
func (d *Derived) PassAll() {
	for _, c := range d.Src.Cols {
		d.Pass(c, c.Name)
		d.Moved[c].Table, d.Moved[c].Hidden = c.Table, c.Hidden
	}
}

// output adds a column to the subselect and returns its reference.
func (d *Derived) output(sql query.Scalar) query.Scalar {
	name := fmt.Sprintf("c%d", len(d.Outputs)+1)
	d.Outputs = append(d.Outputs, query.Output{X: sql, Name: name})
	return d.Alias.Column(name)
}

// Table is how expressions that the binder makes itself name the subselect.
func (d *Derived) Table() string { return fmt.Sprintf("t%d", d.Alias.ID) }

// Relation prints the subselect.
func (d *Derived) Relation() *Relation {
	for _, set := range d.Src.Unique {
		var cols []*Column
		for _, c := range set.Cols {
			if m := d.Moved[c]; m != nil {
				cols = append(cols, m)
			}
		}
		if len(cols) == len(set.Cols) {
			d.Out.Unique = append(d.Out.Unique, UniqueSet{cols, set.Proof})
		}
	}
	if d.Src.Order != nil {
		for _, ref := range d.Src.Order {
			d.Out.Order = append(d.Out.Order, d.output(ref))
		}
		d.Out.OrderProofs = d.Src.OrderProofs
	}
	d.Out.From = &query.Derived{Query: d.Src.Selects(d.Outputs...), As: d.Alias}
	d.Inherit()
	return d.Out
}

// Inherit takes over what the source reads, once all expressions are built: subqueries in them add to it.
func (d *Derived) Inherit() { d.Out.Tables, d.Out.Proofs = d.Src.Tables, d.Src.Proofs }

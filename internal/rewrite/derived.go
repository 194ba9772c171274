package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// derived builds a relation that is a subselect of another.
type derived struct {
	src     *relation
	alias   *query.Alias
	outputs []query.Output
	out     *relation
	moved   map[*column]*column // columns of src that pass through
}

func newDerived(b *builder, src *relation) *derived {
	d := &derived{src: src, alias: b.newAlias(), moved: map[*column]*column{}}
	d.out = &relation{kind: src.kind, rows: src.rows, proven: src.proven, max: src.max, tables: src.tables, proofs: src.proofs, plan: src.plan, empty: src.empty, correlated: src.correlated, extent: src.extent, steps: src.steps}
	if src.private() {
		d.outputs = append(d.outputs, query.Output{X: src.unit, Name: "u"})
		d.out.unit = d.alias.Column("u")
	}
	return d
}

// pass lets a column through unchanged.
func (d *derived) pass(c *column, name string) { d.passAs(c, name, c.x.Ref) }

// passKey lets a column through whose equal values the subselect merges. What is a function of the unit is one value.
func (d *derived) passKey(c *column, name string) error {
	sql := c.x.Ref
	if !c.perUnit {
		var err error
		if sql, err = spelledAlike(sql, c.x); err != nil {
			return err
		}
	}
	d.passAs(c, name, sql)
	return nil
}

func (d *derived) passAs(c *column, name string, sql query.Scalar) {
	n := *c
	x := *c.x
	x.Ref = d.output(sql)
	n.name, n.table, n.hidden, n.literal, n.x = name, "", false, nil, &x
	x.Source = &n
	d.out.cols = append(d.out.cols, &n)
	d.moved[c] = &n
	if slices.Contains(d.src.unitCols, c) {
		d.out.unitCols = append(d.out.unitCols, &n)
	}
}

// add computes a column.
func (d *derived) add(e *expr.Expr, name string) *column { return d.addAs(e, name, e.SQL()) }

// addKey computes a column whose equal values the subselect merges.
func (d *derived) addKey(e *expr.Expr, name string) (*column, error) {
	sql, err := spelledAlike(e.SQL(), e.AsColumn(nil, e.Text()))
	if err != nil {
		return nil, err
	}
	return d.addAs(e, name, sql), nil
}

func (d *derived) addAs(e *expr.Expr, name string, sql query.Scalar) *column {
	x := e.AsColumn(d.output(sql), name)
	perUnit := true
	for _, c := range e.Columns() {
		source, ok := c.Source.(*column)
		perUnit = perUnit && ok && source.perUnit
		if !c.DeterministicCollation {
			x.DeterministicCollation = false
		}
	}
	n := &column{name: name, x: x, perUnit: perUnit}
	x.Source = n
	d.out.cols = append(d.out.cols, n)
	return n
}

// addColumn adds a column that sql computes and x describes.
func (d *derived) addColumn(x *expr.Column, sql query.Scalar, name string, perUnit bool) *column {
	x.Ref = d.output(sql)
	n := &column{table: d.table(), name: name, x: x, perUnit: perUnit}
	if source, ok := x.Source.(*column); ok { // its value in one of the unit's rows
		n.origin, n.holdsUnit = source.origin, source.holdsUnit
	}
	x.Source = n
	d.out.cols = append(d.out.cols, n)
	return n
}

// passAll lets all columns through under their names.
func (d *derived) passAll() {
	for _, c := range d.src.cols {
		d.pass(c, c.name)
		d.moved[c].table, d.moved[c].hidden = c.table, c.hidden
	}
}

// output adds a column to the subselect and returns its reference.
func (d *derived) output(sql query.Scalar) query.Scalar {
	name := fmt.Sprintf("c%d", len(d.outputs)+1)
	d.outputs = append(d.outputs, query.Output{X: sql, Name: name})
	return d.alias.Column(name)
}

// table is how expressions that the binder makes itself name the subselect.
func (d *derived) table() string { return fmt.Sprintf("t%d", d.alias.ID) }

// relation prints the subselect.
func (d *derived) relation() *relation {
	for _, set := range d.src.unique {
		var cols []*column
		for _, c := range set.cols {
			if m := d.moved[c]; m != nil {
				cols = append(cols, m)
			}
		}
		if len(cols) == len(set.cols) {
			d.out.unique = append(d.out.unique, uniqueSet{cols, set.proof})
		}
	}
	if d.src.order != nil {
		for _, ref := range d.src.order {
			d.out.order = append(d.out.order, d.output(ref))
		}
		d.out.orderProofs = d.src.orderProofs
	}
	d.out.from = &query.Derived{Query: d.src.selects(d.outputs...), As: d.alias}
	d.inherit()
	return d.out
}

// inherit takes over what the source reads, once all expressions are built: subqueries in them add to it.
func (d *derived) inherit() { d.out.tables, d.out.proofs = d.src.tables, d.src.proofs }

// distinctOn lists the expressions of DISTINCT ON; nil for any other SELECT.
func distinctOn(s *pg_query.SelectStmt) []*pg_query.Node {
	if len(s.DistinctClause) == 0 || s.DistinctClause[0].GetNode() == nil {
		return nil
	}
	return s.DistinctClause
}

// firstRows is DISTINCT ON with the unit among its expressions: the first row of each unit, or of each key of it, in the
// analyst's order and then by a key of the rows, so that the choice depends on the unit's rows alone (PRIVACY 7).
func (b *builder) firstRows(s *pg_query.SelectStmt, src *relation, e *env) (*relation, error) {
	on := distinctOn(s)
	if src.order == nil {
		return nil, b.refuse(pgerr.FeatureNotSupported, firstTarget(s), "the first row needs a total order of the rows, and these have no known key", "Ask the administrator for a primary key on the table.")
	}
	sc := &scope{b: b, rel: src, env: e, outer: e.enclosing()}
	distinct, order := []query.Scalar{src.unit}, []query.Scalar{src.unit}
	perUnit := true
	var sorted []*expr.Expr
	for _, n := range on {
		n, err := b.groupNode(n, s, sc)
		if err != nil {
			return nil, err
		}
		x, err := sc.expression(n)
		if err != nil {
			return nil, err
		}
		if _, constant := x.Constant(); constant {
			continue // PostgreSQL would read it as the place of a column, and it orders nothing
		}
		c := sc.bare(n)
		perUnit, sorted = perUnit && c != nil && c.perUnit, append(sorted, x)
		distinct, order = append(distinct, query.F("({})", x.SQL())), append(order, query.F("({})", x.SQL()))
	}
	for _, n := range s.SortClause {
		key, err := b.groupNode(n.GetSortBy().Node, s, sc)
		if err != nil {
			return nil, err
		}
		text, err := sc.sortKey(n, key, false)
		if err != nil {
			return nil, err
		}
		x, err := sc.expression(key)
		if err != nil {
			return nil, err
		}
		if _, constant := x.Constant(); constant {
			continue
		}
		sorted = append(sorted, x)
		order = append(order, text)
	}
	d := newDerived(b, src)
	d.passAll()
	r := d.relation()
	r.reads(src.size(), src.cols)
	r.does(src.size(), sorted...)
	r.takes(expr.Work{Row: windowSteps}, src.size())
	first := src.selects(d.outputs...)
	first.DistinctOn, first.OrderBy = distinct, append(order, src.order...)
	r.from = &query.Derived{Query: first, As: d.alias}
	r.proofs = append(slices.Clone(r.proofs), src.orderProofs...)
	if perUnit {
		r.oneRow()
	}
	r.plan = planned("distinct on, "+r.rowBound(), src.plan)
	return r, nil
}

// sortKey prints an ORDER BY item, whose expression is key; clamped to its bounds if it is computed with.
func (s *scope) sortKey(n, key *pg_query.Node, clamped bool) (query.Scalar, error) {
	by := n.GetSortBy()
	if by.SortbyDir == pg_query.SortByDir_SORTBY_USING {
		return nil, s.b.refuse(pgerr.FeatureNotSupported, n, "ORDER BY … USING is not supported", "Use ASC or DESC.")
	}
	x, err := s.expression(key)
	if err != nil {
		return nil, err
	}
	if clamped {
		x = x.Read()
	}
	return query.F("({}){}", x.SQL(), sortOptions(by)), nil
}

func sortOptions(by *pg_query.SortBy) string {
	text := ""
	if by.SortbyDir == pg_query.SortByDir_SORTBY_DESC {
		text = " DESC"
	}
	switch by.SortbyNulls {
	case pg_query.SortByNulls_SORTBY_NULLS_FIRST:
		return text + " NULLS FIRST"
	case pg_query.SortByNulls_SORTBY_NULLS_LAST:
		return text + " NULLS LAST"
	}
	return text
}

// distinctRows keeps each row once. The unit is among the columns.
func (b *builder) distinctRows(r *relation) (*relation, error) {
	d := newDerived(b, r)
	constant := true
	for _, c := range r.visible() {
		constant = constant && c.perUnit
		if err := d.passKey(c, c.name); err != nil {
			return nil, err
		}
	}
	out := *d.out
	out.reads(r.size(), r.visible())
	out.takes(expr.Work{Row: windowSteps}, r.size())
	distinct := r.selects(d.outputs...)
	distinct.Distinct = true
	out.from = &query.Derived{Query: distinct, As: d.alias}
	out.unique = []uniqueSet{{cols: slices.Clone(out.cols)}}
	for _, c := range out.cols {
		out.order = append(out.order, c.x.Ref)
	}
	if constant && r.private() {
		out.oneRow()
	}
	out.plan = planned("distinct, "+out.rowBound(), r.plan)
	return &out, nil
}

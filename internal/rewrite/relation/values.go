package relation

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// A relation of constants is what a statement itself gives: VALUES, generate_series, unnest of an array, and subqueries
// over those. It is evaluated on the shadow when the statement is planned, so that its rows, their number, and which
// columns are unique are known (docs/privacy.md P4b); main gets literals.

// MaxConstants bounds its rows: each is printed.
const MaxConstants = 10000

// ConstantScope builds constants: it knows parameters, and no other names.
type ConstantScope struct{ *Base }

func (s ConstantScope) Column(fields []string, location int) (*expr.Column, error) {
	return nil, s.RefuseAt(refusal.SubqueryForm, location, fmt.Sprintf("column %q cannot be used here",
		fields[len(fields)-1]),
		"A list of values in a query over private tables holds constants only.")
}

func (s ConstantScope) SubLink(l *pg_query.SubLink, _ []*expr.Expr) (*expr.Expr, error) {
	return nil, s.Refuse(refusal.SubqueryForm, &pg_query.Node{Node: &pg_query.Node_SubLink{SubLink: l}},
		"a subquery cannot be used here",
		"A list of values in a query over private tables holds constants only.")
}

func (b *Base) ConstantExpr(n *pg_query.Node) (*expr.Expr, error) {
	x, err := expr.Build(n, ConstantScope{b})
	return x, b.Refusal(err)
}

// ConstantOf describes a column that holds each of these constants in a row.
func (b *Base) ConstantOf(cells []*pg_query.Node) (*expr.Expr, error) {
	x, err := expr.AnyOf(cells, ConstantScope{b})
	return x, b.Refusal(err)
}

// FoldConstants evaluates a FROM item without tables on the shadow. cols describe its columns; their references hold
// within it.
func (b *Base) FoldConstants(from query.Source, cols []*Column) (*Relation, error) {
	r, ok, err := b.folded(&query.Select{From: from}, cols, onShadow)
	if err == nil && !ok {
		err = refusal.New(refusal.TooMuchWork, fmt.Sprintf(
			"a list of values in a query over private tables has more than %d rows", MaxConstants), pgerr.Hint("Narrow it."))
	}
	return r, err
}

// FoldPublic reads the rows of a public relation, which are constants from then on: the statement means these, whatever
// becomes of the tables (docs/privacy.md P4b). It gives the relation itself where that has too many rows.
func (b *Base) FoldPublic(r *Relation) (*Relation, error) {
	rows := r.Select()
	if !query.Closed(rows) || r.Lateral {
		return r, nil
	}
	var cols []*Column
	for _, c := range r.Columns {
		if c.Name == "" {
			continue
		}
		cols = append(cols, c)
		if _, err := CanonicalText(c.Value.Ref, c.Value); err == nil {
			rows.OrderBy = append(rows.OrderBy, c.Value.Ref) // one question, however often the rows are read
		}
	}
	out, ok, err := b.folded(rows, cols, r.ask)
	if err != nil || !ok {
		return r, err
	}
	out.Plan = NewPlanNode(fmt.Sprintf("public rows that were read: %d", out.publicRows), r.Plan)
	return out, nil
}

// ask evaluates a query over the tables of a public relation.
func (r *Relation) ask(l schema.Lookup, q schema.Query) ([][]*schema.Canonical, error) {
	if len(r.Tables) == 0 {
		return onShadow(l, q)
	}
	table, err := l.PublicRows(q)
	return table.Rows(), err
}

// onShadow evaluates a query without tables.
func onShadow(l schema.Lookup, q schema.Query) ([][]*schema.Canonical, error) {
	table, err := l.Rows(q)
	return table.Rows(), err
}

// folded evaluates a query whose outputs are columns; false: it has more rows than are listed.
func (b *Base) folded(of *query.Select, cols []*Column, ask func(schema.Lookup, schema.Query) ([][]*schema.Canonical,
	error),
) (*Relation, bool, error) {
	r := &Relation{constants: true, Proven: true}
	alias := b.NewAlias()
	var outputs []query.Scalar
	var names []string
	var types []uint32
	for i, c := range cols {
		n := *c
		x := *c.Value
		name := fmt.Sprintf("c%d", i+1)
		x.Ref, x.Source, x.Domain = alias.Column(name), &n, []string{} // known at Plan
		n.Value = &x
		r.Columns = append(r.Columns, &n)
		outputs, names, types = append(outputs, c.Value.Ref), append(names, name), append(types, c.Value.Equality().Type)
	}
	for _, c := range cols {
		canonical, err := CanonicalText(c.Value.Ref, c.Value)
		if err != nil {
			canonical = query.Raw("NULL::" + c.Value.BaseName())
		}
		outputs, types = append(outputs, canonical), append(types, c.Value.Equality().Type)
	}
	var rows [][]*schema.Canonical
	if b.Lookup != nil {
		list := *of
		list.Outputs, list.Limit = UnnamedOutputs(outputs), MaxConstants+1
		var err error
		if rows, err = ask(b.Lookup, schema.Query{SQL: query.Print(&list).Text, Types: types}); err != nil {
			return nil, false, err
		}
	}
	if len(rows) > MaxConstants {
		return nil, false, nil
	}
	r.MaxRowsPerUnit = max(1, int64(len(rows)))
	r.publicRows, r.Steps = r.MaxRowsPerUnit, expr.MulSteps(r.MaxRowsPerUnit, constantSteps)
	r.Empty = b.Lookup != nil && len(rows) == 0
	r.From = &query.Values{Rows: r.literals(rows), As: alias, Columns: names}
	b.constantKeys(r, rows)
	r.Plan = NewPlanNode(fmt.Sprintf("constants, rows: %d", len(rows)))
	return r, true, nil
}

// literals prints the rows of a relation of constants.
func (r *Relation) literals(rows [][]*schema.Canonical) [][]query.Scalar {
	if len(rows) == 0 {
		rows = [][]*schema.Canonical{make([]*schema.Canonical, len(r.Columns))}
	}
	lists := make([][]query.Scalar, len(rows))
	for j, row := range rows {
		for i, c := range r.Columns {
			text := "NULL"
			if row[i] != nil {
				text = sqltext.EscapedLiteral(string(*row[i]))
			}
			lists[j] = append(lists[j], query.Raw(text+"::"+c.Value.BaseName()))
		}
	}
	return lists
}

// constantKeys reads domains, NULLs and unique sets off the rows: the values, then the same in canonical text. That the
// sets are unique is what main proves of the very literals that it gets (P25). Without rows to read, before Plan, every
// column may turn out to be unique.
func (b *Base) constantKeys(r *Relation, rows [][]*schema.Canonical) {
	width := len(r.Columns)
	distinct := func(at ...int) bool {
		seen := map[string]bool{}
		for _, row := range rows {
			key := ""
			for _, i := range at {
				if row[width+i] == nil {
					return false
				}
				key += fmt.Sprintf("%q ", *row[width+i])
			}
			if seen[key] {
				return false
			}
			seen[key] = true
		}
		return true
	}
	unique := func(cols ...*Column) {
		set := UniqueSet{Columns: cols}
		r.Order, r.OrderProofs = nil, nil
		var refs []query.Scalar
		for _, c := range cols {
			refs = append(refs, c.Value.Ref)
		}
		if len(rows) > 1 {
			set.Proof = &schema.Proof{Of: "the listed values", Values: query.Print(query.Once(r.From, refs))}
			r.OrderProofs = []schema.Proof{*set.Proof}
		}
		r.Unique, r.Order = append(r.Unique, set), refs
	}
	var alone []bool
	for i, c := range r.Columns {
		c.Value.Nullable = b.Lookup == nil
		listed := map[schema.Canonical]bool{}
		for _, row := range rows {
			if row[i] == nil {
				c.Value.Nullable = true
			} else if !listed[*row[i]] {
				listed[*row[i]] = true
				c.Value.Domain = append(c.Value.Domain, string(*row[i]))
			}
		}
		alone = append(alone, distinct(i))
		if alone[i] {
			unique(c)
		}
		for j, d := range r.Columns[:i] {
			if !alone[i] && !alone[j] && distinct(i, j) {
				unique(d, c)
			}
		}
	}
	if len(rows) == 1 || len(rows) == 0 && b.Lookup != nil {
		r.Unique = append(r.Unique, UniqueSet{})
	}
}

// OneRow makes the one row without columns of a SELECT without FROM.
func (b *Base) OneRow() *Relation {
	return &Relation{
		From: oneValue(b.NewAlias()), constants: true, MaxRowsPerUnit: 1, Proven: true, publicRows: 1,
		Steps: constantSteps, Unique: []UniqueSet{{}}, Order: []query.Scalar{}, Plan: NewPlanNode("constants, rows: 1"),
	}
}

// MayBeOneRow says that the rows of a relation of constants are not known yet.
func (b *Base) MayBeOneRow(r *Relation) bool { return r.constants && b.Lookup == nil }

// Listed says that the rows of a public relation are those of a table, or of the statement itself.
func (r *Relation) Listed() bool {
	_, table := r.From.(*query.Table)
	return r.constants || table && len(r.Where) == 0
}

// Foldable says that the outputs of a relation of constants read nothing else.
func (r *Relation) Foldable(outputs []*expr.Expr) bool {
	if !r.constants {
		return false
	}
	for _, x := range append(slices.Clone(r.Conditions), outputs...) {
		for _, c := range x.Columns() {
			if source, ok := c.Source.(*Column); !ok || !slices.Contains(r.Columns, source) {
				return false
			}
		}
	}
	return true
}

// NameAfterFunction calls a function's table and its one column after the function.
func (r *Relation) NameAfterFunction(name string) *Relation {
	if r != nil {
		r.Columns[0].Name, r.Columns[0].Table = name, name
	}
	return r
}

package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// ColumnUse is what an analyst may do with a column of a listed table or view, in words.
type ColumnUse struct {
	Column *RelationColumn
	Policy *policy.Column // of the table column that it is, unchanged; nil: nothing is declared
	Uses   string
}

// Uses lists the columns of a listed table or view in their order, each with what the analysis makes of it.
func Uses(s *Schema, n policy.Name) []ColumnUse {
	meta := s.Relations[n]
	if meta == nil {
		return nil
	}
	out := make([]ColumnUse, len(meta.Columns))
	b := bind.New(relation.New(s, Settings{}, schema.Description{}, "", nil), nil)
	v := &pg_query.RangeVar{Schemaname: n.Schema, Relname: n.Relation}
	r, err := b.RelationByName(v, nil)
	var shown []*relation.Column
	if err == nil {
		shown = r.Visible()
	}
	for i := range out {
		out[i] = ColumnUse{Column: &meta.Columns[i], Uses: "none"}
		switch {
		case i < len(shown):
			out[i].Policy, out[i].Uses = shown[i].Policy, uses(b, r, shown[i])
		case releases(b, v):
			out[i].Uses = "anything: it is computed from released aggregates"
		}
	}
	return out
}

// releases reports whether a name is that of a view over aggregates of private rows.
func releases(b *bind.Binder, v *pg_query.RangeVar) bool {
	w := b.View(v)
	if w == nil {
		return false
	}
	query, err := bind.ViewQuery(w)
	if err != nil {
		return false
	}
	k, err := b.KindOf(query, nil)
	return err == nil && k == bind.Released
}

// ofUnits are the uses of units, and of keys of one unit.
const ofUnits = "count(DISTINCT), join, group by inside a subquery"

func uses(b *bind.Binder, r *relation.Relation, c *relation.Column) string {
	switch {
	case !r.Private():
		return "anything"
	case c.IsUnit || c.Value.Unit:
		return ofUnits
	case r.ToUnit != nil && r.ToUnit.Via == c:
		return "join"
	}
	if _, declared := b.OneUnitKey(c); declared {
		return ofUnits
	}
	e, err := expr.Build(&pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{
		Fields: []*pg_query.Node{pg_query.MakeStrNode(c.Name)},
	}}}, bind.NewScope(b, r, nil))
	if err != nil {
		return "none"
	}
	uses := "filter, count"
	if c.Value.HasBoundedEnds() {
		return "filter, count, aggregate and group by lower() and upper()"
	}
	if e.Bounds().Finite() {
		uses = "filter, aggregate"
	}
	_, notListed := expr.Keys(e, release.KeyLimits)
	_, notSelected := expr.SelectionKey(e)
	switch accounting := b.Schema.Policy.Accounting; {
	case notListed == nil:
		return uses + ", group by"
	case e.Bounds().Finite():
		return uses + ", group by in buckets"
	case notSelected == nil && accounting.Delta > 0 && accounting.SelectionDeltaShare > 0:
		return uses + ", group by (frequent values only)"
	}
	return uses
}

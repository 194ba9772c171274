package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
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
	b := (&Analysis{schema: s}).builder()
	v := &pg_query.RangeVar{Schemaname: n.Schema, Relname: n.Relation}
	r, err := b.named(v, nil)
	var shown []*column
	if err == nil {
		shown = r.visible()
	}
	for i := range out {
		out[i] = ColumnUse{Column: &meta.Columns[i], Uses: "none"}
		switch {
		case i < len(shown):
			out[i].Policy, out[i].Uses = shown[i].policy, b.uses(r, shown[i])
		case b.releases(v):
			out[i].Uses = "anything: it is computed from released aggregates"
		}
	}
	return out
}

// releases says whether a name is that of a view over aggregates of private rows.
func (b *builder) releases(v *pg_query.RangeVar) bool {
	w := b.view(v)
	if w == nil {
		return false
	}
	query, err := viewQuery(w)
	if err != nil {
		return false
	}
	k, err := b.kindOf(query, nil)
	return err == nil && k == released
}

func (b *builder) uses(r *relation, c *column) string {
	switch {
	case !r.private():
		return "anything"
	case c.isUnit || c.x.Unit:
		return "count(DISTINCT), join, group by inside a subquery"
	case r.chain != nil && r.chain.via == c:
		return "join"
	}
	e, err := expr.Build(&pg_query.Node{Node: &pg_query.Node_ColumnRef{ColumnRef: &pg_query.ColumnRef{
		Fields: []*pg_query.Node{pg_query.MakeStrNode(c.name)}}}}, &scope{b: b, rel: r})
	if err != nil {
		return "none"
	}
	uses := "filter, count"
	if e.Bounds().Finite() {
		uses = "filter, aggregate"
	}
	_, notListed := expr.Keys(e, maxKeys)
	_, notSelected := expr.SelectionKey(e)
	switch accounting := b.schema.Policy.Accounting; {
	case notListed == nil:
		return uses + ", group by"
	case e.Bounds().Finite():
		return uses + ", group by in buckets"
	case notSelected == nil && accounting.Delta > 0 && accounting.SelectionDeltaShare > 0:
		return uses + ", group by (frequent values only)"
	}
	return uses
}

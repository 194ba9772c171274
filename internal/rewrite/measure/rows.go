package measure

import (
	"fmt"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
)

// conversions computes once per row what several aggregates read: as columns of a subquery below the aggregation.
type conversions struct {
	names   map[string]string // by Key
	outputs []query.Output
	shared  bool // something costly is read more than once
}

// name names the column that holds sql.
func (c *conversions) name(sql query.Scalar, costly bool) query.Scalar {
	key := query.Key(sql)
	name, known := c.names[key]
	if !known {
		name = fmt.Sprintf("x%d", len(c.names)+1)
		c.names[key] = name
		c.outputs = append(c.outputs, query.Output{X: sql, Name: name})
	}
	c.shared = c.shared || known && costly
	return rowsAlias.Column(name)
}

func (c *conversions) read(m *expr.Measure) query.Scalar { return m.Over(c.name) }

// rowsAlias names the rows below an aggregation.
var rowsAlias = query.Named("r")

// aggregated selects keys, and the integers of ms as prefix1, prefix2…, of groups by the keys. Where aggregates share a
// costly conversion it runs in a subquery, which OFFSET keeps the planner from merging into the aggregates, where it
// would run for each; but what other servers read they aggregate as well.
func (t *builder) aggregated(keys []query.Output, prefix string, ms []release.Measurement) *query.Select {
	rows := t.k.Source.MaxRowsPerUnit
	if t.k.Single() {
		rows = 0
	}
	c := &conversions{names: map[string]string{}}
	var direct, through []query.Output
	if t.k.Single() && t.k.Selected {
		count := query.Output{X: query.Raw("count(*)"), Name: "n"}
		direct, through = append(direct, count), append(through, count)
	}
	for i, m := range ms {
		name := fmt.Sprintf("%s%d", prefix, i+1)
		where := m.Rows()
		direct = append(direct, query.Output{X: m.Aggregate(release.Direct, where, rows), Name: name})
		if where != nil {
			where = c.name(where, false)
		}
		through = append(through, query.Output{X: m.Aggregate(c.read, where, rows), Name: name})
	}
	if !c.shared || t.b.Foreign(t.k.Source) || t.b.Distributed(t.k.Source) {
		out := t.k.Rows().Select(append(slices.Clone(keys), direct...)...)
		out.Groups = len(keys)
		return out
	}
	inner := t.k.Rows().Select(append(slices.Clone(keys), c.outputs...)...)
	inner.Fence = query.FenceParallel
	out := &query.Select{From: &query.Derived{Query: inner, As: rowsAlias}, Groups: len(keys)}
	for _, k := range keys {
		out.Outputs = append(out.Outputs, query.Output{X: rowsAlias.Column(k.Name)})
	}
	out.Outputs = append(out.Outputs, through...)
	return out
}

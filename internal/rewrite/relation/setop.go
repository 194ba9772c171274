package relation

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Combined bounds the rows of a set operation: of one unit, and of all.
func Combined(op pg_query.SetOperation, l, r *Relation) *Relation {
	out := &Relation{Kind: l.Kind, Rows: l.Rows, Proven: l.Proven, Max: l.Max, extent: l.extent, Steps: l.Steps + r.Steps, Tables: append(slices.Clone(l.Tables), r.Tables...), Proofs: append(slices.Clone(l.Proofs), r.Proofs...)}
	switch {
	case op == pg_query.SetOperation_SETOP_UNION:
		out.Rows, out.Proven, out.Max = saturatingAdd(l.Rows, r.Rows), l.Proven && r.Proven, 0
		out.extent = l.extent + r.extent
		if l.Max > 0 && r.Max > 0 {
			out.Max = l.Max + r.Max
		}
	case op == pg_query.SetOperation_SETOP_INTERSECT && (r.Rows < l.Rows || r.Rows == l.Rows && r.Proven):
		out.Rows, out.Proven = r.Rows, r.Proven
	}
	return out
}

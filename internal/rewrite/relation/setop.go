package relation

import (
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// SetOperation bounds the rows of a set operation: of one unit, and of all.
func (b *Base) SetOperation(op pg_query.SetOperation, l, r *Relation) *Relation {
	out := &Relation{
		UnitName: l.UnitName, MaxRowsPerUnit: l.MaxRowsPerUnit, Proven: l.Proven, MaxRows: l.MaxRows,
		publicRows: l.publicRows, Steps: l.Steps + r.Steps, Tables: append(slices.Clone(l.Tables), r.Tables...),
		Proofs: append(slices.Clone(l.Proofs), r.Proofs...),
	}
	if l.RowsOf != nil && r.RowsOf != nil && l.RowsOf.Name == r.RowsOf.Name {
		out.RowsOf = l.RowsOf
	}
	switch {
	case op == pg_query.SetOperation_SETOP_UNION:
		out.MaxRows = 0
		b.unite(out, l, r)
		out.publicRows = l.publicRows + r.publicRows
		if l.MaxRows > 0 && r.MaxRows > 0 {
			out.MaxRows = l.MaxRows + r.MaxRows
		}
	case op == pg_query.SetOperation_SETOP_INTERSECT && (r.MaxRowsPerUnit < l.MaxRowsPerUnit ||
		r.MaxRowsPerUnit == l.MaxRowsPerUnit && r.Proven):
		out.MaxRowsPerUnit, out.Proven = r.MaxRowsPerUnit, r.Proven
	}
	return out
}

package relation

import (
	"maps"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// indexedRows says of the rows of one scan, filtered, projected or grouped by such columns, how many have one value of
// a column by which an index finds them, if the columns behind it in the index keep their bounds: for the work of a
// subquery that equates it (docs/privacy.md P22a).
type indexedRows map[*Column]int64

// noteIndexedRows notes what a unique index with these columns says of its first.
func (r *Relation) noteIndexedRows(set []*Column) {
	rows := int64(1)
	for _, c := range set[1:] {
		if !pgresolve.IsInt(c.Value.Type) || !c.Value.Bounds.Finite() {
			return
		}
		rows = saturatingMul(rows, max(1, bounds.FloorInt(c.Value.Bounds.Hi)-bounds.CeilInt(c.Value.Bounds.Lo)+1))
	}
	if r.indexedRows == nil {
		r.indexedRows = indexedRows{}
	}
	if n, ok := r.indexedRows[set[0]]; !ok || rows < n {
		r.indexedRows[set[0]] = rows
	}
}

// through adds the columns under which others see the same ones.
func (k indexedRows) through(passed map[*Column]*Column) indexedRows {
	out := maps.Clone(k)
	for c, rows := range k {
		if p := passed[c]; p != nil {
			out[p] = rows
		}
	}
	return out
}

// KeepIndexedRows says that a condition on a column that passes through unchanged is one on the source: PostgreSQL
// evaluates it there. It does for what is computed of single rows, and for group keys.
func (d *Derived) KeepIndexedRows() {
	same := map[*Column]*Column{}
	for c, p := range d.Passed {
		for _, o := range d.Outputs {
			if query.Equal(p.Value.Ref, d.Alias.Column(o.Name)) && query.Equal(o.X, c.Value.Ref) {
				same[c] = p
			}
		}
	}
	d.Result.indexedRows = d.Source.indexedRows.through(same)
}

// correlatedWork bounds the rows that a correlated subquery has for one row around it, and what they take.
func (r *Relation) correlatedWork() (rows, steps int64) {
	rows = r.Size()
	for _, q := range r.Correlated {
		if n, ok := r.indexedRows[q.Inner]; ok {
			rows = min(rows, n)
		}
	}
	if rows == r.Size() {
		return rows, r.Steps
	}
	each := (r.Steps-r.once)/r.Size() + 1
	return rows, min(lookupSteps+r.once+expr.MulSteps(each, rows), r.Steps)
}

// CorrelatedSteps bounds what a correlated subquery takes for one row around it.
func (r *Relation) CorrelatedSteps() int64 {
	_, steps := r.correlatedWork()
	return steps
}

package release

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// LeftOut says what an answer leaves out: a unit counts with at most so many rows, 0 if that is all that it may have,
// and this share of rows and sums is beyond what the policy lets a unit add (max_rows_per_unit, per_unit), as the
// administrator vouches; nil if nobody knows.
func (k *Block) LeftOut() (rows int64, share *float64) {
	none := 0.0
	if k.Source.Proven && !k.clamped {
		return 0, &none
	}
	if !k.Source.Proven {
		rows = k.Source.MaxRowsPerUnit
	}
	if k.loweredRows {
		return rows, nil
	}
	return rows, k.shareBeyond(rows)
}

// declaredShare is the share of rows and sums beyond what the policy lets a unit add; nil if nobody knows.
func (k *Block) declaredShare() *float64 {
	rows := int64(1)
	for _, t := range k.Source.Tables {
		rows = max(rows, int64(t.MaxRowsPerUnit))
	}
	return k.shareBeyond(rows)
}

// shareBeyond is the share of rows beyond the bounds of the tables of which a unit has so many rows.
func (k *Block) shareBeyond(rows int64) *float64 {
	kept := 1.0
	for i, t := range k.Source.Tables {
		if t.Public || slices.Contains(k.Source.Tables[:i], t) || t.MaxRowsPerUnit == 1 && rows > 1 {
			continue // the rows beyond the bound are another table's
		}
		if t.LeftOut == nil {
			return nil
		}
		kept *= 1 - *t.LeftOut
	}
	share := 1 - kept
	return &share
}

// Cover notes whether rows are left out of the answer, or taken for others, that no declared share counts, for values
// beyond bounds or numbers of one unit (docs/privacy.md P3b, P8e).
func (k *Block) Cover(b *relation.Base) {
	keys := make([]*expr.Expr, len(k.Keys))
	nearest := false
	for i, g := range k.Keys {
		keys[i] = g.Expr
		nearest = nearest || slices.ContainsFunc(g.Computed(), expr.OutOfBounds.Possible)
	}
	cut := slices.ContainsFunc(k.BeyondGroups(), func(c Cut) bool { return c.High })
	dropped := b.NoteDropped(keys)
	k.Uncovered = nearest || cut || dropped || b.Uses(relation.Condition) || len(b.CutConditions) > 0
}

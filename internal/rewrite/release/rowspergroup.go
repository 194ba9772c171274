package release

import (
	"math"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
)

// boundRowsPerGroup has a unit count with no more rows in one group than the policy or the session says, where nothing
// proves that it has no more: noise of a statement under rdp follows the root of what a unit has in one group and in
// all (docs/privacy.md P11b).
func (b *Planner) boundRowsPerGroup(k *Block) {
	t := k.Source.RowsOf
	if !k.ManyGroupsPerUnit || t == nil {
		return
	}
	rows, set := declaredRowsPerGroup(t, k.Keys), int64(b.Settings.MaxRowsPerGroup)
	if k.loweredRows = set > 0 && (rows == 0 || set < rows); k.loweredRows {
		rows = set
	}
	all, of := k.Source.MaxRowsPerUnit, max(1, int64(t.MaxRowsPerUnit))
	if rows == 0 || rows >= of {
		return
	}
	if of < all { // a join makes several of a row
		rows = (bounds.WideMul(all, rows) + of - 1) / of
	}
	if rows >= k.rowsInGroup || rows > math.MaxInt32 {
		k.loweredRows = false
		return
	}
	src := *k.Source
	src.Proven = false // main has more
	k.Source, k.rowsInGroup, k.MaxRowsPerGroup = &src, rows, rows
}

// declaredRowsPerGroup is the least of what the policy says of groups by each of the keys: of the key's column, or of
// the table; 0: it says nothing.
func declaredRowsPerGroup(t *policy.Table, keys []*Key) int64 {
	least := 0
	for _, g := range keys {
		rows := 0
		if c := relation.CutOf(g.Expr); c.Of != nil && c.Table == t.Name {
			rows = c.Of.RowsPerGroup(c.Unit)
		}
		if rows == 0 {
			rows = t.MaxRowsPerGroup
		}
		if rows > 0 && (least == 0 || rows < least) {
			least = rows
		}
	}
	return int64(least)
}

package release

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// writtenAlike are the types whose equal values, and no others, have one text: whoever prints them, and under whatever settings.
var writtenAlike = []uint32{pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.DateOID, pgtype.UUIDOID, pgtype.TextOID, pgtype.VarcharOID}

// namedByKeys says whether main may name a group by its keys, and has no list of them: they are values of public rows, and the list holds
// every combination that a row may have. Then nothing is dropped on main, and the proxy finds a key's place in the list (docs/privacy.md P26a).
func (k *Block) namedByKeys() bool {
	if k.Selected || len(k.Domains) != 1 || !k.Domains[0].public {
		return false
	}
	for _, g := range k.Keys {
		if !slices.Contains(writtenAlike, g.Type()) || g.Collatable() && g.Collation() != "" {
			return false
		}
	}
	for _, g := range k.Keys {
		selection, err := expr.SelectionKey(g.Expr)
		if err != nil {
			return false
		}
		g.Selection = selection
	}
	return true
}

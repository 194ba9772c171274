package aggregate

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// NoteParts notes which sums and counts over the rows of one group are parts of others: what sum(x) FILTER (WHERE c)
// adds up, sum(x) does (docs/privacy.md P8d). columns hold the values of the calls.
func NoteParts(calls []*Call, columns []*expr.Column) {
	for i, part := range calls {
		for j, whole := range calls {
			if i != j && partOf(part, whole) && columns[i].Bounds.Finite() && columns[j].Bounds.Finite() &&
				columns[i].Bounds.Lo.Sign() == 0 && columns[j].Bounds.Lo.Sign() >= 0 &&
				columns[i].Bounds.Hi.Cmp(columns[j].Bounds.Hi) <= 0 {
				columns[i].PartOf = append(columns[i].PartOf, columns[j].Ref)
			}
		}
	}
}

// partOf reports whether a call adds up some of the numbers that another adds up, none of them negative.
func partOf(part, whole *Call) bool {
	if part.Name != whole.Name || part.Distinct || whole.Distinct || part.By != nil || whole.By != nil ||
		whole.Filter != nil {
		return false
	}
	switch {
	case part.Name == "count" && whole.Star:
		return true
	case part.Star || whole.Star:
		return false
	case part.Name == "sum" && (part.Type != pgtype.Int8OID && part.Type != pgtype.NumericOID ||
		!notNegative(part.Args[0])):
		return false
	}
	return (part.Name == "sum" || part.Name == "count") && query.Equal(part.Args[0].SQL(), whole.Args[0].SQL())
}

func notNegative(e *expr.Expr) bool { return e.Bounds().Lo != nil && e.Bounds().Lo.Sign() >= 0 }

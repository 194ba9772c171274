package expr

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Canonical printing: questions that differ only in the order of operands, in the side of a constant, or in the type of
// a whole number are printed, measured and kept as one. Every step keeps the value for all operands, NULL and NaN
// included; expressions are total, so it makes no difference which operand is computed first.

// canonical prints AND, OR, NOT and comparisons.
func (p *printer) canonical(e *Expr) query.Scalar {
	switch e.op {
	case "AND", "OR":
		operands := p.operands(e.op, e.args)
		if len(operands) == 1 {
			return operands[0]
		}
		return query.F("({})", query.List{Between: " " + e.op + " ", Of: operands})
	case "NOT":
		if x := e.args[0]; p.nodes[x] == nil && comparisons[x.op].not != "" { // NULL and NaN included: PostgreSQL orders NaN
			return p.comparison(comparisons[x.op].not, x.args[0], x.args[1])
		}
		return query.F("(NOT {})", p.print(e.args[0]))
	}
	return p.comparison(e.op, e.args[0], e.args[1])
}

// operands prints the operands of nested ANDs or ORs as of one, sorted, each once.
func (p *printer) operands(op string, args []*Expr) []query.Scalar {
	var out []query.Scalar
	for _, a := range args {
		if a.op == op && p.nodes[a] == nil {
			out = append(out, p.operands(op, a.args)...)
			continue
		}
		out = append(out, p.print(a))
	}
	return query.Sorted(out)
}

// comparison prints the constant on the right; of two other operands, the one whose text comes first on the left.
func (p *printer) comparison(name string, l, r *Expr) query.Scalar {
	left, right := p.comparand(l, r), p.comparand(r, l)
	if fixed := l.value != nil; fixed && r.value == nil || fixed == (r.value != nil) &&
		query.Key(left) > query.Key(right) {
		left, right, name = right, left, comparisons[name].mirror
	}
	return query.F("({} OPERATOR(pg_catalog.{}) {})", left, name, right)
}

// comparand prints an operand of a comparison. Comparisons of integers are exact across their types, so a constant
// takes the narrowest of integer and bigint that holds it; those of numeric do not see digits that are zero.
func (p *printer) comparand(x, other *Expr) query.Scalar {
	if x.value == nil || x.value.text == nil || !x.bounds.Finite() {
		return p.print(x)
	}
	switch {
	case pgresolve.IsInt(x.typ) && pgresolve.IsInt(other.typ):
		oid := uint32(pgtype.Int8OID)
		if x.bounds.Within(intRange(pgtype.Int4OID)) {
			oid = pgtype.Int4OID
		}
		return query.Raw(valueLiteral(oid, x.bounds.Lo, false))
	case x.typ == pgtype.TimestampOID && other.typ == pgtype.DateOID:
		// dates compare as their midnights do, at less cost
		if day := quo(x.bounds.Lo, microsPerDay); day.IsInt() && day.Sign() >= 0 {
			return query.Raw(valueLiteral(pgtype.DateOID, day, false))
		}
	case x.typ == pgtype.NumericOID && x.value.scale <= 60:
		return query.Raw(valueLiteral(pgtype.NumericOID, x.bounds.Lo, false))
	}
	return p.print(x)
}

// sortedArray sorts the elements of an operand of ANY and ALL, each once: an OR or AND over them does not see their
// order.
func sortedArray(arr *Expr) *Expr {
	if len(arr.args) < 2 {
		return arr
	}
	out := *arr
	texts := map[*Expr]string{}
	for _, x := range arr.args {
		texts[x] = query.Key(x.SQL())
	}
	out.args = slices.SortedFunc(slices.Values(arr.args), func(a, b *Expr) int {
		return strings.Compare(texts[a], texts[b])
	})
	out.args = slices.CompactFunc(out.args, func(a, b *Expr) bool { return texts[a] == texts[b] })
	out.tmpl, out.weight = arrayTemplate(len(out.args)), 0
	return &out
}

package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// ranges are the range types, and of what they are. Whether one holds an element, or meets another, is total
// (rangetypes.c).
var ranges = map[string]string{
	"int4range": "int4", "int8range": "int8", "numrange": "numeric", "daterange": "date", "tsrange": "timestamp", "tstzrange": "timestamptz",
}

var rangeOperators = map[string]bool{"@>": true, "<@": true, "&&": true, "<<": true, ">>": true, "&<": true, "&>": true, "-|-": true}

// rangeOf makes a range.
//
// Rule: a bound is NULL, or the lower is no more than the upper; kinds other than [) need bounded dates and integers.
// Proof: range_constructor3 and make_range check only that an element has a next one, and that of dates and integers
// alone.
func rangeOf(a []value) (span, bool) {
	lo, hi, kind := a[0], a[1], word(a[2])
	ordered := lo.none || hi.none || lo.finite() && hi.finite() && lo.hi.Cmp(hi.lo) <= 0
	if next := lo.typ == "date" || isInteger(lo.typ); kind != "[)" && next {
		limit := power(10, 6)
		small := func(v value) bool { return v.none || v.within(new(big.Rat).Neg(limit), limit) }
		ordered = ordered && small(lo) && small(hi)
	}
	return hull(lo, hi), ordered && (kind == "[)" || kind == "[]" || kind == "()" || kind == "(]")
}

// hull is the span of a range from lo to hi, if it has two bounds: an upper one that is included becomes the next
// element.
func hull(lo, hi value) span {
	if !lo.notNull || !hi.notNull || !lo.finite() || !hi.finite() {
		return span{}
	}
	return between(lo.lo, plus(hi.hi, one))
}

// orderedRange is CASE WHEN a > b THEN 'empty' ELSE range(a, b, '[)') END.
//
// Rule: it is total. Proof: the ELSE is computed where a > b is false, or NULL, as one of them is, which is no bound
// then.
func (s *scope) orderedRange(c *pg.CaseExpr) (value, bool) {
	f := c.Defresult.GetFuncCall()
	fn, ok := name(f.GetFuncname())
	if !ok || ranges[fn] == "" || len(c.Args) != 1 || len(f.Args) != 3 || f.Over != nil || f.FuncVariadic {
		return value{}, false
	}
	when := c.Args[0].GetCaseWhen()
	e := when.Expr.GetAExpr()
	op, ok := name(e.GetName())
	if !ok || op != ">" || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil || !same(e.Lexpr, f.Args[0]) || !same(e.Rexpr, f.Args[1]) {
		return value{}, false
	}
	v, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr, when.Result})
	if err != nil || v[0].array || v[1].array || v[0].typ != ranges[fn] || v[1].typ != ranges[fn] || v[2].typ != fn || v[2].array || f.Args[2].GetAConst().GetSval().GetSval() != "[)" {
		return value{}, false
	}
	return made(fn, hull(v[0], v[1]), v...), true
}

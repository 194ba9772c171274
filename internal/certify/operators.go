package certify

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

var comparisons = map[string]bool{"<": true, "<=": true, ">": true, ">=": true, "=": true, "<>": true}

// sortable are the types whose operators compare any two values.
var sortable = map[string]bool{
	"int2": true, "int4": true, "int8": true, "numeric": true, "float4": true, "float8": true, "bool": true, "text": true, "date": true,
	"timestamp": true, "timestamptz": true, "interval": true, "uuid": true, "bytea": true, "bpchar": true, "time": true, "inet": true, "money": true,
}

// operator is an operator of pg_catalog.
func (s *scope) operator(e *pg.A_Expr) (value, error) {
	op, ok := name(e.Name)
	if !ok {
		return value{}, missing(e.Location, "operator of a schema", "%s", spelledName(e.Name))
	}
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return s.nullIf(e)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		args, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr})
		if err != nil {
			return value{}, err
		}
		element := args[1]
		element.array = !element.array
		if !comparisons[op] || element.typ != args[0].typ && !isInteger(element.typ) && !isText(element.typ) || !s.compares(args[0], element) {
			return value{}, missing(e.Location, "operator "+op+" ANY", "%s and %s", args[0].typ, args[1].typ)
		}
		r := made("bool", span{}, args...)
		r.notNull, r.present = false, false
		return r, nil
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT: // ExecEvalDistinct: = of two that are not NULL
		args, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr})
		if err != nil {
			return value{}, err
		}
		if op != "=" || !s.compares(args[0], args[1]) {
			return value{}, missing(e.Location, "IS DISTINCT FROM", "%s and %s", args[0].typ, args[1].typ)
		}
		return test(made("bool", span{}, args...)), nil
	default:
		return value{}, missing(e.Location, "expression "+e.Kind.String(), "%s", op)
	}
	if l, r := e.Lexpr.GetRowExpr(), e.Rexpr.GetRowExpr(); l != nil && r != nil && comparisons[op] {
		return s.compareRows(e, l.Args, r.Args)
	}
	if e.Lexpr == nil && op == "~" {
		v, err := s.exprs([]*pg.Node{e.Rexpr})
		if err == nil && (!isInteger(v[0].typ) || v[0].array) {
			err = missing(e.Location, "operator ~", "%s", v[0].typ)
		}
		if err != nil {
			return value{}, err
		}
		return made(v[0].typ, v[0].add(exactly(one)).negate(), v[0]), nil // int4not: ~x = -1 - x
	}
	if e.Lexpr == nil {
		v, err := s.exprs([]*pg.Node{e.Rexpr})
		if err != nil {
			return value{}, err
		}
		return s.arithmetic(e, "-", made(v[0].typ, exactly(zero)), v[0], op == "-")
	}
	args, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr})
	if err != nil {
		return value{}, err
	}
	a, b := args[0], args[1]
	if comparisons[op] {
		if s.compares(a, b) {
			return made("bool", span{}, a, b), nil
		}
		return value{}, missing(e.Location, "operator "+op, "%s and %s", a.typ, b.typ)
	}
	switch {
	case op == "||":
		return concatenated(e, a, b)
	case like[op] != "":
		return s.matches(e, like[op], a, b)
	case (ranges[a.typ] != "" || ranges[b.typ] != "") && !a.array && !b.array:
		// Two ranges, or one and an element: total (rangetypes.c: range_before, range_adjacent, range_contains_elem …), but - and +, which
		// may make two.
		switch t := a.typ; {
		case op == "*" && t == b.typ: // what they have in common, perhaps nothing
			r := a.span
			if !a.finite() && !a.none {
				r = b.span
			}
			return made(t, r, a, b), nil
		case rangeOperators[op] && t == b.typ, op == "@>" && b.typ == ranges[t], op == "<@" && t == ranges[b.typ] && ranges[b.typ] != "":
			return made("bool", span{}, a, b), nil
		}
		return value{}, missing(e.Location, "operator "+op, "%s and %s", a.typ, b.typ)
	}
	return s.arithmetic(e, op, a, b, true)
}

// concatenated is || of texts. Rule: together they are no longer than a text may be. Of text, a span bounds the length.
func concatenated(e *pg.A_Expr, a, b value) (value, error) {
	for _, v := range []*value{&a, &b} {
		if v.typ == "unknown" {
			v.typ, v.span = "text", between(zero, power(2, 20)) // the whole text of the query is no longer
		}
	}
	n := plus(a.hi, b.hi)
	if a.typ != "text" || b.typ != "text" || a.array || b.array || n == nil || n.Cmp(power(2, 24)) > 0 {
		return value{}, missing(e.Location, "operator ||", "%s and %s", a.typ, b.typ)
	}
	return made("text", between(zero, n), a, b), nil
}

// compares reports whether two values can be compared, by any of the operators.
//
// Rule: two numbers, two dates or times, two bpchars, two of one type of the list, or of one enum; no arrays. Proof:
// these functions only compare; dates and times out of range are before or after all (date_cmp_timestamptz_internal).
// An enum's < may look at the catalog.
func (s *scope) compares(a, b value) bool {
	if a.array || b.array || a.typ == "text" && (a.vague || b.vague) {
		return false
	}
	if timed[a.typ] && timed[b.typ] {
		return true
	}
	if isNumber(a.typ) && isNumber(b.typ) {
		_, _, ok := floated(a, b)
		return ok
	}
	blanks := isText(a.typ) && isText(b.typ) && a.typ != "text" && b.typ != "text" // bpchareq, bpcharlt …
	return (blanks || a.typ == b.typ && (sortable[a.typ] || s.facts.Enums[a.typ] != nil)) && merge(a.collation, b.collation) != conflict &&
		a.collation != conflict && b.collation != conflict
}

// sorts reports whether values can be put in order.
func (s *scope) sorts(v value) bool { return v.typ == "row" || s.compares(v, v) }

// floated converts two numbers of different types, of which one is a float, to float8, as PostgreSQL does. It fails if that may fail.
func floated(a, b value) (value, value, bool) {
	if a.array || b.array || !isNumber(a.typ) || !isNumber(b.typ) || a.typ == b.typ || ranks[a.typ] < 5 && ranks[b.typ] < 5 {
		return a, b, true
	}
	a, ok := converted(a, "float8", Facts{})
	b, both := converted(b, "float8", Facts{})
	return a, b, ok && both
}

// nullIf is NULLIF(x, 0): x without zero.
//
// Rule: the type is that of x. Proof: it is what = makes of x (transformAExprNullIf): integers beside integers stay,
// else the higher type.
func (s *scope) nullIf(e *pg.A_Expr) (value, error) {
	args, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr})
	if err != nil {
		return value{}, err
	}
	x, y := args[0].typ, args[1].typ
	own := isInteger(x) && isInteger(y) || ranks[x] >= ranks[y] && isNumber(y) && (x != "float4" || y == x)
	if !own || !s.compares(args[0], args[1]) {
		return value{}, missing(e.Location, "NULLIF", "%s and %s", args[0].typ, args[1].typ)
	}
	r := made(args[0].typ, args[0].span, args...)
	r.notNull, r.present = false, false
	r.nonzero = r.nonzero || args[1].hasOnlyZero() && args[1].notNull // beside NULL, zero stays
	return r, nil
}

package certify

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

var comparisons = map[string]bool{"<": true, "<=": true, ">": true, ">=": true, "=": true, "<>": true}

// sortable are the types whose operators compare any two values.
var sortable = map[string]bool{
	"int2": true, "int4": true, "int8": true, "numeric": true, "float4": true, "float8": true, "bool": true, "text": true,
	"date":      true,
	"timestamp": true, "timestamptz": true, "interval": true, "uuid": true, "bytea": true, "bpchar": true, "time": true,
	"inet": true, "money": true,
}

// operator is an operator of pg_catalog.
func (s *scope) operator(e *pg.A_Expr) (value, error) {
	op, ok := name(e.Name)
	if !ok {
		return value{}, missing(e.Location, "operator of a schema", "%s", spelledName(e.Name))
	}
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP && e.Lexpr == nil {
		v, err := s.exprs([]*pg.Node{e.Rexpr})
		if err != nil {
			return value{}, err
		}
		return s.arithmetic(e, op, made(v[0].typ, exactly(zero)), v[0], op == "-")
	}
	args, err := s.exprs([]*pg.Node{e.Lexpr, e.Rexpr})
	if err != nil {
		return value{}, err
	}
	a, b := args[0], args[1]
	lacks := func(what string) (value, error) { return value{}, missing(e.Location, what, "%s and %s", a.typ, b.typ) }
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return s.nullIf(a, b, lacks)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		element := b
		element.array = !element.array
		if like[op] != "" && b.array {
			return s.matchesAny(e, op, a, element)
		}
		if !comparisons[op] || b.typ != a.typ && !isInteger(b.typ) && !isText(b.typ) || !s.compares(a, element) {
			return lacks("operator " + op + " ANY")
		}
		r := made("bool", span{}, a, b)
		r.notNull, r.present = false, false
		return r, nil
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT: // ExecEvalDistinct: = of two that are not NULL
		if op != "=" || !s.compares(a, b) {
			return lacks("IS DISTINCT FROM")
		}
		return test(made("bool", span{}, a, b)), nil
	default:
		return value{}, missing(e.Location, "expression "+e.Kind.String(), "%s", op)
	}
	if comparisons[op] {
		if s.compares(a, b) {
			return made("bool", span{}, a, b), nil
		}
		return lacks("operator " + op)
	}
	switch {
	case op == "||":
		return concatenated(a, b, lacks)
	case like[op] != "":
		return s.matches(e, like[op], a, b)
	case op == "^": // numeric_power, dpow
		if r, ok := apply("power", args); ok && !a.vague && !b.vague {
			return r, nil
		}
		return lacks("operator ^")
	case (ranges[a.typ] != "" || ranges[b.typ] != "") && !a.array && !b.array:
		// Two ranges, or one and an element: total (rangetypes.c: range_before, range_adjacent, range_contains_elem …),
		// but those that make a range.
		switch t := a.typ; {
		case rangeOperators[op] && t == b.typ, op == "@>" && b.typ == ranges[t], op == "<@" && t == ranges[b.typ] &&
			ranges[b.typ] != "":
			return made("bool", span{}, a, b), nil
		}
		return lacks("operator " + op)
	}
	return s.arithmetic(e, op, a, b, true)
}

// concatenated is || of texts. Rule: together they are no longer than a text may be. Of text, a span bounds the length.
func concatenated(a, b value, lacks func(string) (value, error)) (value, error) {
	for _, v := range []*value{&a, &b} {
		if v.typ == "unknown" {
			v.typ, v.span = "text", between(zero, power(2, 20)) // the whole text of the query is no longer
		}
	}
	n := plus(a.hi, b.hi)
	if a.typ != "text" || b.typ != "text" || a.array || b.array || n == nil || n.Cmp(power(2, 24)) > 0 {
		return lacks("operator ||")
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
	return (blanks || a.typ == b.typ && (sortable[a.typ] || s.facts.Enums[a.typ] != nil)) &&
		merge(a.collation, b.collation) != conflict &&
		a.collation != conflict && b.collation != conflict
}

// sorts reports whether values can be put in order.
func (s *scope) sorts(v value) bool { return v.typ == "row" || s.compares(v, v) }

// floated converts two numbers of different types, of which one is a float, to float8, as PostgreSQL does. It fails if
// that may fail.
func floated(a, b value) (value, value, bool) {
	if a.array || b.array || !isNumber(a.typ) || !isNumber(b.typ) || a.typ == b.typ || ranks[a.typ] < 5 &&
		ranks[b.typ] < 5 {
		return a, b, true
	}
	a, ok := converted(a, "float8", Facts{})
	b, both := converted(b, "float8", Facts{})
	return a, b, ok && both
}

// nullIf is NULLIF(x, y): x without y.
//
// Rule: the type is that of x. Proof: it is what = makes of x (transformAExprNullIf): two of one type stay, and
// integers beside integers; else the higher type.
func (s *scope) nullIf(a, b value, lacks func(string) (value, error)) (value, error) {
	own := a.typ == b.typ || isInteger(a.typ) && isInteger(b.typ) || ranks[a.typ] >= ranks[b.typ] && isNumber(b.typ) &&
		(a.typ != "float4" || b.typ == a.typ)
	if !own || !s.compares(a, b) {
		return lacks("NULLIF")
	}
	r := made(a.typ, a.span, a, b)
	r.notNull, r.present = false, false
	r.nonzero = r.nonzero || b.hasOnlyZero() && b.notNull // beside NULL, zero stays
	return r, nil
}

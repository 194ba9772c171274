package certify

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// caseOf is a CASE without argument.
//
// Rule: a share of a unit (forms.go); else the union of the branches, each derived where its condition is true and
// those before are not. Proof: PostgreSQL computes a branch only then, but for constants, which raise nothing by the
// same rules.
func (s *scope) caseOf(n *pg.Node, c *pg.CaseExpr) (value, error) {
	if v, ok := s.share(n); ok {
		return v, nil
	}
	if h := clampedInterval.of(n); h != nil {
		return s.interval(h)
	}
	if c.Arg != nil {
		return value{}, missing(c.Location, "CASE with an argument", "CASE x WHEN")
	}
	at, branches, conditions := s, []value{}, []value{}
	branch := func(at *scope, n *pg.Node) error {
		v, err := at.exprs([]*pg.Node{n})
		branches = append(branches, v...)
		return err
	}
	for _, w := range c.Args {
		when := w.GetCaseWhen()
		v, err := at.conditions([]*pg.Node{when.Expr})
		if err != nil {
			return value{}, err
		}
		conditions = append(conditions, v...)
		if err := branch(at.with(at.refine(when.Expr, true)), when.Result); err != nil {
			return value{}, err
		}
		at = at.with(at.refine(when.Expr, false))
	}
	if c.Defresult != nil {
		if err := branch(at, c.Defresult); err != nil {
			return value{}, err
		}
	}
	r, err := union(branches, n)
	if err != nil {
		return r, err
	}
	v := made(r.typ, r.span, append(branches, conditions...)...)
	v.notNull, v.present = r.notNull && c.Defresult != nil, r.there() && c.Defresult != nil
	v.exact, v.array = r.exact, r.array
	return v, nil
}

// union is a value that is one of a list: its type is that of the highest number, or of those that are no bare strings.
func union(list []value, n *pg.Node) (r value, err error) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b value) int { // bare ones last
		if (a.typ == "unknown") == (b.typ == "unknown") {
			return 0
		} else if a.typ == "unknown" {
			return 1
		}
		return -1
	})
	r = list[0]
	for _, v := range list[1:] {
		if r, err = united(r, v, n); err != nil {
			return r, err
		}
	}
	return r, nil
}

// united is a value that is one of two.
func united(a, b value, n *pg.Node) (value, error) {
	single := a.typ != b.typ && (a.typ == "float4" || b.typ == "float4")
	a, b, ok := floated(a, b)
	typ := a.typ
	switch {
	case !ok || single || a.array || b.array:
		return a, missing(where(n), "types", "%s and %s", a.typ, b.typ)
	case a.typ == b.typ && a.typ != "row": // record_cmp fails where rows are of other types
	case isNumber(a.typ) && isNumber(b.typ):
		if ranks[b.typ] > ranks[a.typ] {
			typ = b.typ
		}
	case b.typ == "unknown" && b.none:
	case a.typ == "text" && b.typ == "unknown":
		b.typ, b.span = "text", between(zero, power(2, 20)) // a string of the query's text
	default:
		return a, missing(where(n), "types", "%s and %s", a.typ, b.typ)
	}
	v := made(typ, a.join(b.span), a, b)
	v.exact = a.exact && b.exact && typ != "numeric"
	if isText(typ) {
		v.lo = nil
	}
	return v, nil
}

// coalesce is COALESCE.
//
// Rule: the union of its arguments, not NULL if one is not. COALESCE of an integer of a grouped relation and 0 keeps
// its influence: a missing row counts as zero.
func (s *scope) coalesce(args []*pg.Node) (value, error) {
	first, err := s.expr(args[0])
	if err != nil {
		return first, err
	}
	if first.influence != nil {
		if k, ok := integerConstant(args[len(args)-1]); len(args) != 2 || !ok || k.Sign() != 0 {
			return first, missing(where(args[1]), "expression over an aggregate", "COALESCE")
		}
		first.notNull = true
		return first, nil
	}
	rest, err := s.exprs(args[1:])
	if err != nil {
		return first, err
	}
	notNull, present, isUnit := first.notNull, first.there(), first.unit
	for _, v := range rest {
		notNull, present = notNull || v.notNull, present || v.there()
		isUnit = isUnit && v.unit && v.around == first.around && v.home == first.home
	}
	list := append([]value{first}, rest...)
	r, err := union(list, args[0])
	if err != nil {
		return r, err
	}
	if r.notNull, r.present, r.unit = notNull, present, isUnit; isUnit {
		r.home, r.around = first.home, first.around
		for _, v := range list {
			r.of = append(r.of, v.rowsOf()...)
		}
	}
	r.ofUnit = r.ofUnit || isUnit && r.there() && !r.around
	if len(list) == 2 && list[1].hasOnlyZero() {
		// no row adds nothing
		r.sum, r.total, r.dominated, r.moves, r.pieces = first.sum, first.total, first.dominated, first.moves, first.pieces
	}
	return r, nil
}

// minMax is LEAST or GREATEST of two.
//
// Rule: bounds each by each, and either argument alone where the other may be NULL. LEAST(x, R) of a column x is x
// where x <= R. Towards zero, magnitudes get no larger. An integer of a grouped relation keeps its influence where the
// other argument is on the right side of zero. Proof of the last: it is not NULL; the function is 1-Lipschitz and maps
// 0 to 0, as which a missing row counts.
func (s *scope) minMax(n *pg.Node, m *pg.MinMaxExpr) (value, error) {
	if len(m.Args) != 2 {
		return value{}, missing(m.Location, "LEAST or GREATEST", "%d arguments", len(m.Args))
	}
	if v, ok := s.cut(n); ok {
		s.applied = "cut"
		return v, nil
	}
	low := m.Op == pg.MinMaxOp_IS_LEAST
	a, err := s.expr(m.Args[0])
	if err != nil {
		return a, err
	}
	b, err := s.exprs(m.Args[1:])
	if err != nil {
		return a, err
	}
	o := b[0]
	if a.influence != nil {
		if !a.notNull || !isNumber(o.typ) || !o.integral || !o.finite() || !o.notNull || low && o.lo.Sign() < 0 || !low &&
			o.hi.Sign() > 0 {
			return a, missing(where(n), "expression over an aggregate", "a clamp without zero")
		}
		a.span = a.clamp(o.span, low)
		return a, nil
	}
	r, err := united(a, o, m.Args[1])
	if err != nil || !s.compares(a, o) {
		return r, missing(m.Location, "LEAST or GREATEST", "of %s and %s", a.typ, o.typ)
	}
	a, o, _ = floated(a, o) // which rounds
	clamped := a.clamp(o.span, low)
	if !isNumber(r.typ) && !timed[r.typ] {
		clamped = a.join(o.span) // of text and intervals, spans are of other sizes than their order
	}
	if !a.notNull {
		clamped = clamped.join(o.span)
	}
	if !o.notNull {
		clamped = clamped.join(a.span)
	}
	r.span, r.notNull, r.present = clamped, a.notNull || o.notNull, a.there() || o.there()
	if towards := o.finite() && (low && o.lo.Sign() >= 0 || !low && o.hi.Sign() <= 0); towards &&
		(a.there() || o.hasOnlyZero()) {
		r.total, r.dominated, r.moves, r.pieces = a.total, a.dominated, a.moves, a.pieces
		if a.id != nil && a.lo != nil && a.lo.Sign() >= 0 {
			r.dominated = append([]dominated{{a.id, one}}, a.dominated...)
		}
	}
	return r, nil
}

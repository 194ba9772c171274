package expr

import (
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// comparison gives what a comparison claims: of both sides which is greater, and of one side its values where the other
// is a constant.
func (c *claims) comparison(e *Expr, s sense) *claim {
	l, r, operator := e.args[0], e.args[1], e.op
	if fixed(l) && !fixed(r) {
		l, r, operator = r, l, comparisons[operator].mirror
	}
	null := s == notTrue || s == notFalse
	if isNull(r) && fixed(r) || isNull(l) && fixed(l) { // the comparison is NULL
		if null {
			return nothingKnown
		}
		return impossible
	}
	if fixed(r) && r.typ == pgtype.BoolOID && (operator == "=" || operator == "<>") {
		if (operator == "=") != (*r.value.text == "true") {
			s = s.negated()
		}
		return c.of(l, s)
	}
	if s == isFalse || s == notTrue {
		operator = comparisons[operator].not
	}
	null = null && c.mayBeNull(e)
	claimed := c.against(l, r, operator, null)
	if c.key == nil && !fixed(r) {
		claimed = conjunction(claimed, c.against(r, l, comparisons[operator].mirror, null))
	}
	if claimed == nothingKnown || !ordered(l, r) {
		claimed = conjunction(claimed, c.order(l, r, operator, null))
	}
	if null {
		return claimed
	}
	return conjunction(claimed, c.notNull(l), c.notNull(r))
}

// order claims of two expressions which of them is greater. PostgreSQL's comparisons of one pair of types order all
// values, NaN included.
func (c *claims) order(l, r *Expr, operator string, null bool) *claim {
	if c.key == nil {
		return nothingKnown
	}
	left, right := c.keyOf(l).(string), c.keyOf(r).(string)
	if left > right {
		left, right, operator = right, left, comparisons[operator].mirror
	}
	signs := compared(operator, only(numberPoint(bounds.Zero)))
	return fact("order of "+left+" and "+right, valueSet{segments: signs, null: null})
}

// against claims what a comparison says of an expression's values: with a constant, or with what has bounds where those
// are read, and is not NULL.
func (c *claims) against(l, r *Expr, operator string, null bool) *claim {
	if fixed(l) || !fixed(r) && (c.key != nil || null) {
		return nothingKnown
	}
	key, base := c.subject(l)
	at, known := place(l, base, r)
	if !known || operator != "=" && operator != "<>" && !ordered(l, r) {
		return nothingKnown
	}
	return fact(key, base.having(compared(operator, at), null))
}

// membership gives what x = ANY (constants) and x <> ALL (constants) claim: the one is the negation of the other.
func (c *claims) membership(e *Expr, s sense) *claim {
	l, list := e.args[0], e.args[1]
	anyOf := e.elementwise == "=" && strings.Contains(e.tmpl, ") ANY (")
	noneOf := e.elementwise == "<>" && strings.Contains(e.tmpl, ") ALL (")
	places, nulls, known := c.places(l, list)
	switch {
	case (anyOf || noneOf) && known:
	case anyOf && s == isTrue, noneOf && s == isFalse:
		return conjunction(c.opaque(e, s), c.notNull(l))
	default:
		return c.opaque(e, s)
	}
	if noneOf {
		s = s.negated()
	}
	if s == isFalse || s == notTrue {
		places = complement(joined(slices.DeleteFunc(places, func(x segment) bool { return x.point() == nil })))
	}
	key, base := c.subject(l)
	switch {
	case nulls && s == isFalse: // it is true or NULL
		return impossible
	case nulls && s == notFalse:
		return nothingKnown
	case s == isTrue || s == isFalse:
		return conjunction(fact(key, base.having(places, false)), c.notNull(l))
	}
	return fact(key, base.having(places, c.mayBeNull(l)))
}

// places finds where the elements of an array that are not NULL lie among the values of l.
func (c *claims) places(l, list *Expr) (places []segment, nulls, known bool) {
	if c.left -= len(list.args); c.left < 0 || list.provisional || len(list.args) == 0 {
		return nil, false, false // x = ANY ('{}') is false even where x is NULL
	}
	base := l.uncast()
	for _, x := range list.args {
		switch {
		case !fixed(x):
			return nil, false, false
		case isNull(x):
			nulls = true
			continue
		}
		at, ok := place(l, base, x)
		if !ok {
			return nil, false, false
		}
		places = append(places, at)
	}
	return places, nulls, true
}

// same gives what IS [NOT] DISTINCT FROM claims.
func (c *claims) same(l, r *Expr, same bool) *claim {
	if fixed(l) && !fixed(r) {
		l, r = r, l
	}
	operator := "="
	if !same {
		operator = "<>"
	}
	switch {
	case fixed(r) && isNull(r) && same:
		return c.null(l)
	case fixed(r) && isNull(r):
		return c.notNull(l)
	case !fixed(r):
		return c.order(l, r, operator, true)
	case r.typ == pgtype.BoolOID:
		is := map[string]sense{"true": isTrue, "false": isFalse}[*r.value.text]
		if !same {
			is = is.otherwise()
		}
		return c.of(l, is)
	case same:
		return conjunction(c.order(l, r, operator, false), c.against(l, r, operator, false), c.notNull(l))
	}
	return conjunction(c.order(l, r, operator, true), c.against(l, r, operator, true))
}

// place gives the values that x may have in the order of those of base, which is l without casts: of a constant, one.
// It is not known where l and x do not compare by values that are known here: texts under a collation that takes
// different ones for equal, numbers that are rounded first.
func place(l, base, x *Expr) (at segment, known bool) {
	oid := base.baseType()
	if scale := scaleTo(l, oid, x.baseType()); scale != nil {
		if !fixed(x) {
			i := x.unclamped().Scale(scale)
			return between(i), !i.Open()
		}
		return numberPlace(l, x, scale)
	}
	if !fixed(x) {
		return segment{}, false
	}
	text := *x.value.text
	switch {
	case base.isEnum():
		if i := slices.Index(base.labels, text); i >= 0 && x.typ == oid {
			return only(numberPoint(rat(int64(i)))), true
		}
	case oid == pgtype.IntervalOID && x.typ == oid && x.value.span != nil: // interval_cmp_value: a month has 30 days
		days := rat(x.value.span.days + 30*x.value.span.months)
		return only(numberPoint(add(mul(days, microsPerDay), x.value.span.micros))), true
	case oid == pgtype.UUIDOID && x.typ == oid:
		return only(&point{text: text}), true
	case pgresolve.IsString(oid) && pgresolve.IsString(x.typ) && l.comparesBytes() && base.comparesBytes():
		return textPlace(l, x, text)
	}
	return segment{}, false
}

// scaleTo gives the canonical units of type oid that one of another type is, where l, which has exactly the values of
// type oid, compares with that type as the numbers do; nil: it does not.
func scaleTo(l *Expr, oid, other uint32) *big.Rat {
	switch {
	case pgresolve.IsNumber(oid) && pgresolve.IsNumber(other) &&
		(pgresolve.IsFloat(l.baseType()) || !pgresolve.IsFloat(other)), oid == other && stepwise(oid):
		return bounds.One
	case oid == pgtype.DateOID && other == pgtype.TimestampOID:
		return quo(bounds.One, microsPerDay)
	case oid == pgtype.TimestampOID && other == pgtype.DateOID:
		return microsPerDay
	}
	return nil
}

// comparesBytes says that texts are equal as their bytes are: no column below has a collation that is not
// deterministic.
func (e *Expr) comparesBytes() bool {
	bytes := true
	e.walk(func(x *Expr) bool {
		bytes = bytes && !x.nondeterministic && (x.col == nil || x.col.DeterministicCollation)
		return bytes && !strings.HasPrefix(x.tmpl, collateTemplate)
	})
	return bytes
}

// numberPlace gives the place of a constant number or time, in units of which it has scale. A number that is compared
// with a float is rounded before.
func numberPlace(l, x *Expr, scale *big.Rat) (at segment, known bool) {
	switch {
	case x.bounds.Finite() && pgresolve.IsFloat(l.baseType()) && !pgresolve.IsFloat(x.baseType()):
		rounded, ok := roundFloat(x.bounds.Lo, l.baseType())
		return between(bounds.HullOf(x.bounds.Lo, rounded)), ok
	case x.bounds.Finite():
		return only(numberPoint(mul(x.bounds.Lo, scale))), true
	case strings.EqualFold(*x.value.text, "infinity"):
		return only(&point{beyond: 1}), true
	case strings.EqualFold(*x.value.text, "-infinity"):
		return only(&point{beyond: -1}), true
	case *x.value.text == "NaN":
		return only(&point{beyond: 2}), true
	}
	return segment{}, false
}

// textPlace gives the place of a text. A char(n) ends before its blanks, and a name before its 64th byte.
func textPlace(l, x *Expr, text string) (at segment, known bool) {
	name := l.baseType() == pgtype.NameOID
	switch padded := l.baseType() == pgtype.BPCharOID; {
	case padded != (x.typ == pgtype.BPCharOID), name != (x.typ == pgtype.NameOID), name && len(text) > 63:
		return segment{}, false
	case padded:
		text = strings.TrimRight(text, " ")
	}
	return only(&point{text: text}), true
}

// ordered says that l and r compare as their points do: texts only where the collation is that of bytes.
func ordered(l, r *Expr) bool {
	if !l.Collatable() {
		return true
	}
	collation := l.collation
	if collation == "" {
		collation = r.collation
	}
	return slices.Contains([]string{`pg_catalog."C"`, `pg_catalog."POSIX"`, `pg_catalog."ucs_basic"`}, collation)
}

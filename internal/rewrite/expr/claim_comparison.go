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
	if s == isFalse || s == notTrue {
		operator = comparisons[operator].not
	}
	null := s == notTrue || s == notFalse
	if isNull(r) && fixed(r) || isNull(l) && fixed(l) { // the comparison is NULL
		if null {
			return nothingKnown
		}
		return impossible
	}
	if fixed(r) && r.typ == pgtype.BoolOID && (operator == "=" || operator == "<>") {
		return c.truth(l, (operator == "=") == (*r.value.text == "true"), null)
	}
	null = null && c.mayBeNull(e)
	claimed := c.against(l, r, operator, null)
	if claimed == nothingKnown || !ordered(l, r) {
		claimed = conjunction(claimed, c.order(l, r, operator, null))
	}
	if null {
		return claimed
	}
	return conjunction(claimed, c.notNull(l), c.notNull(r))
}

// truth claims that a condition is true, or false; with null, or NULL.
func (c *claims) truth(e *Expr, is, null bool) *claim {
	switch {
	case is && null:
		return c.of(e, notFalse)
	case is:
		return c.of(e, isTrue)
	case null:
		return c.of(e, notTrue)
	}
	return c.of(e, isFalse)
}

// order claims of two expressions which of them is greater. PostgreSQL's comparisons of one pair of types order all
// values, NaN included.
func (c *claims) order(l, r *Expr, operator string, null bool) *claim {
	left, right := c.textOf(l), c.textOf(r)
	if left > right {
		left, right, operator = right, left, comparisons[operator].mirror
	}
	var signs []segment
	for _, sign := range []int64{-1, 0, 1} {
		if slices.ContainsFunc(comparedSet(operator, numberPoint(bounds.Zero), true), func(x segment) bool {
			return x.contains(numberPoint(rat(sign)))
		}) {
			signs = append(signs, comparedSet("=", numberPoint(rat(sign)), true)...)
		}
	}
	return fact("order of "+left+" and "+right, valueSet{segments: signs, null: null})
}

// against claims what a comparison with a constant says of an expression's values.
func (c *claims) against(l, r *Expr, operator string, null bool) *claim {
	if !fixed(r) || fixed(l) {
		return nothingKnown
	}
	key, base, before := c.subject(l)
	at := place(l, base, r)
	if at == nil || operator != "=" && operator != "<>" && !ordered(l, r) {
		return nothingKnown
	}
	return fact(key, before(valueSet{segments: comparedSet(operator, at, base.whole()), null: null}))
}

// membership gives what x = ANY (constants) and x <> ALL (constants) claim: the one is the negation of the other.
func (c *claims) membership(e *Expr, s sense) *claim {
	l, list := e.args[0], e.args[1]
	anyOf := e.elementwise == "=" && strings.Contains(e.tmpl, ") ANY (")
	noneOf := e.elementwise == "<>" && strings.Contains(e.tmpl, ") ALL (")
	points, nulls, known := c.places(l, list)
	if !known || !anyOf && !noneOf {
		return c.opaque(e, s)
	}
	if noneOf {
		s = s.negated()
	}
	key, base, before := c.subject(l)
	set := valueSet{segments: outside(points, base.whole())}
	if s == isTrue || s == notFalse {
		set.segments = among(points, base.whole())
	}
	switch {
	case nulls && s == isFalse: // it is true or NULL
		return impossible
	case nulls && s == notFalse:
		return nothingKnown
	case s == isTrue || s == isFalse:
		return conjunction(fact(key, before(set)), c.notNull(l))
	}
	set.null = c.mayBeNull(l)
	return fact(key, before(set))
}

// places finds where the elements of an array that are not NULL lie among the values of l.
func (c *claims) places(l, list *Expr) (points []*point, nulls, known bool) {
	if c.left -= len(list.args); c.left < 0 || list.provisional || len(list.args) == 0 {
		return nil, false, false // x = ANY ('{}') is false even where x is NULL
	}
	_, base, _ := c.subject(l)
	for _, x := range list.args {
		switch {
		case !fixed(x):
			return nil, false, false
		case isNull(x):
			nulls = true
			continue
		}
		at := place(l, base, x)
		if at == nil {
			return nil, false, false
		}
		points = append(points, at)
	}
	return points, nulls, true
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
		return c.truth(l, same == (*r.value.text == "true"), !same)
	case same:
		return conjunction(c.order(l, r, operator, false), c.against(l, r, operator, false), c.notNull(l))
	}
	return conjunction(c.order(l, r, operator, true), c.against(l, r, operator, true))
}

// place gives a constant's place in the order of the values of base, which is l without casts; nil where l and the
// constant do not compare by values that are known here: texts under a collation that takes different ones for equal,
// numbers that are rounded first.
func place(l, base, x *Expr) *point {
	oid, text := base.baseType(), *x.value.text
	switch {
	case base.isEnum():
		if i := slices.Index(base.labels, text); i >= 0 && x.typ == base.baseType() {
			return numberPoint(rat(int64(i)))
		}
	case pgresolve.IsNumber(oid) && pgresolve.IsNumber(x.typ) && pgresolve.IsFloat(l.baseType()) == pgresolve.IsFloat(
		x.typ):
		return numberPlace(x, bounds.One)
	case oid == pgtype.IntervalOID && x.typ == oid && x.value.span != nil: // interval_cmp_value: a month has 30 days
		days := rat(x.value.span.days + 30*x.value.span.months)
		return numberPoint(add(mul(days, microsPerDay), x.value.span.micros))
	case oid == x.typ && pgresolve.IsTime(oid) && oid != pgtype.IntervalOID:
		return numberPlace(x, bounds.One)
	case oid == pgtype.DateOID && x.typ == pgtype.TimestampOID:
		return numberPlace(x, quo(bounds.One, microsPerDay))
	case oid == pgtype.TimestampOID && x.typ == pgtype.DateOID:
		return numberPlace(x, microsPerDay)
	case oid == pgtype.UUIDOID && x.typ == oid:
		return &point{text: text}
	case pgresolve.IsString(oid) && pgresolve.IsString(x.typ) && l.comparesBytes() && base.comparesBytes():
		return textPlace(l, x, text)
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

// numberPlace gives the place of a number or a time, in units of which it has scale.
func numberPlace(x *Expr, scale *big.Rat) *point {
	switch {
	case x.bounds.Finite():
		return numberPoint(mul(x.bounds.Lo, scale))
	case strings.EqualFold(*x.value.text, "infinity"):
		return &point{beyond: 1}
	case strings.EqualFold(*x.value.text, "-infinity"):
		return &point{beyond: -1}
	case *x.value.text == "NaN":
		return &point{beyond: 2}
	}
	return nil
}

// textPlace gives the place of a text. A char(n) ends before its blanks, and a name before its 64th byte.
func textPlace(l, x *Expr, text string) *point {
	switch padded := l.baseType() == pgtype.BPCharOID; {
	case padded != (x.typ == pgtype.BPCharOID), l.baseType() == pgtype.NameOID || x.typ == pgtype.NameOID:
		return nil
	case padded:
		text = strings.TrimRight(text, " ")
	}
	return &point{text: text}
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

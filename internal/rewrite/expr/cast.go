package expr

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// typeCast builds an explicit cast. It reads a literal as the type, and converts anything else.
func (b *builder) typeCast(t *pg_query.TypeCast) (*Expr, error) {
	loc := int(t.Location)
	target, err := b.typeNamed(t.TypeName, loc)
	if err != nil {
		return nil, err
	}
	if arr := t.Arg.GetAArrayExpr(); arr != nil && target.array {
		return b.arrayOf(arr.Elements, target.oid, int(arr.Location))
	}
	e, err := b.expr(t.Arg)
	if err != nil {
		return nil, err
	}
	if target.array {
		return b.arrayCast(e, target.oid, loc)
	}
	if target.unit != "" && e.typ == pgtype.UnknownOID && e.value.text != nil &&
		intForm.MatchString(strings.TrimSpace(*e.value.text)) {
		s := strings.TrimSpace(*e.value.text) + " " + target.unit
		e.value = &constant{text: &s}
	}
	if e.typ == pgtype.UnknownOID {
		if e, err = b.readUnknown(e, target.oid, target.labels, target.name); err != nil {
			return nil, err
		}
	}
	text := describe(&pg_query.Node{Node: &pg_query.Node_TypeCast{TypeCast: t}})
	if target.domain != nil && target.domain.Constrained {
		return b.constrainedCast(e, target.domain, text, loc)
	}
	out, err := b.cast(e, target.oid, target.typmod, text, loc)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// castTarget describes a type that a cast names.
type castTarget struct {
	oid    uint32
	typmod int32
	array  bool   // oid is the element's
	unit   string // interval '1' DAY
	name   string
	labels []string
	domain *Domain // oid is that of the type that it is over
}

var intervalUnits = map[int32]string{
	1 << 2: "year", 1 << 1: "month", 1 << 3: "day", 1 << 10: "hour", 1 << 11: "minute",
	1 << 12: "second",
}

// typeNamed resolves a type's name to a built-in type.
func (b *builder) typeNamed(n *pg_query.TypeName, loc int) (castTarget, error) {
	t := castTarget{typmod: -1}
	var parts []string
	for _, p := range n.GetNames() {
		parts = append(parts, p.GetString_().GetSval())
	}
	if len(parts) == 2 && parts[0] == "pg_catalog" {
		parts = parts[1:]
	}
	bad := Refuse(refusal.Cast, loc, fmt.Sprintf("a cast to %s is not supported on private rows",
		strings.Join(parts, ".")), "")
	if len(parts) > 0 && !n.Setof && !n.PctType && (len(parts) > 1 || pgresolve.TypeNamed(parts[0]) == 0) &&
		b.domainNamed(parts, n, &t) {
		return t, nil
	}
	if len(parts) != 1 || n.Setof || n.PctType {
		return t, bad
	}
	t.oid = pgresolve.TypeNamed(parts[0])
	if strings.HasPrefix(parts[0], "_") && pgresolve.ElementType(t.oid) != nil {
		t.oid, t.array = pgresolve.ElementType(t.oid).OID, true
	}
	if len(n.ArrayBounds) > 0 {
		t.array = true
	}
	if t.oid == pgtype.NameOID || !supported(t.oid) && !isRange(t.oid) && !(b.typesOnly && constantType(t.oid)) {
		return t, bad
	}
	if !t.modify(n.Typmods) {
		return t, bad
	}
	t.name = pgresolve.Qualified(t.oid, -1)
	return t, nil
}

// modify takes the modifiers in parentheses after a type's name; false: the type has no such ones, or they are not
// supported.
func (t *castTarget) modify(nodes []*pg_query.Node) bool {
	var mods []int32
	for _, m := range nodes {
		c := m.GetAConst()
		if c == nil || c.GetIval() == nil && c.GetVal() != nil {
			return false
		}
		mods = append(mods, c.GetIval().GetIval())
	}
	switch {
	case len(mods) == 0:
	case t.oid == pgtype.NumericOID && mods[0] >= 1 && mods[0] <= 1000 &&
		(len(mods) == 1 || mods[1] >= 0 && mods[1] <= 1000):
		scale := int32(0)
		if len(mods) == 2 {
			scale = mods[1]
		}
		t.typmod = (mods[0]<<16 | scale) + 4
	case (t.oid == pgtype.VarcharOID || t.oid == pgtype.BPCharOID) && mods[0] >= 1:
		t.typmod = mods[0] + 4
	case t.oid == pgtype.IntervalOID && len(mods) == 1 && intervalUnits[mods[0]] != "":
		t.unit = intervalUnits[mods[0]]
	case (t.oid == pgtype.TimeOID || t.oid == pgtype.TimestampOID || t.oid == pgtype.TimestamptzOID) && mods[0] >= 0 &&
		mods[0] <= 6:
		t.typmod = mods[0]
	default:
		return false
	}
	return true
}

// cast converts e, explicitly or implicitly: both are proven total by the same rules.
func (b *builder) cast(e *Expr, to uint32, typmod int32, text string, loc int) (*Expr, error) {
	if e.baseType() == to && typmod < 0 {
		out := *e.Read() // a column under a cast is no bare column: it is computed, so it is clamped
		return &out, nil
	}
	if x := folded(e, to); x != nil && typmod < 0 {
		x.text = text
		return x, nil
	}
	if b.typesOnly {
		return b.typedCast(e, to, typmod, text, loc)
	}
	x := e.Read()
	c := &call{b: b, args: []*Expr{x}, loc: loc, text: text, tmpl: castTemplate}
	out := c.result(to)
	out.typmod, out.typeName = typmod, pgresolve.Qualified(to, typmod)
	if x.value != nil && x.value.text == nil {
		return out, nil
	}
	if x.isEnum() && !pgresolve.IsString(to) {
		return nil, c.refuse(refusal.Cast, "an enum can be cast to text alone", "")
	}
	var err error
	from := x.typ
	switch {
	case pgresolve.IsNumber(from) && pgresolve.IsNumber(to):
		err = c.numberCast(out, x, to, typmod)
	case pgresolve.IsTime(from) && pgresolve.IsTime(to):
		err = c.timeCast(out, x, to)
	case pgresolve.IsString(to) && (supported(from) || x.isEnum()):
		err = c.textCast(out, x, to, typmod)
	case from == pgtype.BoolOID && to == pgtype.Int4OID:
		out.bounds = bounds.Between(0, 1)
	default:
		return nil, Refuse(refusal.Cast, loc, fmt.Sprintf(
			"%s may fail: a cast from %s to %s is not supported on private rows", text, pgresolve.Display(from),
			pgresolve.Display(to)), "cast constants and parameters only, or filter on the column as it is")
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// numberCast keeps the value but for rounding. Casts raise on overflow, and floats on underflow.
func (c *call) numberCast(out, x *Expr, to uint32, typmod int32) error {
	from := x.typ
	b := x.safe()
	if pgresolve.IsInt(to) && pgresolve.IsInt(from) {
		return c.intoRange(out, x.bounds, b, to)
	}
	if pgresolve.IsInt(from) && to == pgtype.NumericOID && typmod < 0 {
		out.bounds, out.scale, out.nonzero = x.bounds, 0, x.nonzero
		return nil
	}
	if known, err := c.finite(); !known || err != nil {
		return err
	}
	switch {
	case pgresolve.IsInt(to) && from == pgtype.NumericOID:
		r := b.Map(bounds.RoundHalfAway)
		return c.intoRange(out, r.OpenLike(x.bounds), r, to)
	case pgresolve.IsInt(to):
		r := b.Map(bounds.RoundHalfEven)
		return c.intoRange(out, r.OpenLike(x.bounds), r, to)
	case to == pgtype.NumericOID:
		return c.numericCast(out, x, b, typmod)
	}
	return c.floatCast(out, x, b, to)
}

// numericCast rounds a float to the digits that PostgreSQL prints, and any number to the digits of the type.
func (c *call) numericCast(out, x *Expr, b bounds.Interval, typmod int32) error {
	out.scale, out.nonzero = x.scale, x.nonzero
	out.bounds = b
	if pgresolve.IsFloat(x.typ) { // printed with 15 (6) significant digits
		out.scale = -1
		relative := bounds.Pow10(-14)
		if x.typ == pgtype.Float4OID {
			relative = bounds.Pow10(-5)
		}
		out.bounds = b.WidenRelative(relative)
		if x.quantum >= 0 { // dscale is at most the digits of the least value
			out.scale = min(x.quantum, 1074)
		}
	}
	if typmod >= 0 {
		precision, scale := pgresolve.NumericTypmod(typmod)
		out.bounds = out.bounds.Map(func(r *big.Rat) *big.Rat { return bounds.RoundScale(r, scale) })
		out.scale, out.nonzero = scale, false
		limit := bounds.Pow10(precision - scale)
		if out.bounds.Lo.Cmp(neg(limit)) <= 0 || out.bounds.Hi.Cmp(limit) >= 0 {
			return c.refuse(refusal.Overflow, fmt.Sprintf("values in %s do not fit numeric(%d,%d)", b, precision, scale),
				"use a higher precision, or numeric without one")
		}
	}
	out.bounds = out.bounds.OpenLike(x.bounds)
	return nil
}

func (c *call) intoRange(out *Expr, limits, safe bounds.Interval, to uint32) error {
	out.scale = 0
	if c.args[0].provisional {
		return nil
	}
	if !safe.Within(intRange(to)) {
		return c.refuse(refusal.Overflow, fmt.Sprintf("values in %s do not fit %s", safe, pgresolve.Display(to)),
			"declare narrower bounds, write LEAST(GREATEST(x, low), high), or cast to bigint or numeric")
	}
	out.bounds = limits
	out.nonzero = c.args[0].nonzero && pgresolve.IsInt(c.args[0].typ)
	return nil
}

func (c *call) floatCast(out, x *Expr, b bounds.Interval, to uint32) error {
	cut := x.typ == pgtype.NumericOID && (x.scale < 0 || x.scale > 60)
	switch {
	case pgresolve.IsInt(x.typ):
		out.quantum = 0
	case x.typ == pgtype.NumericOID:
		if cut { // digits beyond the 60th do not matter to a float, and could underflow
			out.tmpl = "(pg_catalog.trunc({0}, 60))::{T}"
			out.quantum = floatQuantum(bounds.Pow10(-60), to)
		} else {
			out.quantum = floatQuantum(bounds.Pow10(-x.scale), to)
		}
	case to == pgtype.Float4OID:
		return c.refuse(refusal.Overflow, "it may underflow "+pgresolve.Display(to), "cast to double precision")
	default:
		out.quantum = x.quantum
	}
	limits, ok := roundFloats(b, to)
	if !ok || out.quantum > leastQuantum(to) || to == pgtype.Float4OID && x.typ == pgtype.NumericOID && x.scale < 0 {
		return c.refuse(refusal.Overflow, fmt.Sprintf("values in %s may overflow or underflow %s", b, pgresolve.Display(to)),
			"")
	}
	if cut {
		limits = limits.Hull(bounds.Point(bounds.Zero)).Intersect(limits.Widen(bounds.Pow10(-60)))
	}
	out.bounds = limits.OpenLike(x.bounds)
	out.nonzero = x.nonzero && x.typ != pgtype.NumericOID
	return nil
}

// textCast: every output function is total. Names of infinite dates and NaN are words.
func (c *call) textCast(out, x *Expr, to uint32, typmod int32) error {
	if to == pgtype.NameOID {
		return c.refuse(refusal.Cast, "casts to name are not supported", "cast to text")
	}
	if err := c.printed(x); err != nil {
		return err
	}
	out.maxLen = printedLen(x)
	switch {
	case pgresolve.IsString(x.typ):
		out.maxLen, out.collation, out.nondeterministic = x.maxLen, x.collation, x.nondeterministic
	case x.isEnum():
		out.maxLen = 63
	}
	if typmod >= 0 {
		out.maxLen = int(typmod - 4)
	}
	return nil
}

// printedLen is how long the text of a value of a built-in type may be; -1: unknown.
func printedLen(x *Expr) int {
	if x.typ == pgtype.NumericOID {
		return -1
	}
	return 64
}

// printed refuses the text of a value that the session wants in another style than main prints.
func (c *call) printed(x *Expr) error {
	switch {
	case x.typ == pgtype.IntervalOID:
		return c.refuse(refusal.Cast, "the text of an interval is not available", "use EXTRACT")
	case c.b.scope.Prints(x.typ):
		return nil
	}
	return c.refuse(refusal.DateStyle, "the text of a date or time is available in the style ISO alone",
		"SET DateStyle = 'ISO', or use to_char")
}

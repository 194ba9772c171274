package expr

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// castTemplate prints a cast.
const castTemplate = "({0})::{T}"

// coerce converts an operand implicitly to a built-in type, as coerce_type does. A literal of unknown type is read as
// to. at is what a refusal points to.
func (b *builder) coerce(e *Expr, to uint32, at *Expr) (*Expr, error) {
	if e.typ == to {
		return e, nil
	}
	if e.typ == pgtype.UnknownOID {
		switch {
		case b.typesOnly && !supported(to) && constantType(to) && e.value.text != nil:
			return typedLiteral(e, to)
		case to == pgtype.UnknownOID || pgresolve.LookupType(to) == nil || pgresolve.LookupType(to).Category == 'P':
			to = pgtype.TextOID
		}
		return b.readUnknown(e, to, nil, "")
	}
	if e.baseType() == to {
		return e.relabelled(), nil
	}
	if t := pgresolve.LookupType(to); t != nil && t.Category == 'P' {
		return e, nil
	}
	if x := folded(e, to); x != nil {
		return x, nil
	}
	if !pgresolve.CanCoerce(e.baseType(), to) {
		return nil, Refuse(refusal.Types, at.location, fmt.Sprintf("%s is of type %s where %s is needed", at.Text(),
			pgresolve.Display(e.typ), pgresolve.Display(to)), "")
	}
	return b.cast(e, to, -1, at.Text(), at.location)
}

// folded reads a number constant as a wider type, which gives the same value as casting it; nil where that does not
// apply.
func folded(e *Expr, to uint32) *Expr {
	if e.value == nil || e.value.text == nil || !pgresolve.IsNumber(e.typ) || pgresolve.IsFloat(e.typ) ||
		!pgresolve.CanCoerce(e.typ, to) || to == pgtype.Float4OID {
		return nil
	}
	c, err := readLiteral(to, nil, *e.value.text)
	if err != nil {
		return nil
	}
	out := constantExpr(to, c, e.location)
	out.text = e.text
	return out
}

// coerceLike coerces to another expression's type, enums included.
func (b *builder) coerceLike(e, like *Expr, at *Expr) (*Expr, error) {
	if !like.isEnum() {
		return b.coerce(e, like.baseType(), at)
	}
	if e.typ == pgtype.UnknownOID {
		return b.readUnknown(e, like.typ, like.labels, like.typeName)
	}
	if e.value != nil && e.typ == like.typ && len(e.labels) == 0 { // a parameter
		out := *e
		out.typeName, out.labels = like.typeName, like.labels
		if text := e.value.text; text != nil && !slices.Contains(like.labels, *text) {
			return nil, badLiteral(e.typ, "value of the enum", *text, e.location)
		}
		return &out, nil
	}
	if e.baseType() != like.typ {
		return nil, Refuse(refusal.Types, at.location, fmt.Sprintf("%s is of type %s where an enum is needed", at.Text(),
			pgresolve.Display(e.typ)), "cast both sides to text")
	}
	return e, nil
}

// readUnknown reads a literal of unknown type as a value of type to.
func (b *builder) readUnknown(e *Expr, to uint32, labels []string, typeName string) (*Expr, error) {
	if typeName == "" {
		typeName = pgresolve.Qualified(to, -1)
	}
	if e.value.text == nil {
		out := nullExpr(to, typeName, e.location)
		out.text, out.labels = e.text, labels
		return out, nil
	}
	if labels == nil && !supported(to) && !isRange(to) {
		return nil, Refuse(refusal.Types, e.location, "constants of type "+pgresolve.Display(to)+
			" are not supported on private rows", "")
	}
	c, err := readLiteral(to, labels, *e.value.text)
	if isRange(to) || err != nil && pgresolve.IsTime(to) {
		return b.readByServer(to, *e.value.text, e)
	}
	if err != nil {
		name := pgresolve.Display(to)
		if labels != nil {
			name = "value of the enum"
		}
		return nil, badLiteral(to, name, *e.value.text, e.location)
	}
	out := constantExpr(to, c, e.location)
	out.typeName, out.text, out.labels = typeName, e.text, labels
	return out, nil
}

// readByServer has PostgreSQL read a date, a time or a range. Until that is possible its value is as little known as a
// parameter's.
func (b *builder) readByServer(oid uint32, text string, at *Expr) (*Expr, error) {
	value, known, err := b.scope.Literal(oid, text)
	if err != nil {
		return nil, err
	}
	if !known {
		out := newExpr(oid, at.location)
		out.verbatim, out.text, out.provisional = query.Raw(sqltext.Literal(text)+"::"+out.typeName), at.text, true
		return out, nil
	}
	out, err := typed(oid, value, at.location)
	if err != nil {
		return nil, badLiteral(oid, pgresolve.Display(oid), text, at.location)
	}
	out.text = at.text
	return out, nil
}

// common coerces expressions to the type that PostgreSQL gives to CASE, COALESCE, GREATEST, IN and ARRAY, and reads
// them.
func (b *builder) common(construct string, all []*Expr, loc int) ([]*Expr, error) {
	var enum *Expr
	for _, e := range all {
		if e.isEnum() {
			enum = e
			break
		}
	}
	out := make([]*Expr, len(all))
	oid, ok := pgresolve.CommonType(baseTypes(all))
	if enum == nil && (!ok || !supported(oid)) {
		return nil, Refuse(refusal.Types, loc, fmt.Sprintf("%s of %s is not supported", construct, typeList(all)),
			"cast its operands to one type")
	}
	for i, e := range all {
		var x *Expr
		var err error
		if enum != nil {
			x, err = b.coerceLike(e, enum, e)
		} else {
			x, err = b.coerce(e, oid, e)
		}
		if err != nil {
			return nil, err
		}
		out[i] = x.Read()
	}
	return out, nil
}

// merged makes the expression whose value is one of choices, which have one type: its bounds are their hull, its digits
// the most of theirs.
func merged(c *call, choices []*Expr) (*Expr, error) {
	first := choices[0]
	e := c.result(first.typ)
	e.typmod, e.typeName, e.labels = first.typmod, qualifiedLike(first), first.labels
	e.bounds, e.scale, e.quantum, e.maxLen, e.nonzero = first.bounds, first.scale, first.quantum, first.maxLen,
		first.nonzero
	e.nullable, e.nullBefore, e.collation, e.monthless = false, false, "", first.typ == pgtype.IntervalOID
	started := false
	for _, x := range choices {
		e.nullable, e.nullBefore = e.nullable || x.nullable, e.nullBefore || x.nullBefore
		if x.typ == pgtype.IntervalOID && !isNull(x) {
			e.monthless = e.monthless && noMonths(x)
		}
		if x.typmod != e.typmod {
			e.typmod = -1
		}
		if x.value != nil && x.value.text == nil {
			continue // NULL has no value to hold
		}
		if !started {
			e.bounds, e.scale, e.quantum, e.maxLen, e.nonzero, started = x.bounds, x.scale, x.quantum, x.maxLen, x.nonzero, true
			continue
		}
		e.bounds = e.bounds.Hull(x.bounds)
		e.scale = merge(e.scale, x.scale)
		e.quantum = merge(e.quantum, x.quantum)
		e.maxLen = merge(e.maxLen, x.maxLen)
		e.nonzero = e.nonzero && x.nonzero
	}
	d := &call{args: choices, loc: c.loc, text: c.text}
	return e, d.collations(e)
}

// qualifiedLike prints the type without its modifier.
func qualifiedLike(e *Expr) string {
	if pgresolve.LookupType(e.typ) != nil {
		return pgresolve.Qualified(e.typ, -1)
	}
	return e.typeName
}

// merge gives the greater of two known quantities, or −1.
func merge(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return max(a, b)
}

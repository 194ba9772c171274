package expr

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// Columns of range types, and what is asked of them beside constants, parameters and values, are printed as they are:
// these operators and functions are total for every range (docs/privacy.md P3a). A constant is a range as PostgreSQL
// reads or computes it; its bounds hold its ends.

// rangeTypes are the types of ranges, with those of their ends.
var rangeTypes = map[uint32]uint32{
	pgtype.Int4rangeOID: pgtype.Int4OID, pgtype.Int8rangeOID: pgtype.Int8OID, pgtype.NumrangeOID: pgtype.NumericOID,
	pgtype.DaterangeOID: pgtype.DateOID, pgtype.TsrangeOID: pgtype.TimestampOID,
	pgtype.TstzrangeOID: pgtype.TimestamptzOID,
}

func isRange(oid uint32) bool { return rangeTypes[oid] != 0 }

// rangeOperators say whether a value may stand on the right, or on the left.
var rangeOperators = map[string]struct{ valueRight, valueLeft bool }{
	"@>": {valueRight: true}, "<@": {valueLeft: true}, "&&": {}, "<<": {}, ">>": {}, "&<": {}, "&>": {}, "-|-": {},
}

// rangeTests are the functions of a range that tell something of it.
var rangeTests = map[string]bool{
	"isempty": true, "lower_inc": true, "upper_inc": true, "lower_inf": true,
	"upper_inf": true,
}

// readRange reads a range as PostgreSQL writes it.
func (c *constant) readRange(oid uint32, s string) error {
	lower, upper, ok := strings.Cut(s, ",")
	if s == "empty" {
		return nil
	}
	if !ok {
		return errForm
	}
	read := func(end string) (*big.Rat, error) {
		if end = strings.Trim(end, `"`); end == "" {
			return nil, nil
		}
		x, err := readLiteral(rangeTypes[oid], nil, end)
		if err != nil {
			return nil, err
		}
		return x.bounds.Lo, nil
	}
	var err error
	if c.bounds.Lo, err = read(lower[1:]); err != nil {
		return err
	}
	c.bounds.Hi, err = read(upper[:len(upper)-1])
	return err
}

// rangeOperator builds an operator between ranges, or a range and a value; nil where no operand is a range.
func (b *builder) rangeOperator(a *pg_query.A_Expr, name string, args []*Expr) (*Expr, error) {
	form, known := rangeOperators[name]
	if !known || len(args) != 2 || !isRange(args[0].baseType()) && !isRange(args[1].baseType()) {
		return nil, nil
	}
	c := &call{
		b: b, args: make([]*Expr, 2), loc: int(a.Location), text: describeOperator(a),
		tmpl: "({0} OPERATOR(pg_catalog." + name + ") {1})", cost: cost{steps: rangeSteps},
	}
	for i, x := range args {
		c.args[i] = x.relabelled()
		if x.typ == pgtype.UnknownOID { // PostgreSQL takes a literal without a type for a range
			var err error
			if c.args[i], err = b.readUnknown(x, args[1-i].baseType(), nil, ""); err != nil {
				return nil, err
			}
		}
	}
	l, r := c.args[0].typ, c.args[1].typ
	if l != r && !(form.valueRight && rangeTypes[l] == r) && !(form.valueLeft && rangeTypes[r] == l) {
		return nil, Refuse(refusal.Types, c.loc, fmt.Sprintf("%s is not supported of %s", c.text, typeList(args)),
			"cast one side")
	}
	e := c.result(pgtype.BoolOID)
	e.said = rangeSays(name, c.args[0], c.args[1])
	return e, nil
}

// rangeSays is what such a condition says where it is true. A range column begins no later than the other side ends,
// and ends no earlier than that begins; an end that there is none of is NULL. A column of values lies between the ends
// of a constant range.
func rangeSays(name string, left, right *Expr) []said {
	if name == "<@" {
		left, right, name = right, left, "@>"
	}
	if name == "&&" && left.col == nil {
		left, right = right, left
	}
	there, col := right.unclamped(), left.col
	in := func(c *Column, s segment, null bool) said {
		return said{col: c, is: columnExpr(c, -1).having([]segment{s}, null), not: everything(true)}
	}
	switch {
	case name != "@>" && name != "&&" || left.provisional || right.provisional:
	// every range contains an empty one
	case col != nil && isRange(right.typ) == (name == "&&") && (right.value != nil || !isRange(right.typ)):
		lower, upper := between(bounds.New(nil, there.Hi)), between(bounds.New(there.Lo, nil))
		return []said{in(col.end(lowerEnd), lower, true), in(col.end(upperEnd), upper, true)}
	case left.value != nil && left.value.text != nil && right.col != nil && name == "@>" && !isRange(right.typ):
		at := between(left.bounds)
		at.lo.excluded = strings.HasPrefix(*left.value.text, "(")
		at.hi.excluded = strings.HasSuffix(*left.value.text, ")")
		return []said{in(right.col, at, false)}
	}
	return nil
}

// endFunction builds lower(), upper() and what is asked of a range column, or of a constant that is computed, in a
// word; nil for anything else.
func (b *builder) endFunction(name string, args []*Expr, text string, loc int) *Expr {
	which := slices.Index(endNames[:], name)
	if len(args) != 1 || !isRange(args[0].baseType()) || args[0].col == nil && !b.typesOnly || which < 0 &&
		!rangeTests[name] {
		return nil
	}
	x := args[0].relabelled()
	if x.col != nil && which >= 0 {
		e := b.underConditions(x.col.end(which), loc)
		e.text = text
		return e
	}
	oid := uint32(pgtype.BoolOID)
	if which >= 0 {
		oid = rangeTypes[x.typ]
	}
	c := &call{
		b: b, args: []*Expr{x}, loc: loc, text: text, tmpl: functionTemplate(name, 1),
		cost: cost{steps: rangeSteps},
	}
	e := c.result(oid)
	e.provisional = e.provisional || b.typesOnly
	return e
}

package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var concatRules = []rule{
	{names: "||", args: "text,text text,anynonarray anynonarray,text", total: "operands up to 2^20 characters (the rest is cut off)", unclamped: true, apply: concatenate},
	{names: "concat concat_ws", total: "operands up to 2^20 characters (the rest is cut off)", build: concat},
}

// concatenate bounds text || anything. PostgreSQL prints the other operand by its output function.
func concatenate(c *call) (*Expr, error) {
	length := 0
	args := make([]*Expr, len(c.args))
	for i, a := range c.args {
		if !pgresolve.IsString(a.typ) {
			if !supported(a.typ) && !a.isEnum() {
				return nil, c.refuse(refusal.Types, a.Text()+" is of a type that is not supported", "")
			}
			if err := c.printed(a); err != nil {
				return nil, err
			}
			x := &call{args: []*Expr{a}, loc: c.loc, text: a.Text(), tmpl: castTemplate}
			a = x.result(pgtype.TextOID)
			a.maxLen = printedLen(x.args[0])
		}
		args[i] = limited(a)
		length += args[i].maxLen
	}
	c.args = args
	c.tmpl = "({0} OPERATOR(pg_catalog.||) {1})"
	if length > 16*maxChars {
		return nil, c.refuse(refusal.TextLength, "the result may be too long", "shorten the operands with left(x, n)")
	}
	return c.textResult(length)
}

// concat builds concat and concat_ws, which ignore NULL arguments except for the separator.
func concat(c *call, name string) (*Expr, error) {
	args := make([]*Expr, len(c.args))
	length := 0
	for i, a := range c.args {
		x := a.relabelled()
		if x.typ == pgtype.UnknownOID || !pgresolve.IsString(x.typ) {
			var err error
			if x, err = c.b.castText(x, c.text); err != nil {
				return nil, err
			}
		}
		x = limited(x)
		length += x.maxLen
		if i == 0 && name == "concat_ws" {
			length += x.maxLen * len(args)
		}
		args[i] = x
	}
	c.args, c.tmpl = args, functionTemplate(name, len(args))
	if len(args) == 0 || length > 16*maxChars {
		return nil, c.refuse(refusal.TextLength, "the result may be too long", "shorten the operands with left(x, n)")
	}
	e, err := c.textResult(length)
	if err != nil {
		return nil, err
	}
	e.nullable, e.nullBefore = name == "concat_ws" && c.args[0].nullable, name == "concat_ws" && c.args[0].nullBefore
	return e, nil
}

func (b *builder) castText(x *Expr, text string) (*Expr, error) {
	if x.typ == pgtype.UnknownOID {
		return b.coerce(x, pgtype.TextOID, x)
	}
	if !supported(x.typ) && !x.isEnum() {
		return nil, Refuse(refusal.Types, x.location, x.Text()+" is of a type that is not supported in "+text, "")
	}
	if x.typ == pgtype.BoolOID { // the cast prints true and false
		c := &call{args: []*Expr{x}, loc: x.location, text: x.Text(), tmpl: `pg_catalog."left"(({0})::pg_catalog.text, 1)`}
		return c.textResult(1)
	}
	return b.cast(x, pgtype.TextOID, -1, x.Text(), x.location)
}

package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

var textRules = []rule{
	// ß, İ
	{
		names: "lower upper btrim ltrim rtrim", args: "text", total: "operands up to 2^20 characters (the rest is cut off)",
		unclamped: true, short: true, apply: lengthOf(3),
	},
	{
		names: "length char_length character_length", args: "text|bpchar", total: "always", unclamped: true,
		apply: textLength(1),
	},
	{names: "octet_length", args: "text|bpchar", total: "always", unclamped: true, apply: textLength(4)},
	{
		names: "btrim ltrim rtrim", args: "text,text", total: "constant characters of at most 100", unclamped: true,
		short: true, constants: []string{"", "the set of characters"}, apply: lengthOf(1),
	},
	{names: "left", args: "text,int4", total: "always", unclamped: true, apply: leftRight},
	{names: "right", args: "text,int4", total: "always", unclamped: true, apply: leftRight},
	{
		names: "strpos position", args: "text,text", total: "deterministic collation; a constant to look for",
		unclamped: true, short: true, deterministic: true, constants: []string{"", "what to look for"}, apply: textLength(1),
	},
	{
		names: "substring substr", args: "text,int4 text,int4,int4",
		total: "constant length ≥ 0, start and end that do not overflow", unclamped: true, apply: substring,
	},
	{
		names: "replace", args: "text,text,text", total: "constant strings; operands up to 2^20 characters", unclamped: true,
		short: true, deterministic: true, constants: []string{"", "what to replace", "the replacement"}, apply: replace,
	},
	{
		names: "split_part", args: "text,text,int4",
		total: "operands up to 2^20 characters; a constant separator and field ≥ 1", unclamped: true, short: true,
		deterministic: true, constants: []string{"", "the separator", "the field number"}, apply: splitPart,
	},
	{
		names: "lpad rpad", args: "text,int4 text,int4,text",
		total: "a constant length from 0 to 1000 and constant characters of at most 100", unclamped: true,
		constants: []string{"", "the length", "the filling"}, apply: pad,
	},
	{
		names: "||", args: "text,text text,anynonarray anynonarray,text",
		total: "operands up to 2^20 characters (the rest is cut off)", unclamped: true, apply: concatenate,
	},
}

// mostChars limits the bytes of a constant that a text is searched for, or filled with.
const mostChars = 100

// limited cuts a text of unknown length, so that what is made of it stays small.
func limited(e *Expr) *Expr {
	if e.maxLen >= 0 && e.maxLen <= maxChars {
		return e
	}
	c := &call{args: []*Expr{e}, loc: e.location, text: e.Text(), tmpl: fmt.Sprintf("pg_catalog.\"left\"({0}, %d)",
		maxChars)}
	out := c.result(pgtype.TextOID)
	out.collation, out.nondeterministic, out.maxLen = e.collation, e.nondeterministic, maxChars
	return out
}

// constant says whether the value of an argument is known and is not NULL, where it is what a rule wants constant. It
// refuses one that is no constant, and one that is too long.
func (c *call) constant(r rule, i int, what string) (known bool, err error) {
	if what == "" || i >= len(c.args) {
		return true, nil
	}
	a := c.args[i]
	text, ok := a.constantText()
	switch {
	case a.provisional:
		return false, nil
	case !ok:
		return false, c.refuse(refusal.ConstantNeeded, what+" is not a constant", "write a constant or a parameter")
	case text != nil && pgresolve.IsString(a.typ) && len(*text) > max(r.longest, mostChars):
		return false, c.refuse(refusal.TextLength, fmt.Sprintf("%s is longer than %d bytes", what, max(r.longest, mostChars)),
			"")
	}
	return text != nil, nil
}

// textOf and intOf give the values of arguments that a rule wants constant.
func (c *call) textOf(i int) string {
	text, _ := c.args[i].constantText()
	return *text
}

func (c *call) intOf(i int) int64 { return c.args[i].bounds.Lo.Num().Int64() }

// constantText gives the text of a constant behind casts between texts, as PostgreSQL makes it: a length cuts it, and
// from bpchar the blanks at its end go. nil is NULL; ok is false for anything else.
func (e *Expr) constantText() (text *string, ok bool) {
	if e.pattern != nil {
		return e.pattern, true
	}
	if e.value != nil || e.tmpl != castTemplate || !pgresolve.IsString(e.args[0].typ) {
		return e.Constant()
	}
	from := e.args[0]
	text, ok = from.constantText()
	if !ok || text == nil {
		return nil, ok
	}
	s := *text
	if from.typ == pgtype.BPCharOID {
		s = strings.TrimRight(s, " ")
	}
	if runes := []rune(s); e.typmod >= 4 && len(runes) > int(e.typmod-4) {
		s = string(runes[:e.typmod-4])
	}
	return &s, true
}

// lengthOf makes the rule of a text that is no longer than so many times its first operand.
func lengthOf(times int) func(*call, *Expr) error {
	return func(c *call, e *Expr) error {
		e.maxLen = times * c.args[0].maxLen
		return nil
	}
}

// textLength makes the rule of a number that is no greater than so many times the length of the first operand.
func textLength(times int64) func(*call, *Expr) error {
	return func(c *call, e *Expr) error {
		if n := c.args[0].maxLen; n >= 0 {
			e.bounds = bounds.Between(0, times*int64(n))
		}
		return nil
	}
}

// cutTo gives the most characters of the first operand, of which the i-th argument is how many are left.
func (c *call) cutTo(i int) int {
	n, k := c.args[0].maxLen, c.args[i]
	if k.value == nil || !k.bounds.Finite() || k.bounds.Lo.Sign() < 0 || n >= 0 && int64(n) <= c.intOf(i) {
		return n
	}
	return int(min(c.intOf(i), 1<<30))
}

func leftRight(c *call, e *Expr) error {
	e.maxLen = c.cutTo(1)
	if k := c.args[1]; k.provisional || isNull(k) || !k.safe().Contains(rat(-1<<31)) {
		return nil
	}
	return c.refuse(refusal.TextLength, "its length may be anything",
		"write a constant length, or LEAST(GREATEST(n, 0), 100)")
}

// substring raises where the length is negative.
func substring(c *call, e *Expr) error {
	if e.maxLen = c.args[0].maxLen; len(c.args) < 3 {
		return nil
	}
	n := c.args[2]
	if i := n.safe(); !n.provisional && !isNull(n) && i.Lo.Sign() < 0 {
		return c.refuse(refusal.ArgumentRange, "its length may be negative", "write a constant length, or GREATEST(n, 0)")
	}
	e.maxLen = c.cutTo(2)
	return nil
}

func replace(c *call, e *Expr) error {
	from, to := c.textOf(1), c.textOf(2)
	if e.maxLen = c.args[0].maxLen; len(to) > len(from) {
		e.maxLen *= len(to)
	}
	if e.maxLen > 16*maxChars {
		return c.refuse(refusal.TextLength, "the result may be too long", "shorten the operand with left(x, n)")
	}
	return nil
}

func splitPart(c *call, e *Expr) error {
	if n := c.intOf(2); n < 1 || n > 1000 {
		return c.refuse(refusal.ArgumentRange, "the field number is not from 1 to 1000", "")
	}
	e.maxLen = c.args[0].maxLen
	return nil
}

func pad(c *call, e *Expr) error {
	n := c.intOf(1)
	if n < 0 || n > 1000 {
		return c.refuse(refusal.TextLength, "the length is not from 0 to 1000", "")
	}
	e.maxLen = int(n)
	return nil
}

// concatenate bounds text || anything. PostgreSQL prints the other operand by its output function.
func concatenate(c *call, e *Expr) error {
	length := 0
	for i, a := range c.args {
		if !pgresolve.IsString(a.typ) {
			if !supported(a.typ) && !a.isEnum() {
				return c.refuse(refusal.Types, a.Text()+" is of a type that is not supported", "")
			}
			if err := c.printed(a); err != nil {
				return err
			}
			x := &call{args: []*Expr{a}, loc: c.loc, text: a.Text(), tmpl: castTemplate}
			a = x.result(pgtype.TextOID)
			a.maxLen = printedLen(x.args[0])
		}
		c.args[i] = limited(a)
		length += c.args[i].maxLen
	}
	e.maxLen, e.tmpl = length, "({0} OPERATOR(pg_catalog.||) {1})"
	return nil
}

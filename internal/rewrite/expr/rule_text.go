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
	{names: "lower upper initcap reverse btrim ltrim rtrim", args: "text", total: "operands up to 2^20 characters (the rest is cut off)", unclamped: true, apply: sameText},
	{names: "length char_length character_length octet_length", args: "text|bpchar", total: "always", unclamped: true, apply: textLength},
	{names: "ascii", args: "text", total: "always", unclamped: true, apply: textLength},
	{names: "btrim ltrim rtrim", args: "text,text", total: "constant characters of at most 100", unclamped: true, cost: cost{perPiece: 2}, apply: trimSet},
	{names: "left", args: "text,int4", total: "always", unclamped: true, cost: cost{brief: true}, apply: leftRight},
	{names: "right", args: "text,int4", total: "always", unclamped: true, apply: leftRight},
	{names: "strpos position", args: "text,text", total: "deterministic collation; a constant to look for", unclamped: true, cost: cost{perPiece: 4}, apply: position},
	{names: "starts_with ^@", args: "text,text", total: "always", unclamped: true, apply: startsWith},
	{names: "substring substr", args: "text,int4 text,int4,int4", total: "constant length ≥ 0, start and end that do not overflow", unclamped: true, cost: cost{brief: true}, apply: substring},
	{names: "replace", args: "text,text,text", total: "constant strings, the first not empty; operands up to 2^20 characters", unclamped: true, cost: cost{perPiece: 4}, apply: replace},
	{names: "split_part", args: "text,text,int4", total: "operands up to 2^20 characters; a constant separator and field ≥ 1", unclamped: true, cost: cost{perPiece: 4}, apply: splitPart},
	{names: "lpad rpad", args: "text,int4 text,int4,text", total: "a constant length of at most 1000 and constant characters of at most 100", unclamped: true, apply: pad},
	{names: "translate", args: "text,text,text", total: "constant characters of at most 100", unclamped: true, cost: cost{perPiece: 2}, apply: translate},
	{names: "md5", args: "text", total: "operands up to 2^20 characters", unclamped: true, cost: cost{steps: 130}, apply: digest},
	{names: "bit_length", args: "text", total: "operands up to 2^20 characters (the rest is cut off)", unclamped: true, apply: bitLength},
	{names: "repeat", args: "text,int4", total: "a constant number of at most 1000; operands up to 2^20 characters", unclamped: true, apply: repeat},
	{names: "overlay", args: "text,text,int4 text,text,int4,int4", total: "operands up to 2^20 characters; a constant replacement, start ≥ 1 and length ≥ 0", unclamped: true, apply: overlay},
}

// limited cuts a text of unknown length, so that what is made of it stays small.
func limited(e *Expr) *Expr {
	if e.maxLen >= 0 && e.maxLen <= maxChars {
		return e
	}
	c := &call{args: []*Expr{e}, loc: e.location, text: e.Text(), tmpl: fmt.Sprintf("pg_catalog.\"left\"({0}, %d)", maxChars)}
	out := c.result(pgtype.TextOID)
	out.collation, out.nondeterministic, out.maxLen = e.collation, e.nondeterministic, maxChars
	return out
}

func (c *call) textResult(maxLen int) (*Expr, error) {
	e := c.result(pgtype.TextOID)
	e.maxLen = maxLen
	return e, c.collations(e)
}

func sameText(c *call) (*Expr, error) {
	x := limited(c.args[0])
	c.args = []*Expr{x}
	return c.textResult(3 * x.maxLen) // lower and upper may lengthen a character: ß, İ
}

func textLength(c *call) (*Expr, error) {
	e := c.result(pgtype.Int4OID)
	if n := c.args[0].maxLen; n >= 0 {
		e.bounds = bounds.Between(0, int64(n))
		if c.cand.Name == "octet_length" {
			e.bounds = bounds.Between(0, 4*int64(n))
		}
	}
	if c.cand.Name == "ascii" {
		e.bounds = bounds.Between(0, 0x10ffff)
	}
	return e, nil
}

// constantText gives a constant argument's text; known is false for provisional ones and NULL.
func (c *call) constantText(i int, what string) (s string, known bool, err error) {
	a := c.args[i]
	if a.provisional {
		return "", false, nil
	}
	text, ok := a.constantText()
	if !ok {
		return "", false, c.refuse(refusal.ConstantNeeded, what+" is not a constant", "write a constant or a parameter")
	}
	if text == nil {
		return "", false, nil
	}
	return *text, true, nil
}

// constantText gives the text of a constant behind casts between texts, as PostgreSQL makes it: a length cuts it, and from bpchar the
// blanks at its end go. nil is NULL; ok is false for anything else.
func (e *Expr) constantText() (text *string, ok bool) {
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

// constantInt gives a constant integer argument.
func (c *call) constantInt(i int, what string) (n int64, known bool, err error) {
	a := c.args[i]
	if a.provisional || isNull(a) {
		return 0, false, nil
	}
	if a.value == nil || !a.bounds.Finite() {
		return 0, false, c.refuse(refusal.ConstantNeeded, what+" is not a constant", "write a constant or a parameter")
	}
	return a.bounds.Lo.Num().Int64(), true, nil
}

func trimSet(c *call) (*Expr, error) {
	set, known, err := c.constantText(1, "the set of characters")
	if err != nil {
		return nil, err
	}
	if known && len(set) > 100 {
		return nil, c.refuse(refusal.TextLength, "the set of characters is longer than 100 bytes", "")
	}
	x := limited(c.args[0])
	c.args = []*Expr{x, c.args[1]}
	return c.textResult(x.maxLen)
}

func leftRight(c *call) (*Expr, error) {
	n := c.args[0].maxLen
	if k, known, err := c.constantInt(1, ""); known && err == nil && k >= 0 && (n < 0 || int64(n) > k) {
		n = int(min(k, 1<<30))
	}
	if k := c.args[1]; k.provisional || isNull(k) || !k.safe().Contains(rat(-1<<31)) {
		return c.textResult(n)
	}
	return nil, c.refuse(refusal.TextLength, "its length may be anything", "write a constant length, or LEAST(GREATEST(n, 0), 100)")
}

// position raises under a collation that is not deterministic.
func position(c *call) (*Expr, error) {
	e := c.result(pgtype.Int4OID)
	s, known, err := c.constantText(1, "what to look for")
	if err != nil {
		return nil, err
	}
	if known && len(s) > 1000 {
		return nil, c.refuse(refusal.TextLength, "what to look for is longer than 1000 bytes", "")
	}
	x := limited(c.args[0])
	e.args = []*Expr{x, c.args[1]}
	e.bounds = bounds.Between(0, int64(x.maxLen))
	return e, c.deterministic()
}

// deterministic refuses collations under which substrings have no meaning (PostgreSQL: "nondeterministic collations are not supported for …").
func (c *call) deterministic() error {
	var e Expr
	if err := c.collations(&e); err != nil {
		return err
	}
	if e.nondeterministic {
		return c.refuse(refusal.Collation, "its collation is not deterministic", `write COLLATE "C"`)
	}
	return nil
}

func startsWith(c *call) (*Expr, error) {
	e := c.result(pgtype.BoolOID)
	return e, c.deterministic()
}

// substring raises where the length is negative.
func substring(c *call) (*Expr, error) {
	maxLen := c.args[0].maxLen
	if len(c.args) == 3 {
		n := c.args[2]
		if i := n.safe(); !n.provisional && !isNull(n) && (i.Lo == nil || i.Lo.Sign() < 0) {
			return nil, c.refuse(refusal.ArgumentRange, "its length may be negative", "write a constant length, or GREATEST(n, 0)")
		}
		if k, known, err := c.constantInt(2, ""); known && err == nil && (maxLen < 0 || k < int64(maxLen)) {
			maxLen = int(k)
		}
	}
	return c.textResult(maxLen)
}

func replace(c *call) (*Expr, error) {
	from, known, err := c.constantText(1, "what to replace")
	if err != nil {
		return nil, err
	}
	to, known2, err := c.constantText(2, "the replacement")
	if err != nil {
		return nil, err
	}
	x := limited(c.args[0])
	length := x.maxLen
	if known && known2 && len(to) > len(from) {
		length *= max(1, len(to))
	}
	if len(to) > 100 || length > 100*maxChars {
		return nil, c.refuse(refusal.TextLength, "the result may be too long", "shorten the operand with left(x, n)")
	}
	c.args = []*Expr{x, c.args[1], c.args[2]}
	e, err := c.textResult(length)
	if err != nil {
		return nil, err
	}
	return e, c.deterministic()
}

func splitPart(c *call) (*Expr, error) {
	if _, _, err := c.constantText(1, "the separator"); err != nil {
		return nil, err
	}
	n, known, err := c.constantInt(2, "the field number")
	if err != nil {
		return nil, err
	}
	if known && (n < 1 || n > 1000) {
		return nil, c.refuse(refusal.ArgumentRange, "the field number is not from 1 to 1000", "")
	}
	x := limited(c.args[0])
	c.args = []*Expr{x, c.args[1], c.args[2]}
	e, err := c.textResult(x.maxLen)
	if err != nil {
		return nil, err
	}
	return e, c.deterministic()
}

func pad(c *call) (*Expr, error) {
	n, known, err := c.constantInt(1, "the length")
	if err != nil {
		return nil, err
	}
	if len(c.args) == 3 {
		fill, _, err := c.constantText(2, "the filling")
		if err != nil {
			return nil, err
		}
		if len(fill) > 100 {
			return nil, c.refuse(refusal.TextLength, "the filling is longer than 100 bytes", "")
		}
	}
	if known && n > 1000 {
		return nil, c.refuse(refusal.TextLength, "the length is above 1000", "")
	}
	return c.textResult(int(max(n, 0)))
}

func translate(c *call) (*Expr, error) {
	for i, what := range []string{"", "the characters to replace", "the replacement"} {
		if i == 0 {
			continue
		}
		set, _, err := c.constantText(i, what)
		if err != nil {
			return nil, err
		}
		if len(set) > 100 {
			return nil, c.refuse(refusal.TextLength, what+" are longer than 100 bytes", "")
		}
	}
	x := limited(c.args[0])
	c.args = []*Expr{x, c.args[1], c.args[2]}
	return c.textResult(x.maxLen)
}

// bitLength cuts its operand: octet_length × 8 overflows int4 on a long one.
func bitLength(c *call) (*Expr, error) {
	x := limited(c.args[0])
	c.args = []*Expr{x}
	e := c.result(pgtype.Int4OID)
	e.bounds = bounds.Between(0, 32*int64(x.maxLen))
	return e, nil
}

func repeat(c *call) (*Expr, error) {
	n, known, err := c.constantInt(1, "the number")
	if err != nil {
		return nil, err
	}
	x := limited(c.args[0])
	if known && (n > 1000 || max(n, 0)*int64(x.maxLen) > 16*maxChars) {
		return nil, c.refuse(refusal.TextLength, "the result may be too long", "shorten the operand with left(x, n)")
	}
	c.args = []*Expr{x, c.args[1]}
	return c.textResult(int(max(n, 0)) * x.maxLen)
}

// overlay raises where the start is below 1 or the length negative.
func overlay(c *call) (*Expr, error) {
	with, _, err := c.constantText(1, "the replacement")
	if err != nil {
		return nil, err
	}
	for i, what := range []string{"", "", "the start", "the length"} {
		if i < 2 || i >= len(c.args) {
			continue
		}
		n, known, err := c.constantInt(i, what)
		if err != nil {
			return nil, err
		}
		if known && (n < int64(3-i) || n > maxChars) {
			return nil, c.refuse(refusal.ArgumentRange, what+" is out of range", "write a start from 1, and a length from 0")
		}
	}
	x := limited(c.args[0])
	c.args[0] = x
	return c.textResult(x.maxLen + len(with))
}

func digest(c *call) (*Expr, error) {
	c.args = []*Expr{limited(c.args[0])}
	return c.textResult(32)
}

package expr

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// call holds a resolved function or operator with its coerced arguments.
type call struct {
	b    *builder // of those that resolved makes
	cand *pgresolve.Candidate
	args []*Expr
	loc  int
	text string
	tmpl string
	cost cost
}

// resolved looks up the rule of a candidate, coerces the arguments and applies it.
func (b *builder) resolved(cand *pgresolve.Candidate, args []*Expr, tmpl, text string, loc int) (*Expr, error) {
	if b.typesOnly {
		return b.typedCall(&call{cand: cand, loc: loc, text: text, tmpl: tmpl, b: b}, args)
	}
	r, ok := b.rules.bySignature[cand.Signature()]
	if !ok {
		hint := b.rules.similar(cand)
		if isRange(cand.Result) {
			hint = "compare its ends, as in x >= a AND x < b"
		}
		return nil, Refuse(refusal.Function, loc, fmt.Sprintf("%s of %s is not supported on private rows", text,
			typeList(args)), hint)
	}
	c := &call{cand: cand, loc: loc, text: text, tmpl: tmpl, b: b, cost: r.cost}
	for i, a := range args {
		x, err := b.coerce(a, cand.Args[i], a)
		if err != nil {
			return nil, err
		}
		if r.unclamped {
			x = x.relabelled()
		} else {
			x = x.Read()
		}
		if r.short && i == 0 {
			x = limited(x)
		}
		c.args = append(c.args, x)
	}
	return c.applied(r)
}

// applied holds the arguments against the rule, and has it bound the result.
func (c *call) applied(r rule) (*Expr, error) {
	e := c.result(c.cand.Result)
	if err := c.collations(e); err != nil {
		return nil, err
	}
	if r.deterministic && e.nondeterministic {
		return nil, c.refuse(refusal.Collation, "its collation is not deterministic", `write COLLATE "C"`)
	}
	if !pgresolve.IsString(e.typ) { // which has no collation
		e.collation, e.nondeterministic = "", false
	}
	for i, what := range r.constants {
		if known, err := c.constant(r, i, what); !known || err != nil {
			return e, err
		}
		// of a text, each character is compared with these
		if r.short && what != "" && i < len(c.args) && pgresolve.IsString(c.args[i].typ) {
			e.cost.perChar += int64(len(c.textOf(i))) / 2
		}
	}
	if r.bounded {
		if known, err := c.finite(); !known || err != nil {
			return e, err
		}
	}
	if r.apply == nil {
		return e, nil
	}
	return e, r.apply(c, e)
}

func typeList(args []*Expr) string {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = pgresolve.Display(a.baseType())
		switch {
		case a.isEnum():
			names[i] = "an enum"
		case a.baseType() == pgtype.UnknownOID:
			names[i] = "an untyped literal"
		}
	}
	return strings.Join(names, " and ")
}

// result starts an operation's expression: NULL if any argument is, provisional if any is.
func (c *call) result(oid uint32) *Expr {
	e := newExpr(oid, c.loc)
	e.text, e.args, e.tmpl, e.cost = c.text, c.args, c.tmpl, c.cost
	if pgresolve.IsInt(oid) {
		e.scale = 0
	}
	for _, a := range c.args {
		e.nullable, e.nullBefore = e.nullable || a.nullable, e.nullBefore || a.nullBefore
		e.provisional = e.provisional || a.provisional
	}
	return e
}

// refuse names the call and what is wrong with it.
func (c *call) refuse(reason refusal.Reason, why, hint string) error {
	return Refuse(reason, c.loc, fmt.Sprintf("%s cannot be computed for every possible row: %s", c.text, why), hint)
}

// finite requires bounded arguments; a provisional argument's bounds come with its value.
func (c *call) finite() (known bool, err error) {
	known = true
	for _, a := range c.args {
		if isNull(a) || a.provisional {
			known = false
			continue
		}
		if (pgresolve.IsNumber(a.typ) || pgresolve.IsTime(a.typ)) && !a.safe().Finite() {
			low, high := "low", "high"
			if pgresolve.IsTime(a.typ) && a.typ != pgtype.IntervalOID {
				low, high = "'2020-01-01'", "'2029-12-31'"
			}
			return false, c.refuse(refusal.NoBounds, a.Text()+" has no bounds",
				fmt.Sprintf(
					"only columns whose bounds the policy declares can be computed with; LEAST(GREATEST(%s, %s), %s) bounds this one",
					a.Text(), low, high))
		}
	}
	return known, nil
}

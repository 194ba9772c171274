package expr

import (
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// claim is what has to hold of a row where a condition has a given sense. It may say less than the condition, and never
// more.
type claim struct {
	facts   map[any]valueSet // of expressions, by their keys: the row has one of these values
	choices [][]*claim       // of each list, one holds
	never   bool             // no row fulfils it
}

// fact is a claim about one expression; nil is the key of one that nothing is asked of.
func fact(key any, s valueSet) *claim {
	if key == nil {
		return nothingKnown
	}
	return &claim{facts: map[any]valueSet{key: s}, never: s.empty()}
}

var (
	nothingKnown = &claim{}
	impossible   = &claim{never: true}
)

// conjunction claims everything that the parts claim.
func conjunction(parts ...*claim) *claim {
	parts = slices.DeleteFunc(parts, func(p *claim) bool { return p == nothingKnown })
	switch len(parts) {
	case 0:
		return nothingKnown
	case 1:
		return parts[0]
	}
	out := &claim{facts: map[any]valueSet{}}
	for _, p := range parts {
		out.never = out.never || p.never
		out.choices = append(out.choices, p.choices...)
		for key, s := range p.facts {
			if old, ok := out.facts[key]; ok {
				s = old.intersect(s)
			}
			out.facts[key] = s
			out.never = out.never || s.empty()
		}
	}
	return out
}

// disjunction claims that one of the parts holds.
func disjunction(parts ...*claim) *claim {
	parts = slices.DeleteFunc(parts, func(p *claim) bool { return p.never })
	switch {
	case len(parts) == 0:
		return impossible
	case len(parts) == 1:
		return parts[0]
	case slices.ContainsFunc(parts, func(p *claim) bool { return len(p.facts) == 0 && len(p.choices) == 0 }):
		return nothingKnown
	}
	out := &claim{facts: map[any]valueSet{}}
	exact := true
	for key := range parts[0].facts {
		var union valueSet
		inAll := true
		for _, p := range parts {
			s, ok := p.facts[key]
			inAll = inAll && ok
			union.segments, union.null = append(union.segments, s.segments...), union.null || s.null
		}
		if inAll {
			out.facts[key] = valueSet{segments: joined(union.segments), null: union.null}
		}
	}
	for _, p := range parts {
		exact = exact && len(p.choices) == 0 && len(p.facts) == 1 && len(out.facts) == 1
	}
	if !exact {
		out.choices = [][]*claim{parts}
	}
	return out
}

// claims reads conditions: of each expression, by its SQL, what the conditions alone say; or of columns alone what they
// say together with the bounds that hold of what the columns are compared with.
type claims struct {
	key       func(query.Scalar) string // equal for what is the same in every row; nil: of columns alone
	left      int                       // nodes that may still be read or printed; beyond, nothing is known
	trustNull bool                      // what the schema says is never NULL is not
}

// truthTests say in which sense the operand is known where one is true, nullTests whether it is NULL.
var (
	truthTests = map[string]sense{
		"({0} IS TRUE)": isTrue, "({0} IS NOT TRUE)": notTrue, "({0} IS FALSE)": isFalse, "({0} IS NOT FALSE)": notFalse,
	}
	nullTests = map[string]bool{
		"({0} IS NULL)": true, "({0} IS NOT NULL)": false, "({0} IS UNKNOWN)": true, "({0} IS NOT UNKNOWN)": false,
	}
)

// of gives what a condition of known sense claims.
func (c *claims) of(e *Expr, s sense) *claim {
	if c.left--; c.left < 0 {
		return nothingKnown
	}
	holds := s == isTrue || s == notFalse
	if e.op == "AND" || e.op == "OR" {
		parts := make([]*claim, len(e.args))
		for i, a := range e.args {
			parts[i] = c.of(a, s)
		}
		if (e.op == "AND") == holds {
			return conjunction(parts...)
		}
		return disjunction(parts...)
	}
	if is, ok := truthTests[e.tmpl]; ok {
		if !holds {
			is = is.otherwise()
		}
		return c.of(e.args[0], is)
	}
	if null, ok := nullTests[e.tmpl]; ok && null == holds {
		return c.null(e.args[0])
	} else if ok {
		return c.notNull(e.args[0])
	}
	switch {
	case e.op == "NOT":
		return c.of(e.args[0], s.negated())
	case e.said != nil && c.key == nil:
		return told(e.said, s)
	case comparisons[e.op].not != "":
		return c.comparison(e, s)
	case e.elementwise != "":
		return c.membership(e, s)
	case e.tmpl == "({0} IS NOT DISTINCT FROM {1})":
		return c.same(e.args[0], e.args[1], holds)
	case e.tmpl == "({0} IS DISTINCT FROM {1})":
		return c.same(e.args[0], e.args[1], !holds)
	case fixed(e):
		return constantClaim(e, s)
	}
	return c.opaque(e, s)
}

// opaque claims of a condition that is not looked into what it is itself.
func (c *claims) opaque(e *Expr, s sense) *claim {
	// NOT LIKE: each has its negator
	if rest, ok := strings.CutPrefix(e.tmpl, "({0} OPERATOR(pg_catalog.!~"); ok && e.elementwise == "" {
		positive := *e
		positive.tmpl = "({0} OPERATOR(pg_catalog.~" + rest
		return c.opaque(&positive, s.negated())
	}
	null := s == notTrue || s == notFalse
	itself := fact(c.keyOf(e), valueSet{segments: asNumber(s == isTrue || s == notFalse), null: null && c.mayBeNull(e)})
	if null {
		return itself
	}
	return conjunction(itself, c.operandsNotNull(e))
}

func (c *claims) mayBeNull(e *Expr) bool { return e.nullable || !c.trustNull }

// asNumber gives a boolean as a number: 0 is false.
func asNumber(b bool) []segment { return []segment{only(numberPoint(rat(int64(btoi(b)))))} }

// fixed says that the value of an expression is known.
func fixed(e *Expr) bool { return e.value != nil && e.value.items == nil && !e.provisional }

// constantClaim gives what a boolean constant claims.
func constantClaim(e *Expr, s sense) *claim {
	text := "NULL"
	if e.value.text != nil {
		text = *e.value.text
	}
	if map[sense]bool{
		isTrue: text == "true", isFalse: text == "false", notTrue: text != "true",
		notFalse: text != "false",
	}[s] {
		return nothingKnown
	}
	return impossible
}

// keyOf identifies an expression.
func (c *claims) keyOf(e *Expr) any {
	switch {
	case e.col != nil && !e.clamp:
		return c.columnKey(e.col)
	case c.key == nil:
		return nil
	}
	c.left -= e.weigh()
	return c.key(e.SQL())
}

func (c *claims) columnKey(col *Column) any {
	if c.key == nil {
		return col
	}
	return c.key(col.Ref)
}

// subject finds what e is the value of: through casts that keep values and their order, and through the clamp of a
// column, which having takes back.
func (c *claims) subject(e *Expr) (key any, base *Expr) {
	base = e.uncast()
	if base.clamps() {
		return c.columnKey(base.col), base
	}
	return c.keyOf(base), base
}

// clamps says that e is a column, clamped and not changed in another way.
func (e *Expr) clamps() bool {
	return e.col != nil && e.clamp && !e.flush && e.typ != pgtype.IntervalOID
}

// having is the set of those values in some segments that e has; of a clamped column, of those that it is read so of.
func (e *Expr) having(all []segment, null bool) valueSet {
	if e.whole() {
		for i := range all {
			all[i] = all[i].whole()
		}
	}
	s := valueSet{segments: joined(all), null: null}
	if e.clamps() {
		return s.beforeClamp(e.bounds)
	}
	return s
}

// whole says that an expression has whole numbers only.
func (e *Expr) whole() bool {
	return stepwise(e.baseType()) || e.isEnum()
}

// null claims that an expression is NULL.
func (c *claims) null(e *Expr) *claim {
	if e.baseType() == pgtype.BoolOID {
		return conjunction(c.of(e, notTrue), c.of(e, notFalse))
	}
	key, _ := c.subject(e)
	return fact(key, valueSet{null: c.mayBeNull(e)})
}

// notNull claims that an expression is not NULL, and so are the operands of what is NULL where one of them is.
func (c *claims) notNull(e *Expr) *claim {
	if c.left--; c.left < 0 {
		return nothingKnown
	}
	if e.baseType() == pgtype.BoolOID && !fixed(e) && e.col == nil {
		return disjunction(c.of(e, isTrue), c.of(e, isFalse))
	}
	if fixed(e) {
		return nothingKnown
	}
	key, base := c.subject(e)
	return conjunction(fact(key, everything(false)), c.operandsNotNull(base))
}

// operandsNotNull claims that no operand is NULL of an operation that is not NULL.
func (c *claims) operandsNotNull(e *Expr) *claim {
	if !e.strict() {
		return nothingKnown
	}
	var parts []*claim
	for _, a := range e.args {
		parts = append(parts, c.notNull(a))
	}
	return conjunction(parts...)
}

// strict says that the operation is NULL wherever an operand is, as all of pg_catalog's operators and functions are
// that have a rule.
func (e *Expr) strict() bool {
	if e.elementwise != "" || e.col != nil || e.verbatim != nil {
		return false
	}
	for _, prefix := range []string{
		"pg_catalog.", castTemplate, collateTemplate, "({0} OPERATOR(pg_catalog.",
		"(OPERATOR(pg_catalog.",
	} {
		if strings.HasPrefix(e.tmpl, prefix) {
			return true
		}
	}
	return false
}

package certify

import (
	"cmp"
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// What bounds the work of a check.
const (
	maxText  = 1 << 20
	maxDepth = 1 << 14 // words, one of which may make a tree one level deeper: the parser's C code dies at 20,000
	maxSteps = 1 << 17 // expressions derived: ten times what the longest text of the corpus takes, and more
)

// Check derives what one unit can do to each output of a measure query, and that no row makes it fail. It is an error
// if anything cannot be derived, or if what was derived is more than what is claimed. Without claims it derives alone.
func Check(facts Facts, sql string, parameters []Value, claims []Claim) (Certified, error) {
	return check(facts, sql, parameters, claims, nil)
}

func check(facts Facts, sql string, parameters []Value, claims []Claim, d *derivation) (done Certified, err error) {
	none := Certified{}
	defer func() {
		if p := recover(); p != nil { // a tree that no rule expects
			done, err = none, missing(-1, "a tree of this form", "%v", p)
		}
	}()
	if strings.ContainsRune(sql, 0) { // the parser reads no further, main may
		return none, missing(-1, "text with a zero byte", "")
	}
	if len(sql) > maxText || words(sql) > maxDepth && deep(sql) {
		return none, missing(-1, "long text", "%d bytes", len(sql))
	}
	tree, err := pg.Parse(sql)
	if err != nil {
		return none, missing(-1, "syntax", "%v", err)
	}
	if len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return none, missing(-1, "statement", "not one SELECT")
	}
	c := &checker{
		facts: facts, lemmas: lemmas(facts.Proven), parameters: parameters, places: map[place]*id{}, sql: sql,
		derivation: d,
	}
	c.top = tree.Stmts[0].Stmt.GetSelectStmt()
	for i, k := range claims {
		if k.Kind == Bin && i < len(c.top.TargetList) {
			c.bins = append(c.bins, c.top.TargetList[i].GetResTarget().GetVal())
		}
	}
	r, err := c.query(c.top, nil)
	if err != nil {
		return none, err
	}
	outputs, err := answer(r)
	if err != nil {
		return none, err
	}
	d.note("answer", r)
	listed(claims, outputs)
	if claims != nil {
		if err := covers(claims, outputs); err != nil {
			return none, err
		}
		if err := byRows(members(claims, outputs)); err != nil {
			return none, err
		}
		if err := layered(members(claims, outputs)); err != nil {
			return none, err
		}
		d.note("covers", said("no output moves by more than is claimed"))
	}
	return Certified{Outputs: outputs}, nil
}

// words counts names, numbers and other signs.
func words(sql string) (n int) {
	inside := false
	for _, c := range []byte(sql) {
		before := inside
		inside = c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
		if !before && inside || !inside && c > ' ' {
			n++
		}
	}
	return n
}

// deep reports whether a text may make a tree deeper than maxDepth, by the words that are in no parentheses, and the
// deepest of these. Proof: a path from the root goes into one pair of parentheses at most.
func deep(sql string) bool {
	scan, err := pg.Scan(sql)
	if err != nil {
		return true
	}
	own, inner := []int{0}, []int{0}
	for _, t := range scan.Tokens {
		i := len(own) - 1
		switch {
		case t.Token == pg.Token_ASCII_40: // (
			own[i]++
			own, inner = append(own, 0), append(inner, 0)
		case t.Token == pg.Token_ASCII_44: // a comma: what it parts stands side by side
		case t.Token != pg.Token_ASCII_41:
			own[i]++
		case i == 0:
			return true
		default:
			inner[i-1] = max(inner[i-1], own[i]+inner[i])
			own, inner = own[:i], inner[:i]
		}
	}
	return len(own) > 1 || own[0]+inner[0] > maxDepth
}

// answer returns the outputs of the outermost query.
//
// Rule: it is grouped, or public. Proof: a split or nested one would give rows of units; a public one no unit moves. A
// grouped one has keys and integers with an influence. An integer is not NULL (a missing row counts as zero), printed
// as an integer, and an int8, else reading it would fail. A public key is no integer: it comes and goes with its group.
// Rows differ in their keys, so each integer is of one group; keys are exact, else x could choose a spelling.
func answer(r *relation) ([]Output, error) {
	if r.kind != grouped && r.kind != public {
		return nil, missing(-1, "rows of units", "the answer has rows that belong to single units")
	}
	var out []Output
	var keys []*id
	for _, c := range r.columns {
		if c.value.influence == nil {
			keys = append(keys, c.value.id)
		}
	}
	if r.kind == grouped && !r.unique(keys, r.notNull) {
		return nil, missing(-1, "keys of the answer", "two rows may have the same")
	}
	for _, c := range r.columns {
		switch {
		case c.value.vague:
			return nil, missing(-1, "key equality", "which of equal values stands for %s is left to the plan", c.name)
		case r.kind == public || c.value.public && c.value.exact:
			out = append(out, c.value.key(Public))
		case c.value.influence != nil && (!c.value.notNull || !c.value.integral):
			return nil, missing(-1, "an output that may be NULL, or no integer", "%s", c.name)
		case c.value.influence != nil && !isInteger(c.value.typ) && !c.value.inside("int8"):
			return nil, missing(-1, "an output that may be no int8", "%s", c.name)
		case c.value.influence != nil:
			out = append(out, Output{Kind: Integer, Influence: *c.value.influence})
		case !c.value.exact:
			return nil, missing(-1, "key equality", "equal values of key %s may be spelled differently", c.name)
		default:
			out = append(out, c.value.key(Private))
		}
	}
	return out, nil
}

// key is an output that is no integer.
func (v value) key(kind string) Output {
	if blanked(v.typ) {
		v.typ = "bpchar"
	}
	if v.array {
		v.typ = "_" + v.typ
	}
	return Output{Kind: kind, Type: v.typ, span: v.span}
}

// listed narrows what was derived to the groups that the caller has a list of.
//
// Rule: where keys are listed, x moves integers in no more groups than the list has, in all by Delta in each, or by
// Place. Proof: other groups are dropped unseen.
func listed(claims []Claim, outputs []Output) {
	for _, c := range claims {
		if c.Kind != Listed || c.Groups == nil {
			continue
		}
		for i, o := range outputs {
			if o.Kind == Integer {
				o.Groups, o.Total = least(o.Groups, c.Groups), least(o.Total, times(o.Delta, c.Groups), times(o.Place, c.Groups))
				outputs[i] = o
			}
		}
	}
}

// covers compares claims with what was derived.
//
// Rule: each claim is of the derived kind, its bounds no less. A private key has an integer for selection beside it,
// which moves by at most 1 in a group, or by what its Squares say. Beside a bin, Delta is what moves in all bins of a
// place. Keys have the types as which they are read; ordinals and bins are integers, ordinals in range. Proof: a larger
// bound costs more. A group of x alone has zeros without x, so selection sees what x moves. What cannot be read would
// be an error.
func covers(claims []Claim, outputs []Output) error {
	if len(claims) != len(outputs) {
		return missing(-1, "claims", "%d claims for %d outputs", len(claims), len(outputs))
	}
	claimed := map[string]bool{}
	for _, c := range claims {
		claimed[c.Kind] = true
	}
	if claimed[Private] && (!claimed[Selection] || claimed[Bin]) {
		return missing(-1, "private key without selection", "")
	}
	for i, c := range claims {
		o := outputs[i]
		switch c.Kind {
		case o.Kind:
		case Private:
			if o.Kind != Public {
				return missing(-1, "claimed kind", "output %d is %s, not %s", i+1, o.Kind, c.Kind)
			}
		case Selection:
			if o.Kind != Integer || c.Squares == nil && above(o.Delta, one) {
				return missing(-1, "claimed kind", "selection by output %d, which is %s and moves by %s", i+1, o.Kind, o.Influence)
			}
		case Bin, Listed:
			if o.Kind != Private && o.Kind != Public {
				return missing(-1, "claimed kind", "output %d is %s", i+1, o.Kind)
			}
		default:
			return missing(-1, "claimed kind", "output %d is %s, not %s", i+1, o.Kind, c.Kind)
		}
		if c.Kind != Integer && c.Kind != Selection {
			ordinal, as := c.Kind == Public && c.Groups != nil, cmp.Or(spelled[c.Type], c.Type)
			other := as != "" && as != o.Type && !(isText(as) && isText(o.Type)) // texts are read alike
			if other || (ordinal || c.Kind == Bin) && !isInteger(o.Type) || ordinal && !o.span.within(one, c.Groups) {
				return missing(-1, "claimed type", "output %d is %s %s..%s", i+1, o.Type, show(o.span.lo), show(o.span.hi))
			}
			continue
		}
		delta := o.Delta
		if claimed[Bin] {
			delta = o.Place
		}
		if above(delta, c.Delta) || above(o.Total, c.Total) || above(o.Groups, c.Groups) || above(o.Squares, c.Squares) {
			return missing(-1, "claimed bound", "output %d moves by %s", i+1, o.Influence)
		}
	}
	return nil
}

// above reports whether a derived bound exceeds a claimed one. Nil derived is infinity, nil claimed claims nothing.
func above(derived, claimed *big.Rat) bool {
	return claimed != nil && (derived == nil || compare(derived, claimed) > 0)
}

func (i Influence) String() string {
	text := show(i.Delta) + " in a group, " + show(i.Place) + " in a place, " + show(i.Total) + " in all, in " +
		show(i.Groups) + " groups"
	if i.Squares != nil {
		text += ", squares times groups " + show(i.Squares)
	}
	return text
}

// show prints a bound, of more than 20 signs to six digits.
func show(r *big.Rat) string {
	if r == nil {
		return "∞"
	}
	if s := r.RatString(); len(s) <= 20 {
		return s
	}
	return new(big.Float).SetRat(r).Text('g', 6)
}

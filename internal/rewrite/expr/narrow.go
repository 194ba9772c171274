package expr

import (
	"maps"
	"math/big"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
)

// Narrowing is what a condition that holds says of a column.
type Narrowing struct {
	Bounds  bounds.Interval // to be intersected with the column's
	NotNull bool
	Domain  []string   // the only values left, in text form; nil: no such knowledge
	not     []*big.Rat // values that it does not have
}

// Narrow collects what must hold of columns wherever condition is true. For a WHERE: build the WHERE first, narrow
// copies of the columns, and build the rest with those.
func Narrow(condition *Expr) map[*Column]Narrowing { return narrowTest(condition.test, isTrue) }

// sense says what is known of a three-valued condition.
type sense int

const (
	isTrue sense = iota
	isFalse
	notTrue // false or NULL: what an ELSE branch knows
	notFalse
)

func (s sense) negated() sense { return [...]sense{isFalse, isTrue, notFalse, notTrue}[s] }

// narrowTest gives what a condition of known sense says of columns. Bounds speak of values, so they hold of NULL too;
// that a column is not NULL follows only from a condition known to be true or false.
func narrowTest(t *test, s sense) map[*Column]Narrowing {
	if t == nil {
		return nil
	}
	switch t.kind {
	case testNot:
		return narrowTest(t.args[0], s.negated())
	case testAnd, testOr:
		both := (t.kind == testAnd) == (s == isTrue || s == notFalse)
		var out map[*Column]Narrowing
		for i, a := range t.args {
			next := narrowTest(a, s)
			switch {
			case i == 0:
				out = maps.Clone(next)
			case both:
				out = meet(out, next)
			default:
				out = either(out, next)
			}
		}
		return out
	case testNull:
		if s == isFalse || s == notTrue { // IS NULL is never NULL itself
			return map[*Column]Narrowing{t.col: {NotNull: true}}
		}
	case testTrue:
		if s == isTrue || s == notFalse {
			return narrowTest(t.args[0], isTrue)
		}
		return narrowTest(t.args[0], notTrue)
	case testFalse:
		if s == isTrue || s == notFalse {
			return narrowTest(t.args[0], isFalse)
		}
		return narrowTest(t.args[0], notFalse)
	case testEnds:
		if s != isTrue {
			return nil
		}
		ends := map[*Column]Narrowing{}
		for _, a := range t.args {
			for c, n := range narrowTest(a, isTrue) {
				n.NotNull = false
				ends[c] = n
			}
		}
		return ends
	case testComparison:
		if !t.constant && (s == notTrue || s == notFalse) {
			return nil // the other side may be NULL
		}
		n := t.list(s == isFalse || s == notTrue)
		n.NotNull = s == isTrue || s == isFalse
		return map[*Column]Narrowing{t.col: n}
	}
	return nil
}

// list gives the narrowing of a comparison or of = ANY.
func (t *test) list(negated bool) Narrowing {
	if t.in == nil {
		return t.narrowing(negated)
	}
	if negated {
		return Narrowing{}
	}
	n := Narrowing{Bounds: t.bounds}
	if t.hasText {
		for _, item := range t.in {
			if text, _ := item.Constant(); text != nil && !slices.Contains(n.Domain, *text) {
				n.Domain = append(n.Domain, *text)
			}
		}
	}
	return n
}

// meet adds to what conditions say what another says that holds, too.
func meet(out, b map[*Column]Narrowing) map[*Column]Narrowing {
	if out == nil {
		return maps.Clone(b)
	}
	for c, n := range b {
		old, ok := out[c]
		if !ok {
			out[c] = n
			continue
		}
		old.Bounds = old.Bounds.Intersect(n.Bounds)
		old.NotNull = old.NotNull || n.NotNull
		old.not = append(slices.Clip(old.not), n.not...)
		switch {
		case old.Domain == nil:
			old.Domain = n.Domain
		case n.Domain != nil:
			both := setOf(n.Domain)
			old.Domain = slices.DeleteFunc(slices.Clone(old.Domain), func(v string) bool { return !both[v] })
		}
		out[c] = old
	}
	return out
}

// setOf has the values of a domain, of which there may be many.
func setOf(domain []string) map[string]bool {
	set := make(map[string]bool, len(domain))
	for _, v := range domain {
		set[v] = true
	}
	return set
}

// union gives the values of both domains, each once.
func union(a, b []string) []string {
	known := setOf(a)
	return append(slices.Clone(a), slices.DeleteFunc(slices.Clone(b), func(v string) bool { return known[v] })...)
}

// either gives what two conditions say of which one holds.
func either(a, b map[*Column]Narrowing) map[*Column]Narrowing {
	out := map[*Column]Narrowing{}
	for c, x := range a {
		y, ok := b[c]
		if !ok {
			continue
		}
		n := Narrowing{Bounds: x.Bounds.Hull(y.Bounds), NotNull: x.NotNull && y.NotNull}
		if x.Domain != nil && y.Domain != nil {
			n.Domain = union(x.Domain, y.Domain)
		}
		out[c] = n
	}
	return out
}

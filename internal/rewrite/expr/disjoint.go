package expr

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Conditions that exclude each other (docs/privacy.md P12b): the proofs read the expressions alone, never what the
// schema or the policy declares of columns. Two proofs are looked for: an expression, the same on both sides, would
// need values that it cannot have at once; or every branch of an OR comes to that. A condition is a deterministic
// function of its row, so one text has one value in a row.
//
// Not among these rows are those of a foreign table: its server may compare by other rules than the declared types
// have.

const (
	mostNodes = 4000  // of a condition that are read
	mostTries = 20000 // branches that a list of conditions may be tried in
)

// Disjoint says that no row fulfils both conditions; nil is fulfilled by every row. False: there is no proof.
func Disjoint(a, b *Expr) bool { return Exclusions([]*Expr{a, b})(0, 1) }

// Exclusions says of a list of conditions which pairs no row fulfils both of. A condition that nothing fulfils excludes
// itself. Each is read once, and pairs are compared as they are asked for.
func Exclusions(conditions []*Expr) func(i, j int) bool {
	read := make([]*claim, len(conditions))
	of := func(i int) *claim {
		if read[i] == nil {
			read[i] = claimOf(conditions[i], isTrue, query.Key, false)
		}
		return read[i]
	}
	tries := mostTries
	return func(i, j int) bool { return contradict(&tries, of(i), of(j)) }
}

// Scanned is what conditions claim of the rows of a scan, whose columns alone they read.
type Scanned struct{ *claim }

// ScanOf reads the conditions of a scan.
func ScanOf(conditions []*Expr) Scanned {
	return Scanned{claimOf(And(conditions...), isTrue, query.Text, false)}
}

// Excludes is Disjoint for two scans of one table: no row of it fulfils the conditions of both.
func (s Scanned) Excludes(o Scanned) bool {
	tries := mostTries
	return contradict(&tries, s.claim, o.claim)
}

// Complement says that b is true exactly where a is not. What the schema says is never NULL counts as such: the price
// of nothing may depend on the answer.
func Complement(a, b *Expr) bool {
	tries := mostTries
	return Disjoint(a, b) && contradict(&tries, claimOf(a, notTrue, query.Key, true), claimOf(b, notTrue, query.Key, true))
}

// Implies says that b is true of every row that a is true of; nil is true of every row. False: there is no proof.
func Implies(a, b *Expr) bool {
	tries := mostTries
	return contradict(&tries, claimOf(a, isTrue, query.Key, false), claimOf(b, notTrue, query.Key, false))
}

// claimOf reads a condition; nil always holds.
func claimOf(e *Expr, s sense, key func(query.Scalar) string, trustNull bool) *claim {
	c := &claims{key: key, left: mostNodes, trustNull: trustNull}
	switch {
	case e != nil:
		return c.of(e, s)
	case s == isTrue || s == notFalse:
		return nothingKnown
	}
	return impossible
}

// contradict says that no row fulfils both claims. tries counts down.
func contradict(tries *int, a, b *claim) bool {
	switch {
	case a.excludes(b):
		return true
	case len(a.choices) == 0 && len(b.choices) == 0:
		return false
	}
	if *tries--; *tries < 0 {
		return false
	}
	together := conjunction(a, b)
	first := slices.MinFunc(together.choices, func(a, b []*claim) int { return len(a) - len(b) })
	rest := &claim{facts: together.facts}
	for _, c := range together.choices {
		if &c[0] != &first[0] {
			rest.choices = append(rest.choices, c)
		}
	}
	for _, branch := range first {
		if !contradict(tries, rest, branch) {
			return false
		}
	}
	return true
}

// excludes says that the facts of two claims alone contradict each other.
func (c *claim) excludes(o *claim) bool {
	if c.never || o.never {
		return true
	}
	if len(c.facts) > len(o.facts) {
		c, o = o, c
	}
	for key, s := range c.facts {
		if other, ok := o.facts[key]; ok && s.intersect(other).empty() {
			return true
		}
	}
	return false
}

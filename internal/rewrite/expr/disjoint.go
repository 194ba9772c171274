package expr

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Conditions that exclude each other (docs/privacy.md P12b): the proofs read the expressions alone, never what the schema or the policy
// declares of columns. Two proofs are looked for: an expression, the same on both sides, would need values that it cannot have at once;
// or every branch of an OR comes to that. A condition is a deterministic function of its row, so one text has one value in a row.
//
// Not among these rows are those of a foreign table: its server may compare by other rules than the declared types have.

const (
	mostNodes = 4000  // of a condition that are read
	mostTries = 20000 // branches that a list of conditions may be tried in
)

// Disjoint says that no row fulfils both conditions; nil is fulfilled by every row. False: there is no proof.
func Disjoint(a, b *Expr) bool { return Exclusions([]*Expr{a, b})[0][1] }

// Exclusions says of a list of conditions which pairs no row fulfils both of. A condition that nothing fulfils excludes itself.
func Exclusions(conditions []*Expr) [][]bool {
	read := make([]*claim, len(conditions))
	for i, e := range conditions {
		read[i] = claimOf(e, isTrue, query.Key, false)
	}
	out := make([][]bool, len(conditions))
	for i := range out {
		out[i] = make([]bool, len(conditions))
	}
	tries := mostTries
	for i := range conditions {
		for j := range i + 1 {
			out[i][j] = contradict(&tries, read[i], read[j])
			out[j][i] = out[i][j]
		}
	}
	return out
}

// DisjointScans is Disjoint for conditions of two scans of one table: no row of it fulfils both. A condition may read a column of its
// scan alone.
func DisjointScans(a, b *Expr) bool {
	tries := mostTries
	return contradict(&tries, claimOf(a, isTrue, query.Text, false), claimOf(b, isTrue, query.Text, false))
}

// Complement says that b is true exactly where a is not. What the schema says is never NULL counts as such: the price of nothing may
// depend on the answer.
func Complement(a, b *Expr) bool {
	tries := mostTries
	return Disjoint(a, b) && contradict(&tries, claimOf(a, notTrue, query.Key, true), claimOf(b, notTrue, query.Key, true))
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

// contradict says that no row fulfils all claims. tries counts down.
func contradict(tries *int, claims ...*claim) bool {
	together := conjunction(claims...)
	if together.never {
		return true
	}
	if *tries--; *tries < 0 || len(together.choices) == 0 {
		return false
	}
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

package relation

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// maxMultiplicity bounds the public rows that one row may match in a join: beyond, an answer would be noise alone.
const maxMultiplicity = MaxConstants

// mayMultiply says that a row of a join may match more than one of the relation's, and that how many is a public fact:
// rows of the statement itself beside other items are as many as they are.
func (r *Relation) mayMultiply() bool {
	return !r.Private() && (r.MaxRowsPerUnit == 0 || r.constants && !r.Lateral && r.MaxRowsPerUnit > 1)
}

// boundMultiplicity bounds the rows of a public relation that one row of the other items matches: the most that the
// join's conditions let match one row together (matchCount). How many these are is read when the statement is planned,
// and comes with what main has to prove for it when it measures (docs/privacy.md P4e). equated are columns that the
// join ties to those of others, or to constants.
func (b *Base) boundMultiplicity(r *Relation, equated map[*Column]bool, conds []*expr.Expr, others ...*Relation) (
	*Relation, error,
) {
	if slices.ContainsFunc(r.Columns, func(c *Column) bool { return c.Stage != nil }) {
		return nil, refusal.New(refusal.JoinMultiplies, fmt.Sprintf(
			"the join with the aggregates of %s may multiply private rows", itemName(r)),
			pgerr.Hint("Join them on the columns that they are grouped by, or add a LIMIT to them."))
	}
	a := newMatchCount(r, equated, conds, others)
	if r.constants && a.unconstrained() {
		return r, nil
	}
	if r.Lateral || b.MayBeForeign(r) || b.Distributed(r) || !query.Closed(a.rows()) {
		return nil, refusal.New(refusal.JoinMultiplies, fmt.Sprintf("the join with public table %s may multiply private rows",
			itemName(r)),
			pgerr.Hint("Join public tables on their primary key or another unique key."))
	}
	out := *r
	out.MaxRowsPerUnit, out.Proven = 1, true
	if b.Lookup == nil {
		return &out, nil // known at Plan
	}
	rows, err := r.ask(b.Lookup, schema.Query{SQL: query.Print(a.most()).Text, Types: []uint32{pgtype.Int8OID}})
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(string(*rows[0][0]), 10, 64)
	if err != nil {
		return nil, err
	}
	if n > maxMultiplicity {
		return nil, refusal.New(refusal.JoinMultiplies, fmt.Sprintf(
			"a row of the join meets up to %d rows of public table %s", n, itemName(r)),
			pgerr.Hint("Join public tables on their primary key or another unique key."))
	}
	out.MaxRowsPerUnit = max(1, n)
	out.Proofs = append(slices.Clone(r.Proofs), schema.Proof{Values: query.Print(a.atMost(out.MaxRowsPerUnit))})
	out.Plan = NewPlanNode(fmt.Sprintf("a row meets at most %d (proven)", out.MaxRowsPerUnit), r.Plan)
	return &out, nil
}

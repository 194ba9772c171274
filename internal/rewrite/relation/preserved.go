package relation

import (
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// Preserved describes what public LEFT JOIN private adds to the inner join, which its relation is (docs/privacy.md P6): public rows whose
// private columns are NULL. No private row says how many, so the block is held to what they do not change.
type Preserved struct {
	Key        *Column      // unique column of the one public table, all of whose rows are kept; nil: there is none, or some are dropped
	optional   []*Column    // of the private side
	Conditions []*expr.Expr // the analyst's that hold for the added rows too
}

// publicLeftJoin makes public LEFT JOIN private: the inner join is measured, and every public key is returned.
func (b *Base) publicLeftJoin(n *pg_query.Node, l, r *Relation, conds []*expr.Expr, equal Equalities, shown []*Column, using []string) (*Relation, error) {
	class := equal.classes()
	covered := map[*Column]bool{}
	for _, c := range l.Columns {
		covered[c] = class[c] != 0 && slices.ContainsFunc(r.Columns, func(d *Column) bool { return class[d] == class[c] })
	}
	set := l.UniqueOver(covered)
	if set == nil {
		return nil, b.Refuse(refusal.PublicRowsKept, n, "this outer join keeps the rows of a public table, and its condition is not on that table's unique key",
			"Join the public table on its primary key, use an inner join, or aggregate the private rows in a subquery first and join its result.")
	}
	if err := b.ReachUnit(r); err != nil {
		return nil, err
	}
	out := *r
	out.Preserved = &Preserved{optional: slices.Clone(r.Columns), Conditions: l.Conditions}
	if len(set.Columns) == 1 && len(l.Tables) <= 1 && len(l.Where) == 0 && !l.Empty {
		out.Preserved.Key = set.Columns[0]
	}
	out.Columns = append(slices.Clone(shown), append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	out.From = query.Product{l.From, r.From}
	out.Where = append(append(slices.Clone(r.Where), l.Where...), expr.Conjuncts(conds...)...)
	out.Conditions = append(append(slices.Clone(r.Conditions), l.Conditions...), conds...)
	out.Tables = append(slices.Clone(r.Tables), l.Tables...)
	out.Proofs = append(slices.Clone(r.Proofs), l.Proofs...)
	out.Empty = r.Empty || l.Empty
	out.public = r.publicPart().and(l.publicPart())
	if set.Proof != nil {
		out.Proofs = append(out.Proofs, *set.Proof)
	}
	out.addJoinWork(l, set)
	b.NoteConditions(conds)
	out.AddFilterWork([]*Relation{l, r}, conds)
	out.hideMerged(using, r)
	out.Plan = NewPlanNode("left join that keeps public rows, "+out.RowBound(), l.Plan, r.Plan)
	return &out, nil
}

// PreservedWhere applies WHERE: a condition that is not true of the added rows leaves the inner join, one on public columns some of them.
func (b *Base) PreservedWhere(r *Relation, conds []*expr.Expr) error {
	if r.Preserved == nil || len(conds) == 0 {
		return nil
	}
	if slices.ContainsFunc(conds, func(c *expr.Expr) bool { return b.DropsAdded(r.Preserved, c) }) {
		r.Preserved = nil
		return nil
	}
	if slices.ContainsFunc(conds, func(c *expr.Expr) bool { return r.Preserved.Reads(c) }) {
		return ErrPreserved
	}
	r.Preserved = &Preserved{optional: r.Preserved.optional, Conditions: slices.Concat(r.Preserved.Conditions, conds)}
	return nil
}

// Reads says that an expression reads a private column.
func (p *Preserved) Reads(x *expr.Expr) bool {
	return slices.ContainsFunc(x.Columns(), p.Has)
}

func (p *Preserved) Has(c *expr.Column) bool {
	source, ok := c.Source.(*Column)
	return ok && slices.Contains(p.optional, source)
}

// DropsAdded says that a condition is not true of the added rows.
func (b *Base) DropsAdded(p *Preserved, c *expr.Expr) bool {
	for col, n := range expr.Narrow(c) {
		if n.NotNull && p.Has(col) {
			return true
		}
	}
	return b.HoldsForAdded(p, query.F("({}) IS NOT TRUE", c.SQL()), c)
}

// HoldsForAdded evaluates a condition over private columns alone for the added rows, on the shadow. Before Plan it may turn out true.
func (b *Base) HoldsForAdded(p *Preserved, condition query.Scalar, x *expr.Expr) bool {
	type item struct {
		as     *query.Alias
		names  []string
		values []query.Scalar
	}
	var items []*item
	for _, c := range x.Columns() {
		ref, ok := c.Ref.(query.Column)
		if !ok || !p.Has(c) {
			return false
		}
		at := slices.IndexFunc(items, func(i *item) bool { return i.as == ref.Of })
		if at < 0 {
			at, items = len(items), append(items, &item{as: ref.Of})
		}
		if i := items[at]; !slices.Contains(i.names, ref.Name) {
			i.names, i.values = append(i.names, ref.Name), append(i.values, query.Raw("NULL::"+c.TypeName))
		}
	}
	if len(items) == 0 || x.HasSubquery() {
		return false // no private column, or a subquery, which the shadow has no rows for
	}
	if b.Lookup == nil {
		return true
	}
	var from query.Product
	for _, i := range items {
		from = append(from, &query.Values{Rows: [][]query.Scalar{i.values}, As: i.as, Columns: i.names})
	}
	rows, err := b.Lookup.Rows(schema.Query{SQL: query.Print(&query.Select{Outputs: []query.Output{{X: query.F("({})", condition)}}, From: from}).Text, Types: []uint32{pgtype.BoolOID}})
	return err == nil && IsTrue(rows)
}

// ErrPreserved refuses what would read the rows that an outer join of a public table adds.
var ErrPreserved = refusal.New(refusal.PublicRowsKept, "an outer join that keeps the rows of a public table can only be aggregated, without conditions that hold where the private columns are NULL",
	pgerr.Hint("Put the conditions into ON, or use an inner join."))

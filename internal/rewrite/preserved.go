package rewrite

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// preserved is what public LEFT JOIN private adds to the inner join, which its relation is (PRIVACY 5): public rows whose
// private columns are NULL. No private row says how many, so the block is held to what they do not change.
type preserved struct {
	key      *column      // unique column of the one public table, all of whose rows are kept; nil: there is none, or some are dropped
	optional []*column    // of the private side
	conds    []*expr.Expr // the analyst's that hold for the added rows too
}

// publicLeftJoin is public LEFT JOIN private: the inner join is measured, and every public key is returned.
func (b *builder) publicLeftJoin(n *pg_query.Node, l, r *relation, conds []*expr.Expr, equal equalities, shown []*column, using []string) (*relation, error) {
	class := equal.classes()
	covered := map[*column]bool{}
	for _, c := range l.cols {
		covered[c] = class[c] != 0 && slices.ContainsFunc(r.cols, func(d *column) bool { return class[d] == class[c] })
	}
	set := l.uniqueOver(covered)
	if set == nil {
		return nil, b.refuse(pgerr.FeatureNotSupported, n, "this outer join keeps the rows of a public table, and its condition is not on that table's unique key",
			"Join the public table on its primary key, use an inner join, or aggregate the private rows in a subquery first and join its result.")
	}
	if err := b.reach(r); err != nil {
		return nil, err
	}
	out := *r
	out.preserved = &preserved{optional: slices.Clone(r.cols), conds: l.conds}
	if len(set.cols) == 1 && len(l.tables) <= 1 && len(l.where) == 0 && !l.empty {
		out.preserved.key = set.cols[0]
	}
	out.cols = append(slices.Clone(shown), append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	out.from = query.Product{l.from, r.from}
	out.where = append(append(slices.Clone(r.where), l.where...), expr.Conjuncts(conds...)...)
	out.conds = append(append(slices.Clone(r.conds), l.conds...), conds...)
	out.tables = append(slices.Clone(r.tables), l.tables...)
	out.proofs = append(slices.Clone(r.proofs), l.proofs...)
	out.empty = r.empty || l.empty
	if set.proof != nil {
		out.proofs = append(out.proofs, *set.proof)
	}
	out.joins(l, set)
	b.begun.filters(conds)
	out.filters([]*relation{l, r}, conds)
	out.hideMerged(using, r)
	out.plan = planned("left join that keeps public rows, "+out.rowBound(), l.plan, r.plan)
	return &out, nil
}

// preservedWhere applies WHERE: a condition that is not true of the added rows leaves the inner join, one on public columns some of them.
func (b *builder) preservedWhere(r *relation, conds []*expr.Expr) error {
	if r.preserved == nil || len(conds) == 0 {
		return nil
	}
	if slices.ContainsFunc(conds, func(c *expr.Expr) bool { return b.dropsAdded(r.preserved, c) }) {
		r.preserved = nil
		return nil
	}
	if slices.ContainsFunc(conds, func(c *expr.Expr) bool { return r.preserved.reads(c) }) {
		return errPreserved
	}
	r.preserved = &preserved{optional: r.preserved.optional, conds: slices.Concat(r.preserved.conds, conds)}
	return nil
}

// reads says that an expression reads a private column.
func (p *preserved) reads(x *expr.Expr) bool {
	return slices.ContainsFunc(x.Columns(), p.has)
}

func (p *preserved) has(c *expr.Column) bool {
	source, ok := c.Source.(*column)
	return ok && slices.Contains(p.optional, source)
}

// dropsAdded says that a condition is not true of the added rows.
func (b *builder) dropsAdded(p *preserved, c *expr.Expr) bool {
	for col, n := range expr.Narrow(c) {
		if n.NotNull && p.has(col) {
			return true
		}
	}
	return b.ofAdded(p, query.F("({}) IS NOT TRUE", c.SQL()), c)
}

// ofAdded evaluates a condition over private columns alone for the added rows, on the shadow. Before Plan it may turn out true.
func (b *builder) ofAdded(p *preserved, condition query.Scalar, x *expr.Expr) bool {
	type item struct {
		as     *query.Alias
		names  []string
		values []query.Scalar
	}
	var items []*item
	for _, c := range x.Columns() {
		ref, ok := c.Ref.(query.Column)
		if !ok || !p.has(c) {
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
	if b.lookup == nil {
		return true
	}
	var from query.Product
	for _, i := range items {
		from = append(from, &query.Values{Rows: [][]query.Scalar{i.values}, As: i.as, Columns: i.names})
	}
	rows, err := b.lookup.Rows(Query{SQL: query.Print(&query.Select{Outputs: []query.Output{{X: query.F("({})", condition)}}, From: from}).Text, Types: []uint32{pgtype.BoolOID}})
	return err == nil && isTrue(rows)
}

// preservedBlock holds a block over such a join to what the added rows do not change: groups of public rows, and aggregates that
// ignore NULL. Grouped by the key, count(*) is the one more exception: at least 1, for the public row itself.
func (b *builder) preservedBlock(k *block, calls []*call) error {
	p := k.src.preserved
	if p == nil {
		return nil
	}
	for _, g := range k.keys {
		if p.reads(g.Expr) {
			return b.refuseAt(pgerr.FeatureNotSupported, g.Location(), "an outer join that keeps the rows of a public table has to be grouped by columns of that table", "Use an inner join.")
		}
	}
	for _, c := range calls {
		if b.ignoresAdded(k, c) {
			continue
		}
		return b.refuseAt(pgerr.FeatureNotSupported, c.location, fmt.Sprintf("%s also reads the rows of the public table that no private row joins", c.text),
			"Aggregate columns of the private table, use an inner join, or, for count(*), group by the public table's key without conditions on it.")
	}
	return nil
}

func (b *builder) ignoresAdded(k *block, c *call) bool {
	p := k.src.preserved
	if c.filter != nil && b.dropsAdded(p, c.filter) {
		return true
	}
	for _, x := range c.args {
		if col := x.Column(); col != nil && p.has(col) || b.ofAdded(p, query.F("({}) IS NULL", x.SQL()), x) {
			return true
		}
	}
	if !c.star || c.filter != nil || p.key == nil || len(k.keys) != 1 {
		return false
	}
	col := k.keys[0].Column()
	return col != nil && col.Source == any(p.key)
}

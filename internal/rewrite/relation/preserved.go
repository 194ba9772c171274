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

// Preserved describes what public LEFT JOIN private adds to the inner join, which its relation is (docs/privacy.md P6):
// public rows whose private columns are NULL. No private row says how many, so the block is held to what they do not
// change.
type Preserved struct {
	// unique column of the one public table, all of whose rows are kept; nil: there is none, or some are dropped
	Key        *Column
	optional   []*Column    // of the private side
	Conditions []*expr.Expr // the analyst's that hold for the added rows too
	join       keptJoin
}

// keptJoin is the join as it was written: another one may take its place.
type keptJoin struct {
	public, private *Relation
	conds           []*expr.Expr
	equal           Equalities
	using           []string
}

// publicLeftJoin makes public LEFT JOIN private: the inner join is measured, and every public key is returned.
func (b *Base) publicLeftJoin(n *pg_query.Node, j keptJoin, shown []*Column) (*Relation, error) {
	l, r, conds, equal := j.public, j.private, j.conds, j.equal
	equated := equal.equated(l, equal.classes(), r)
	set := l.UniqueOver(equated)
	met := l
	if set == nil {
		var err error
		if met, err = b.boundMultiplicity(l, equated, conds, r); err != nil {
			return nil, b.Located(err, n)
		}
	}
	if err := b.ReachUnit(r); err != nil {
		return nil, err
	}
	out := *r
	out.Preserved = &Preserved{optional: slices.Clone(r.Columns), Conditions: l.Conditions, join: j}
	out.Columns = append(slices.Clone(shown), append(hiddenColumns(l, shown), hiddenColumns(r, shown)...)...)
	out.From = query.Product{l.From, r.From}
	out.Where = append(append(slices.Clone(r.Where), l.Where...), expr.Conjuncts(conds...)...)
	out.Conditions = append(append(slices.Clone(r.Conditions), l.Conditions...), conds...)
	out.Tables = append(slices.Clone(r.Tables), l.Tables...)
	out.Empty = r.Empty || l.Empty
	out.public = r.publicPart().and(l.publicPart())
	out.Proofs = append(slices.Clone(r.Proofs), met.Proofs...)
	out.addJoinWork(l, set)
	out.multiply(met, set)
	out.branches, out.indexedRows = nil, nil
	if key := l.key(); key != nil && len(l.Tables) <= 1 && len(l.Where) == 0 && !l.Empty {
		out.Preserved.Key = key.Columns[0]
		if key.Proof != nil {
			out.Proofs = append(out.Proofs, *key.Proof)
		}
	}
	b.NoteConditions(conds)
	out.AddFilterWork([]*Relation{l, r}, conds)
	out.hideMerged(j.using, r)
	out.Plan = NewPlanNode("left join that keeps public rows, "+out.RowBound(), met.Plan, r.Plan)
	return &out, nil
}

// afterPreserved joins one more relation to public LEFT JOIN private, by another LEFT JOIN. On columns of the private
// side it is a join of that side; on public columns, one of the public side (docs/privacy.md P6).
func (b *Base) afterPreserved(n *pg_query.Node, l *Relation, next keptJoin, shown []*Column) (*Relation, error) {
	p, r := l.Preserved, next.private
	of := append([]*Column{}, r.Columns...)
	switch {
	case readWithin(next.conds, append(of, p.optional...)) && next.equal.tie(p.optional, r.Columns):
		inner, err := b.OuterJoin(n, pg_query.JoinType_JOIN_LEFT, p.join.private, r, next.conds, next.equal, next.using)
		if err != nil {
			return nil, err
		}
		j := p.join
		j.private = inner
		return b.publicLeftJoin(n, j, shown)
	case !r.Private() && readWithin(next.conds, append(of, p.join.public.Columns...)):
		public, err := b.OuterJoin(n, pg_query.JoinType_JOIN_LEFT, p.join.public, r, next.conds, next.equal, next.using)
		if err != nil {
			return nil, err
		}
		j := p.join
		j.public = public
		return b.publicLeftJoin(n, j, shown)
	case r.Private():
		return nil,
			b.Refuse(refusal.PublicRowsKept, n,
				"two private tables are joined to the rows of a public table, and not to each other",
				"Aggregate each in a subquery of its own, and LEFT JOIN their results to the public table.")
	}
	return nil, ErrPreserved
}

// solvePreserved joins more items to public LEFT JOIN private, by inner joins. A condition on columns of the private
// side drops the rows that the outer join adds; public items that are joined to the public side are a part of that.
func (b *Base) solvePreserved(j *JoinGraph, equal Equalities) error {
	at := slices.IndexFunc(j.Items, func(r *Relation) bool { return r.Preserved != nil })
	p := j.Items[at].Preserved
	others := slices.Delete(slices.Clone(j.Items), at, at+1)
	if slices.ContainsFunc(others, func(r *Relation) bool { return r.Preserved != nil || r.Lateral }) {
		return ErrPreserved
	}
	var columns []*Column
	for _, r := range others {
		columns = append(columns, r.Columns...)
	}
	if equal.tie(p.optional, columns) || slices.ContainsFunc(j.Conditions, func(c *expr.Expr) bool {
		return b.DropsAdded(p, c)
	}) {
		j.Items[at].Preserved = nil
		return nil
	}
	if hasPrivate(others) || !readWithin(j.Conditions, append(columns, p.join.public.Columns...)) {
		return ErrPreserved
	}
	public, err := b.SolveJoins(&JoinGraph{
		Items:   append([]*Relation{p.join.public}, others...),
		Columns: append(slices.Clone(p.join.public.Columns), columns...), Conditions: j.Conditions, Equal: equal,
	}, nil)
	if err != nil {
		return err
	}
	kept := p.join
	kept.public = public
	r, err := b.publicLeftJoin(nil, kept, j.Columns)
	if err == nil {
		*j = JoinGraph{Items: []*Relation{r}, Columns: j.Columns}
	}
	return err
}

// readWithin says that conditions read these columns alone.
func readWithin(conds []*expr.Expr, columns []*Column) bool {
	all := &Relation{Columns: columns}
	return !slices.ContainsFunc(conds, func(c *expr.Expr) bool {
		return slices.ContainsFunc(c.Columns(), func(x *expr.Column) bool {
			source, ok := x.Source.(*Column)
			return !ok || !within([]*Column{source}, all)
		})
	})
}

// key finds a column in which the rows of a public relation differ; nil if none is known.
func (r *Relation) key() *UniqueSet {
	for i, set := range r.Unique {
		if len(set.Columns) == 1 {
			return &r.Unique[i]
		}
	}
	return nil
}

// PreservedWhere applies WHERE: a condition that is not true of the added rows leaves the inner join, one on public
// columns some of them.
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
	r.Preserved = &Preserved{
		optional: r.Preserved.optional, Conditions: slices.Concat(r.Preserved.Conditions, conds),
		join: r.Preserved.join,
	}
	return nil
}

// Rows are the public rows that are kept, but for those that a WHERE drops.
func (p *Preserved) Rows() *Relation { return p.join.public }

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

// HoldsForAdded evaluates a condition over private columns alone for the added rows, on the shadow. Before Plan it may
// turn out true.
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
			i.names, i.values = append(i.names, ref.Name), append(i.values, query.Raw("NULL::"+c.BaseName()))
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
	rows,
		err := b.Lookup.Rows(
		schema.Query{SQL: query.Print(&query.Select{
			Outputs: []query.Output{{X: query.F("({})", condition)}},
			From:    from,
		}).Text, Types: []uint32{pgtype.BoolOID}})
	return err == nil && IsTrue(rows)
}

// ErrPreserved refuses what would read the rows that an outer join of a public table adds.
var ErrPreserved = refusal.New(refusal.PublicRowsKept,
	"an outer join that keeps the rows of a public table can only be aggregated, without conditions that hold where the private columns are NULL",
	pgerr.Hint("Put the conditions into ON, or use an inner join."))

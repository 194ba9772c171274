package bind

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// lateral binds a LATERAL subquery that reads columns of the items before it. Over a private table it has to equate the
// units of both sides, so that every row of the others meets rows of its own unit alone (P4c). Its row bound is per row
// of the items before it; combineFrom and nullExtend hold nothing of it for a fact about a unit.
func (b *Binder) lateral(sub *pg_query.SelectStmt, e *Env, preceding *relation.JoinGraph) (*relation.Relation, error) {
	around := NewScope(b, preceding.AsRelation(), e)
	inner := &Env{outer: e, scope: around}
	k, err := b.KindOf(sub, inner)
	if err != nil {
		return nil, err
	}
	if k == Released && len(sub.GroupClause) == 0 && sqltree.Aggregates(sub) {
		return b.lateralAggregates(sub, around)
	}
	r, err := b.mustRelation(sub, inner)
	if err != nil {
		return nil, err
	}
	if len(around.read) == 0 {
		return r, nil // LATERAL changes nothing
	}
	if r.Private() && !around.semiJoined(r) {
		return nil, b.refuseLateral(sub)
	}
	if err := around.sameKind(sqltree.FirstTarget(sub), r); err != nil {
		return nil, err
	}
	// A query level of its own: LATERAL is then written before all that reads the other items.
	d := relation.NewDerived(b.Base, r)
	for _, c := range r.Columns {
		d.Pass(c, c.Name)
		d.Passed[c].Hidden = c.Hidden
	}
	out := d.Relation()
	out.From.(*query.Derived).Lateral, out.Lateral = true, true
	out.Plan = relation.NewPlanNode("lateral, "+r.RowBound(), r.Plan)
	return out, nil
}

func (b *Binder) refuseLateral(sub *pg_query.SelectStmt) error {
	return b.Refuse(refusal.SubqueryOnUnit, sqltree.FirstTarget(sub),
		"a LATERAL subquery over a private table must equate the units of both sides",
		"Add WHERE inner.unit = outer.unit to it.")
}

// lateralAggregates binds a subquery that aggregates to one row, as a row of scalar subqueries.
func (b *Binder) lateralAggregates(sub *pg_query.SelectStmt, around *Scope) (*relation.Relation, error) {
	d := relation.NewDerived(b.Base, b.OneRow())
	for _, t := range sub.TargetList {
		one := sqltree.Clone(sub)
		one.TargetList, one.SortClause = []*pg_query.Node{t}, nil
		x, err := around.unitScalar(t, one)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return nil, b.refuseLateral(sub)
		}
		d.Add(x, sqltree.OutputName(t.GetResTarget()))
	}
	r := d.Relation()
	r.From.(*query.Derived).Lateral, r.Lateral = true, true
	r.Tables, r.Proofs = around.rel.Tables, around.rel.Proofs
	r.Plan = relation.NewPlanNode("lateral aggregates")
	return r, nil
}

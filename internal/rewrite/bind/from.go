package bind

import (
	"cmp"
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// fromItem binds one FROM item; inner joins stay open, outer joins are solved. preceding are the items that LATERAL may
// read.
func (b *Binder) fromItem(n *pg_query.Node, e *Env, preceding *relation.JoinGraph) (*relation.JoinGraph, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_JoinExpr:
		return b.joinExpr(n, v.JoinExpr, e, preceding)
	case *pg_query.Node_RangeVar, *pg_query.Node_RangeSubselect, *pg_query.Node_RangeFunction:
		r, err := b.fromRelation(n, e, preceding)
		if err != nil {
			return nil, b.Located(err, n)
		}
		return &relation.JoinGraph{Items: []*relation.Relation{r}, Columns: r.Columns}, nil
	}
	return nil, b.Refuse(refusal.FromItem, n, "this kind of FROM item cannot be combined with private tables",
		"Use tables, subqueries and joins.")
}

// Columns binds FROM items to resolve names: they are not joined.
func (b *Binder) Columns(from []*pg_query.Node, e *Env) (*relation.Relation, error) {
	probe := *b
	all := &relation.JoinGraph{}
	for _, n := range from {
		j, err := probe.fromItem(n, e, all)
		if err != nil {
			return nil, err
		}
		all.Add(j)
	}
	return all.AsRelation(), nil
}

// fromRelation binds a table, view, CTE or subquery under its alias.
func (b *Binder) fromRelation(n *pg_query.Node, e *Env, preceding *relation.JoinGraph) (*relation.Relation, error) {
	var r *relation.Relation
	var err error
	var alias *pg_query.Alias
	name := ""
	if f := n.GetRangeFunction(); f != nil {
		if r, err = b.functionRows(n, f); err != nil {
			if r, err = b.readItem(n, e, err); err != nil {
				return nil, err
			}
			return r, r.SetAlias(sqltree.ItemName(n), nil)
		}
		if alias = f.Alias; alias == nil {
			return r, nil
		}
	} else if s := n.GetRangeSubselect(); s != nil {
		alias = s.Alias
		query := s.Subquery.GetSelectStmt()
		if s.Lateral {
			r, err = b.lateral(query, e, preceding)
		} else {
			r, err = b.mustRelation(query, e)
		}
	} else {
		v := n.GetRangeVar()
		alias, name = v.Alias, v.Relname
		r, err = b.RelationByName(v, e)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	if alias != nil {
		name, names = alias.Aliasname, sqltree.StringList(alias.Colnames)
	}
	if n.GetRangeFunction() != nil && len(names) == 0 {
		names = []string{name} // a function's one column takes the name of its table
	}
	return r, r.SetAlias(name, names)
}

// RelationByName binds a relation by name.
func (b *Binder) RelationByName(v *pg_query.RangeVar, e *Env) (*relation.Relation, error) {
	if v.Schemaname == "" {
		if c := e.FindCTE(v.Relname); c != nil {
			if c.early {
				r, err := b.readItem(&pg_query.Node{Node: &pg_query.Node_RangeVar{
					RangeVar: &pg_query.RangeVar{Relname: v.Relname, Inh: true, Relpersistence: "p"},
				}}, e,
					refusal.New(refusal.Recursive, fmt.Sprintf("%q of WITH RECURSIVE cannot be combined with private tables",
						v.Relname), pgerr.Hint("Write JOIN generate_series(1, n) for a number of steps.")))
				if err != nil {
					return nil, err
				}
				return r, r.SetAlias(v.Relname, nil)
			}
			r, err := b.mustRelation(c.query, c.env)
			if err != nil {
				return nil, err
			}
			return r, r.SetAlias(v.Relname, c.columns)
		}
	}
	if t := b.Table(v); t != nil {
		return b.Scan(t)
	}
	if w := b.View(v); w != nil {
		query, err := ViewQuery(w)
		if err != nil {
			return nil, err
		}
		sub, inView := *b, *b.Base
		inView.Text, inView.InView, sub.Base = "", w.Name, &inView // locations are in the view's definition
		r, err := sub.mustRelation(query, nil)
		b.unitName = sub.unitName
		return r, err
	}
	return nil, refusal.New(refusal.FromItem, fmt.Sprintf("relation %q cannot be combined with private tables", v.Relname),
		pgerr.Hint("Only tables of the policy can be combined with private tables."))
}

// ViewQuery parses a listed view's definition.
func ViewQuery(w *schema.Relation) (*pg_query.SelectStmt, error) {
	tree, err := pg_query.Parse(w.Definition)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return nil, refusal.New(refusal.Database, fmt.Sprintf("the definition of view %q cannot be analysed",
			w.Name.Relation))
	}
	return tree.Stmts[0].Stmt.GetSelectStmt(), nil
}

// mustRelation binds a subquery that has to be rows, private or public, below an aggregate.
func (b *Binder) mustRelation(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	k, err := b.KindOf(s, e)
	switch {
	case err != nil:
		return nil, err
	case k == Released:
		return b.stageRows(s, e)
	case k == Public:
		return b.publicRows(s, e)
	}
	return b.rows(s, e)
}

// joinExpr binds a JOIN. An inner one joins the graph of its items; any other becomes one relation.
func (b *Binder) joinExpr(n *pg_query.Node, j *pg_query.JoinExpr, e *Env, preceding *relation.JoinGraph) (
	*relation.JoinGraph, error,
) {
	inner := j.Jointype == pg_query.JoinType_JOIN_INNER
	if !inner {
		preceding = &relation.JoinGraph{} // an outer join becomes one relation, which must not read others
	}
	left, err := b.fromItem(j.Larg, e, preceding)
	if err != nil {
		return nil, err
	}
	known := &relation.JoinGraph{}
	known.Add(preceding)
	known.Add(left)
	right, err := b.fromItem(j.Rarg, e, known)
	if err != nil {
		return nil, err
	}
	if err := b.foldKept(j.Jointype, left, right); err != nil {
		return nil, b.Located(err, n)
	}
	on, err := b.joinConditions(n, j, left, right, e)
	if err != nil {
		return nil, err
	}
	var joined *relation.JoinGraph
	if inner {
		joined = innerJoin(left, right, on)
	} else if joined, err = b.outerJoin(n, j.Jointype, left, right, on); err != nil {
		return nil, err
	}
	mergedFirst(joined.Columns, on.using)
	if j.Alias != nil {
		if err := joined.AsRelation().SetAlias(j.Alias.Aliasname, sqltree.StringList(j.Alias.Colnames)); err != nil {
			return nil, err
		}
	}
	return joined, nil
}

// foldKept reads the public side of an outer join whose rows are kept, unless it is a table: its rows are the groups,
// whatever they are computed from.
func (b *Binder) foldKept(kind pg_query.JoinType, left, right *relation.JoinGraph) error {
	kept, other := left, right
	switch kind {
	case pg_query.JoinType_JOIN_RIGHT:
		kept, other = right, left
	case pg_query.JoinType_JOIN_LEFT:
	default:
		return nil
	}
	if kept.AsRelation().Private() || !other.AsRelation().Private() {
		return nil
	}
	r, err := b.SolveJoins(kept, nil)
	if err != nil || r.Listed() {
		return err
	}
	if r, err = b.FoldPublic(r); err != nil {
		return err
	}
	*kept = relation.JoinGraph{Items: []*relation.Relation{r}, Columns: r.Columns}
	return nil
}

// onClause holds what ON, USING and NATURAL say of a join.
type onClause struct {
	using []string // columns that both sides have
	conds []*expr.Expr
	equal relation.Equalities
}

// joinConditions binds the conditions of a join.
func (b *Binder) joinConditions(n *pg_query.Node, j *pg_query.JoinExpr, left, right *relation.JoinGraph, e *Env) (
	*onClause, error,
) {
	b.Take(2 * (len(left.Columns) + len(right.Columns))) // they are copied, and found by name
	both := &relation.JoinGraph{
		Items:   append(slices.Clone(left.Items), right.Items...),
		Columns: append(slices.Clone(left.Columns), right.Columns...),
	}
	on := &onClause{using: sqltree.StringList(j.UsingClause)}
	if j.IsNatural {
		on.using = commonNames(left.AsRelation(), right.AsRelation())
	}
	for _, name := range on.using {
		l, err := left.AsRelation().Find("", name)
		if err != nil {
			return nil, b.Located(err, n)
		}
		r, err := right.AsRelation().Find("", name)
		if err != nil || l == nil || r == nil {
			return nil, b.Error(pgerr.UndefinedColumn, n, fmt.Sprintf(
				"column %q specified in USING clause does not exist in both tables", name), "")
		}
		same, err := expr.Equal(l.Value, r.Value, &Scope{binder: b, rel: both.AsRelation(), env: e}, sqltree.LocationOf(n))
		if err != nil {
			return nil, b.Refusal(err)
		}
		b.Rely(l.Origin)
		b.Rely(r.Origin)
		on.conds = append(on.conds, same)
		on.equal.Add(l, r)
	}
	if j.Quals == nil {
		return on, nil
	}
	s := &Scope{binder: b, rel: both.AsRelation(), env: e}
	for _, q := range sqltree.Conjuncts(j.Quals) {
		c, err := s.Condition(q)
		if err != nil {
			return nil, err
		}
		on.conds = append(on.conds, c)
		s.noteEquality(q, &on.equal)
	}
	// What subqueries in ON read counts as read by the join.
	left.Items[0].Tables = append(left.Items[0].Tables, s.rel.Tables...)
	left.Items[0].Proofs = append(left.Items[0].Proofs, s.rel.Proofs...)
	return on, nil
}

// innerJoin leaves the items of both sides open, to be solved as one graph.
func innerJoin(left, right *relation.JoinGraph, on *onClause) *relation.JoinGraph {
	for _, name := range on.using {
		r, _ := right.AsRelation().Find("", name)
		r.Hidden = true
	}
	both := &relation.JoinGraph{
		Items:   append(slices.Clone(left.Items), right.Items...),
		Columns: append(slices.Clone(left.Columns), right.Columns...),
	}
	both.Conditions = append(append(left.Conditions, right.Conditions...), on.conds...)
	both.Equal.Merge(left.Equal)
	both.Equal.Merge(right.Equal)
	both.Equal.Merge(on.equal)
	return both
}

// mergedFirst puts the columns that USING has merged where * has them: before all others.
func mergedFirst(columns []*relation.Column, using []string) {
	place := func(c *relation.Column) int {
		if i := slices.Index(using, c.Name); i >= 0 && !c.Hidden {
			return i
		}
		return len(using)
	}
	slices.SortStableFunc(columns, func(a, b *relation.Column) int { return cmp.Compare(place(a), place(b)) })
}

// outerJoin solves both sides and joins them as one relation.
func (b *Binder) outerJoin(n *pg_query.Node, kind pg_query.JoinType, left, right *relation.JoinGraph, on *onClause) (
	*relation.JoinGraph, error,
) {
	l, err := b.SolveJoins(left, nil)
	if err != nil {
		return nil, err
	}
	r, err := b.SolveJoins(right, nil)
	if err != nil {
		return nil, err
	}
	o, err := b.OuterJoin(n, kind, l, r, on.conds, on.equal, on.using)
	if err != nil {
		return nil, b.Located(err, n)
	}
	return &relation.JoinGraph{Items: []*relation.Relation{o}, Columns: o.Columns}, nil
}

func commonNames(l, r *relation.Relation) []string {
	var names []string
	for _, c := range l.Visible() {
		for _, d := range r.Visible() {
			if c.Name == d.Name && c.Name != "" {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

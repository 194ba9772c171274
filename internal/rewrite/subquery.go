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

// rows binds a query whose rows are private or public; nil if they are released values.
func (b *builder) rows(s *pg_query.SelectStmt, e *env) (*relation, error) {
	k, err := b.kindOf(s, e)
	if err != nil || k == released {
		return nil, err
	}
	if s.WithClause.GetRecursive() {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "WITH RECURSIVE is not supported over private tables")
	}
	e = withCTEs(s.WithClause, e)
	if err := plainSubquery(s); err != nil {
		return nil, err
	}
	if s.Op != pg_query.SetOperation_SETOP_NONE {
		return b.setOperation(s, e)
	}
	if len(s.ValuesLists) > 0 {
		return b.valuesList(s)
	}
	src, err := b.source(s, e)
	if err != nil {
		return nil, err
	}
	if src.preserved != nil {
		return nil, errPreserved
	}
	if aggregates(s) {
		r, err := b.groupedRows(s, src, e)
		if err != nil || len(s.DistinctClause) == 0 {
			return r, err
		}
		return b.distinctGroups(s, r)
	}
	if s, src, err = b.windowed(s, src, e); err != nil {
		return nil, err
	}
	if distinctOn(s) != nil && !src.private() {
		return nil, b.refuse(pgerr.FeatureNotSupported, s.DistinctClause[0], "DISTINCT ON over public tables cannot be combined with private tables", "Use DISTINCT.")
	}
	if distinctOn(s) != nil && src.private() {
		if src, err = b.firstRows(s, src, e); err != nil {
			return nil, err
		}
	}
	r, err := b.project(s, src, e)
	if err != nil || len(s.DistinctClause) == 0 || distinctOn(s) != nil && src.private() {
		return r, err
	}
	return b.distinctRows(r)
}

// distinctGroups is SELECT DISTINCT … GROUP BY, of private rows by the unit.
func (b *builder) distinctGroups(s *pg_query.SelectStmt, r *relation) (*relation, error) {
	if distinctOn(s) != nil || r.private() && !slices.ContainsFunc(r.visible(), func(c *column) bool { return c.isUnit }) {
		return nil, b.refuse(pgerr.FeatureNotSupported, firstTarget(s), "DISTINCT merges rows of different persons", fmt.Sprintf("Select the %s too, or leave DISTINCT out.", r.kind))
	}
	return b.distinctRows(r)
}

// plainSubquery refuses the clauses that choose among rows.
func plainSubquery(s *pg_query.SelectStmt) error {
	switch {
	case s.LimitCount != nil || s.LimitOffset != nil:
		return pgerr.New(pgerr.FeatureNotSupported, "LIMIT and OFFSET choose among rows of different persons", pgerr.Hint("Put LIMIT above the aggregate, or keep some rows of each unit: row_number() OVER (PARTITION BY unit ORDER BY …) <= 3."))
	case len(s.LockingClause) > 0:
		return pgerr.New(pgerr.InsufficientPrivilege, "row locks are not available")
	case s.IntoClause != nil:
		return pgerr.New(pgerr.InsufficientPrivilege, "SELECT INTO writes")
	}
	return nil
}

// source binds FROM and WHERE.
func (b *builder) source(s *pg_query.SelectStmt, e *env) (*relation, error) {
	if err := b.step(); err != nil {
		return nil, err
	}
	all := &joined{}
	if len(s.FromClause) == 0 {
		all.items = []*relation{b.oneRow()}
	}
	for _, n := range s.FromClause {
		j, err := b.fromItem(n, e, all)
		if err != nil {
			return nil, err
		}
		all.add(j)
	}
	sc := &scope{b: b, rel: all.view(), env: e, outer: e.enclosing()}
	var where equalities
	conds := conjuncts(s.WhereClause)
	var conditions []*expr.Expr
	for _, q := range conds {
		sc.noteEquality(q, &where)
	}
	r, err := b.solve(all, &where)
	if err != nil {
		return nil, b.located(err, s.FromClause[0])
	}
	if r.private() {
		if err := b.reach(r); err != nil {
			return nil, err
		}
		if b.kind != "" && b.kind != r.kind {
			return nil, pgerr.New(pgerr.FeatureNotSupported, mixedUnits(b.kind, r.kind))
		}
		b.kind = r.kind
	}
	sc.rel = r
	r.correlated = append(slices.Clone(r.correlated), sc.correlations(conds)...)
	r.fix(append(slices.Clone(all.equal.fixed), where.fixed...), sc.outer)
	if len(s.FromClause) > 0 {
		if err := b.bounded(r, s.FromClause[0]); err != nil {
			return nil, err
		}
	}
	for _, q := range conds {
		c, err := sc.condition(q)
		if err != nil {
			return nil, err
		}
		if holds, known := sc.constant(c); known {
			if !holds {
				r.empty, r.preserved = true, nil
			}
			continue
		}
		conditions = append(conditions, c)
	}
	if err := b.preservedWhere(r, conditions); err != nil {
		return nil, err
	}
	b.begun.filters(conditions)
	if len(all.items) == 1 && r.foundByIndex() {
		r.does(1, conditions...)
	} else {
		r.filters(all.items, conditions)
	}
	if err := b.boundedConditions(r, conditions, s.WhereClause); err != nil {
		return nil, err
	}
	r.where = append(r.where, expr.Conjuncts(conditions...)...)
	r.conds = append(r.conds, conditions...)
	r.narrow()
	return r, nil
}

// fix notes that a relation has at most one row where constants, or columns of the query around it, fix a unique set of its
// columns: no columns at all then tell its rows apart.
func (r *relation) fix(fixed []*column, around *scope) {
	covered := map[*column]bool{}
	for _, c := range fixed {
		covered[c] = true
	}
	for _, q := range r.correlated {
		covered[q.inner] = covered[q.inner] || q.scope == around
	}
	if set := r.uniqueOver(covered); set != nil {
		r.unique = append(slices.Clone(r.unique), uniqueSet{proof: set.proof})
	}
}

// constant evaluates a condition that reads no column, on the shadow: one that is never true costs nothing.
func (s *scope) constant(c *expr.Expr) (holds, known bool) {
	if s.b.lookup == nil || len(c.Columns()) > 0 || s.subqueries > 0 {
		return false, false
	}
	rows, err := s.b.lookup.Rows(Query{SQL: "SELECT (" + query.Text(c.SQL()) + ")", Types: []uint32{pgtype.BoolOID}})
	if err != nil || len(rows) != 1 {
		return false, false
	}
	return isTrue(rows), true
}

// isTrue reads the answer to a question of one boolean.
func isTrue(rows [][]*Canonical) bool {
	return len(rows) == 1 && rows[0][0] != nil && *rows[0][0] == "t"
}

// correlations finds conditions inner column = outer column whose = is an equivalence.
func (s *scope) correlations(conds []*pg_query.Node) []correlation {
	var out []correlation
	for _, q := range conds {
		a := q.GetAExpr()
		if s.outer == nil || a == nil || a.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(a.Name) != 1 || a.Name[0].GetString_().GetSval() != "=" {
			continue
		}
		for _, pair := range [][2]*pg_query.Node{{a.Lexpr, a.Rexpr}, {a.Rexpr, a.Lexpr}} {
			in := s.bare(pair[0])
			if in != nil && s.bare(pair[1]) == nil {
				if around := s.outer.bare(pair[1]); around != nil && expr.SameEquality(in.x, around.x) {
					out = append(out, correlation{in, around, s.outer})
				}
			}
		}
	}
	return out
}

// enclosing gives the scope of the query around a subquery expression.
func (e *env) enclosing() *scope {
	if e == nil {
		return nil
	}
	return e.scope
}

// narrow applies what the conditions say of columns.
func (r *relation) narrow() {
	if len(r.conds) == 0 {
		return
	}
	known, added := expr.Narrow(expr.And(r.conds...)), map[*expr.Column]expr.Narrowing{}
	if len(known) == 0 {
		return
	}
	if r.preserved != nil && len(r.preserved.conds) > 0 {
		added = expr.Narrow(expr.And(r.preserved.conds...))
	}
	for _, c := range r.cols {
		n, ok := known[c.x]
		if r.preserved != nil && !r.preserved.has(c.x) {
			n, ok = added[c.x] // groups are of the rows of the public table that the join adds, too
		}
		if !ok {
			continue
		}
		x := *c.x
		if both := x.Bounds.Intersect(n.Bounds); !both.Empty() {
			x.Narrow(both)
		} else if n.NotNull && n.Bounds.Empty() {
			r.empty = true // age < 5 AND age > 10
		}
		x.Nullable = x.Nullable && !n.NotNull
		if n.Domain != nil {
			x.Domain = n.Domain
		}
		c.x = &x
	}
	r.limit()
}

// target is one output of a subquery.
type target struct {
	name string
	node *pg_query.Node
	col  *column // of * and table.*
}

// targets expands stars.
func (s *scope) targets(list []*pg_query.Node) ([]target, error) {
	var out []target
	for _, n := range list {
		t := n.GetResTarget()
		ref := t.Val.GetColumnRef()
		if ref == nil || ref.Fields[len(ref.Fields)-1].GetAStar() == nil {
			out = append(out, target{name: outputName(t), node: t.Val})
			continue
		}
		table := ""
		if len(ref.Fields) > 1 {
			table = ref.Fields[len(ref.Fields)-2].GetString_().GetSval()
		}
		for _, c := range s.rel.visible() {
			if c.name != "" && (table == "" || c.table == table) {
				out = append(out, target{name: c.name, col: c})
			}
		}
	}
	return out, nil
}

// project applies a subquery's SELECT list.
func (b *builder) project(s *pg_query.SelectStmt, src *relation, e *env) (*relation, error) {
	sc := &scope{b: b, rel: src, env: e, outer: e.enclosing()}
	list, err := sc.targets(s.TargetList)
	if err != nil {
		return nil, err
	}
	plain := true
	for i := range list {
		if list[i].col == nil {
			list[i].col = sc.bare(list[i].node)
		}
		plain = plain && list[i].col != nil
	}
	if plain {
		return src.rename(list), nil
	}
	d := newDerived(b, src)
	var computed []*expr.Expr
	for _, t := range list {
		if t.col != nil {
			d.pass(t.col, t.name)
			continue
		}
		x, err := sc.expression(t.node)
		if err != nil {
			return nil, err
		}
		computed = append(computed, x)
		if c := d.add(x, t.name); x.Untyped() {
			c.literal = x
		}
	}
	r := d.relation()
	if src.foldable(computed) {
		return b.fold(r.from, r.cols)
	}
	return r, nil
}

// rename is a projection that computes nothing: the same FROM, other names.
func (r *relation) rename(list []target) *relation {
	out := *r
	out.cols = nil
	used := map[*column]*column{}
	for _, t := range list {
		c := t.col.copied()
		c.name, c.table, c.hidden = t.name, "", false
		used[t.col] = c
		out.cols = append(out.cols, c)
	}
	for _, c := range r.cols {
		if used[c] == nil {
			h := c.copied()
			h.name, h.table, h.hidden = "", "", true
			used[c] = h
			out.cols = append(out.cols, h)
		}
	}
	out.unitCols, out.unique = nil, nil
	for _, c := range r.unitCols {
		if used[c] != nil {
			out.unitCols = append(out.unitCols, used[c])
		}
	}
	for _, set := range r.unique {
		cols := make([]*column, 0, len(set.cols))
		for _, c := range set.cols {
			if used[c] != nil {
				cols = append(cols, used[c])
			}
		}
		if len(cols) == len(set.cols) {
			out.unique = append(out.unique, uniqueSet{cols, set.proof})
		}
	}
	return &out
}

// selects is the query of the relation's rows with the given outputs.
func (r *relation) selects(outputs ...query.Output) *query.Select {
	where := sorted(r.where)
	if r.empty {
		where = append(where, never)
	}
	return &query.Select{Outputs: outputs, From: r.from, Where: where}
}

// sorted gives conditions one order, wherever they came from: ON, WHERE or the policy. Bare columns, such as the unit's, come first.
func sorted(conditions []query.Scalar) []query.Scalar {
	atomic := func(x query.Scalar) int {
		if query.Key(x)[0] == '(' {
			return 1
		}
		return 0
	}
	out := query.Sorted(conditions)
	slices.SortStableFunc(out, func(a, b query.Scalar) int { return atomic(a) - atomic(b) })
	return out
}

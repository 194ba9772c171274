package rewrite

import (
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// joined collects the items of inner joins, of a FROM list or below a JOIN, until the graph is solved as a whole.
type joined struct {
	items []*relation
	cols  []*column    // in the order that * shows them
	conds []*expr.Expr // of ON, USING and NATURAL
	equal equalities
}

func (j *joined) add(o *joined) {
	j.items = append(j.items, o.items...)
	j.cols = append(j.cols, o.cols...)
	j.conds = append(j.conds, o.conds...)
	j.equal.merge(o.equal)
}

// view is the items as one relation, for names and for the kind of unit.
func (j *joined) view() *relation {
	r := &relation{cols: j.cols}
	for _, item := range j.items {
		if item.private() {
			r.unit, r.chain, r.kind = item.unit, item.chain, item.kind
			break
		}
	}
	return r
}

// fromItem binds one FROM item; inner joins stay open, outer joins are solved. beside are the items that LATERAL may read.
func (b *builder) fromItem(n *pg_query.Node, e *env, beside *joined) (*joined, error) {
	switch v := n.GetNode().(type) {
	case *pg_query.Node_JoinExpr:
		return b.joinExpr(n, v.JoinExpr, e, beside)
	case *pg_query.Node_RangeVar, *pg_query.Node_RangeSubselect, *pg_query.Node_RangeFunction:
		r, err := b.fromRelation(n, e, beside)
		if err != nil {
			return nil, b.located(err, n)
		}
		return &joined{items: []*relation{r}, cols: r.cols}, nil
	}
	return nil, b.refuse(pgerr.FeatureNotSupported, n, "this kind of FROM item cannot be combined with private tables", "Use tables, subqueries and joins.")
}

// fromRelation binds a table, view, CTE or subquery under its alias.
func (b *builder) fromRelation(n *pg_query.Node, e *env, beside *joined) (*relation, error) {
	var r *relation
	var err error
	var alias *pg_query.Alias
	name := ""
	if f := n.GetRangeFunction(); f != nil {
		r, err = b.function(n, f)
		if alias = f.Alias; err == nil && alias == nil {
			return r, nil
		}
	} else if s := n.GetRangeSubselect(); s != nil {
		alias = s.Alias
		query := s.Subquery.GetSelectStmt()
		if s.Lateral {
			r, err = b.lateral(query, e, beside)
		} else {
			r, err = b.mustRelation(query, e)
		}
	} else {
		v := n.GetRangeVar()
		alias, name = v.Alias, v.Relname
		r, err = b.named(v, e)
	}
	if err != nil {
		return nil, err
	}
	var names []string
	if alias != nil {
		name, names = alias.Aliasname, stringList(alias.Colnames)
	}
	if n.GetRangeFunction() != nil && len(names) == 0 {
		names = []string{name} // a function's one column takes the name of its table
	}
	return r, r.alias(name, names)
}

// named binds a relation by name.
func (b *builder) named(v *pg_query.RangeVar, e *env) (*relation, error) {
	if v.Schemaname == "" {
		if c := e.cte(v.Relname); c != nil {
			r, err := b.mustRelation(c.query, c.env)
			if err != nil {
				return nil, err
			}
			return r, r.alias(v.Relname, c.columns)
		}
	}
	if t := b.table(v); t != nil {
		return b.scan(t)
	}
	if w := b.view(v); w != nil {
		query, err := viewQuery(w)
		if err != nil {
			return nil, err
		}
		sub := *b
		sub.sql = ""
		r, err := sub.mustRelation(query, nil)
		b.aliases, b.domains, b.kind = sub.aliases, sub.domains, sub.kind
		return r, err
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("relation %q cannot be combined with private tables", v.Relname),
		pgerr.Hint("Only tables of the policy can stand beside private tables."))
}

// viewQuery parses a listed view's definition.
func viewQuery(w *Relation) (*pg_query.SelectStmt, error) {
	tree, err := pg_query.Parse(w.Definition)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("the definition of view %q cannot be analysed", w.Name.Relation))
	}
	return tree.Stmts[0].Stmt.GetSelectStmt(), nil
}

// mustRelation binds a subquery that has to be rows, private or public, below an aggregate.
func (b *builder) mustRelation(s *pg_query.SelectStmt, e *env) (*relation, error) {
	r, err := b.rows(s, e)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "released aggregates cannot be joined with private rows",
			pgerr.Hint("Aggregate first, then join the released results with each other."))
	}
	return r, nil
}

func (b *builder) joinExpr(n *pg_query.Node, j *pg_query.JoinExpr, e *env, beside *joined) (*joined, error) {
	inner := j.Jointype == pg_query.JoinType_JOIN_INNER
	if !inner {
		beside = &joined{} // an outer join becomes one relation, which must not read others
	}
	left, err := b.fromItem(j.Larg, e, beside)
	if err != nil {
		return nil, err
	}
	known := &joined{}
	known.add(beside)
	known.add(left)
	right, err := b.fromItem(j.Rarg, e, known)
	if err != nil {
		return nil, err
	}
	both := &joined{items: append(slices.Clone(left.items), right.items...), cols: append(slices.Clone(left.cols), right.cols...)}
	using := stringList(j.UsingClause)
	if j.IsNatural {
		using = commonNames(left.view(), right.view())
	}
	var conds []*expr.Expr
	var equal equalities
	for _, name := range using {
		l, err := left.view().find("", name)
		if err != nil {
			return nil, b.located(err, n)
		}
		r, err := right.view().find("", name)
		if err != nil || l == nil || r == nil {
			return nil, b.refuse(pgerr.UndefinedColumn, n, fmt.Sprintf("column %q specified in USING clause does not exist in both tables", name), "")
		}
		same, err := expr.Equal(l.x, r.x, &scope{b: b, rel: both.view(), env: e}, locationOf(n))
		if err != nil {
			return nil, b.refusal(err)
		}
		conds = append(conds, same)
		equal.note(l, r)
	}
	if j.Quals != nil {
		s := &scope{b: b, rel: both.view(), env: e}
		for _, q := range conjuncts(j.Quals) {
			c, err := s.condition(q)
			if err != nil {
				return nil, err
			}
			conds = append(conds, c)
			s.noteEquality(q, &equal)
		}
		// What subqueries in ON read counts as read by the join.
		left.items[0].tables = append(left.items[0].tables, s.rel.tables...)
		left.items[0].proofs = append(left.items[0].proofs, s.rel.proofs...)
	}
	if inner {
		for _, name := range using {
			r, _ := right.view().find("", name)
			r.hidden = true
		}
		both.conds = append(append(left.conds, right.conds...), conds...)
		both.equal.merge(left.equal)
		both.equal.merge(right.equal)
		both.equal.merge(equal)
	} else {
		l, err := b.solve(left, nil)
		if err != nil {
			return nil, err
		}
		r, err := b.solve(right, nil)
		if err != nil {
			return nil, err
		}
		o, err := b.outerJoin(n, j.Jointype, l, r, conds, equal, using)
		if err != nil {
			return nil, b.located(err, n)
		}
		both = &joined{items: []*relation{o}, cols: o.cols}
	}
	if j.Alias != nil {
		view := both.view()
		if err := view.alias(j.Alias.Aliasname, stringList(j.Alias.Colnames)); err != nil {
			return nil, err
		}
	}
	return both, nil
}

func commonNames(l, r *relation) []string {
	var names []string
	for _, c := range l.visible() {
		for _, d := range r.visible() {
			if c.name == d.name && c.name != "" {
				names = append(names, c.name)
			}
		}
	}
	return names
}

// conjuncts splits a condition at its top-level ANDs.
func conjuncts(n *pg_query.Node) []*pg_query.Node {
	if n == nil {
		return nil
	}
	if e := n.GetBoolExpr(); e != nil && e.Boolop == pg_query.BoolExprType_AND_EXPR {
		var all []*pg_query.Node
		for _, a := range e.Args {
			all = append(all, conjuncts(a)...)
		}
		return all
	}
	return []*pg_query.Node{n}
}

// noteEquality notes a condition column = column.
func (s *scope) noteEquality(n *pg_query.Node, q *equalities) {
	a := n.GetAExpr()
	if a == nil || a.Kind != pg_query.A_Expr_Kind_AEXPR_OP || len(a.Name) != 1 || a.Name[0].GetString_().GetSval() != "=" {
		return
	}
	l, r := s.bare(a.Lexpr), s.bare(a.Rexpr)
	switch {
	case l != nil && r != nil:
		q.note(l, r)
	case l != nil && s.fixes(l, a.Rexpr):
		q.fixed = append(q.fixed, l)
	case r != nil && s.fixes(r, a.Lexpr):
		q.fixed = append(q.fixed, r)
	}
}

// fixes says that = with this constant lets one value of the column through. Where the operator converts the column
// first, several may pass: 2^53 and 2^53+1 are one float8, and two local times of one night one timestamptz.
func (s *scope) fixes(c *column, n *pg_query.Node) bool {
	if !constantNode(n) || !c.x.DeterministicCollation {
		return false
	}
	if n.GetAConst().GetSval() != nil {
		return true // takes the column's type
	}
	x, err := s.expression(n)
	if err != nil {
		return false
	}
	exact := func(oid uint32) bool { return schema.IsInteger(oid) || oid == pgtype.NumericOID }
	column := c.x.Type
	if c.x.Base != 0 {
		column = c.x.Base
	}
	return x.Type() == column || exact(x.Type()) && exact(column) || schema.IsText(x.Type()) && schema.IsText(column)
}

// bare gives the column of this level that a node is, if it is nothing but a column.
func (s *scope) bare(n *pg_query.Node) *column {
	ref := n.GetColumnRef()
	if ref == nil {
		return nil
	}
	for _, f := range ref.Fields {
		if f.GetString_() == nil {
			return nil
		}
	}
	c, err := s.resolve(stringList(ref.Fields))
	if err != nil {
		return nil
	}
	return c
}

func constantNode(n *pg_query.Node) bool {
	if c := n.GetTypeCast(); c != nil {
		return constantNode(c.Arg)
	}
	return n.GetAConst() != nil || n.GetParamRef() != nil
}

// equalities are classes of columns that are equal in every row of an inner join.
type equalities struct {
	pairs [][2]*column
	fixed []*column // equal to a constant
}

func (q *equalities) note(l, r *column) {
	if expr.SameEquality(l.x, r.x) {
		q.pairs = append(q.pairs, [2]*column{l, r})
	}
}

func (q *equalities) merge(o equalities) {
	q.pairs = append(q.pairs, o.pairs...)
	q.fixed = append(q.fixed, o.fixed...)
}

// classes gives every column that occurs the number of its class.
func (q *equalities) classes() map[*column]int {
	parent := map[*column]*column{}
	var root func(c *column) *column
	root = func(c *column) *column {
		if p := parent[c]; p != nil && p != c {
			return root(p)
		}
		return c
	}
	for _, p := range q.pairs {
		l, r := root(p[0]), root(p[1])
		parent[l] = r
		if parent[r] == nil {
			parent[r] = r
		}
	}
	numbers, class := map[*column]int{}, map[*column]int{}
	for _, p := range q.pairs {
		for _, c := range p {
			r := root(c)
			if numbers[r] == 0 {
				numbers[r] = len(numbers) + 1
			}
			class[c] = numbers[r]
		}
	}
	return class
}

package aggregate

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// NewCall types an aggregate call whose value is to be released. sum(CASE WHEN c THEN e END), as pivots have it, is
// read as sum(e) FILTER (WHERE c): aggregates ignore NULL, and PostgreSQL computes e for no other rows. So what e is, a
// column with a grid or the unit, and which rows count show.
func NewCall(b *relation.Base, f *pg_query.FuncCall, sc Scope) (*Call, error) {
	c, err := NewUnitCall(b, f, sc)
	if err != nil || len(c.Args) != 1 {
		return c, err
	}
	arg := f.Args
	if f.AggWithinGroup {
		arg = []*pg_query.Node{f.AggOrder[0].GetSortBy().Node}
	}
	p := pivotOf(arg[0])
	if p == nil || p.zero && c.Name != "sum" {
		return c, nil
	}
	return p.apply(c, sc), nil
}

// pivot is an argument CASE WHEN when THEN then END, perhaps with ELSE 0.
type pivot struct {
	choice     *pg_query.CaseExpr
	when, then *pg_query.Node
	zero       bool
}

// pivotOf finds a pivot; nil where the argument is none. One with a subquery stays as it is, since building it binds
// the subquery.
func pivotOf(n *pg_query.Node) *pivot {
	k := n.GetCaseExpr()
	if k == nil || len(k.Args) != 1 || k.Arg.GetAConst() != nil {
		return nil
	}
	branch := k.Args[0].GetCaseWhen()
	p := &pivot{choice: k, when: branch.GetExpr(), then: branch.GetResult()}
	if other := k.Defresult.GetAConst(); k.Defresult != nil && !other.GetIsnull() {
		if p.zero = other.GetIval() != nil && other.GetIval().Ival == 0; !p.zero {
			return nil
		}
	}
	if k.Arg != nil {
		p.when = &pg_query.Node{Node: &pg_query.Node_AExpr{AExpr: &pg_query.A_Expr{
			Kind: pg_query.A_Expr_Kind_AEXPR_OP, Name: []*pg_query.Node{pg_query.MakeStrNode("=")}, Lexpr: k.Arg, Rexpr: p.when,
			Location: k.Location,
		}}}
	}
	if sqltree.Any(n, func(n *pg_query.Node) bool { return n.GetSubLink() != nil }) {
		return nil
	}
	return p
}

// apply reads the call as one of then with a filter, where its type stays what it is. then may be total, or narrow
// enough, only behind its condition: it stays in its CASE.
func (p *pivot) apply(c *Call, sc Scope) *Call {
	when, err := sc.Condition(p.when)
	if err != nil {
		return c
	}
	alone := sqltree.Clone(p.choice)
	alone.Defresult = nil
	guarded, err := sc.Expression(&pg_query.Node{Node: &pg_query.Node_CaseExpr{CaseExpr: alone}})
	if err != nil {
		return c
	}
	out := *c
	out.Args, out.Zero = []*expr.Expr{guarded}, p.zero
	if then, err := sc.Expression(p.then); err == nil {
		if x := then.Read(); x.Type() == guarded.Type() && x.Bounds().Within(guarded.Bounds()) {
			out.Args[0] = then
		}
	}
	if text, fixed := out.Args[0].Constant(); fixed && text == nil || resultType(&out) != c.Type {
		return c
	}
	out.Filter = when
	if c.Filter != nil {
		out.Filter = expr.And(c.Filter, when)
	}
	return &out
}

// rows is the condition of the rows that count: the filter holds, and no argument is NULL.
func (c *Call) rows() *expr.Expr {
	var conditions []*expr.Expr
	if c.Filter != nil {
		conditions = append(conditions, c.Filter)
	}
	for _, x := range c.Args {
		conditions = append(conditions, expr.NotNull(x))
	}
	return expr.And(conditions...)
}

// Implies says that every row that counts for one call over a relation counts for another.
func Implies(b *relation.Base, src *relation.Relation, one, other *Call) bool {
	return !b.MayBeForeign(src) && expr.Implies(one.rows(), other.rows())
}

// Exclusions says of calls over one relation which pairs no row counts for both of (docs/privacy.md P12b). The server
// of a foreign table, or of a partition that is one, may compare by rules of its own: of such rows nothing is proven.
func Exclusions(b *relation.Base, src *relation.Relation, calls []*Call) func(i, j int) bool {
	if b.MayBeForeign(src) {
		return func(int, int) bool { return false }
	}
	conditions := make([]*expr.Expr, len(calls))
	for i, c := range calls {
		conditions[i] = c.rows()
	}
	return expr.Exclusions(conditions)
}

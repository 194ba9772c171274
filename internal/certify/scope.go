package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// checker has what every rule may look at.
type checker struct {
	facts      Facts
	lemmas     []lemma
	top        *pg.SelectStmt // the query itself
	bins       []*pg.Node     // its outputs that are claimed to be bins
	parameters []Value
	steps      int
	sql        string
	uses       []*id // columns whose names were read
	places     map[place]*id
	applied    string // the rule behind the value that was derived last, where its node has several
	*derivation
}

// place is where an expression stands.
type place struct {
	over *relation
	text string
}

// item is a relation under its name in FROM.
type item struct {
	name string
	*relation
}

// scope is what names mean where an expression stands.
type scope struct {
	*checker
	outer   *scope
	wall    bool  // between a query and those around it
	reached bool  // of a wall: a name beyond it was used
	reads   []*id // ... of these columns
	items   []item
	refined []refined  // in the branch of a CASE, the last counts
	present []*pg.Node // WHERE says that they are not NULL
	group   *grouping  // the query has GROUP BY, or aggregates
	windows *relation  // over whose rows window functions may run
}

// timed are the types beside numbers that have spans.
var timed = map[string]bool{"date": true, "timestamp": true, "timestamptz": true}

// column finds a column, here or in a query around. Names of two tables that have it are refused by PostgreSQL.
//
// Rule: a name means one table only, here and in all queries around; a bare name stands where no query is around.
// Proof: a JOIN's condition sees its two sides and the queries around, but no other table of its FROM
// (transformJoinOnClause); here all conditions of a FROM are read together.
func (s *scope) column(n *pg.ColumnRef) (value, error) {
	fields := n.GetFields()
	table, column := "", ""
	switch len(fields) {
	case 1:
		column = fields[0].GetString_().GetSval()
	case 2:
		table, column = fields[0].GetString_().GetSval(), fields[1].GetString_().GetSval()
	}
	if column == "" {
		return value{}, missing(n.Location, "name", "a name that is no column")
	}
	for at := s; at != nil; at = at.outer {
		for _, i := range at.items {
			if table != "" && i.name != table {
				continue
			}
			if c, ok := i.at(column); ok {
				if at.outer.has(table) {
					return value{}, missing(n.Location, "name", "%s.%s is of two queries", table, column)
				}
				for inner := s; inner != at; inner = inner.outer {
					if inner.reached = inner.reached || inner.wall; inner.wall {
						inner.reads = append(inner.reads, c.value.id)
					}
					c.value.around = c.value.around || inner.wall
				}
				s.uses = append(s.uses, c.value.id)
				return c.value, nil
			}
			if table != "" {
				return value{}, missing(n.Location, "name", "%s.%s", table, column)
			}
		}
	}
	return value{}, missing(n.Location, "name", "%s.%s", table, column)
}

// used derives an expression, and of which columns it is computed.
func (s *scope) used(n *pg.Node) (value, []*id, error) {
	before := s.uses
	s.uses = nil
	v, err := s.expr(n)
	uses := s.uses
	s.uses = before
	return v, uses, err
}

// has reports whether a name may be of a table of these queries: any name, if it is bare.
func (s *scope) has(table string) bool {
	for ; s != nil; s = s.outer {
		if slices.ContainsFunc(s.items, func(i item) bool { return table == "" || i.name == table }) {
			return true
		}
	}
	return false
}

// refined is what is known of an expression in a branch of a CASE.
type refined struct {
	of *pg.Node
	span
}

// with is the scope with other spans of some expressions.
func (s *scope) with(more []refined) *scope {
	r := *s
	r.refined = append(s.refined[:len(s.refined):len(s.refined)], more...)
	return &r
}

// refine is what is known of expressions where a condition is true (holds), or where it is not: false, or NULL.
//
// Rule: e < o, true, puts e below the largest o, and so on; not true, with an o that is not NULL, puts e, unless NULL,
// at or above the smallest o. AND that is true and OR that is not are about each part. Proof: an expression has one
// value per row, as nothing is volatile; NaN is the largest. A branch of CASE is computed only where its condition came
// out so, or, if constant, at most as a constant, which is never refined.
func (s *scope) refine(n *pg.Node, holds bool) (all []refined) {
	if b := n.GetBoolExpr(); b != nil {
		if h := nearZero.of(n); h != nil && !holds {
			return s.farFromZero(h)
		}
		if b.Boolop == pg.BoolExprType_NOT_EXPR || (b.Boolop == pg.BoolExprType_AND_EXPR) != holds {
			return nil
		}
		for _, a := range b.Args {
			all = append(all, s.with(all).refine(a, holds)...)
		}
		return all
	}
	e := n.GetAExpr()
	if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
		return nil
	}
	op, ok := name(e.Name)
	if !ok {
		return nil
	}
	if !holds {
		op = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
	}
	l, errL := s.expr(e.Lexpr)
	r, errR := s.expr(e.Rexpr)
	if errL != nil || errR != nil {
		return nil
	}
	if v, ok := l.beside(op, r); ok {
		all = append(all, refined{e.Lexpr, v})
	}
	if v, ok := r.beside(map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op], l); ok {
		all = append(all, refined{e.Rexpr, v})
	}
	return all
}

var nearZero = newForm(`_x OPERATOR(pg_catalog.>) _a AND _x OPERATOR(pg_catalog.<) _b`)

// farFromZero is what is known of a number where nearZero is not true.
//
// Rule: of constants a < 0 < b of the type of x, magnitudes are at least the lesser of -a and b. Proof: x is a at most,
// b at least, or NULL; NaN is above b.
func (s *scope) farFromZero(h holes) []refined {
	list, err := s.exprs([]*pg.Node{h["_x"], h["_a"], h["_b"]})
	if err != nil {
		return nil
	}
	x, a, b := list[0], list[1], list[2]
	other := func(v value) bool { return v.typ != x.typ || v.array || !v.notNull || !v.finite() }
	if !isNumber(x.typ) || x.array || other(a) || other(b) || a.hi.Sign() >= 0 || b.lo.Sign() <= 0 {
		return nil
	}
	far := x.span
	far.tiny, far.nonzero = least(new(big.Rat).Neg(a.hi), b.lo), true
	return []refined{{h["_x"], far}}
}

// beside is the span of a value where a comparison with another is true, or where that is not NULL and its negation is
// not.
func (l value) beside(op string, r value) (span, bool) {
	exact := isNumber(l.typ) && isNumber(r.typ) && ranks[l.typ] <= 4 && ranks[r.typ] <= 4
	if !r.notNull || r.nan || l.array || r.array || !exact && !(l.typ == r.typ && (isNumber(l.typ) || timed[l.typ])) {
		return span{}, false
	}
	v, whole := l.span, isInteger(l.typ) && isInteger(r.typ)
	switch op {
	case "<", "<=":
		if v.hi = least(v.hi, r.hi); op == "<" && whole && r.hi != nil {
			v.hi = least(v.hi, new(big.Rat).Sub(r.hi, one))
		}
		v.nan = false // it is larger
	case ">", ">=":
		bound := r.lo
		if op == ">" && whole {
			bound = plus(r.lo, one)
		}
		if bound != nil && (v.lo == nil || v.lo.Cmp(bound) < 0) {
			v.lo = bound
		}
	default:
		return span{}, false
	}
	if op == ">" && r.lo != nil && r.lo.Sign() >= 0 || op == "<" && r.hi != nil && r.hi.Sign() <= 0 {
		v.nonzero = true
	}
	return v, true
}

package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// checker has what every rule may look at.
type checker struct {
	facts      Facts
	parameters []Value
	steps      int
	sql        string
	types      map[int32]string // of parameters, by their first cast
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
	wall    bool // between a query and those around it
	reached bool // of a wall: a name beyond it was used
	items   []item
	refined []refined  // in the branch of a CASE, the last counts
	present []*pg.Node // WHERE says that they are not NULL
	group   *grouping  // the query has GROUP BY, or aggregates
	windows *relation  // over whose rows window functions may run
}

// timed are the types beside numbers that have spans.
var timed = map[string]bool{"date": true, "timestamp": true, "timestamptz": true}

// column finds a column, here or in a query around. Names of two tables that have it are refused by PostgreSQL.
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
	for at := s.outer; at != nil && table == ""; at = at.outer { // in ON, it would be that one (colNameToVar)
		if slices.ContainsFunc(at.items, func(i item) bool { _, ok := i.at(column); return ok }) {
			return value{}, missing(n.Location, "name", "%s, which a query around has too", column)
		}
	}
	for at := s; at != nil && (table != "" || at == s); at = at.outer { // a bare name is one of the query's own
		for _, i := range at.items {
			if table != "" && i.name != table {
				continue
			}
			if c, ok := i.at(column); ok {
				for inner := s; inner != at; inner = inner.outer {
					inner.reached = inner.wall
				}
				return c.value, nil
			}
			if table != "" {
				return value{}, missing(n.Location, "name", "%s.%s", table, column)
			}
		}
	}
	return value{}, missing(n.Location, "name", "%s.%s", table, column)
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
// Rule: e < o, true, puts e below the largest o, and so on; not true, with an o that is not NULL, puts e, unless it is NULL,
// at or above the smallest o. AND that is true and OR that is not are about each part. Proof: an expression has one value
// per row, as nothing here is volatile; NaN is larger than every number. A branch of CASE is computed only where its condition
// came out so, or, if constant, at most as a constant, which is never what is refined.
func (s *scope) refine(n *pg.Node, holds bool) (all []refined) {
	if b := n.GetBoolExpr(); b != nil {
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
	l, err := s.expr(e.Lexpr)
	if err != nil {
		return nil
	}
	r, err := s.expr(e.Rexpr)
	if err != nil || !r.notNull || r.nan || !(isInteger(l.typ) && isInteger(r.typ)) && !(l.typ == r.typ && (isNumber(l.typ) || timed[l.typ])) {
		return nil
	}
	if !holds {
		op = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
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
		return nil
	}
	if op == ">" && r.lo != nil && r.lo.Sign() >= 0 || op == "<" && r.hi != nil && r.hi.Sign() <= 0 {
		v.nonzero = true
	}
	return []refined{{e.Lexpr, v}}
}

package bind

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// setWords are the set operations as SQL writes them.
var setWords = map[pg_query.SetOperation]string{
	pg_query.SetOperation_SETOP_UNION: "UNION", pg_query.SetOperation_SETOP_INTERSECT: "INTERSECT",
	pg_query.SetOperation_SETOP_EXCEPT: "EXCEPT",
}

// setOperation combines the rows of two queries unit by unit (docs/privacy.md P8). All but UNION ALL compare rows,
// which have to name their unit: else a row of one person would decide about another's.
func (b *Binder) setOperation(s *pg_query.SelectStmt, e *Env) (*relation.Relation, error) {
	word := setWords[s.Op]
	l, err := b.mustRelation(s.Larg, e)
	if err != nil {
		return nil, err
	}
	r, err := b.mustRelation(s.Rarg, e)
	if err != nil {
		return nil, err
	}
	if err := b.combinable(word, l, r); err != nil {
		return nil, err
	}
	alias := b.NewAlias()
	out := b.SetOperation(s.Op, l, r)
	withinL, withinR := *l, *r
	l, r = &withinL, &withinR
	left, right, err := b.combineColumns(s, out, alias, l, r)
	if err != nil {
		return nil, err
	}
	if s.Op == pg_query.SetOperation_SETOP_UNION && out.Private() && out.MaxRowsPerUnit == 1 && out.Proven {
		out.SetOneRowPerUnit()
	}
	if len(out.UnitColumns) == 0 && l.Private() && !(s.All && s.Op == pg_query.SetOperation_SETOP_UNION) {
		return nil, b.Refuse(refusal.SetOperation, sqltree.FirstTarget(s), word+" compares rows of different persons",
			fmt.Sprintf("Select the %s at the same place on both sides, or write UNION ALL.", l.UnitName))
	}
	if s.All || s.Op == pg_query.SetOperation_SETOP_UNION {
		word += " ALL"
	}
	out.From = &query.Derived{
		Query: &query.SetOp{Op: word, Of: []query.Query{l.Select(left...), r.Select(right...)}},
		As:    alias,
	}
	if s.Op == pg_query.SetOperation_SETOP_UNION && l.Foldable(nil) && r.Foldable(nil) {
		if out, err = b.FoldConstants(out.From, out.Columns); err != nil || s.All {
			return out, err
		}
		return b.DistinctRows(out)
	}
	out.Plan = relation.NewPlanNode(strings.ToLower(word)+", "+out.RowBound(), l.Plan, r.Plan)
	out.AddWork(expr.Work{Row: relation.WindowSteps}, l.Size()+r.Size())
	if s.All {
		return out, nil
	}
	return b.DistinctRows(out)
}

// combinable refuses relations whose rows no set operation can combine unit by unit.
func (b *Binder) combinable(word string, l, r *relation.Relation) error {
	if len(l.Visible()) != len(r.Visible()) {
		return pgerr.New(pgerr.SyntaxError, fmt.Sprintf("each %s query must have the same number of columns", word))
	}
	if l.Private() != r.Private() || l.UnitName != r.UnitName {
		return refusal.New(refusal.MixedUnits, word+" of rows with different privacy units is not supported")
	}
	if !b.SameUnitType(append(slices.Clone(l.Tables), r.Tables...)) {
		return refusal.New(refusal.MixedUnits, fmt.Sprintf(
			"%s of tables whose %s columns have different types is not supported", word, l.UnitName))
	}
	return nil
}

// combineColumns adds the columns of a set operation to out, and returns what each side has to select for them.
func (b *Binder) combineColumns(s *pg_query.SelectStmt, out *relation.Relation, alias *query.Alias, l,
	r *relation.Relation,
) (left, right []query.Output, err error) {
	if l.Private() {
		out.Unit = alias.Column("u")
		left, right = []query.Output{{X: l.Unit, Name: "u"}}, []query.Output{{X: r.Unit, Name: "u"}}
	}
	lv, rv := l.Visible(), r.Visible()
	for i := range lv {
		x, y, c, err := expr.Unify(relation.ConstantScope{Base: b.Base}, lv[i].Written(), rv[i].Written())
		if err != nil {
			return nil, nil, b.Located(b.Refusal(err), sqltree.FirstTarget(s.Rarg))
		}
		switch s.Op {
		case pg_query.SetOperation_SETOP_EXCEPT:
			c.Nullable = x.Nullable()
		case pg_query.SetOperation_SETOP_INTERSECT:
			// PostgreSQL pushes conditions down to both sides
			c.Nullable, c.NullBefore = x.Nullable() && y.Nullable(), c.Nullable || c.NullBefore
		}
		lsql, rsql := x.SQL(), y.SQL()
		// one of several equal rows stays: they have to look alike (docs/privacy.md P8)
		if s.Op != pg_query.SetOperation_SETOP_UNION {
			if lsql, err = relation.CanonicalText(lsql, c); err != nil {
				return nil, nil, err
			}
			if rsql, err = relation.CanonicalText(rsql, c); err != nil {
				return nil, nil, err
			}
		}
		name := fmt.Sprintf("c%d", i+1)
		left, right = append(left, query.Output{X: lsql, Name: name}), append(right, query.Output{X: rsql, Name: name})
		if s.Op != pg_query.SetOperation_SETOP_UNION {
			c.OutOfBounds = nil
			b.Within(l, out, x, c)
			b.Within(r, out, y, c)
		} else if insideX, insideY := expr.InsideOf(x, y); insideX != nil {
			name := fmt.Sprintf("i%d", i+1)
			left, right = append(left, query.Output{X: insideX, Name: name}), append(right, query.Output{X: insideY, Name: name})
			c.InBounds = alias.Column(name)
		}
		out.AddExpressionWork(l.Size(), x)
		out.AddExpressionWork(r.Size(), y)
		kept := lv[i].KeptBy(x) && rv[i].KeptBy(y)
		c.Work = x.Work().Plus(y.Work()).Plus(x.InsideWork()).Plus(y.InsideWork())
		c.Ref, c.Name, c.Unit = alias.Column(name), lv[i].Name, kept && lv[i].IsUnit && rv[i].IsUnit
		n := &relation.Column{Name: lv[i].Name, Value: c, IsUnit: c.Unit, HoldsUnit: kept && lv[i].HoldsUnit &&
			rv[i].HoldsUnit, PerUnit: c.Unit}
		c.Source = n
		out.Columns = append(out.Columns, n)
		if c.Unit {
			out.UnitColumns = append(out.UnitColumns, n)
		}
	}
	return left, right, nil
}

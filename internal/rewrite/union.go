package rewrite

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// setWords are the set operations as SQL writes them.
var setWords = map[pg_query.SetOperation]string{
	pg_query.SetOperation_SETOP_UNION: "UNION", pg_query.SetOperation_SETOP_INTERSECT: "INTERSECT", pg_query.SetOperation_SETOP_EXCEPT: "EXCEPT",
}

// setOperation combines the rows of two queries unit by unit (PRIVACY 3). All but UNION ALL compare rows, which have to name their
// unit: else a row of one person would decide about another's.
func (b *builder) setOperation(s *pg_query.SelectStmt, e *env) (*relation, error) {
	word := setWords[s.Op]
	l, err := b.mustRelation(s.Larg, e)
	if err != nil {
		return nil, err
	}
	r, err := b.mustRelation(s.Rarg, e)
	if err != nil {
		return nil, err
	}
	lv, rv := l.visible(), r.visible()
	if len(lv) != len(rv) {
		return nil, pgerr.New(pgerr.SyntaxError, fmt.Sprintf("each %s query must have the same number of columns", word))
	}
	if l.private() != r.private() || l.kind != r.kind {
		return nil, pgerr.New(pgerr.FeatureNotSupported, word+" of rows with different privacy units is not supported")
	}
	if !b.sameUnitType(append(slices.Clone(l.tables), r.tables...)) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("%s of tables whose %s columns have different types is not supported", word, l.kind))
	}
	alias := b.newAlias()
	out := combined(s.Op, l, r)
	var lc, rc []query.Output
	if l.private() {
		out.unit = alias.Column("u")
		lc, rc = []query.Output{{X: l.unit, Name: "u"}}, []query.Output{{X: r.unit, Name: "u"}}
	}
	for i := range lv {
		x, y, c, err := expr.Unify(&scope{b: b}, lv[i].written(), rv[i].written())
		if err != nil {
			return nil, b.located(b.refusal(err), firstTarget(s.Rarg))
		}
		switch s.Op {
		case pg_query.SetOperation_SETOP_EXCEPT:
			c.Nullable = x.Nullable()
		case pg_query.SetOperation_SETOP_INTERSECT:
			c.Nullable = x.Nullable() && y.Nullable()
		}
		left, right := x.SQL(), y.SQL()
		if s.Op != pg_query.SetOperation_SETOP_UNION { // equal rows have to look alike, as one of them stays (PRIVACY 7)
			if left, err = spelledAlike(left, c); err != nil {
				return nil, err
			}
			if right, err = spelledAlike(right, c); err != nil {
				return nil, err
			}
		}
		name := fmt.Sprintf("c%d", i+1)
		lc, rc = append(lc, query.Output{X: left, Name: name}), append(rc, query.Output{X: right, Name: name})
		kept := lv[i].keptBy(x) && rv[i].keptBy(y)
		out.does(l.size(), x)
		out.does(r.size(), y)
		c.Work = x.Work().Plus(y.Work())
		c.Ref, c.Name, c.Unit = alias.Column(name), lv[i].name, kept && lv[i].isUnit && rv[i].isUnit
		n := &column{name: lv[i].name, x: c, isUnit: c.Unit, holdsUnit: kept && lv[i].holdsUnit && rv[i].holdsUnit, perUnit: c.Unit}
		c.Source = n
		out.cols = append(out.cols, n)
		if c.Unit {
			out.unitCols = append(out.unitCols, n)
		}
	}
	if len(out.unitCols) == 0 && l.private() && !(s.All && s.Op == pg_query.SetOperation_SETOP_UNION) {
		return nil, b.refuse(pgerr.FeatureNotSupported, firstTarget(s), word+" compares rows of different persons",
			fmt.Sprintf("Select the %s at the same place on both sides, or write UNION ALL.", l.kind))
	}
	if s.All || s.Op == pg_query.SetOperation_SETOP_UNION {
		word += " ALL"
	}
	out.from = &query.Derived{Query: &query.SetOp{Op: word, Of: []query.Query{l.selects(lc...), r.selects(rc...)}}, As: alias}
	if s.Op == pg_query.SetOperation_SETOP_UNION && l.foldable(nil) && r.foldable(nil) {
		if out, err = b.fold(out.from, out.cols); err != nil || s.All {
			return out, err
		}
		return b.distinctRows(out)
	}
	out.plan = planned(strings.ToLower(word)+", "+out.rowBound(), l.plan, r.plan)
	out.takes(expr.Work{Row: windowSteps}, l.size()+r.size())
	if s.All {
		return out, nil
	}
	return b.distinctRows(out)
}

// combined bounds the rows of a set operation: of one unit, and of all.
func combined(op pg_query.SetOperation, l, r *relation) *relation {
	out := &relation{kind: l.kind, rows: l.rows, proven: l.proven, max: l.max, extent: l.extent, steps: l.steps + r.steps, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...)}
	switch {
	case op == pg_query.SetOperation_SETOP_UNION:
		out.rows, out.proven, out.max = saturatingAdd(l.rows, r.rows), l.proven && r.proven, 0
		out.extent = l.extent + r.extent
		if l.max > 0 && r.max > 0 {
			out.max = l.max + r.max
		}
	case op == pg_query.SetOperation_SETOP_INTERSECT && (r.rows < l.rows || r.rows == l.rows && r.proven):
		out.rows, out.proven = r.rows, r.proven
	}
	return out
}

// written is the column as a set operation reads it.
func (c *column) written() *expr.Expr {
	if c.literal != nil {
		return c.literal
	}
	return expr.Read(c.x, -1)
}

// keptBy says that an expression of the column keeps its values: a cast reads a bounded one clamped.
func (c *column) keptBy(x *expr.Expr) bool { return c.x.Bounds.Open() || query.Equal(x.SQL(), c.x.Ref) }

// sameUnitType says that the units of the private tables are equal where PostgreSQL says so, and only there: in float8, which
// bigint and numeric may become, two units are one.
func (b *builder) sameUnitType(tables []*policy.Table) bool {
	var first *Equality
	for _, t := range tables {
		for t != nil && t.Unit != nil && t.Unit.Via != nil {
			t = b.schema.Policy.Table(t.Unit.Via.References)
		}
		if t == nil || t.Unit == nil {
			continue
		}
		c := b.schema.Relations[t.Name].Column(t.Unit.Column)
		if c == nil {
			return false
		}
		e := b.schema.Equality(c)
		if first != nil && !first.Same(e) {
			return false
		}
		first = &e
	}
	return true
}

package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// unionAll adds the rows of two queries (PRIVACY 3).
func (b *builder) unionAll(s *pg_query.SelectStmt, e *env) (*relation, error) {
	if s.Op == pg_query.SetOperation_SETOP_UNION && !s.All {
		all := clone(s)
		all.All = true
		r, err := b.unionAll(all, e)
		if err != nil {
			return nil, err
		}
		if len(r.unitCols) > 0 {
			return b.distinctRows(r)
		}
	}
	if s.Op != pg_query.SetOperation_SETOP_UNION || !s.All {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "UNION, INTERSECT and EXCEPT of private rows are not supported", pgerr.Hint("Use UNION ALL, or a condition on the unit (IN, EXISTS)."))
	}
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
		return nil, pgerr.New(pgerr.SyntaxError, "each UNION query must have the same number of columns")
	}
	if l.private() != r.private() || l.kind != r.kind {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "UNION ALL of rows with different privacy units is not supported")
	}
	if !b.sameUnitType(append(slices.Clone(l.tables), r.tables...)) {
		return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("UNION ALL of tables whose %s columns have different types is not supported", l.kind))
	}
	alias := b.newAlias()
	out := &relation{kind: l.kind, rows: saturatingAdd(l.rows, r.rows), proven: l.proven && r.proven, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...)}
	if l.max > 0 && r.max > 0 {
		out.max = l.max + r.max
	}
	var lc, rc []string
	if l.private() {
		out.unit = alias + ".u"
		lc, rc = []string{l.unit + " AS u"}, []string{r.unit + " AS u"}
	}
	for i := range lv {
		x, y, c, err := expr.Unify(&scope{b: b}, lv[i].written(), rv[i].written())
		if err != nil {
			return nil, b.located(b.refusal(err), firstTarget(s.Rarg))
		}
		name := fmt.Sprintf("c%d", i+1)
		lc, rc = append(lc, x.SQL()+" AS "+name), append(rc, y.SQL()+" AS "+name)
		kept := lv[i].keptBy(x) && rv[i].keptBy(y)
		c.Ref, c.Name, c.Unit = alias+"."+name, lv[i].name, kept && lv[i].isUnit && rv[i].isUnit
		n := &column{name: lv[i].name, x: c, isUnit: c.Unit, holdsUnit: kept && lv[i].holdsUnit && rv[i].holdsUnit, perUnit: c.Unit}
		c.Source = n
		out.cols = append(out.cols, n)
		if c.Unit {
			out.unitCols = append(out.unitCols, n)
		}
	}
	out.from = fmt.Sprintf("(%s UNION ALL %s) AS %s", l.selectText(lc), r.selectText(rc), alias)
	if l.foldable(nil) && r.foldable(nil) {
		return b.fold(out.from, out.cols)
	}
	out.lines = append([]string{"union all, " + out.rowBound()}, append(indent(l.lines), indent(r.lines)...)...)
	return out, nil
}

// written is the column as a set operation reads it.
func (c *column) written() *expr.Expr {
	if c.literal != nil {
		return c.literal
	}
	return expr.Read(c.x, -1)
}

// keptBy says that an expression of the column keeps its values: a cast reads a bounded one clamped.
func (c *column) keptBy(x *expr.Expr) bool { return c.x.Bounds.Open() || x.SQL() == c.x.Ref }

// sameUnitType says that the units of the private tables are equal where PostgreSQL says so, and only there: in float8, which
// bigint and numeric may become, two units are one.
func (b *builder) sameUnitType(tables []*policy.Table) bool {
	var first *expr.Column
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
		x := &expr.Column{Type: c.Type, DeterministicCollation: c.DeterministicCollation || c.Collation == ""}
		if first != nil && !sameEquality(first, x) {
			return false
		}
		first = x
	}
	return true
}

package rewrite

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
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
	alias := b.newAlias()
	out := &relation{kind: l.kind, rows: min(rowsLimit, l.rows+r.rows), proven: l.proven && r.proven, tables: append(slices.Clone(l.tables), r.tables...), proofs: append(slices.Clone(l.proofs), r.proofs...)}
	if l.max > 0 && r.max > 0 {
		out.max = l.max + r.max
	}
	var lc, rc []string
	if l.private() {
		out.unit = alias + ".u"
		lc, rc = []string{l.unit + " AS u"}, []string{r.unit + " AS u"}
	}
	for i, c := range lv {
		d := rv[i]
		if c.x.Type != d.x.Type {
			return nil, pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("UNION ALL of column %q: the types differ", c.name), pgerr.Hint("Cast both sides to one type."))
		}
		name := fmt.Sprintf("c%d", i+1)
		lc, rc = append(lc, c.x.Ref+" AS "+name), append(rc, d.x.Ref+" AS "+name)
		x := *c.x
		x.Ref = alias + "." + name
		x.Nullable = c.x.Nullable || d.x.Nullable
		x.Enforced = c.x.Enforced && d.x.Enforced
		x.DeterministicCollation = c.x.DeterministicCollation && d.x.DeterministicCollation
		x.Bounds = c.x.Bounds.Hull(d.x.Bounds)
		x.Scale = -1
		if x.Typmod != d.x.Typmod {
			x.Typmod = -1
		}
		if !slices.Equal(c.x.Domain, d.x.Domain) {
			x.Domain = nil
			if c.x.Domain != nil && d.x.Domain != nil {
				x.Domain = mergeDomains(c.x.Domain, d.x.Domain)
			}
		}
		x.Unit = c.isUnit && d.isUnit
		n := &column{name: c.name, x: &x, isUnit: x.Unit, holdsUnit: c.holdsUnit && d.holdsUnit, perUnit: x.Unit}
		x.Source = n
		out.cols = append(out.cols, n)
		if x.Unit {
			out.unitCols = append(out.unitCols, n)
		}
	}
	out.from = fmt.Sprintf("(%s UNION ALL %s) AS %s", l.selectText(lc), r.selectText(rc), alias)
	out.lines = append([]string{"union all, " + out.rowBound()}, append(indent(l.lines), indent(r.lines)...)...)
	return out, nil
}

func mergeDomains(a, b []string) []string {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

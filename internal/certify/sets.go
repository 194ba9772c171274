package certify

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// setOperation is UNION, INTERSECT or EXCEPT, with or without ALL.
//
// Rule: of two public relations it is public; of two split ones split if one output holds the unit on both sides, and a
// unit has a+b, min(a, b), or a rows; of scans that exclude each other no more than the table, nor than a source of
// which both select what is apart. UNION ALL of grouped ones is grouped: bounds are added, but of Delta the larger.
// Proof: equal rows have equal units, so other units decide nothing. All outputs are exact unless ALL keeps all: else
// the plan chooses which of equal rows stays.
func (c *checker) setOperation(q *pg.SelectStmt, wall *scope) (*relation, error) {
	if len(q.SortClause) > 0 || q.LimitCount != nil || q.LimitOffset != nil {
		return nil, missing(-1, "set operation with ORDER BY or LIMIT", "")
	}
	l, err := c.query(q.Larg, wall)
	if err != nil {
		return nil, err
	}
	r, err := c.query(q.Rarg, wall)
	if err != nil {
		return nil, err
	}
	isUnion := q.Op == pg.SetOperation_SETOP_UNION
	if len(l.columns) != len(r.columns) || l.kind != r.kind || l.home != r.home || l.bound || r.bound || l.kind == nested {
		return nil, missing(-1, "set operation of such sides", "")
	}
	if l.kind == grouped && !(isUnion && q.All) {
		return nil, missing(-1, "set operation of aggregates", "%s", q.Op)
	}
	o := &relation{kind: l.kind, home: l.home}
	k, hasUnit := key{nulls: true}, false
	for i := range l.columns {
		v, err := merged(l.columns[i].value, r.columns[i].value)
		if err != nil {
			return nil, err
		}
		if !v.exact && !(isUnion && q.All) {
			return nil, missing(-1, "set operation of a type whose equal values differ", "%s", v.typ)
		}
		if v.unit {
			hasUnit = true
		} else {
			k.columns = append(k.columns, v.id)
		}
		o.columns = append(o.columns, column{l.columns[i].name, v})
	}
	if l.kind == split && !hasUnit && !(isUnion && q.All) {
		return nil, missing(-1, "set operation without the unit", "%s", q.Op)
	}
	switch q.Op {
	case pg.SetOperation_SETOP_UNION:
		if o.rows, o.scan = plus(l.rows, r.rows), l.scan.beside(r.scan); o.scan != nil {
			o.rows = least(o.rows, o.scan.rows)
		}
	case pg.SetOperation_SETOP_INTERSECT:
		o.rows = least(l.rows, r.rows)
	case pg.SetOperation_SETOP_EXCEPT:
		o.rows = l.rows
	}
	if !q.All {
		o.keys = []key{k}
	} else if isUnion && l.source.apart(r.source, nil, nil) {
		o.source = l.source.or(r.source)
		o.rows = least(o.rows, o.source.rows)
	}
	for _, a := range l.groups() {
		at := l.places(a)
		for _, b := range r.groups() {
			if l.kind != grouped || at == nil || !a.nulls || !b.nulls || !slices.Equal(at, r.places(b)) {
				continue
			}
			same := alike{key: key{nulls: true}} // of each side's groups
			for _, i := range at {
				same.columns = append(same.columns, o.columns[i].value.id)
			}
			o.alike = append(o.alike, same)
		}
	}
	c.note("setOperation", o)
	return o, nil
}

// merged is an output of a set operation.
func merged(a, b value) (value, error) {
	if a.array || b.array || a.typ == "row" || a.typ != b.typ && !(isNumber(a.typ) && isNumber(b.typ) &&
		ranks[a.typ] <= 4 && ranks[b.typ] <= 4) {
		return a, missing(-1, "types", "%s and %s", a.typ, b.typ)
	}
	v := made(a.typ, a.span.join(b.span), a, b)
	if ranks[b.typ] > ranks[a.typ] {
		v.typ = b.typ
	}
	v.vague = a.vague || b.vague
	v.integral = a.integral && b.integral
	v.exact, v.id, v.home = a.exact && b.exact && a.typ == b.typ, &id{}, a.home
	v.unit = holdsUnit(a) && holdsUnit(b)
	v.ofUnit = v.unit
	if a.ident == b.ident {
		v.ident = a.ident
	}
	if a.influence == nil && b.influence == nil {
		return v, nil
	}
	x, y := moved(a), moved(b)
	if x == nil || y == nil {
		return v, missing(-1, "UNION ALL of a key and an aggregate", "")
	}
	v.influence = &Influence{
		Delta: most(x.Delta, y.Delta), Place: plus(x.Place, y.Place), Total: plus(x.Total, y.Total),
		Groups: plus(x.Groups, y.Groups),
	}
	switch { // in rows of the other side it is 0, and does not move
	case b.influence == nil:
		v.influence.shares, v.influence.Squares = x.shares, x.Squares
	case a.influence == nil:
		v.influence.shares, v.influence.Squares = y.shares, y.Squares
	}
	v.public = false
	return v, nil
}

// moved is the influence on a value: none on the constant 0, which a row that is missing counts as.
func moved(v value) *Influence {
	if v.influence != nil {
		return v.influence
	}
	if v.hasOnlyZero() && v.notNull {
		return &Influence{Delta: zero, Place: zero, Total: zero, Groups: zero}
	}
	return nil
}

// sublink is EXISTS, x op ANY or ALL, or a scalar subquery.
//
// Rule: the subquery is public, or stands beside a row of the unit and has rows of that unit alone (linked). A scalar
// one has one row at most: aggregates without GROUP BY, or a key. EXISTS of ofUnit columns is so too. Proof: it is a
// function of the row, its unit's rows, and public ones; two rows are an error.
func (s *scope) sublink(n *pg.SubLink) (value, error) {
	r, err := s.query(n.Subselect.GetSelectStmt(), s)
	if err != nil {
		return value{}, err
	}
	if r.kind != public && !(r.kind == split && r.tie != nil) {
		return value{}, missing(n.Location, "subquery on rows of other units", "")
	}
	v := value{typ: "bool", exact: true, public: r.kind == public && !r.bound}
	v.ofUnit = v.public
	switch n.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		v.notNull = true
		v.ofUnit = v.ofUnit || !slices.ContainsFunc(r.reads, func(c *id) bool {
			return !slices.ContainsFunc(s.allColumns(), func(o column) bool { return o.value.id == c && o.value.ofUnit })
		})
		return v, nil
	case pg.SubLinkType_ANY_SUBLINK, pg.SubLinkType_ALL_SUBLINK:
		tests := []*pg.Node{n.Testexpr}
		if row := n.Testexpr.GetRowExpr(); row != nil {
			tests = row.Args
		}
		args, err := s.exprs(tests)
		if err != nil {
			return v, err
		}
		op := "="
		if len(n.OperName) > 0 {
			op, _ = name(n.OperName)
		}
		if !comparisons[op] || len(args) != len(r.columns) {
			return v, missing(n.Location, "operator "+op+" of a subquery", "")
		}
		for i, a := range args {
			if !s.compares(a, r.columns[i].value) {
				return v, missing(n.Location, "operator "+op+" of a subquery", "%s and %s", a.typ, r.columns[i].value.typ)
			}
			v.public = v.public && a.public
			v.ofUnit = v.ofUnit && a.ofUnit
		}
		return v, nil
	case pg.SubLinkType_EXPR_SUBLINK:
		if len(r.columns) != 1 || r.rows == nil || r.rows.Cmp(one) > 0 || r.columns[0].value.influence != nil {
			return v, missing(n.Location, "scalar subquery", "that may have more than one row")
		}
		c := r.columns[0].value
		o := value{ // without an id: it is computed of the columns around that it reads
			typ: c.typ, array: c.array, span: c.span, exact: c.exact, public: v.public, ofUnit: v.ofUnit, collation: c.collation,
			integral: c.integral, vague: c.vague,
		}
		if r.tie != nil {
			o.unit, o.home, o.ident, o.of = c.unit && c.exact, c.home, c.ident, r.tie
			own := s.allColumns()
			o.around = slices.ContainsFunc(r.tie, func(t *id) bool {
				return !slices.ContainsFunc(own, func(k column) bool { return k.value.id == t })
			})
		}
		return o, nil
	}
	return v, missing(n.Location, "subquery "+n.SubLinkType.String(), "")
}

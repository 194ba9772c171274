package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// query derives a SELECT, VALUES or set operation. around is what its names may mean beside its own tables.
func (c *checker) query(q *pg.SelectStmt, around *scope) (*relation, error) {
	if q == nil || q.WithClause != nil || q.IntoClause != nil || len(q.LockingClause) > 0 || len(q.WindowClause) > 0 ||
		q.GroupDistinct {
		return nil, missing(-1, "clause", "WITH, INTO, FOR UPDATE, WINDOW or GROUP BY DISTINCT")
	}
	wall := &scope{checker: c, outer: around, wall: true}
	c.deeper(1)
	r, err := c.unlimited(q, wall)
	c.deeper(-1)
	if err != nil {
		return nil, err
	}
	o := *r
	o.reads = wall.reads
	if o.bound = wall.reached; o.bound {
		o.columns = append([]column(nil), r.columns...)
		for i := range o.columns {
			v := &o.columns[i].value
			v.public, v.ofUnit = v.public && v.ofUnit, v.ofUnit && v.public // constants alone
			if v.around {
				v.around, v.unit, v.ident = false, false, ""
				// it is repeated: what bounds the row around bounds nothing here
				v.id, v.window, v.total, v.squares, v.moves = &id{}, nil, nil, nil, nil
			}
		}
	}
	return &o, nil
}

func (c *checker) unlimited(q *pg.SelectStmt, wall *scope) (*relation, error) {
	if q.Op != pg.SetOperation_SETOP_NONE {
		return c.setOperation(q, wall)
	}
	if len(q.ValuesLists) > 0 {
		return c.values(q, wall)
	}
	where := conjuncts(q.WhereClause)
	factors, on, err := c.from(q.FromClause, wall, where)
	if err != nil {
		return nil, err
	}
	on = append(on, where...)
	f, err := c.combine(factors, on, wall)
	if err != nil {
		return nil, err
	}
	s := &scope{checker: c, outer: wall, items: f.items, windows: f.relation}
	if err := haveUnits(s, f.relation, on); err != nil {
		return nil, err
	}
	f.relation.scan = f.relation.scan.narrowed(s, on)
	r, err := s.project(q)
	if err != nil {
		return nil, err
	}
	if r, err = s.distinct(q, r); err != nil {
		return nil, err
	}
	return s.limit(q, r)
}

// haveUnits demands that rows of a split relation have a unit.
//
// Rule: some condition says «unit IS NOT NULL», or equates two units; a table whose unit a key leads to is joined with
// it. A row around to which it is tied has a unit. Proof: see combine; rows without a unit are in no answer.
func haveUnits(s *scope, r *relation, on []*pg.Node) error {
	for _, n := range on {
		t := n.GetNullTest()
		if t == nil || t.Nulltesttype != pg.NullTestType_IS_NOT_NULL {
			continue
		}
		if v, err := s.expr(t.Arg); err == nil && v.unit && !v.around {
			r.unsure = false
			s.note("haveUnits", said("no row without a unit"), n)
		}
		s.present = append(s.present, t.Arg)
	}
	if r.tie != nil {
		return nil
	}
	if r.kind == split && r.via != nil {
		return missing(-1, "unit behind a key that is not joined", "%s", r.via.Column)
	}
	if r.kind == split && r.unsure {
		return missing(-1, "unit IS NOT NULL", "no condition says so")
	}
	return nil
}

// holdsUnit reports whether a value is the unit of each row, and units that are equal are one. That of a row around
// says nothing of the rows here.
func holdsUnit(v value) bool { return v.unit && v.there() && v.exact && !v.around }

// project derives the outputs: of each row, or of groups.
func (s *scope) project(q *pg.SelectStmt) (*relation, error) {
	r := *s.windows
	at := s
	if len(q.GroupClause) > 0 || slices.ContainsFunc(q.TargetList, aggregates) {
		g, err := s.grouping(q)
		if err != nil {
			return nil, err
		}
		in := *s
		in.group, in.windows = g, nil
		at, r = &in, *g.result
	}
	r.columns = make([]column, 0, len(q.TargetList))
	for _, t := range q.TargetList {
		v, err := at.output(t.GetResTarget().GetVal())
		if err != nil {
			return nil, err
		}
		if v.id == nil {
			v.id = &id{}
		}
		v.of = nil
		if v.typ == "bool" && v.def == nil && at.group == nil {
			v.def = &condition{s: s, n: t.GetResTarget().Val, of: v.id}
		}
		r.columns = append(r.columns, column{outputName(t.GetResTarget()), v})
	}
	if at.group != nil {
		at.group.keyed(&r)
		s.note("grouping", &r, q.GroupClause...)
	}
	if q.HavingClause != nil {
		if r.kind == grouped || at.group == nil {
			return nil, missing(-1, "HAVING over units", "a condition on aggregates")
		}
		if _, err := at.exprs([]*pg.Node{q.HavingClause}); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// outputName is the name of an output, where a query around asks for it.
func outputName(t *pg.ResTarget) string {
	if t.Name != "" {
		return t.Name
	}
	if f := t.Val.GetColumnRef().GetFields(); len(f) > 0 {
		return f[len(f)-1].GetString_().GetSval()
	}
	return ""
}

// distinct is DISTINCT, or DISTINCT ON.
//
// Rule: with the unit among the outputs, a split relation stays split, the others are a key, and it has one row if each
// is ofUnit. Without, it is nested, as is what was nested. All outputs are exact: it makes no difference which of equal
// rows stays. Proof: without x a combination stays if another unit has it: one unit's rows are missing at most.
func (s *scope) distinct(q *pg.SelectStmt, r *relation) (*relation, error) {
	if len(q.DistinctClause) == 0 {
		return r, nil
	}
	if q.DistinctClause[0].GetNode() != nil {
		return s.distinctOn(q, r)
	}
	if r.kind == grouped {
		return nil, missing(-1, "DISTINCT", "of aggregates")
	}
	k, hasUnit, single := key{nulls: true}, false, r.kind == split && r.tie == nil
	for _, c := range r.columns {
		if !c.value.exact {
			return nil, missing(-1, "DISTINCT of a type whose equal values differ", "%s %s", c.value.typ, c.name)
		}
		single = single && (c.value.ofUnit || holdsUnit(c.value))
		if holdsUnit(c.value) {
			hasUnit = true
		} else {
			k.columns = append(k.columns, c.value.id)
		}
	}
	o := *r
	if o.keys = append(r.keys[:len(r.keys):len(r.keys)], k); single && hasUnit {
		o.rows = one
	}
	if r.kind == split && !hasUnit && r.tie == nil {
		o.kind, o.keys, o.source = nested, nil, nil
		o.columns = append([]column(nil), r.columns...)
		for i := range o.columns {
			v := &o.columns[i].value
			v.unit, v.ident, v.ofUnit = false, "", false
		}
	}
	s.note("distinct", &o, q.TargetList...)
	return &o, nil
}

// distinctOn is DISTINCT ON (unit): the first row of each unit, in an order that has no ties (totalOrder). Of public
// rows, the first of each combination likewise.
func (s *scope) distinctOn(q *pg.SelectStmt, r *relation) (*relation, error) {
	if len(q.SortClause) < len(q.DistinctClause) || !s.totalOrder(q.SortClause) || r.kind == grouped || r.kind == nested {
		return nil, missing(-1, "DISTINCT ON without a total order", "")
	}
	for _, n := range q.DistinctClause {
		if err := spelledOut(n); err != nil {
			return nil, err
		}
	}
	on, err := s.exprs(q.DistinctClause)
	if err != nil {
		return nil, err
	}
	for i := range on { // PostgreSQL demands that the order begins with them
		if !slices.ContainsFunc(q.DistinctClause, func(n *pg.Node) bool {
			return same(n, q.SortClause[i].GetSortBy().GetNode())
		}) {
			return nil, missing(-1, "DISTINCT ON", "that is no beginning of the order")
		}
	}
	hasUnit := slices.ContainsFunc(on, holdsUnit)
	if r.kind == split && !hasUnit && r.tie == nil {
		return nil, missing(-1, "DISTINCT ON", "without the unit")
	}
	o, k := *r, key{nulls: true}
	for _, v := range on {
		if !v.exact && !isNumber(v.typ) {
			return nil, missing(-1, "DISTINCT ON", "of %s", v.typ)
		}
		if v.id == nil {
			v.id = &id{}
		}
		if !holdsUnit(v) {
			k.columns = append(k.columns, v.id)
		}
	}
	if o.keys = append(r.keys[:len(r.keys):len(r.keys)], k); len(k.columns) == 0 && r.kind == split {
		o.rows = least(r.rows, one)
	}
	s.note("totalOrder", &o, q.DistinctClause...)
	return &o, nil
}

// totalOrder reports whether an order has no ties, or none that make a difference.
//
// Rule: its expressions hold a key of the rows, or exact ones every column of them. Proof: rows that tie are the same
// row, or alike.
func (s *scope) totalOrder(sort []*pg.Node) bool {
	var have, bytes []*id
	for _, n := range sort {
		v, err := s.expr(n.GetSortBy().GetNode())
		if err != nil || !s.sorts(v) {
			return false
		}
		if oneEquality(v) {
			have = append(have, v.told()...)
		}
		if v.exact {
			bytes = append(bytes, v.told()...)
		}
	}
	r := s.windows
	if r == nil {
		return false
	}
	if r.unique(have, r.notNull) {
		return true
	}
	return !slices.ContainsFunc(r.columns, func(c column) bool {
		return !slices.Contains(bytes, c.value.id) &&
			!holdsUnit(c.value)
	})
}

// spelledOut refuses what ORDER BY and DISTINCT ON read as an output: a bare name, or a number.
func spelledOut(n *pg.Node) error {
	if n.GetAConst() != nil || len(n.GetColumnRef().GetFields()) == 1 {
		return missing(where(n), "ORDER BY of an output", "by its name or place")
	}
	return nil
}

// limit is ORDER BY, LIMIT and OFFSET.
//
// Rule: order alone has no part in a bag of rows; OFFSET 0 is a fence; LIMIT of public rows in a total order is public.
// Proof: with ties the plan would choose, which depends on private rows.
func (s *scope) limit(q *pg.SelectStmt, r *relation) (*relation, error) {
	if q.LimitOffset != nil {
		if k, ok := integerConstant(q.LimitOffset); !ok || k.Sign() != 0 {
			return nil, missing(-1, "OFFSET", "that is not 0")
		}
	}
	for _, n := range q.SortClause {
		if n.GetSortBy().GetUseOp() != nil {
			return nil, missing(-1, "ORDER BY USING", "")
		}
		if err := spelledOut(n.GetSortBy().GetNode()); err != nil {
			return nil, err
		}
		if _, err := s.exprs([]*pg.Node{n.GetSortBy().GetNode()}); err != nil {
			return nil, err
		}
	}
	if q.LimitCount == nil {
		return r, nil
	}
	k, ok := integerConstant(q.LimitCount)
	if !ok || k.Sign() < 0 || q.LimitOption != pg.LimitOption_LIMIT_OPTION_COUNT {
		return nil, missing(-1, "LIMIT", "of no constant")
	}
	if r.kind != public || !s.totalOrder(q.SortClause) {
		return nil, missing(-1, "LIMIT", "of private rows, or with ties")
	}
	o := *r
	o.rows = least(r.rows, k)
	s.note("limit", &o, q.LimitCount)
	return &o, nil
}

// values is VALUES: public rows.
func (c *checker) values(q *pg.SelectStmt, wall *scope) (*relation, error) {
	if len(q.SortClause) > 0 || q.LimitCount != nil || q.LimitOffset != nil {
		return nil, missing(-1, "VALUES with ORDER BY or LIMIT", "")
	}
	s := &scope{checker: c, outer: wall}
	r := &relation{rows: big.NewRat(int64(len(q.ValuesLists)), 1)}
	var all [][]value
	for i, l := range q.ValuesLists {
		list, err := s.exprs(l.GetList().GetItems())
		if err != nil {
			return nil, err
		}
		all = append(all, list)
		for k, v := range list {
			if i == 0 {
				r.columns = append(r.columns, column{"column", v})
				continue
			}
			u, err := united(r.columns[k].value, v, l.GetList().Items[k])
			if err != nil {
				return nil, err
			}
			r.columns[k].value = u
		}
	}
	for k := range r.columns {
		v := &r.columns[k].value
		v.id = &id{}
		v.ofUnit = v.ofUnit && len(q.ValuesLists) == 1
	}
	r.list = c.entries(q.ValuesLists, all, r.columns)
	for _, c := range r.columns {
		if distinct(r.list, c.value) {
			r.keys = append(r.keys, key{columns: []*id{c.value.id}})
		}
	}
	return r, nil
}

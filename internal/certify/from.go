package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// factor is a part of FROM that others are joined with: one table or subquery, or an outer join of several.
type factor struct {
	items []item
	*relation
}

// demand is what the rows of a FROM item have to fulfil where they are used, if they are not to be dropped.
type demand struct {
	on    []*pg.Node
	names []string // of all items of this FROM
}

// about are the conditions that speak of some factors and of no other item.
//
// Rule: σ(L ⟕ R) = σ(L) ⟕ R of a condition on L, and L ⟕ R with a condition on R in ON is L ⟕ σ(R). Proof: a row of L
// stands in each row made of it, padded or not; a row of R that is dropped meets none.
func (d demand) about(c *checker, factors []factor, outer *scope) (on []*pg.Node) {
	s := &scope{checker: c, outer: outer}
	for _, f := range factors {
		s.items = append(s.items, f.items...)
	}
	for _, n := range d.names { // the others have no columns here, and hide those of a query around
		s.items = append(s.items, item{n, &relation{}})
	}
	for _, n := range d.on {
		if _, err := s.conditions([]*pg.Node{n}); err == nil {
			on = append(on, n)
		}
	}
	return on
}

// and has more conditions.
func (d demand) and(on []*pg.Node) demand {
	return demand{append(on[:len(on):len(on)], d.on...), d.names}
}

// names are those of the items of a FROM list.
func names(list []*pg.Node) (all []string) {
	for _, n := range list {
		for _, a := range []*pg.Alias{
			n.GetRangeVar().GetAlias(), n.GetRangeSubselect().GetAlias(),
			n.GetRangeFunction().GetAlias(),
		} {
			all = append(all, a.GetAliasname())
		}
		all = append(all, n.GetRangeVar().GetRelname())
		if j := n.GetJoinExpr(); j != nil {
			all = append(all, names([]*pg.Node{j.Larg, j.Rarg})...)
		}
	}
	return all
}

// from reads a FROM list: inner joins are taken apart into factors and conditions, as are conjunctions.
func (c *checker) from(list []*pg.Node, outer *scope, where []*pg.Node) (factors []factor, on []*pg.Node, err error) {
	for _, n := range list {
		f, o, err := c.factors(n, outer, factors, demand{where, names(list)})
		if err != nil {
			return nil, nil, err
		}
		factors, on = append(factors, f...), append(on, o...)
	}
	return factors, on, nil
}

// factors reads a FROM item; beside are those that LATERAL sees.
func (c *checker) factors(n *pg.Node, outer *scope, beside []factor, above demand) ([]factor, []*pg.Node, error) {
	switch f := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		i, err := c.table(f.RangeVar)
		if err == nil {
			c.note("table", i.relation, n)
		}
		return alone(i, err)
	case *pg.Node_RangeSubselect:
		s := f.RangeSubselect
		if s.Lateral {
			outer = &scope{checker: c, outer: outer}
			for _, b := range beside {
				outer.items = append(outer.items, b.items...)
			}
		}
		r, err := c.query(s.Subquery.GetSelectStmt(), outer)
		if err != nil {
			return nil, nil, err
		}
		for _, l := range c.lemmas {
			if r.kind == public && l.query != "" && l.query == anyNames(s.Subquery) {
				o := *r
				r, o.rows = &o, least(r.rows, l.most)
			}
		}
		return alone(renamed(c.sourced(r, s.Subquery), s.Alias))
	case *pg.Node_RangeFunction:
		return alone(c.function(f.RangeFunction, outer))
	case *pg.Node_JoinExpr:
		return c.join(f.JoinExpr, outer, beside, above)
	}
	return nil, nil, missing(where(n), "FROM item", "%s", kindName(n))
}

func alone(i item, err error) ([]factor, []*pg.Node, error) {
	if err != nil {
		return nil, nil, err
	}
	return []factor{{items: []item{i}, relation: i.relation}}, nil, nil
}

// renamed gives a relation the names of its alias.
func renamed(r *relation, a *pg.Alias) (item, error) {
	if a == nil || len(a.Colnames) > len(r.columns) {
		return item{}, missing(-1, "alias", "none, or too many columns")
	}
	o := *r
	o.columns = append([]column(nil), r.columns...)
	for i, n := range a.Colnames {
		o.columns[i].name = n.GetString_().GetSval()
	}
	return item{a.Aliasname, &o}, nil
}

// table is a scan of a table.
//
// Rule: a public table is public, unique sets are its keys, and so many rows are alike as lemmas say. A private one is
// split by its unit column; within a unit, a unique set is unique without that column, which alone leaves one row. One
// whose unit a key leads to is split once that key is joined. Proof: the policy; uniqueness is a fact. ONLY keeps out
// rows of children, for which no index speaks; a partitioned table has none itself. One with a unique index has no
// foreign partitions (DefineIndex, AttachPartitionEnsureIndexes); else nobody checks whether rows elsewhere are NULL,
// but they are read as of the columns' types.
func (c *checker) table(t *pg.RangeVar) (item, error) {
	at := TableName(t.Schemaname, t.Relname)
	f, ok := c.facts.Tables[at]
	if !ok || t.Catalogname != "" {
		return item{}, missing(t.Location, "table", "%s is not known", at)
	}
	if t.Inh != f.Spread {
		return item{}, missing(t.Location, "table", "ONLY of a table with partitions, or none of %s", at)
	}
	if t.Alias != nil && len(t.Alias.Colnames) > 0 {
		return item{}, missing(t.Location, "table", "%s with other names of its columns", at)
	}
	if v := f.Via; v != nil && (c.facts.Tables[v.Table].Public || c.facts.Tables[v.Table].Kind != f.Kind) {
		return item{}, missing(t.Location, "table", "%s is of another kind of unit", v.Table)
	}
	if v := f.Via; v != nil && !slices.ContainsFunc(c.facts.Tables[v.Table].Unique, func(u []string) bool {
		return len(u) == 1 && u[0] == v.Key
	}) {
		return item{}, missing(t.Location, "table", "%s.%s is not unique", v.Table, v.Key)
	}
	r := &relation{home: f.Kind}
	if !f.Public {
		r.kind, r.via, r.unsure = split, f.Via, true
	}
	ids := map[string]*id{}
	for name, col := range f.Columns {
		col.NotNull = col.NotNull && !(f.Spread && len(f.Unique) == 0)
		v := c.anyOf(col)
		v.public, v.id = f.Public, &id{}
		if !f.Public {
			v.home = f.Kind
			v.unit = name == f.Unit
			v.ofUnit, v.ident = v.unit && v.exact, col.OneUnit
			if f.Via != nil && name == f.Via.Column {
				v.ident = f.Via.Table + "." + f.Via.Key
			}
			r.unsure = r.unsure && !(v.unit && v.notNull)
		}
		ids[name] = v.id
		r.columns = append(r.columns, column{name, v})
	}
	for _, l := range c.lemmas {
		if a := (alike{most: l.most}); l.table == at && f.Public {
			for _, name := range l.columns {
				a.columns = append(a.columns, ids[name])
			}
			r.alike = append(r.alike, a)
		}
	}
	for _, u := range f.Unique {
		k := key{}
		for _, name := range u {
			if f.Public || name != f.Unit {
				k.columns = append(k.columns, ids[name])
			}
		}
		r.keys = append(r.keys, k)
		if !f.Public && f.Unit != "" && len(k.columns) == 0 {
			r.rows = one
		}
		for i := range r.columns {
			if v := &r.columns[i].value; !f.Public && len(u) == 1 && u[0] == r.columns[i].name && v.ident == "" {
				v.ident = at + "." + u[0] // one row has it, so one unit
			}
		}
	}
	if r.rows == one {
		for i := range r.columns {
			r.columns[i].value.ofUnit = true
		}
		r.source = &source{key: at, rows: one, names: map[*id]string{}}
		for name, i := range ids {
			r.source.names[i] = name
		}
	}
	r.scan = &scan{at, r.rows, map[*id]string{}, []map[string]span{{}}}
	for name, c := range ids {
		r.scan.names[c] = name
	}
	name := t.Relname
	if t.Alias != nil {
		name = t.Alias.Aliasname
	}
	return item{name, r}, nil
}

// function is unnest of parameters, with or without ordinality: public rows, numbered from 1.
func (c *checker) function(f *pg.RangeFunction, outer *scope) (item, error) {
	r := &relation{}
	rows := new(big.Rat)
	for _, n := range f.Functions {
		call := n.GetList().GetItems()[0].GetFuncCall()
		if fn, ok := name(call.GetFuncname()); !ok || fn != "unnest" || len(call.Args) != 1 || call.AggDistinct ||
			call.AggStar || call.AggFilter != nil || call.Over != nil || len(f.Coldeflist) > 0 {
			return item{}, missing(call.GetLocation(), "function in FROM", "%s", fn)
		}
		v, err := (&scope{checker: c, outer: outer}).expr(call.Args[0])
		if err != nil {
			return item{}, err
		}
		if !v.array || v.elements == nil {
			return item{}, missing(call.GetLocation(), "function in FROM", "unnest of no parameter")
		}
		rows = most(rows, big.NewRat(int64(len(v.elements)), 1))
		v.array, v.id, v.elements, v.notNull, v.ofUnit = false, &id{}, nil, false, false
		r.columns = append(r.columns, column{"unnest", v})
	}
	for i := range r.columns {
		r.columns[i].value.values = rows
	}
	if f.Ordinality {
		v := given("int8")
		v.span, v.id, v.ofUnit = between(one, most(rows, one)), &id{}, false
		r.columns = append(r.columns, column{"ordinality", v})
		r.keys = []key{{columns: []*id{v.id}}}
	}
	r.rows = rows
	return renamed(r, f.Alias)
}

// conjuncts takes a condition apart.
func conjuncts(n *pg.Node) []*pg.Node {
	if n == nil {
		return nil
	}
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		var all []*pg.Node
		for _, a := range b.Args {
			all = append(all, conjuncts(a)...)
		}
		return all
	}
	return []*pg.Node{n}
}

// join reads a join.
func (c *checker) join(j *pg.JoinExpr, outer *scope, beside []factor, above demand) ([]factor, []*pg.Node, error) {
	if j.IsNatural || len(j.UsingClause) > 0 || j.Alias != nil {
		return nil, nil, missing(-1, "join", "NATURAL, USING, or an alias")
	}
	quals := conjuncts(j.Quals)
	of := [2]demand{{names: above.names}, {names: above.names}} // FULL: of neither side alone
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER:
		of = [2]demand{above.and(quals), above.and(quals)}
	case pg.JoinType_JOIN_LEFT:
		of[0], of[1].on = above, quals
	}
	left, on, err := c.factors(j.Larg, outer, beside, of[0])
	if err != nil {
		return nil, nil, err
	}
	right, more, err := c.factors(j.Rarg, outer, append(beside[:len(beside):len(beside)], left...), of[1])
	if err != nil {
		return nil, nil, err
	}
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER:
		return append(left, right...), append(append(on, more...), quals...), nil
	case pg.JoinType_JOIN_LEFT, pg.JoinType_JOIN_FULL:
	default:
		return nil, nil, missing(-1, "join", "%s", j.Jointype)
	}
	l, err := c.combine(left, append(on, of[0].about(c, left, outer)...), outer)
	if err != nil {
		return nil, nil, err
	}
	r, err := c.combine(right, append(more, of[1].about(c, right, outer)...), outer)
	if err != nil {
		return nil, nil, err
	}
	f, err := c.outerJoin(l, r, quals, outer, j.Jointype == pg.JoinType_JOIN_FULL)
	return []factor{f}, nil, err
}

// outerJoin is a LEFT or FULL JOIN.
//
// Rule: LEFT: the right side is public, or by ON of the left row's unit; the result has the left side's unit, and
// max(1, m) rows for each of its rows, m being the inner join's. FULL: both are private, ON equates their units; at
// most a·b or a + b rows; the unit is the COALESCE of both. What may be padded may be NULL: a unit is that of the row,
// or NULL. Proof: each row is made of one row of a unit and rows of that unit or public ones, which decide whether it
// is padded. ON holds in matched rows only, so the left side keeps its unit, the key to it and its tie. Where a′ rows
// meet b′, a′·b′ + (a − a′) + (b − b′) is bilinear, so largest at a corner.
func (c *checker) outerJoin(l, r factor, on []*pg.Node, outer *scope, full bool) (factor, error) {
	if l.kind != split || r.kind != public && r.kind != split || full && r.kind != split {
		if l.kind != public || r.kind != public || full {
			return factor{}, missing(-1, "outer join", "of such sides")
		}
	}
	inner, err := c.combine([]factor{l, r}, on, outer)
	if err != nil {
		return factor{}, err
	}
	out := *inner.relation
	out.unsure, out.via, out.tie = l.unsure, l.via, l.tie // ON says nothing of the left rows that it does not match
	out.rows, out.source = nil, nil
	eq, s := c.equations(inner.items, on, outer)
	eq.lists = [][]meeting{nil, c.meetings(r, s, on)}
	matched := rowsFrom([]factor{l, r}, eq, 0)
	switch {
	case full:
		if l.tie != nil || r.tie != nil {
			return factor{}, missing(-1, "outer join", "FULL JOIN beside a row")
		}
		out.rows = most(times(l.rows, r.rows), plus(l.rows, r.rows))
		if len(on) == 1 && len(eq.pairs) == 1 && eq.pairs[0].a.unit && eq.pairs[0].b.unit && eq.pairs[0].oneUnit() {
			// all rows of a unit meet, so none is padded if both sides have some
			out.rows = most(times(l.rows, r.rows), most(l.rows, r.rows))
		}
		out.keys, out.unsure = nil, true
	default:
		out.rows = most(l.rows, times(l.rows, matched))
		if matched == nil || matched.Cmp(one) > 0 {
			out.keys = nil
		} else {
			out.keys = l.keys
		}
	}
	out.columns = nil
	var items []item
	n := len(l.items)
	single := matched != nil && matched.Cmp(one) <= 0 && !full
	for i, it := range append(l.items[:len(l.items):len(l.items)], r.items...) {
		o := *it.relation
		o.columns = append([]column(nil), it.columns...)
		for k := range o.columns {
			v := &o.columns[k].value
			if i >= n || full {
				padded(v, eq, full)
			}
			if !single {
				v.total, v.squares, v.moves, v.window, v.pieces = nil, nil, nil, nil, nil
			}
			out.columns = append(out.columns, o.columns[k])
		}
		items = append(items, item{it.name, &o})
	}
	c.note("outerJoin", &out, on...)
	return factor{items, &out}, nil
}

// padded is a value that an outer join may make NULL.
func padded(v *value, eq equations, full bool) {
	old := v.id
	*v = value{
		typ: v.typ, array: v.array, span: v.span, exact: v.exact, public: v.public, collation: v.collation,
		integral: v.integral,
		unit:     v.unit, home: v.home, id: &id{}, ident: v.ident, values: v.values, vague: v.vague,
	}
	for _, e := range eq.pairs {
		switch {
		case full:
		case e.a.id == old && e.same && !e.nulls:
			v.mirrors = e.b.id
		case e.b.id == old && e.same && !e.nulls:
			v.mirrors = e.a.id
		}
	}
}

package finish

import (
	"fmt"
	"slices"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// lookupKey names the output of a lookup query that is its i-th key. isLookup recognises one by it.
func lookupKey(i int) string { return fmt.Sprintf("dpkey%d", i+1) }

func isLookup(s *pg_query.SelectStmt) bool {
	return len(s.GroupClause) > 0 && len(s.TargetList) > 1 && s.TargetList[0].GetResTarget().GetName() == lookupKey(0)
}

// keyPair is a condition inner = outer of a subquery: an expression over its own columns, and one over those around it.
type keyPair struct{ inner, outer *pg_query.Node }

// keys splits the conditions of a subquery: those that equate its rows with the row around it, and those on its
// rows alone. No pairs: it reads the row in another way, or is no plain aggregate over private rows.
func (m *aggregateLookup) keys(sub *pg_query.SelectStmt) (keys []keyPair, conds []*pg_query.Node) {
	if sub == nil || !plain(sub, false) || !sqltree.Aggregates(sub) || len(sub.TargetList) != 1 {
		return nil, nil
	}
	if private, err := m.overPrivate(sub, m.env); err != nil || !private {
		return nil, nil
	}
	own, err := m.Columns(sub.FromClause, m.env)
	if err != nil || own.UnitName != m.columns.UnitName {
		return nil, nil
	}
	if reads, ok := m.reads(sub.TargetList[0].GetResTarget().Val, own); !ok || reads.outer {
		return nil, nil
	}
	for _, c := range sqltree.Conjuncts(sqltree.Clone(sub.WhereClause)) {
		reads, ok := m.reads(c, own)
		if !ok {
			return nil, nil
		}
		if !reads.outer {
			conds = append(conds, c)
			continue
		}
		k, ok := m.keyPair(c, own)
		if !ok {
			return nil, nil
		}
		keys = append(keys, k)
	}
	return keys, conds
}

// reading says of which level the columns are that an expression reads.
type reading struct{ inner, outer bool }

// reads says it; false: a name is of neither level, or may be of a subquery's own.
func (m *aggregateLookup) reads(n *pg_query.Node, own *relation.Relation) (r reading, ok bool) {
	ok = true
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		ok = ok && n.GetSubLink() == nil
		ref := n.GetColumnRef()
		if ref == nil || !ok {
			return ok
		}
		if c, err := find(own, ref); c != nil || err != nil {
			r.inner, ok = true, err == nil
		} else if c, err := find(m.columns, ref); c != nil && err == nil {
			r.outer = true
		} else {
			ok = false
		}
		return ok
	})
	return r, ok
}

// find resolves a name; nil where there is no such column.
func find(r *relation.Relation, ref *pg_query.ColumnRef) (*relation.Column, error) {
	if slices.ContainsFunc(ref.GetFields(), func(f *pg_query.Node) bool { return f.GetString_() == nil }) {
		return nil, nil
	}
	switch names := sqltree.StringList(ref.GetFields()); len(names) {
	case 1:
		return r.Find("", names[0])
	case 2:
		return r.Find(names[0], names[1])
	}
	return nil, nil
}

// keyPair reads a condition inner = outer, where a row outside equals at most one of several keys that differ
// (docs/privacy.md P4).
func (m *aggregateLookup) keyPair(n *pg_query.Node, own *relation.Relation) (k keyPair, ok bool) {
	sides := sqltree.Equality(n)
	if sides == nil {
		return k, false
	}
	for _, k := range []keyPair{{sides[0], sides[1]}, {sides[1], sides[0]}} {
		inner, _ := m.reads(k.inner, own)
		outer, _ := m.reads(k.outer, own)
		if !inner.inner || inner.outer || outer.inner || !outer.outer {
			continue
		}
		return k, bind.NewScope(m.Binder, own, m.env).ComparedAs(k.inner, bind.NewScope(m.Binder, m.columns, m.env), k.outer)
	}
	return k, false
}

// stage makes the query of the value for every key. Where the keys around are of a public item, its rows are
// the keys.
func (m *aggregateLookup) stage(sub *pg_query.SelectStmt, keys []keyPair, conds []*pg_query.Node,
	value *pg_query.Node,
) *pg_query.SelectStmt {
	s := sqltree.NewSelect()
	s.FromClause = sqltree.Clone(sub).FromClause
	public := m.publicKeys(keys)
	alias := ""
	if public != nil {
		alias = m.alias("o")
		s.FromClause = append(s.FromClause, sqltree.Subselect(public, alias))
	}
	for i, k := range keys {
		key := k.inner
		if public != nil {
			key = sqltree.ColumnRef(alias, lookupKey(i))
			conds = append(conds, sqltree.Operation("=", k.inner, sqltree.Clone(key)))
		}
		s.TargetList = append(s.TargetList, sqltree.Target(lookupKey(i), key))
		s.GroupClause = append(s.GroupClause, sqltree.Clone(key))
	}
	name := "released " + sqltree.OutputName(sub.TargetList[0].GetResTarget()) // refusals show it, and no column has it
	s.TargetList = append(s.TargetList, sqltree.Target(name, value))
	s.WhereClause = sqltree.And(conds)
	return s
}

// publicKeys lists the keys of the rows of one public item that conditions on that item alone leave; nil: the keys are
// not of one.
func (m *aggregateLookup) publicKeys(keys []keyPair) *pg_query.SelectStmt {
	var of *pg_query.Node
	s := sqltree.NewSelect()
	s.DistinctClause = []*pg_query.Node{{}}
	for i, k := range keys {
		item := m.publicItem(k.outer)
		if item == nil || of != nil && of != item {
			return nil
		}
		of = item
		s.TargetList = append(s.TargetList, sqltree.Target(lookupKey(i), sqltree.Clone(k.outer)))
	}
	var where []*pg_query.Node
	for _, c := range sqltree.Conjuncts(m.s.WhereClause) {
		if m.publicItem(c) == of {
			where = append(where, sqltree.Clone(c))
		}
	}
	s.FromClause, s.WhereClause = []*pg_query.Node{sqltree.Clone(of)}, sqltree.And(where)
	return s
}

// publicItem finds the one public item that an expression reads, and nothing else.
func (m *aggregateLookup) publicItem(n *pg_query.Node) *pg_query.Node {
	var of *pg_query.Node
	ok := true
	sqltree.Visit(n, func(n *pg_query.Node) bool {
		ok = ok && n.GetSubLink() == nil
		ref := n.GetColumnRef()
		if ref == nil || !ok {
			return ok
		}
		it, _, public := m.column(ref)
		ok = public && (of == nil || of == it.node)
		of = it.node
		return ok
	})
	if !ok {
		return nil
	}
	return of
}

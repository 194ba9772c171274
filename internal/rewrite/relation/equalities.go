package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
)

// Equalities are classes of columns that are equal in every row of an inner join.
type Equalities struct {
	pairs    [][2]*Column
	computed []computed
	Fixed    []*Column    // equal to a constant
	Ordered  []*expr.Expr // conditions of WHERE that compare by order
}

// computed says that a column equals at most one of several values that differ among themselves, once the columns of
// are known: what is computed of those is compared with it as a value of its own type.
type computed struct {
	column *Column
	of     []*Column
}

func (q *Equalities) Add(l, r *Column) {
	if expr.SameEquality(l.Value, r.Value) {
		q.pairs = append(q.pairs, [2]*Column{l, r})
		return
	}
	q.AddComputed(l, expr.Read(r.Value, -1))
	q.AddComputed(r, expr.Read(l.Value, -1))
}

// AddComputed notes a condition column = expression.
func (q *Equalities) AddComputed(c *Column, x *expr.Expr) {
	if of := sources(x); len(of) > 0 && expr.ComparedAs(expr.Read(c.Value, -1), x) {
		q.computed = append(q.computed, computed{c, of})
	}
}

// sources are the columns that an expression is a function of; nil where a subquery computes it, or where it is a
// constant.
func sources(x *expr.Expr) []*Column {
	var of []*Column
	for _, c := range x.Columns() {
		source, ok := c.Source.(*Column)
		if !ok || x.HasSubquery() {
			return nil
		}
		of = append(of, source)
	}
	return of
}

// within says that all columns are those of one of the relations.
func within(of []*Column, there ...*Relation) bool {
	return !slices.ContainsFunc(of, func(c *Column) bool {
		return !slices.ContainsFunc(there, func(r *Relation) bool { return slices.Contains(r.Columns, c) })
	})
}

func (q *Equalities) Merge(o Equalities) {
	q.pairs = append(q.pairs, o.pairs...)
	q.computed = append(q.computed, o.computed...)
	q.Fixed = append(q.Fixed, o.Fixed...)
	q.Ordered = append(q.Ordered, o.Ordered...)
}

// tie says that an equality demands a column of each of two sides: neither may be NULL.
func (q *Equalities) tie(a, b []*Column) bool {
	return slices.ContainsFunc(q.pairs, func(p [2]*Column) bool {
		return slices.Contains(a, p[0]) && slices.Contains(b, p[1]) || slices.Contains(a, p[1]) && slices.Contains(b, p[0])
	})
}

// equated says which columns of a relation the equalities tie to those of items that are there already, or to
// constants.
func (q *Equalities) equated(r *Relation, class map[*Column]int, there ...*Relation) map[*Column]bool {
	return q.tied(r, class, knownClasses(class, there...), there...)
}

// knownClasses are those that hold a column of one of the relations.
func knownClasses(class map[*Column]int, there ...*Relation) map[int]bool {
	known := map[int]bool{}
	for _, r := range there {
		for _, c := range r.Columns {
			if n := class[c]; n != 0 {
				known[n] = true
			}
		}
	}
	return known
}

// tied is equated, where the classes that items have are known.
func (q *Equalities) tied(r *Relation, class map[*Column]int, known map[int]bool, there ...*Relation) map[*Column]bool {
	out := map[*Column]bool{}
	for _, c := range r.Columns {
		out[c] = class[c] != 0 && known[class[c]] || slices.Contains(q.Fixed, c)
	}
	for _, e := range q.computed {
		if slices.Contains(r.Columns, e.column) && within(e.of, there...) {
			out[e.column] = true
		}
	}
	return out
}

// classes gives every column that occurs the number of its class.
func (q *Equalities) classes() map[*Column]int {
	parent := map[*Column]*Column{}
	var root func(c *Column) *Column
	root = func(c *Column) *Column {
		if p := parent[c]; p != nil && p != c {
			return root(p)
		}
		return c
	}
	for _, p := range q.pairs {
		l, r := root(p[0]), root(p[1])
		parent[l] = r
		if parent[r] == nil {
			parent[r] = r
		}
	}
	numbers, class := map[*Column]int{}, map[*Column]int{}
	for _, p := range q.pairs {
		for _, c := range p {
			r := root(c)
			if numbers[r] == 0 {
				numbers[r] = len(numbers) + 1
			}
			class[c] = numbers[r]
		}
	}
	return class
}

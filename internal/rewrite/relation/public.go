package relation

import (
	"maps"
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// publicParts says which public rows the rows of a relation hold: for each of its rows there is one row of every item,
// such that the conditions hold and the columns have the values that they have in it (docs/privacy.md P10a). An
// optional item's row may be one of NULLs.
type publicParts struct {
	items      []publicItem
	columns    map[string]publicColumn // by query.Key of the relation's reference
	conditions []publicCondition
}

// publicItem is a FROM item that reads no private table.
type publicItem struct {
	from     query.Source
	where    []query.Scalar // of its own; of an optional item they decide whether a row matches
	tables   bool           // it reads a table
	lateral  bool           // it reads other items
	optional bool
	on       []publicCondition // of an optional item: hold where its row is not one of NULLs
	exact    bool              // they are all that decides whether a row matches
}

// publicColumn is a column of an item.
type publicColumn struct {
	ref  query.Scalar
	item int
}

// publicCondition reads columns of some items and nothing else.
type publicCondition struct {
	x     query.Scalar
	items []int
}

// publicPart gives what is known of a relation's public rows; a public relation is an item itself.
func (r *Relation) publicPart() publicParts {
	if r.Private() {
		return r.public
	}
	where := r.Where
	if r.Empty {
		where = append(slices.Clone(where), never)
	}
	p := publicParts{
		items:   []publicItem{{from: r.From, where: where, tables: len(r.Tables) > 0, lateral: r.Lateral}},
		columns: map[string]publicColumn{},
	}
	for _, c := range r.Columns {
		p.columns[query.Key(c.Value.Ref)] = publicColumn{c.Value.Ref, 0}
	}
	return p
}

// and gives the rows of a join of both.
func (p publicParts) and(o publicParts) publicParts {
	out := publicParts{}
	out.add(p)
	out.add(o)
	return out
}

// add makes the rows those of a join with others. What it adds to is nobody else's.
func (p *publicParts) add(o publicParts) {
	n := len(p.items)
	p.items = append(p.items, o.items...)
	if p.columns == nil {
		p.columns = map[string]publicColumn{}
	}
	for key, c := range o.columns {
		p.columns[key] = publicColumn{c.ref, c.item + n}
	}
	shifted := func(list []publicCondition) []publicCondition {
		moved := make([]publicCondition, len(list))
		for i, c := range list {
			moved[i].x = c.x
			for _, item := range c.items {
				moved[i].items = append(moved[i].items, item+n)
			}
		}
		return moved
	}
	for i := n; i < len(p.items); i++ {
		p.items[i].on = shifted(p.items[i].on)
	}
	p.conditions = append(p.conditions, shifted(o.conditions)...)
}

// leftJoined gives the rows of a LEFT JOIN under conditions: o's may be NULLs.
func (p publicParts) leftJoined(o publicParts, conds []*expr.Expr, private bool) publicParts {
	n := len(p.items)
	conditions := o.conditions
	o.conditions = nil
	out := p.and(o)
	exact := !private && len(conditions) == 0 && len(o.items) == 1
	var on []publicCondition
	for _, c := range conds {
		x, ok := out.over(c)
		exact = exact && ok
		if ok {
			on = append(on, x)
		}
	}
	for i := n; i < len(out.items); i++ {
		out.items[i].optional, out.items[i].on, out.items[i].exact = true, append(out.items[i].on, on...), exact
	}
	return out
}

// over prints an expression that reads columns of the items alone.
func (p publicParts) over(e *expr.Expr) (publicCondition, bool) {
	var out publicCondition
	if e.Provisional() || e.HasSubquery() {
		return out, false
	}
	for _, c := range e.Columns() {
		of, ok := p.columns[query.Key(c.Ref)]
		if !ok {
			return out, false
		}
		if !slices.Contains(out.items, of.item) {
			out.items = append(out.items, of.item)
		}
	}
	out.x = p.replaced(e.SQL())
	return out, len(out.items) > 0
}

// replaced reads the columns of the items in place of the relation's.
func (p publicParts) replaced(x query.Scalar) query.Scalar {
	return query.Map{Scalar: func(x query.Scalar) query.Scalar {
		if c, ok := x.(query.Column); ok {
			if of, ok := p.columns[query.Key(c)]; ok {
				return of.ref
			}
		}
		return x
	}}.OfScalar(x)
}

// holding adds conditions that hold in every row.
func (p publicParts) holding(conds []*expr.Expr) publicParts {
	p.conditions = slices.Clone(p.conditions)
	for _, c := range expr.Split(conds) {
		if x, ok := p.over(c); ok {
			p.conditions = append(p.conditions, x)
		}
	}
	return p
}

// equating notes that every row holds equal values in the columns of each pair: a private column that equals a public
// one is read there. Only types of which equal values are the same value are.
func (p publicParts) equating(pairs [][2]*Column) publicParts {
	p.columns = maps.Clone(p.columns)
	for range pairs { // a column may equal a public one through others
		for _, pair := range pairs {
			p.equate(pair[0].Value, pair[1].Value)
			p.equate(pair[1].Value, pair[0].Value)
		}
	}
	return p
}

// equate reads a column where an equal one is read.
func (p publicParts) equate(c, equal *expr.Column) {
	_, known := p.columns[query.Key(c.Ref)]
	public, ok := p.columns[query.Key(equal.Ref)]
	if !known && ok && sameSpelling(c, equal) && !p.items[public.item].optional {
		p.columns[query.Key(c.Ref)] = public
	}
}

// sameSpelling says that equal values of two columns are the same value.
func sameSpelling(a, b *expr.Column) bool {
	if a.Type != b.Type || a.Typmod != b.Typmod || a.Collation != b.Collation {
		return false
	}
	canonical, err := CanonicalText(a.Ref, a)
	return err == nil && query.Equal(canonical, a.Ref)
}

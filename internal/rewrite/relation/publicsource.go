package relation

import (
	"slices"

	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// PublicSource is public rows of which some expressions over a relation are functions.
type PublicSource struct {
	Of     []int         // the places of the expressions
	Rows   *query.Select // a value of each, for every combination of rows that the relation may hold, and perhaps more
	Tables bool          // it reads public tables; else constants alone
}

// PublicSources finds the expressions that read public rows alone, those of one source together. Whether the rows hold
// in the relation depends on public conditions alone: what ties them to private rows is left out.
func (b *Base) PublicSources(r *Relation, xs []*expr.Expr) []PublicSource {
	p := r.publicPart()
	if r.Preserved != nil {
		p = p.holding(r.Preserved.Conditions) // rows of the public table come back whatever the join says
	} else {
		p = p.holding(r.Conditions)
	}
	together := newPartition(len(p.items))
	for _, c := range p.conditions {
		together.join(c.items...)
	}
	for i, item := range p.items {
		for _, c := range item.on {
			together.join(append(slices.Clone(c.items), i)...)
		}
		if item.lateral {
			together.join(append(p.readBy(item), i)...)
		}
	}
	found := make([]publicCondition, len(xs))
	for i, x := range xs {
		if of, ok := p.over(x); ok {
			found[i] = of
			together.join(of.items...)
		}
	}
	var out []PublicSource
	at := map[int]int{} // class of items → source
	for i, of := range found {
		if of.x == nil {
			continue
		}
		class := together.of(of.items[0])
		n, known := at[class]
		if !known {
			n = len(out)
			at[class] = n
			out = append(out, b.publicSource(p, together.members(class)))
		}
		out[n].Of = append(out[n].Of, i)
		out[n].Rows.Outputs = append(out[n].Rows.Outputs, query.Output{X: of.x})
	}
	return slices.DeleteFunc(out, func(s PublicSource) bool { return !b.selfContained(s.Rows) })
}

// readBy gives the items that a lateral one reads.
func (p publicParts) readBy(lateral publicItem) (items []int) {
	query.Map{Scalar: func(x query.Scalar) query.Scalar {
		if c, ok := x.(query.Column); ok {
			if of, ok := p.columns[query.Key(c)]; ok {
				items = append(items, of.item)
			}
		}
		return x
	}}.OfSource(lateral.from)
	return items
}

// publicSource joins items: first those whose rows are there, then those whose row may be one of NULLs.
func (b *Base) publicSource(p publicParts, items []int) PublicSource {
	var s PublicSource
	var product query.Product
	var where []query.Scalar
	for _, i := range items {
		s.Tables = s.Tables || p.items[i].tables
		if !p.items[i].optional {
			product, where = append(product, p.items[i].from), append(where, p.items[i].where...)
		}
	}
	if len(product) == 0 {
		product = query.Product{oneValue(b.NewAlias())}
	}
	from := query.Source(product)
	for _, i := range items {
		item := p.items[i]
		if !item.optional {
			continue
		}
		on := slices.Clone(item.where)
		for _, c := range item.on {
			on = append(on, c.x)
		}
		if !item.exact { // what ties it to private rows may leave any row without a partner
			matches := b.NewAlias()
			from = query.Product{from, &query.Values{
				Rows: [][]query.Scalar{{always}, {never}}, As: matches,
				Columns: []string{"o"},
			}}
			on = append(on, matches.Column("o"))
		}
		if len(on) == 0 {
			on = []query.Scalar{always}
		}
		from = &query.Join{Kind: "LEFT", Left: from, Right: item.from, On: on}
	}
	for _, c := range p.conditions {
		if slices.Contains(items, c.items[0]) {
			where = append(where, c.x)
		}
	}
	s.Rows = &query.Select{From: from, Where: query.Sorted(where)}
	return s
}

// selfContained says that a query reads public tables alone, and no column of a query around it.
func (b *Base) selfContained(q query.Query) bool {
	defined, ok := map[*query.Alias]bool{}, true
	query.Map{Source: func(s query.Source) query.Source {
		switch v := s.(type) {
		case *query.Table:
			t := b.Schema.Policy.Table(v.Name)
			ok, defined[v.As] = ok && t != nil && t.Public, true
		case *query.Values:
			defined[v.As] = true
		case *query.Function:
			defined[v.As] = true
		case *query.Derived:
			defined[v.As] = true
		}
		return s
	}}.OfQuery(q)
	query.Map{Scalar: func(x query.Scalar) query.Scalar {
		switch v := x.(type) {
		case query.Column:
			ok = ok && defined[v.Of]
		case *query.Parameter:
			ok = false // of the measure query
		}
		return x
	}}.OfQuery(q)
	return ok
}

// partition sorts the numbers below n into classes.
type partition []int

func newPartition(n int) partition {
	p := make(partition, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// of gives the class of a number, which is its least member.
func (p partition) of(i int) int { return p[i] }

// join makes one class of those of several numbers.
func (p partition) join(numbers ...int) {
	for _, n := range numbers[1:] {
		a, c := p[numbers[0]], p[n]
		for i := range p {
			if p[i] == a || p[i] == c {
				p[i] = min(a, c)
			}
		}
	}
}

func (p partition) members(class int) []int {
	var out []int
	for i, c := range p {
		if c == class {
			out = append(out, i)
		}
	}
	return out
}

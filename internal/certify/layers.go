package certify

import (
	"maps"
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// piece says of a value, in every row, that |value| <= row·n with a whole number n, where the numbers of pieces of one
// kind that are apart, each over its own most, add up to 1 at most over the rows of a unit, and so do those over the
// largest of them.
type piece struct {
	// the kind: a column whose values the numbers are parts of, a grouping whose rows they count, or a total
	of        *id
	most, row *big.Rat // most nil: what is known of the column of
	class     class
}

// class is which part the numbers of a piece are.
type class struct {
	under []*condition // they count rows of the unit's group under these; or
	chain *chain
}

// chain is one of the parts that a number falls into, in an order: those before it, and this one.
type chain struct {
	whole  *id // what is divided, and
	hash   *id // where the cuts are
	cut    string
	before []*id
	this   *id
}

// share says of an output, in every group g, that a unit moves it by row·n(g) at most, with numbers like those of a
// piece.
type share struct {
	piece
	source *source
}

// source is a relation all of whose rows are known by its text: those of a table, or of a subquery, of which one unit
// has so many.
//
// Rule: what is selected from it, joined with at most one row for each, or made distinct, has rows of it alone, which
// fulfil WHERE. Two texts measured in one snapshot mean the same rows by it. Proof: a query is a function of its text,
// parameters (written out in the key) and tables; no rule lets the plan choose.
type source struct {
	key   string
	rows  *big.Rat
	names map[*id]string
	where []*condition
}

// sourced gives a subquery that stands alone the name of its text, unless a table bounds its rows as well.
func (c *checker) sourced(r *relation, n *pg.Node) *relation {
	if r.kind != split || r.bound || r.rows == nil || r.source != nil && r.source.rows.Cmp(r.rows) <= 0 {
		return r
	}
	o := *r
	o.source = &source{rows: r.rows, names: map[*id]string{}, key: textWith(n, func(x any) string {
		if p, ok := x.(*pg.ParamRef); ok {
			return c.spelledOut(p)
		}
		return ""
	})}
	for i, col := range r.columns {
		o.source.names[col.value.id] = big.NewRat(int64(i), 1).RatString()
	}
	return &o
}

// under is the source under more conditions, where each row meets so many others at most.
func (o *source) under(more []*condition, each *big.Rat) *source {
	if o == nil || each == nil || each.Cmp(one) > 0 {
		return nil
	}
	r := *o
	r.where = append(o.where[:len(o.where):len(o.where)], more...)
	return &r
}

func (s *scope) each(nodes []*pg.Node) (list []*condition) {
	for _, n := range nodes {
		list = append(list, &condition{s: s, n: n})
	}
	return list
}

// shares are those of a count or sum over units, of x, or of 1, each at most each.
//
// Rule: it moves in a group by each times the rows of the unit there; a sum by what the pieces of x say, and if x >= 0
// is a column of integers, by x; a count under «x > k», k >= 0, by 1 where x is at least 1, so no further than a sum of
// x. Proof: sum over the group's rows, whole numbers to whole numbers.
func (g *grouping) shares(sum bool, x value, each *big.Rat, filter []*pg.Node) (list []share) {
	if g.body.kind != split {
		return nil
	}
	add := func(p piece, from *source) {
		if p.most == nil {
			p.most = g.totals(p.of)
		}
		if p.row != nil && (p.most != nil || from != nil) {
			list = append(list, share{p, from})
		}
	}
	of := func(v value, row *big.Rat) {
		for _, p := range v.pieces {
			if row != nil {
				p.row = row
			}
			add(p, nil)
		}
		if v.id != nil && isInteger(v.typ) && v.lo != nil && v.lo.Sign() >= 0 {
			add(piece{of: v.id, row: one}, nil)
		}
	}
	add(piece{of: g.group, most: g.body.rows, row: each, class: class{under: g.inner.each(filter)}}, g.body.source)
	if sum {
		of(x, nil)
		return list
	}
	for _, n := range filter {
		if h := above0.of(n); h != nil {
			k, ok := integerConstant(h["_k"])
			if v, err := g.inner.expr(h["_x"]); err == nil && ok && k.Sign() >= 0 && isInteger(v.typ) {
				of(v, one)
			}
		}
	}
	return list
}

// apartOfKind reports whether the numbers of two shares of one kind are apart.
//
// Rule: rows are under conditions that exclude each other; or, of a chain, one part is, or comes before, what is before
// the other. Proof: of the latter, [before, before + this) are disjoint intervals of one number.
func apartOfKind(a, b share) bool {
	x, y := a.class.chain, b.class.chain
	switch {
	case x == nil && y == nil:
		return excludes(together(a.class.under), together(b.class.under), sameColumn)
	case x == nil || y == nil || x.whole != y.whole || x.hash != y.hash || x.cut != y.cut:
		return false
	}
	follows := func(x, y *chain) bool {
		n := len(x.before)
		return len(y.before) > n && slices.Equal(y.before[:n], x.before) && y.before[n] == x.this
	}
	return follows(x, y) || follows(y, x)
}

func apartOfSource(a, b share) bool {
	return a.source.apart(b.source, a.class.under, b.class.under)
}

// apart reports whether rows of one source under some conditions are others than those under others.
func (o *source) apart(p *source, under, others []*condition) bool {
	if o == nil || p == nil || o.key != p.key {
		return false
	}
	called := func(x *id) string {
		if n, known := o.names[x]; known {
			return n
		}
		return p.names[x]
	}
	return excludes(together(append(under[:len(under):len(under)], o.where...)),
		together(append(others[:len(others):len(others)], p.where...)),
		func(x, y *id) bool { return x == y || called(x) != "" && called(x) == called(y) })
}

// or is the source of the rows of both, which are apart.
func (o *source) or(p *source) *source {
	names := maps.Clone(o.names)
	maps.Copy(names, p.names)
	return &source{o.key, o.rows, names, []*condition{{either: []*source{o, p}}}}
}

// member is an integer with what is claimed of it.
type member struct {
	claim Claim
	of    Output
	at    int
}

// steps is ⌈of / row⌉.
func steps(of, row *big.Rat) *big.Rat {
	q := times(of, new(big.Rat).Inv(row))
	if q == nil || q.IsInt() {
		return q
	}
	return new(big.Rat).SetInt(new(big.Int).Add(new(big.Int).Div(q.Num(), q.Denom()), big.NewInt(1)))
}

func (m member) row() *big.Rat {
	if m.claim.Row != nil {
		return m.claim.Row
	}
	return one
}

// fits reports whether the rows of a share move an integer no further than its claim has.
//
// Rule: where m rows of a unit move an integer by at most r each, ⌈r / Row⌉·m <= ⌈Total / Row⌉ and r·m <= Total. Proof:
// the steps of n rows of the m are at most n/m of the claim's; so is the magnitude.
func (m member) fits(s share) bool {
	return s.most != nil && !above(times(steps(s.row, m.row()), s.most), steps(m.claim.Total, m.row())) &&
		!above(times(s.row, s.most), m.claim.Total)
}

// Together checks what claims say of each other: those of several texts that are measured in one snapshot.
func Together(claims [][]Claim, done []Certified) error {
	var all []member
	for i, list := range claims {
		if len(list) != len(done[i].Outputs) {
			return missing(-1, "claims", "%d claims for %d outputs", len(list), len(done[i].Outputs))
		}
		all = append(all, members(list, done[i].Outputs)...)
	}
	return layered(all)
}

func members(claims []Claim, outputs []Output) (all []member) {
	for i, c := range claims {
		if outputs[i].Kind == Integer {
			all = append(all, member{c, outputs[i], i + 1})
		}
	}
	return all
}

// layered checks the layers.
//
// Rule: all members have a share of one kind, or of one source; these are apart in pairs; each fits, or a unit has one
// row there. Proof: the members' parts add up to at most the shares' numbers over their most, which is 1; of one row,
// one member moves alone, by its own claim.
func layered(all []member) error {
	layers := map[int][]member{}
	for _, m := range all {
		for _, l := range m.claim.Layers {
			layers[l] = append(layers[l], m)
		}
	}
	for l, list := range layers {
		if len(list) < 2 {
			continue
		}
		if !slices.ContainsFunc(list[0].of.shares, func(s share) bool {
			return layer(list, s, false) || s.source != nil &&
				layer(list, s, true)
		}) {
			return missing(-1, "claimed layer", "layer %d, from output %d", l, list[0].at)
		}
	}
	return nil
}

// layer reports whether integers are a layer of the kind, or the source, of a share of the first of them.
func layer(list []member, first share, bySource bool) bool {
	of, apart := func(s share) bool { return s.of == first.of }, apartOfKind
	if bySource {
		of, apart = func(s share) bool { return s.source != nil && s.source.key == first.source.key }, apartOfSource
	}
	var chosen []share
	for _, m := range list {
		i := slices.IndexFunc(m.of.shares, of)
		if i < 0 || m.claim.Total == nil {
			return false
		}
		s := m.of.shares[i]
		if bySource {
			s.most = s.source.rows
		}
		alone := s.most != nil && s.most.Cmp(one) <= 0 && s.class.chain == nil
		if !alone && !m.fits(s) || slices.ContainsFunc(chosen, func(o share) bool { return !apart(s, o) }) {
			return false
		}
		chosen = append(chosen, s)
	}
	return true
}

// byRows checks integers that are charged by rows.
//
// Rule: all that allow a unit so many rows have a share of one kind, and fit it. Proof: |move| <= row·n(g) <= Row·⌈row
// / Row⌉·n(g); the largest of these multiples of n(g) is one number for all, and adds up to at most what is claimed.
func byRows(all []member) error {
	kinds := map[string][]member{}
	for _, m := range all {
		if m.claim.Row != nil {
			if m.claim.Row.Sign() <= 0 || m.claim.Total == nil {
				return missing(-1, "claimed rows", "a claim without a total")
			}
			k := steps(m.claim.Total, m.claim.Row).RatString()
			kinds[k] = append(kinds[k], m)
		}
	}
	for rows, list := range kinds {
		if !slices.ContainsFunc(list[0].of.shares, func(first share) bool {
			return !slices.ContainsFunc(list, func(m member) bool {
				return !slices.ContainsFunc(m.of.shares, func(s share) bool { return s.of == first.of && m.fits(s) })
			})
		}) {
			return missing(-1, "claimed rows", "%s rows of a unit, from output %d", rows, list[0].at)
		}
	}
	return nil
}

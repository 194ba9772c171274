package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// The forms that bound what a unit adds, as they are printed. A hole that is read as an expression is derived as one;
// what is beyond the holes is total by the proof of the form.
var (
	unitRows = newForm(`CASE WHEN _all <= _r THEN _w ELSE (
		pg_catalog.div((_c)::pg_catalog.numeric * _r + pg_catalog.mod(_h, (_all)::pg_catalog.numeric), (_all)::pg_catalog.numeric)
		- pg_catalog.div((_c - _w)::pg_catalog.numeric * _r + pg_catalog.mod(_h, (_all)::pg_catalog.numeric), (_all)::pg_catalog.numeric)
		)::pg_catalog.int8 END`)
	unitShare = newForm(`CASE WHEN _k >= _n THEN _f ELSE (pg_catalog.sign((_f)::pg_catalog.numeric)
		* pg_catalog.div(pg_catalog.abs((_f)::pg_catalog.numeric) * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n))::pg_catalog.int8 END`)
	layerShare = newForm(`CASE WHEN _k >= _n THEN _f ELSE (
		pg_catalog.div((_p + (_f)::pg_catalog.numeric) * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n)
		- pg_catalog.div(_p * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n))::pg_catalog.int8 END`)
	unitTotal = newForm(
		`CASE WHEN _all <= _u THEN _f ELSE pg_catalog.div((_f)::pg_catalog.numeric * _u, _all)::pg_catalog.int8 END`)
	selectionWeight = newForm(`pg_catalog.floor(_s / pg_catalog.sqrt((_n)::pg_catalog.float8))::pg_catalog.int8`)
)

// share derives a CASE that is one of the forms.
func (s *scope) share(n *pg.Node) (value, bool) {
	if s.group != nil || s.windows == nil || s.windows.kind != split {
		return value{}, false
	}
	for i, f := range []func(*pg.Node) (value, bool){s.rowsOfUnit, s.shareOfRows, s.totalOfUnit} {
		if v, ok := f(n); ok {
			v.id, s.applied = &id{}, [...]string{"rowsOfUnit", "shareOfRows", "totalOfUnit"}[i]
			return v, true
		}
	}
	return value{}, false
}

// hole derives what stands in a hole.
func (s *scope) hole(h holes, name string) (value, bool) {
	v, err := s.expr(h[name])
	return v, err == nil && v.influence == nil
}

// hashed reports whether a hole holds a number of the unit: not NULL, not below zero, bounded, the same in all its rows
// if so demanded.
func (s *scope) hashed(h holes, name string, ofUnit bool) (notNull, ok bool) {
	v, ok := s.hole(h, name)
	return v.notNull, ok && isNumber(v.typ) && v.there() && v.finite() && v.lo.Sign() >= 0 && (v.ofUnit || !ofUnit)
}

// rowsOfUnit is the form unitRows: R rows of a unit at most, in all groups together.
//
// Rule: w = LEAST(s, K)::int4 of a column s >= 0, N is its sum over the unit's rows, c its sum up to and with this one,
// K, R >= 0, h a number of the unit. Then n' is between 0 and both of R and K, n' <= s, and adds up to at most R over
// the unit's rows. Proof: if N <= R, n' is w <= s, K, and they add up to N. If N > R, the differences telescope in the
// order of c to ⌊(N·R + φ)/N⌋ − ⌊φ/N⌋ = R with φ = h mod N, in [0, N); each is between 0 and ⌈w·R/N⌉ <= w. Dropping
// rows takes terms >= 0 away. Divisors are N > R >= 0; nothing is over 2^63·R + N.
func (s *scope) rowsOfUnit(n *pg.Node) (value, bool) {
	h := unitRows.of(n)
	if h == nil {
		return value{}, false
	}
	r, isConstant := integerConstant(h["_r"])
	total, ok1 := s.hole(h, "_all")
	upto, ok2 := s.hole(h, "_c")
	w := s.weight(h["_w"])
	notNull, isHash := s.hashed(h, "_h", true)
	if !isConstant || r.Sign() < 0 || !ok1 || !ok2 || w == nil || !isHash {
		return value{}, false
	}
	a, b := total.window, upto.window
	if a == nil || b == nil || a.fn != "total" || b.fn != "running" || a.over != b.over || a.weighed == nil ||
		b.weighed == nil {
		return value{}, false
	}
	for _, x := range []*weight{a.weighed, b.weighed} {
		if x.of != w.of || x.limit.Cmp(w.limit) != 0 {
			return value{}, false
		}
	}
	return value{
		typ: "int8", span: between(zero, least(r, w.limit)), notNull: notNull, present: true, integral: true, exact: true,
		total: r, moves: r, dominated: []dominated{{w.of, one}},
	}, true
}

// shareOfRows is the form unitShare, or layerShare.
//
// Rule: n counts rows of a group that one unit has, f adds up numbers of magnitude at most M, an integer, over some of
// these; 0 <= k; h >= 0. Then the value is at most M·k in magnitude. In layerShare, p >= 0 and f is a count. Proof: in
// the first branch n <= k, so |f| <= M·n <= M·k. Else 0 <= k < n, ψ = (h div d) mod n is
// in [0, n), and ⌊(|f|·k + ψ)/n⌋ <= ⌊(M·n·k + ψ)/n⌋ = M·k. With p: ⌊((p+f)·k + ψ)/n⌋ − ⌊(p·k + ψ)/n⌋ <= ⌈f·k/n⌉ <= k.
// It has the sign of f.
func (s *scope) shareOfRows(n *pg.Node) (value, bool) {
	h, layer := unitShare.of(n), false
	if h == nil {
		h, layer = layerShare.of(n), true
	}
	if h == nil {
		return value{}, false
	}
	d, isDivisor := integerConstant(h["_d"])
	k, ok1 := s.hole(h, "_k")
	count, ok2 := s.hole(h, "_n")
	f, ok3 := s.hole(h, "_f")
	notNull, isHash := s.hashed(h, "_h", false)
	if layer {
		before, isNumber := s.hashed(h, "_p", false)
		notNull, isHash = notNull && before, isHash && isNumber
	}
	if !isDivisor || d.Sign() <= 0 || !ok1 || !ok2 || !ok3 || !isHash || !count.there() || !k.there() {
		return value{}, false
	}
	if !k.finite() || k.lo.Sign() < 0 || !isInteger(k.typ) || !isInteger(count.typ) || !isNumber(f.typ) ||
		ranks[f.typ] > 4 {
		return value{}, false
	}
	m := f.timesCount(count)
	if m == nil || !m.IsInt() || layer && !f.sum.count || !f.finite() {
		return value{}, false
	}
	v := value{
		typ: f.typ, vague: f.vague, notNull: f.notNull && notNull, present: f.there(), integral: f.integral,
		exact: isInteger(f.typ), total: times(m, k.total), moves: least(k.moves, k.total),
	}
	bound := times(m, k.hi)
	if v.span = between(new(big.Rat).Neg(bound), bound); f.lo.Sign() >= 0 {
		v.lo = zero
	}
	if lo, hi := limits("int8"); !v.within(lo, hi) {
		return value{}, false
	}
	for _, o := range k.dominated {
		v.dominated = append(v.dominated, dominated{o.by, times(m, o.times)})
	}
	for _, p := range k.pieces {
		v.pieces = append(v.pieces, piece{p.of, p.most, times(m, p.row), p.class})
	}
	if k.id != nil {
		v.dominated = append(v.dominated, dominated{k.id, m})
		v.pieces = append(v.pieces, piece{of: k.id, row: m, class: class{chain: s.link(h, f, count)}})
	}
	v.reduces = f.id
	return v, true
}

// link is the part of a chain that a share of a count is.
//
// Rule: f counts rows under conditions that exclude those of what p adds up, which exclude each other, and all imply
// those of n. Then the share is a part of k, [p, p+f) of the n. Proof: so p + f <= n. With φ(i) = ⌊(i·k + ψ)/n⌋ the
// share is φ(p+f) − φ(p), so those of disjoint intervals add up to at most φ(n) − φ(0) = k; in the first branch to n <=
// k.
func (s *scope) link(h holes, f, n value) *chain {
	all, ok := []value{}, true
	if h["_p"] != nil {
		all, ok = s.addends(h["_p"])
	}
	hash, known := s.hole(h, "_h")
	if !ok || !known || hash.id == nil || f.id == nil || n.id == nil {
		return nil
	}
	l := &chain{whole: n.id, hash: hash.id, cut: text(h["_d"]), this: f.id}
	all = append(all, f)
	for i, a := range all {
		if a.id == nil || a.sum == nil || !a.sum.count || a.timesCount(n) == nil {
			return nil
		}
		if slices.ContainsFunc(all[:i], func(b value) bool {
			return !excludes(together(a.sum.under), together(b.sum.under),
				sameColumn)
		}) {
			return nil
		}
		l.before = append(l.before, a.id)
	}
	l.before = l.before[:len(all)-1]
	return l
}

// addends reads (a + b + …)::numeric.
func (s *scope) addends(n *pg.Node) ([]value, bool) {
	if h := toNumeric.of(n); h != nil {
		return s.addends(h["_x"])
	}
	if h := addition.of(n); h != nil {
		a, okA := s.addends(h["_a"])
		b, okB := s.addends(h["_b"])
		return append(a, b...), okA && okB
	}
	v, err := s.expr(n)
	return []value{v}, err == nil
}

var toNumeric = newForm(`(_x)::pg_catalog.numeric`)

// timesCount finds M with |value| <= M·count: both are of one group, and every condition on the rows of count is
// implied by those on its own.
func (v value) timesCount(count value) *big.Rat {
	a, n := v.sum, count.sum
	if a == nil || n == nil || !n.count || a.group != n.group {
		return nil
	}
	if slices.ContainsFunc(n.under, func(c *condition) bool { return !implied(c, a.under) }) {
		return nil
	}
	return a.most
}

// totalOfUnit is the form unitTotal: magnitudes of a unit that add up to U at most.
//
// Rule: T is the sum, over the unit's rows (or in its only one), of magnitudes of columns, f one of these, or no more
// than one; 0 <= U < 2^63. Then the values add up to at most U in magnitude, and those of all columns, each over its
// own U, to 1. Proof: if T <= U, |f| is at most |f|·U/T, to which it is rounded towards 0 else. Sum over rows and
// columns.
func (s *scope) totalOfUnit(n *pg.Node) (value, bool) {
	h := unitTotal.of(n)
	if h == nil {
		return value{}, false
	}
	u, isConstant := integerConstant(h["_u"])
	t, ok1 := s.hole(h, "_all")
	f, ok2 := s.hole(h, "_f")
	if !isConstant || !ok1 || !ok2 || u.Sign() < 0 || u.Cmp(power(2, 62)) > 0 || !isInteger(f.typ) || !f.finite() {
		return value{}, false
	}
	var parts []*id
	switch r := s.windows; {
	case t.window != nil && t.window.fn == "total":
		parts = t.window.parts
	case r.rows != nil && r.rows.Cmp(one) <= 0:
		parts, t.id = s.parts(h["_all"]), s.same(h["_all"])
	}
	i := slices.IndexFunc(parts, func(p *id) bool { return p != nil && (p == f.id || p == f.reduces) })
	if i < 0 {
		return value{}, false
	}
	v := value{
		typ: f.typ, span: between(new(big.Rat).Neg(u), u), notNull: f.notNull, present: f.present, integral: true,
		exact: true, total: u,
	}
	if f.lo.Sign() >= 0 {
		v.lo = zero
	}
	v.moves, v.dominated, v.reduces = f.moves, f.dominated, parts[i]
	v.pieces = append([]piece{{t.id, u, one, class{chain: &chain{whole: t.id, before: parts[:i], this: parts[i]}}}},
		f.pieces...)
	return v, true
}

// weightOfUnit is the form selectionWeight: a number of a unit, whose square times its rows is s² at most.
//
// Rule: n = count(*) OVER (PARTITION BY unit), 1 <= s <= 2^20. Then the value w >= 0 is the same in all rows of a unit,
// and w²·n <= s². Proof: n is exact, as it is below 2^53; sqrt and / are rounded to the nearest, so s / sqrt(n) is at
// most (1 + 2^-51)·s/√n, and w²·n <= (1 + 2^-49)·s² < s² + 1, both whole. n >= 1, as it counts the row itself. Dropping
// rows makes w²·n no larger.
func (s *scope) weightOfUnit(n *pg.Node) (value, bool) {
	h := selectionWeight.of(n)
	if h == nil || s.windows == nil || s.windows.kind != split {
		return value{}, false
	}
	k, isConstant := integerConstant(h["_s"])
	rows, ok := s.hole(h, "_n")
	if !isConstant || !ok || k.Cmp(one) < 0 || k.Cmp(power(2, 20)) > 0 || rows.around || rows.window == nil ||
		rows.window.fn != "rows" {
		return value{}, false
	}
	s.applied = "weightOfUnit"
	return value{
		typ: "int8", id: &id{}, span: between(zero, k), notNull: rows.notNull, present: rows.present, integral: true,
		exact: true, ofUnit: true, squares: times(k, k),
	}, true
}

// same is one identity for an expression wherever it stands in the rows of a relation.
func (s *scope) same(n *pg.Node) *id {
	at := place{s.windows, text(n)}
	if s.places[at] == nil {
		s.places[at] = &id{}
	}
	return s.places[at]
}

package certify

import (
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// The forms that bound what a unit adds, as they are printed. A hole that is read as an expression is derived as one; what is beyond the
// holes is total by the proof of the form.
var (
	unitRows = newForm(`CASE WHEN _all <= _r THEN _w ELSE (
		pg_catalog.div((_c)::pg_catalog.numeric * _r + pg_catalog.mod(_h, (_all)::pg_catalog.numeric), (_all)::pg_catalog.numeric)
		- pg_catalog.div((_c - _w)::pg_catalog.numeric * _r + pg_catalog.mod(_h, (_all)::pg_catalog.numeric), (_all)::pg_catalog.numeric)
		)::pg_catalog.int8 END`)
	unitShare = newForm(`CASE WHEN _t <= _r OR _k >= _n THEN _f ELSE (pg_catalog.sign((_f)::pg_catalog.numeric)
		* pg_catalog.div(pg_catalog.abs((_f)::pg_catalog.numeric) * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n))::pg_catalog.int8 END`)
	layerShare = newForm(`CASE WHEN _t <= _r OR _k >= _n THEN _f ELSE (
		pg_catalog.div((_p + (_f)::pg_catalog.numeric) * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n)
		- pg_catalog.div(_p * _k + pg_catalog.mod(pg_catalog.div(_h, _d), _n), _n))::pg_catalog.int8 END`)
	unitTotal = newForm(`CASE WHEN _all <= _u THEN _f ELSE pg_catalog.div((_f)::pg_catalog.numeric * _u, _all)::pg_catalog.int8 END`)
)

// share derives a CASE that is one of the forms.
func (s *scope) share(n *pg.Node) (value, bool) {
	if s.group != nil || s.windows == nil || s.windows.kind != split {
		return value{}, false
	}
	for _, f := range []func(*pg.Node) (value, bool){s.rowsOfUnit, s.shareOfRows, s.totalOfUnit} {
		if v, ok := f(n); ok {
			v.id = &id{}
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

// hashed reports whether a hole holds a number of the unit: not NULL, not below zero, bounded, the same in all its rows if so demanded.
func (s *scope) hashed(h holes, name string, ofUnit bool) (notNull, ok bool) {
	v, ok := s.hole(h, name)
	return v.notNull, ok && isNumber(v.typ) && v.there() && v.finite() && v.lo.Sign() >= 0 && (v.ofUnit || !ofUnit)
}

// rowsOfUnit is the form unitRows: R rows of a unit at most, in all groups together.
//
// Rule: w = LEAST(s, K)::int4 of a column s >= 0, N is its sum over the unit's rows, c its sum up to and with this one, K > R >= 0, and h
// a number of the unit. Then the value n' is between 0 and R, n' <= s, it adds up to R at most over the unit's rows, and is s where
// N <= R. Proof: if N <= R < K, each w is s, as w <= N, and they add up to N. If N > R, the differences telescope, in the order of c, to
// ⌊(N·R + φ)/N⌋ − ⌊φ/N⌋ = R with φ = h mod N, 0 <= φ < N; each is >= 0, and at most ⌈w·R/N⌉ <= w. Dropping rows takes
// terms >= 0 away. Divisors are N > R >= 0. Nothing is over 2^63·R + N.
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
	if a == nil || b == nil || a.fn != "total" || b.fn != "running" || a.over != b.over || a.weighed == nil || b.weighed == nil {
		return value{}, false
	}
	for _, x := range []*weight{a.weighed, b.weighed} {
		if x.of != w.of || x.limit.Cmp(w.limit) != 0 || r.Cmp(x.limit) >= 0 {
			return value{}, false
		}
	}
	return value{
		typ: "int8", span: between(zero, r), notNull: notNull, present: true, integral: true, exact: true, total: r, moves: r,
		dominated: []dominated{{w.of, one}}, whole: []whole{{total.id, r, w.of}},
	}, true
}

// shareOfRows is the form unitShare, or layerShare.
//
// Rule: n counts rows of a group that one unit has, f adds up numbers of magnitude M at most, an integer, over some of these; 0 <= k; k is n
// where t <= R; h >= 0. Then the value is M·k in magnitude at most. In layerShare, p >= 0 and f is a count. Proof: where the
// first branch is taken n <= k or n = k, so |f| <= M·n <= M·k. Else 0 <= k < n, so n > 0, ψ = (h div d) mod n is between 0 and
// n, and ⌊(|f|·k + ψ)/n⌋ <= ⌊(M·n·k + ψ)/n⌋ = M·k. With p: ⌊((p+f)·k + ψ)/n⌋ − ⌊(p·k + ψ)/n⌋ <= ⌈f·k/n⌉ <= k. It has the sign of f.
func (s *scope) shareOfRows(n *pg.Node) (value, bool) {
	h, layer := unitShare.of(n), false
	if h == nil {
		h, layer = layerShare.of(n), true
	}
	if h == nil {
		return value{}, false
	}
	r, isConstant := integerConstant(h["_r"])
	d, isDivisor := integerConstant(h["_d"])
	t, ok1 := s.hole(h, "_t")
	k, ok2 := s.hole(h, "_k")
	count, ok3 := s.hole(h, "_n")
	f, ok4 := s.hole(h, "_f")
	notNull, isHash := s.hashed(h, "_h", false)
	if layer {
		before, isNumber := s.hashed(h, "_p", false)
		notNull, isHash = notNull && before, isHash && isNumber
	}
	if !isConstant || !isDivisor || d.Sign() <= 0 || !ok1 || !ok2 || !ok3 || !ok4 || !isHash {
		return value{}, false
	}
	if t.id == nil || !t.there() || !count.there() || !k.there() {
		return value{}, false
	}
	if !k.finite() || k.lo.Sign() < 0 || !isInteger(k.typ) || !isInteger(count.typ) || !isNumber(f.typ) || ranks[f.typ] > 4 {
		return value{}, false
	}
	m := f.timesCount(count)
	if m == nil || !m.IsInt() || layer && !f.sum.count || !k.wholeUnder(t.id, r, count.id) || !f.finite() {
		return value{}, false
	}
	v := value{typ: f.typ, notNull: f.notNull && notNull, present: f.there(), integral: f.integral, exact: isInteger(f.typ), total: times(m, k.total), moves: least(k.moves, k.total)}
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
	if k.id != nil {
		v.dominated = append(v.dominated, dominated{k.id, m})
	}
	if f.id != nil {
		v.whole = []whole{{t.id, r, f.id}}
	}
	return v, true
}

// timesCount finds M with |value| <= M·count: both are of one group, and every condition on the rows of count is one of those
// on its own, or
// an OR of which it has one side.
func (v value) timesCount(count value) *big.Rat {
	a, n := v.sum, count.sum
	if a == nil || n == nil || !n.count || a.group != n.group {
		return nil
	}
	for _, c := range n.under {
		if !implied(c, a.under) {
			return nil
		}
	}
	return a.most
}

func implied(c *pg.Node, under []*pg.Node) bool {
	for _, u := range under {
		if same(c, u) {
			return true
		}
	}
	b := c.GetBoolExpr()
	if b == nil || b.Boolop == pg.BoolExprType_NOT_EXPR {
		return false
	}
	for _, a := range b.Args {
		if implied(a, under) == (b.Boolop == pg.BoolExprType_OR_EXPR) {
			return b.Boolop == pg.BoolExprType_OR_EXPR
		}
	}
	return b.Boolop == pg.BoolExprType_AND_EXPR
}

// wholeUnder reports whether the value is a column in rows where the column test is at most limit.
func (v value) wholeUnder(test *id, limit *big.Rat, of *id) bool {
	for _, w := range v.whole {
		if w.test == test && w.of == of && of != nil && limit.Cmp(w.limit) <= 0 {
			return true
		}
	}
	return false
}

// totalOfUnit is the form unitTotal: magnitudes of a unit that add up to U at most.
//
// Rule: T is the sum, over the unit's rows, of magnitudes of columns, f one of these; 0 <= U < 2^63. Then the values add up to U in
// magnitude at most. Proof: if T <= U, Σ|f| <= T. Else T > 0, and Σ|f·U/T rounded towards 0| <= U·Σ|f|/T <= U.
func (s *scope) totalOfUnit(n *pg.Node) (value, bool) {
	h := unitTotal.of(n)
	if h == nil {
		return value{}, false
	}
	u, isConstant := integerConstant(h["_u"])
	t, ok1 := s.hole(h, "_all")
	f, ok2 := s.hole(h, "_f")
	if !isConstant || !ok1 || !ok2 || u.Sign() < 0 || u.Cmp(power(2, 62)) > 0 || t.window == nil || t.window.fn != "total" || !isInteger(f.typ) || !f.finite() {
		return value{}, false
	}
	for _, p := range t.window.parts {
		if p == f.id && f.id != nil {
			v := value{typ: f.typ, span: between(new(big.Rat).Neg(u), u), notNull: f.notNull, present: f.present, integral: true, exact: true, total: u}
			if f.lo.Sign() >= 0 {
				v.lo = zero
			}
			return v, true
		}
	}
	return value{}, false
}

package certify

import (
	"math/big"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// alike says that at most so many rows agree in some columns.
type alike struct {
	key
	most *big.Rat
}

// bounds are what a row of VALUES lets another value be: any, where an end is nil.
type bounds struct {
	lo, hi         *big.Rat
	openLo, openHi bool
}

// meeting is what conditions let a value of other rows be, row by row of VALUES.
type meeting struct {
	of   string // the other value
	uses []*id  // the columns that it is computed of
	rows []bounds
}

// maxPairs bounds the pairs of rows that are compared.
const maxPairs = 1 << 14

// meetings reads the conditions that compare expressions over a list of rows with values of others.
//
// Rule: the expression always has a span, and so has what it is compared with: numbers but floats, dates and times
// alone, and text and labels of enums that are compared by bytes. Proof: both types have one total order, in which NaN
// and infinities stand at the ends.
func (c *checker) meetings(f factor, s *scope, on []*pg.Node) (all []meeting) {
	if f.list == nil || len(f.items) != 1 || len(f.list)*len(f.list) > maxPairs {
		return nil
	}
	own := func(ids []*id) bool {
		return slices.ContainsFunc(ids, f.has)
	}
	for _, n := range on {
		e := n.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil {
			continue
		}
		op, ok := name(e.Name)
		l, usesL, errL := s.used(bare(e.Lexpr))
		r, usesR, errR := s.used(bare(e.Rexpr))
		if !ok || mirrored[op] == "" || errL != nil || errR != nil || own(usesL) == own(usesR) {
			continue
		}
		side, other := bare(e.Lexpr), meeting{of: text(bare(e.Rexpr)), uses: usesR}
		if own(usesR) {
			side, other, op = bare(e.Rexpr), meeting{of: text(bare(e.Lexpr)), uses: usesL}, mirrored[op]
		}
		plain := func(v value) bool { return ranks[v.typ] >= 1 && ranks[v.typ] <= 4 && !v.array }
		bytes := op == "=" && l.typ == r.typ && (l.typ == "text" || c.facts.Enums[l.typ] != nil) && byBytes(l, e.Lexpr) &&
			byBytes(r, e.Rexpr)
		if !bytes && !(plain(l) && plain(r)) && !(l.typ == r.typ && timed[l.typ] && !l.array && !r.array) {
			continue
		}
		if other.rows = c.spans(f, side, op, bytes); len(other.rows) == len(f.list) {
			all = append(all, other)
		}
	}
	return all
}

// mirrored are comparisons with their sides exchanged.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}

// spans are what a comparison lets the other side be, row by row.
func (c *checker) spans(f factor, side *pg.Node, op string, bytes bool) (rows []bounds) {
	for _, row := range f.list {
		o := *f.relation
		o.columns = append([]column(nil), f.columns...)
		for k := range o.columns {
			if v := &o.columns[k].value; v.id != nil {
				if e, known := row[v.id]; known {
					v.span, v.notNull = e.span, e.notNull
				}
			}
		}
		v, err := (&scope{checker: c, items: []item{{f.items[0].name, &o}}}).expr(side)
		if err != nil {
			return nil
		}
		b := bounds{lo: v.lo, hi: v.hi}
		e := row[v.id] // none of an expression
		switch {
		case e.null:
			b = bounds{lo: one, hi: zero} // no comparison with NULL is true
		case bytes && e.word != nil:
			b.lo, b.hi = e.word, e.word
		case bytes || v.nan || v.lo == nil || v.hi == nil:
			b = bounds{}
		case op == "<" || op == "<=":
			b.hi, b.openLo = nil, op == "<"
		case op == ">" || op == ">=":
			b.lo, b.openHi = nil, op == ">"
		}
		rows = append(rows, b)
	}
	return rows
}

// apart reports whether no value is within both bounds.
func (b bounds) apart(o bounds) bool {
	before := func(hi *big.Rat, openHi bool, lo *big.Rat, openLo bool) bool {
		return hi != nil && lo != nil && (hi.Cmp(lo) < 0 || hi.Cmp(lo) == 0 && (openHi || openLo))
	}
	return before(b.hi, b.openHi, o.lo, o.openLo) || before(o.hi, o.openHi, b.lo, b.openLo)
}

// meet bounds how many rows of VALUES one row of others meets, which has the columns that have says.
//
// Rule: rows whose bounds of one value are apart are not met together. It is the most rows that one row is not apart
// from, of those whose lower bound by some condition is no greater. Proof: take the row met whose lower bound is
// greatest.
func meet(all []meeting, have func(*id) bool) (rows *big.Rat) {
	all = slices.DeleteFunc(slices.Clone(all), func(m meeting) bool {
		return slices.ContainsFunc(m.uses, func(c *id) bool { return !have(c) })
	})
	apart := func(i, j int) bool {
		return slices.ContainsFunc(all, func(a meeting) bool {
			return slices.ContainsFunc(all, func(b meeting) bool { return a.of == b.of && a.rows[i].apart(b.rows[j]) })
		})
	}
	for _, first := range all {
		n := 0
		for i := range first.rows {
			with := 0
			for j := range first.rows {
				lo := first.rows[j].lo
				if (lo == nil || first.rows[i].lo != nil && lo.Cmp(first.rows[i].lo) <= 0) && !apart(i, j) {
					with++
				}
			}
			if !apart(i, i) {
				n = max(n, with)
			}
		}
		rows = least(rows, big.NewRat(int64(n), 1))
	}
	return rows
}

// entry is a value in VALUES.
type entry struct {
	span
	notNull, null bool
	word          *big.Rat // of text, and of labels of an enum: a number of its own
}

// entries are the values of a list, of columns of which all constants have one spelling.
func (c *checker) entries(lists []*pg.Node, values [][]value, columns []column) (rows []map[*id]entry) {
	words := map[string]*big.Rat{}
	for i, l := range values {
		row := map[*id]entry{}
		for k, v := range l {
			e := entry{span: v.span, notNull: v.notNull}
			if a := lists[i].GetList().Items[k].GetTypeCast().GetArg().GetAConst(); a != nil {
				e.null = a.Isnull
				if w, isString := a.Val.(*pg.A_Const_Sval); isString && v.exact &&
					(v.typ == "text" || c.facts.Enums[v.typ] != nil) {
					if words[w.Sval.GetSval()] == nil {
						words[w.Sval.GetSval()] = big.NewRat(int64(len(words)), 1)
					}
					e.word = words[w.Sval.GetSval()]
				}
			}
			row[columns[k].value.id] = e
		}
		rows = append(rows, row)
	}
	return rows
}

// distinct reports whether no two values of a column of a list are equal, NULL apart: each is one word, or one number
// or time.
func distinct(rows []map[*id]entry, v value) bool {
	seen := map[string]bool{}
	for _, r := range rows {
		e, at := r[v.id], ""
		switch {
		case e.null:
			continue
		case v.exact && e.word != nil:
			at = e.word.RatString()
		case (isInteger(v.typ) || v.typ == "numeric" || timed[v.typ]) && e.lo != nil && e.hi != nil && e.lo.Cmp(e.hi) == 0 &&
			!e.nan:
			at = e.lo.RatString()
		default:
			return false
		}
		if seen[at] {
			return false
		}
		seen[at] = true
	}
	return true
}

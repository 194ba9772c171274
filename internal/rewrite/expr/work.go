package expr

import (
	"math/big"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// Work bounds how long main takes over an expression, in steps of a few nanoseconds, by types, lengths and constants,
// whatever the row holds (docs/privacy.md P22a). Row counts for each row. Once counts once for the whole query: a
// subquery that reads nothing of the row.
type Work struct{ Row, Once int64 }

// MostWork ends the growth of sums and products of steps, far above any limit.
const MostWork = 1 << 50

// Plus adds steps.
func (w Work) Plus(o Work) Work { return Work{addSteps(w.Row, o.Row), addSteps(w.Once, o.Once)} }

// Repeated gives the work of what prints n times.
func (w Work) Repeated(n int64) Work { return Work{MulSteps(w.Row, n), MulSteps(w.Once, n)} }

// Times gives the work of n evaluations in all.
func (w Work) Times(n int64) int64 { return addSteps(MulSteps(w.Row, n), w.Once) }

// MulSteps multiplies two numbers that are not negative.
func MulSteps(a, b int64) int64 {
	if b != 0 && a > MostWork/b {
		return MostWork
	}
	return min(a*b, MostWork)
}

func addSteps(a, b int64) int64 { return min(a+b, MostWork) }

// Lengths that count where the type has none. A longer value takes longer, as it does in all that PostgreSQL does with
// it.
const (
	UnknownChars  = 1024 // of a text
	UnknownDigits = 40   // of a numeric
)

// cost says what an operation takes besides what every operation on its types does. Numbers are as measured on
// PostgreSQL 15.
type cost struct {
	steps   int64 // at least; 0: no more than others of its types
	series  bool  // computes a numeric by a series, of as many terms as it has digits
	perChar int64 // steps for each character that is read
}

// Work bounds what main does for the expression. What prints several times is computed several times.
func (e *Expr) Work() Work { return e.work(map[*Expr]Work{}, true) }

// Own gives the work of evaluating the expression for one row, without that of the subqueries in it.
func (e *Expr) Own() int64 { return e.work(map[*Expr]Work{}, false).Row }

func (e *Expr) work(known map[*Expr]Work, subqueries bool) Work {
	if w, ok := known[e]; ok {
		return w
	}
	w := Work{Row: 1}
	switch {
	case e.verbatim != nil && subqueries:
		w = e.subquery
	case e.col != nil && (subqueries || !e.col.Subquery):
		w = e.col.read()
		if e.clamp { // compared with both bounds, as often as its reference prints
			times := int64(max(1, strings.Count(query.Key((&printer{}).column(e)), query.Key(e.col.Ref))))
			w = w.Plus(Work{Row: e.typeSteps()}).Repeated(times)
		}
	case e.verbatim != nil, e.col != nil, e.value != nil && e.value.items == nil:
	default:
		w.Row = e.ownSteps()
		for i, a := range e.args {
			w = w.Plus(a.work(known, subqueries).Repeated(max(1, e.prints(i))))
		}
	}
	known[e] = w
	return w
}

// read gives the work of reading a column. Main may compute the column of a subselect wherever it is read.
func (c *Column) read() Work { return c.Work.Plus(Work{Row: 1}) }

// prints counts how often the expression's SQL holds an argument.
func (e *Expr) prints(i int) int64 {
	if e.op != "" || len(e.args) > 8 {
		return 1
	}
	return int64(strings.Count(e.tmpl, "{"+string(rune('0'+i))+"}"))
}

// typeSteps gives the cost of a simple operation on values of the type.
func (e *Expr) typeSteps() int64 {
	switch base := e.baseType(); {
	case base == pgtype.NumericOID:
		return 20
	case base == pgtype.TimestamptzOID || base == pgtype.IntervalOID:
		return 15
	case pgresolve.IsTime(base):
		return 10
	}
	return 2
}

// ownSteps gives the work of the operation itself.
func (e *Expr) ownSteps() int64 {
	if len(e.args) == 2 && e.args[1].value != nil && e.args[1].value.items != nil {
		return MulSteps(int64(len(e.args[1].value.items)), compareSteps(e.elementwise, e.args[0], e.args[0]))
	}
	if _, ok := comparisons[e.op]; ok {
		return compareSteps(e.op, e.args[0], e.args[1])
	}
	steps := max(e.typeSteps(), e.cost.steps)
	for _, a := range e.args {
		steps = max(steps, a.typeSteps())
	}
	if d := e.digits(); d > 0 {
		steps += d * d / 200
		if e.cost.series {
			steps += 1000 + 50*d
		}
	}
	if chars := e.chars(); chars > 0 {
		steps += 15 + chars + MulSteps(chars, e.cost.perChar)
	}
	return min(steps, MostWork)
}

// compareSteps gives the work of comparing two values: of texts, up to the end of the shorter. Equality compares bytes,
// many at a time, unless the collation says otherwise.
func compareSteps(name string, l, r *Expr) int64 {
	steps := max(l.typeSteps(), r.typeSteps())
	if !pgresolve.IsString(l.baseType()) || !pgresolve.IsString(r.baseType()) {
		return steps
	}
	if chars := min(l.length(), r.length()); (name == "=" || name == "<>") && !l.nondeterministic && !r.nondeterministic {
		steps += chars / 256
	} else {
		steps += chars / 8
	}
	return steps
}

// digits bounds the digits of the numerics among arguments and result; 0: there are none.
func (e *Expr) digits() int64 {
	most := int64(0)
	for _, x := range append([]*Expr{e}, e.args...) {
		if x.baseType() != pgtype.NumericOID {
			continue
		}
		d := int64(UnknownDigits)
		if x.scale >= 0 {
			d = int64(x.scale) + 1
		}
		if x.bounds.Finite() { // log₁₀ 2 is less than a third
			d += int64(new(big.Int).Quo(x.bounds.Abs().Hi.Num(), x.bounds.Abs().Hi.Denom()).BitLen()) / 3
		}
		most = max(most, d)
	}
	return most
}

// chars counts the characters of text that an operation reads and writes.
func (e *Expr) chars() int64 {
	n := int64(0)
	if pgresolve.IsString(e.baseType()) && !e.chooses() {
		n = e.length()
	}
	if e.chooses() {
		return n // gives one of its operands
	}
	for _, a := range e.args {
		if pgresolve.IsString(a.baseType()) && a.value == nil {
			n = addSteps(n, a.length())
		}
	}
	return n
}

// chooses reports whether the expression is one of its arguments: CASE, COALESCE, or a cast between texts.
func (e *Expr) chooses() bool {
	return strings.HasPrefix(e.tmpl, "(CASE") || strings.HasPrefix(e.tmpl, "COALESCE") || e.tmpl == castTemplate &&
		pgresolve.IsString(e.args[0].baseType()) ||
		e.op == "AND" || e.op == "OR" || e.op == "NOT"
}

// length bounds the characters of a text.
func (e *Expr) length() int64 {
	if e.col == nil && e.value == nil && e.maxLen > 0 && len(e.args) > 0 {
		of, known := int64(0), int64(0)
		for _, a := range e.args {
			if pgresolve.IsString(a.baseType()) && a.maxLen > 0 {
				of, known = of+int64(a.maxLen), addSteps(known, a.length())
			}
		}
		if of > 0 { // it grows as its arguments do
			return min(int64(e.maxLen), MulSteps(known, (int64(e.maxLen)+of-1)/of))
		}
	}
	switch {
	case e.col != nil && e.col.Chars > 0:
		return e.col.Chars
	case e.maxLen >= 0 && e.maxLen < maxChars:
		return int64(e.maxLen)
	case e.col == nil && e.value == nil:
		n := int64(0)
		for _, a := range e.args {
			if pgresolve.IsString(a.baseType()) {
				n = addSteps(n, a.length())
			}
		}
		if n > 0 {
			return n
		}
	}
	return UnknownChars
}

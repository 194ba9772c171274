package expr

import (
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// testKind is the form of a test.
type testKind byte

const (
	testComparison testKind = iota // of col
	testAnd                        // of args
	testOr                         // of args
	testNot                        // of args[0]
	testNull                       // col IS NULL
	testTrue                       // args[0] IS TRUE
	testFalse                      // args[0] IS FALSE
	testEnds                       // of a range: args, of ends that are not NULL
)

// test keeps of a condition what narrows columns.
type test struct {
	kind testKind
	args []*test
	col  *Column

	name     string          // comparison, column on the left
	bounds   bounds.Interval // the other side's
	integral bool            // the column has whole values only
	constant bool            // the other side is a constant other than NULL
	in       []*Expr         // col = ANY (constants)
	text     string          // the constant, for domains
	hasText  bool
}

// comparisonTest looks through casts that keep values.
func (b *builder) comparisonTest(name string, l, r *Expr) *test {
	if t := b.oneSide(name, l, r); t != nil {
		return t
	}
	return b.oneSide(comparisons[name].mirror, r, l)
}

func (b *builder) oneSide(name string, l, r *Expr) *test {
	if l.yearOf != nil {
		return b.yearTest(name, l.yearOf, r)
	}
	col := plainColumn(l)
	if col == nil {
		return b.truncatedTest(name, l, r)
	}
	if col.col == r.col {
		return nil
	}
	t := &test{
		kind: testComparison, col: col.col, name: name, bounds: b.inUnitsOf(col.typ, r),
		integral: stepwise(col.typ),
	}
	if text, ok := r.Constant(); ok {
		if text == nil {
			return nil
		}
		t.constant, t.text = true, *text
		t.hasText = pgresolve.IsString(l.typ) && l.typ != pgtype.BPCharOID && !l.nondeterministic && !r.nondeterministic ||
			l.isEnum()
	}
	if t.bounds.Open() && r.bounds.Open() && !t.hasText && !t.constant {
		return nil
	}
	return t
}

// yearTest reads extract(year FROM column) = 2024 as what it says of the column: it lies between the beginnings of two
// years.
func (b *builder) yearTest(name string, x, r *Expr) *test {
	col, year := localColumn(x), r.bounds
	if c := plainColumn(x); c != nil && c.typ == pgtype.DateOID {
		col = &truncated{col: c}
	}
	if col == nil || r.value == nil || !year.Finite() || !year.Lo.IsInt() || year.Lo.Cmp(rat(1)) < 0 ||
		year.Hi.Cmp(rat(9998)) > 0 || year.Lo.Cmp(year.Hi) != 0 {
		return nil
	}
	n := int(year.Lo.Num().Int64())
	first, next := yearBegins(n), yearBegins(n+1)
	switch name {
	case "<":
		next = first
	case ">":
		first = next
	}
	return b.localTest(col, name, first, next)
}

// unlessNull notes that the condition may be NULL where the column is not.
func (t *test) unlessNull() {
	if t != nil {
		t.constant = false
		for _, a := range t.args {
			a.unlessNull()
		}
	}
}

// itemsTest reads extract(year FROM column) IN (2023, 2024), and column::date IN (…), as one item or the other; with
// <>, as neither.
func (b *builder) itemsTest(name string, x *Expr, all []*Expr) *test {
	or := &test{kind: testOr}
	holdsNull := false
	for _, e := range all {
		item := e.args[1]
		for item.exactCast() {
			item = item.args[0]
		}
		if isNull(item) {
			holdsNull = true
			continue
		}
		one := b.oneSide("=", x, item)
		if one == nil {
			return nil
		}
		or.args = append(or.args, one)
	}
	if or.args == nil {
		return nil
	}
	if holdsNull {
		or.unlessNull() // not in the list may be NULL
	}
	if name == "<>" {
		return &test{kind: testNot, args: []*test{or}}
	}
	return or
}

// stepwise says that the values of a type are whole numbers of its units: dates of days, timestamps and times of
// microseconds.
func stepwise(oid uint32) bool {
	return pgresolve.IsInt(oid) || pgresolve.IsTime(oid) && oid != pgtype.IntervalOID
}

// inUnitsOf gives the bounds of a value that a column of type oid is compared with, in that type's units; open where
// they do not compare as numbers do.
func (b *builder) inUnitsOf(oid uint32, r *Expr) bounds.Interval {
	i := r.unclamped()
	switch {
	case pgresolve.IsNumber(oid) && pgresolve.IsNumber(r.typ), oid == r.typ && pgresolve.IsTime(oid) &&
		oid != pgtype.IntervalOID:
		return i
	case oid == pgtype.DateOID && r.typ == pgtype.TimestampOID:
		return i.Scale(quo(bounds.One, microsPerDay))
	case oid == pgtype.TimestampOID && r.typ == pgtype.DateOID:
		return i.Scale(microsPerDay)
	case oid == pgtype.TimestamptzOID && (r.typ == pgtype.DateOID || r.typ == pgtype.TimestampOID) && r.value != nil &&
		i.Finite():
		return b.instant(r)
	}
	return bounds.Interval{}
}

// instant bounds the moment that a local date or time names in the session's time zone.
func (b *builder) instant(local *Expr) bounds.Interval {
	x, err := b.readByServer(pgtype.TimestamptzOID, *local.value.text, local)
	if err != nil || !x.bounds.Finite() {
		return micros(local).Widen(zoneMax)
	}
	return x.bounds
}

// sameUnits says whether the canonical units of two types mean the same: those of date and timestamp differ.
func sameUnits(a, b uint32) bool {
	return a == b || pgresolve.IsNumber(a) && pgresolve.IsNumber(b)
}

// plainColumn finds the column that e reads, through casts to wider number types.
func plainColumn(e *Expr) *Expr {
	for e.col == nil {
		if len(e.args) != 1 || !e.exactCast() {
			return nil
		}
		e = e.args[0]
	}
	return e.relabelled()
}

// exactCast says that e is a cast that keeps every value and the order.
func (e *Expr) exactCast() bool {
	if e.tmpl != castTemplate || len(e.args) != 1 {
		return false
	}
	from := e.args[0].typ
	switch e.typ {
	case pgtype.Int4OID:
		return from == pgtype.Int2OID
	case pgtype.Int8OID:
		return from == pgtype.Int2OID || from == pgtype.Int4OID
	case pgtype.NumericOID:
		return pgresolve.IsInt(from) && e.typmod < 0
	case pgtype.Float8OID:
		return from == pgtype.Int2OID || from == pgtype.Int4OID || from == pgtype.Float4OID
	case pgtype.TextOID:
		return from == pgtype.VarcharOID
	}
	return false
}

// narrowing gives what the comparison says of its column if it is true or, with negated, if it is false.
func (t *test) narrowing(negated bool) Narrowing {
	name := t.name
	if negated {
		name = comparisons[name].not
	}
	n := Narrowing{}
	one := func(r *big.Rat, by *big.Rat) *big.Rat {
		if r == nil || !t.integral {
			return r
		}
		return add(r, by)
	}
	switch name {
	case "=":
		n.Bounds = t.bounds
		if t.hasText {
			n.Domain = []string{t.text}
		}
	case "<":
		n.Bounds.Hi = one(t.bounds.Hi, rat(-1))
		if t.integral && n.Bounds.Hi != nil {
			n.Bounds.Hi = bounds.Ceil(n.Bounds.Hi)
			if !t.bounds.Hi.IsInt() {
				n.Bounds.Hi = bounds.Floor(t.bounds.Hi)
			}
		}
	case "<=":
		n.Bounds.Hi = t.bounds.Hi
	case ">":
		n.Bounds.Lo = one(t.bounds.Lo, bounds.One)
		if t.integral && n.Bounds.Lo != nil && !t.bounds.Lo.IsInt() {
			n.Bounds.Lo = bounds.Ceil(t.bounds.Lo)
		}
	case ">=":
		n.Bounds.Lo = t.bounds.Lo
	case "<>":
		if t.bounds.Finite() && t.bounds.Lo.Cmp(t.bounds.Hi) == 0 {
			n.not = []*big.Rat{t.bounds.Lo}
		}
	}
	return n
}

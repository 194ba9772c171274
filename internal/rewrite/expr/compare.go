package expr

import "math/big"

// comparisons maps each comparison to its negation and its mirror.
var comparisons = map[string]struct{ not, mirror string }{
	"=": {"<>", "="}, "<>": {"=", "<>"}, "<": {">=", ">"}, "<=": {">", ">="}, ">": {"<=", "<"}, ">=": {"<", "<="},
}

func init() {
	sets := [][]uint32{
		{oidInt2, oidInt4, oidInt8}, {oidFloat4, oidFloat8}, {oidNumeric}, {oidDate, oidTimestamp, oidTimestamptz},
		{oidText}, {oidBpchar}, {oidName}, {oidBool}, {oidUUID}, {oidTime}, {oidInterval},
	}
	for name := range comparisons {
		for _, set := range sets {
			for _, l := range set {
				for _, r := range set {
					sig := (&candidate{name, []uint32{l, r}, oidBool}).signature()
					rules[sig] = rule{total: "always", raw: true, apply: compare}
				}
			}
		}
	}
}

// compare is total for any values: NaN, infinities and dates beyond a timestamp's range have an order too. Both collations must
// agree, or PostgreSQL raises when the first row arrives.
func compare(c *call) (*Expr, error) {
	e := c.result(oidBool)
	if err := c.collations(e); err != nil {
		return nil, err
	}
	e.fuzzy = false
	e.collation = ""
	e.op = c.cand.name
	e.test = c.b.comparisonTest(c.cand.name, c.args[0], c.args[1])
	return e, nil
}

// collations merges the arguments' collations into e.
func (c *call) collations(e *Expr) error {
	for _, a := range c.args {
		if !isString(a.typ) {
			continue
		}
		e.fuzzy = e.fuzzy || a.fuzzy
		if a.collation == "" || a.collation == e.collation {
			continue
		}
		if e.collation != "" {
			return c.refuse("its operands have different collations", `write COLLATE "C" after one of them`)
		}
		e.collation = a.collation
	}
	return nil
}

// test is what a comparison says of a column, for narrowing.
type test struct {
	op   byte // 'c' comparison of col; '&' '|' '!' over args; 'n' col IS NULL; 't' args[0] IS TRUE; 'f' args[0] IS FALSE
	args []*test
	col  *Column

	name     string   // comparison, column on the left
	bounds   Interval // the other side's
	integral bool     // the column has whole values only
	constant bool     // the other side is a constant other than NULL
	in       []*Expr  // col = ANY (constants)
	text     string   // the constant, for domains
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
	col := plainColumn(l)
	if col == nil || col.col == r.col {
		return nil
	}
	t := &test{op: 'c', col: col.col, name: name, bounds: b.inUnitsOf(col.typ, r), integral: isInt(col.typ) || col.typ == oidDate}
	if text, ok := r.Constant(); ok {
		if text == nil {
			return nil
		}
		t.constant, t.text = true, *text
		t.hasText = isString(l.typ) && l.typ != oidBpchar && !l.fuzzy && !r.fuzzy || l.isEnum()
	}
	if t.bounds.Open() && r.bounds.Open() && !t.hasText && !t.constant {
		return nil
	}
	return t
}

// inUnitsOf gives the bounds of a value that a column of type oid is compared with, in that type's units; open where they do not compare
// as numbers do.
func (b *builder) inUnitsOf(oid uint32, r *Expr) Interval {
	i := r.unclamped()
	switch {
	case isNumber(oid) && isNumber(r.typ), oid == r.typ && isTime(oid) && oid != oidInterval:
		return i
	case oid == oidDate && r.typ == oidTimestamp:
		return i.Scale(quo(ratOne, microsPerDay))
	case oid == oidTimestamp && r.typ == oidDate:
		return i.Scale(microsPerDay)
	case oid == oidTimestamptz && (r.typ == oidDate || r.typ == oidTimestamp) && r.value != nil && i.Finite():
		return b.instant(r)
	}
	return Interval{}
}

// instant is the moment that a local date or time is in the session's time zone.
func (b *builder) instant(local *Expr) Interval {
	x, err := b.readByServer(oidTimestamptz, *local.value.text, local)
	if err != nil || !x.bounds.Finite() {
		return micros(local).Widen(zoneMax)
	}
	return x.bounds
}

// sameUnits says whether the canonical units of two types mean the same: those of date and timestamp differ.
func sameUnits(a, b uint32) bool {
	return a == b || isNumber(a) && isNumber(b)
}

// plainColumn is the column read by e, seen through casts to wider number types.
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
	case oidInt4:
		return from == oidInt2
	case oidInt8:
		return from == oidInt2 || from == oidInt4
	case oidNumeric:
		return isInt(from) && e.typmod < 0
	case oidFloat8:
		return from == oidInt2 || from == oidInt4 || from == oidFloat4
	case oidText:
		return from == oidVarchar
	}
	return false
}

// narrowing is what the comparison, being true (or, with negated, false) says of its column.
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
			n.Bounds.Hi = ceilRat(n.Bounds.Hi)
			if !t.bounds.Hi.IsInt() {
				n.Bounds.Hi = floorRat(t.bounds.Hi)
			}
		}
	case "<=":
		n.Bounds.Hi = t.bounds.Hi
	case ">":
		n.Bounds.Lo = one(t.bounds.Lo, ratOne)
		if t.integral && n.Bounds.Lo != nil && !t.bounds.Lo.IsInt() {
			n.Bounds.Lo = ceilRat(t.bounds.Lo)
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

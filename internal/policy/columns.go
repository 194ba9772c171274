package policy

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// maxSteps bounds a column's range in grid steps: 2^53, exact in float8 and far from overflow in int64 sums of products.
var maxSteps = new(big.Rat).SetInt64(1 << 53)

// readColumns reads a mapping; for a public table also a plain list of names.
func readColumns(v value, s tableSource, d overrides) {
	if s.Public && v.isSequence() {
		for _, item := range v.items() {
			if name, ok := item.text(); ok {
				s.add(item, name)
			}
		}
		return
	}
	all := v.object()
	if !s.Public && s.at.isMapping() && len(all.names) == 0 && (!v.given() || v.null() || v.isMapping()) {
		v.fail("missing: at least the unit's column; what is not listed does not exist for an analyst")
	}
	for _, name := range all.names {
		at := all.get(name)
		if c := s.add(at, name); c != nil {
			readColumn(at, s.Table, c, d)
		}
	}
}

func (s tableSource) add(at value, name string) *Column {
	if name == "" || len(name) > maxName {
		at.fail("a column's name is 1 to %d bytes", maxName)
		return nil
	}
	if _, twice := s.columns[name]; twice {
		at.fail("%s is listed twice", name)
		return nil
	}
	c := &Column{Name: name}
	s.Columns = append(s.Columns, c)
	s.columns[name] = at
	return c
}

func readColumn(v value, t *Table, c *Column, d overrides) {
	o := v.object("bounds", "outside", "values", "values_from", "valid", "per_unit", "grid", "mechanism", "of_one_unit")
	bounds := o.get("bounds").pair()
	valid := readValid(o.get("valid"))
	if len(valid) > 0 {
		hull := &boundsLiteral{lo: valid[0].lo, hi: valid[len(valid)-1].hi}
		switch {
		case !o.has("bounds"):
			bounds = hull
		case bounds != nil:
			if _, ok := bound.Comparable(bounds.kind(), hull.kind()); !ok {
				o.get("valid").fail("is %s range, but bounds is %s range", hull.kind().Noun(), bounds.kind().Noun())
			} else if hull.lo.At.Cmp(bounds.lo.At) < 0 || hull.hi.At.Cmp(bounds.hi.At) > 0 {
				o.get("valid").fail("%s to %s reaches outside the bounds %s to %s", hull.lo.Text, hull.hi.Text, bounds.lo.Text, bounds.hi.Text)
			}
		}
		for _, b := range valid {
			c.Valid = append(c.Valid, b.text())
		}
	}
	if bounds != nil {
		b := bounds.text()
		c.Bounds = &b
		bounds.noteFirst(o.get("bounds"))
	}
	if share := o.get("outside"); share.given() {
		if c.Outside = readShare(share, "beyond bounds"); c.Bounds == nil {
			share.fail("needs bounds: it is the share of the rows that are beyond them")
		}
	}
	readDomain(o, c)
	readOneUnit(o.get("of_one_unit"), t, c)
	readPerUnit(o.get("per_unit"), c, bounds)
	readColumnGrid(o.get("grid"), c, bounds, d)
	if m, ok := o.get("mechanism").mechanism(d.method); ok {
		c.Mechanism = &m
	}
}

func readDomain(o object, c *Column) {
	values, from := o.get("values"), o.get("values_from")
	if values.given() && from.given() {
		from.fail("excludes values: a domain has one source")
	}
	if values.given() && !values.isSequence() {
		values.fail("must be a list such as [asthma, cold, flu], not %s", values.kind())
	} else if values.given() {
		items := values.items()
		if len(items) == 0 {
			values.fail("must not be empty")
		}
		seen := make(map[string]bool, len(items))
		for _, item := range items {
			if item.null() {
				item.fail("NULL is a group of its own wherever the column is nullable; leave it out")
				continue
			}
			s, ok := item.text()
			if ok && seen[s] {
				item.fail("%s is listed twice", quoted(s))
			} else if ok {
				seen[s] = true
				c.Values = append(c.Values, s)
			}
		}
	}
	if s, ok := from.text(); ok {
		column, message := columnOf(s)
		if message != "" {
			from.fail("%s", message)
			return
		}
		c.ValuesFrom = &column
	}
}

// readOneUnit reads true, or the column that says whose each value is.
func readOneUnit(v value, t *Table, c *Column) {
	switch {
	case !v.given() || v.null():
	case t.Public:
		v.fail("has no meaning for a public table")
	case c.Values != nil || c.ValuesFrom != nil:
		v.fail("excludes a domain: what all may list is no key of one unit's rows")
	case v.isBoolean():
		if one, ok := v.boolean(); ok && one {
			c.OfOneUnit = &ColumnOf{t.Name, c.Name}
		}
	default:
		s, ok := v.text()
		if !ok {
			return
		}
		column, message := columnOf(s)
		if message != "" {
			v.fail("must be true, or the column whose values these are: %s", message)
			return
		}
		c.OfOneUnit = &column
	}
}

func readPerUnit(v value, c *Column, bounds *boundsLiteral) {
	perUnit := v.pair()
	if perUnit == nil {
		return
	}
	switch {
	case c.Bounds == nil:
		v.fail("needs the key bounds in the same column")
	case perUnit.kind() != bound.Number && perUnit.kind() != bound.Interval && perUnit.kind() != bound.Clock:
		v.fail("a sum is a number or an interval, not %s", perUnit.kind().Noun())
	default:
		if _, ok := bound.Comparable(perUnit.kind(), bounds.kind()); !ok {
			v.fail("is %s range, but bounds is %s range", perUnit.kind().Noun(), bounds.kind().Noun())
			return
		}
		b := perUnit.text()
		c.PerUnit = &b
	}
}

// readColumnGrid also lets the table's grid reach the columns whose kind it fits.
func readColumnGrid(v value, c *Column, bounds *boundsLiteral, d overrides) {
	own, ok := v.grid()
	switch {
	case ok && bounds == nil:
		v.fail("needs the key bounds in the same column")
		return
	case ok && !own.fits(bounds.kind()):
		v.fail("is not a step of %s", bounds.kind().Noun())
		return
	case !ok && (d.grid == nil || bounds == nil || v.given() || !d.grid.fits(bounds.kind())):
		return
	case !ok:
		own = d.grid
	}
	width := new(big.Rat).Sub(bounds.hi.At, bounds.lo.At)
	switch steps := new(big.Rat).Quo(width, own.at); {
	case width.Sign() > 0 && ok && own.at.Cmp(width) > 0:
		v.fail("is wider than the bounds")
	case steps.Cmp(maxSteps) > 0:
		v.fail("the bounds are more than 2^53 grid steps apart")
	default:
		c.Grid = &own.Grid
	}
}

// boundsLiteral holds a pair of bounds of one kind.
type boundsLiteral struct{ lo, hi bound.Value }

func (b *boundsLiteral) kind() bound.Kind {
	k, _ := bound.Comparable(b.lo.Kind, b.hi.Kind)
	return k
}

// noteFirst notes that the upper bound is the first instant of a month. It is a value of the column, so that answers by month or year have a
// group for it.
func (b *boundsLiteral) noteFirst(at value) {
	if k := b.kind(); k != bound.Date && k != bound.Timestamp && k != bound.TimestampTZ || !at.given() || b.lo.At.Cmp(b.hi.At) == 0 || !b.hi.At.IsInt() {
		return
	}
	hi := time.UnixMicro(b.hi.At.Num().Int64()).UTC()
	if hi.Day() != 1 || !hi.Truncate(24*time.Hour).Equal(hi) {
		return
	}
	at.note("the upper bound is a value of the column, so answers by month or year have a group of %s: where the data end before, write %s, or of a time \"%s 23:59:59.999999\"",
		hi.Format("2006-01"), hi.AddDate(0, 0, -1).Format(time.DateOnly), hi.AddDate(0, 0, -1).Format(time.DateOnly))
}

func (b *boundsLiteral) text() Bounds { return Bounds{b.lo.Text, b.hi.Text} }

// pair reads [lower, upper]; nil when it is absent or wrong.
func (v value) pair() *boundsLiteral {
	if !v.given() {
		return nil
	}
	if !v.isSequence() || len(v.node.Content) != 2 {
		v.fail("must be [lower, upper]")
		return nil
	}
	items := v.items()
	if len(items) != 2 {
		return nil
	}
	// Problems of an end are reported at the key, which names the pair.
	ends := [2]bound.Value{}
	for i, item := range items {
		item.at, item.path = v.at, v.path
		l, ok := item.bound()
		if !ok {
			return nil
		}
		ends[i] = l
	}
	if _, ok := bound.Comparable(ends[0].Kind, ends[1].Kind); !ok {
		v.fail("lower %s is %s and upper %s is %s", ends[0].Text, ends[0].Kind.Noun(), ends[1].Text, ends[1].Kind.Noun())
		return nil
	}
	if ends[0].At.Cmp(ends[1].At) > 0 {
		v.fail("lower %s is above upper %s", ends[0].Text, ends[1].Text)
		return nil
	}
	return &boundsLiteral{ends[0], ends[1]}
}

// readValid reads [[8,12],[14,18]] in any order.
func readValid(v value) []boundsLiteral {
	if !v.given() {
		return nil
	}
	items := v.items()
	if len(items) == 0 {
		if v.isSequence() {
			v.fail("must not be empty")
		}
		return nil
	}
	var ranges []boundsLiteral
	for _, item := range items {
		item.at = v.at
		if b := item.pair(); b != nil {
			ranges = append(ranges, *b)
		}
	}
	if len(ranges) < len(items) {
		return nil
	}
	slices.SortStableFunc(ranges, func(a, b boundsLiteral) int { return cmp.Compare(a.lo.At.Cmp(b.lo.At), 0) })
	for i := 1; i < len(ranges); i++ {
		a, b := ranges[i-1], ranges[i]
		if _, ok := bound.Comparable(a.kind(), b.kind()); !ok {
			v.fail("mixes %s range and %s range", a.kind().Noun(), b.kind().Noun())
			return nil
		}
		if b.lo.At.Cmp(a.hi.At) <= 0 {
			v.fail("[%s, %s] and [%s, %s] overlap", a.lo.Text, a.hi.Text, b.lo.Text, b.hi.Text)
			return nil
		}
	}
	return ranges
}

package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
)

// said is what the builder finds out that a condition with a constant says of a column.
type said struct {
	col     *Column
	is, not valueSet // the column's values where it is true, and where it is false
	orNull  bool     // it may be NULL where the column is not
}

// told gives what a condition of known sense claims of columns.
func told(all []said, s sense) *claim {
	parts := make([]*claim, len(all))
	for i, x := range all {
		set := x.is
		if s == isFalse || s == notTrue {
			set = x.not
		}
		switch null := s == notTrue || s == notFalse; {
		case null && x.orNull:
			set = everything(true)
		case null:
			set.null = true
		}
		parts[i] = fact(x.col, set)
	}
	return conjunction(parts...)
}

// localCondition reads a comparison that takes the rules of a zone or of the calendar.
func (b *builder) localCondition(name string, l, r *Expr) []said {
	if found := b.oneSide(name, l, r); found != nil {
		return found
	}
	return b.oneSide(comparisons[name].mirror, r, l)
}

func (b *builder) oneSide(name string, l, r *Expr) []said {
	r = r.uncast()
	if l.year {
		return b.yearSays(name, l.args[1], r)
	}
	c := plainColumn(l)
	if c == nil {
		return b.truncatedSays(name, l, r)
	}
	if c.typ != pgtype.TimestamptzOID || r.typ == c.typ {
		return nil
	}
	at := between(b.instants(r))
	if at == (segment{}) {
		return nil
	}
	set := func(name string) valueSet { return c.having(compared(name, at), false) }
	return []said{{col: c.col, is: set(name), not: set(comparisons[name].not)}}
}

// yearSays reads extract(year FROM column) = 2024 as what it says of the column: it lies between the beginnings of two
// years.
func (b *builder) yearSays(name string, x, r *Expr) []said {
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
	return b.localSays(col, name, first, next)
}

// localList reads extract(year FROM column) IN (2023, 2024), and column::date IN (…), as one item or the other; with
// <> ALL, as none. all compare with an item each.
func localList(name string, anyOf bool, all []*Expr) []said {
	if name != "=" && name != "<>" || (name == "=") != anyOf {
		return nil
	}
	var out said
	var is, others []segment // one of is, none of others
	for _, e := range all {
		switch {
		case isNull(e.args[1].uncast()):
			out.orNull = true
			continue
		case e.said == nil:
			return nil
		}
		x := e.said[0]
		if name == "<>" {
			x.is, x.not = x.not, x.is
		}
		out.col, is, others = x.col, append(is, x.is.segments...), append(others, complement(x.not.segments)...)
	}
	if out.col == nil {
		return nil
	}
	out.is, out.not = valueSet{segments: joined(is)}, valueSet{segments: complement(joined(others))}
	if name == "<>" {
		out.is, out.not = out.not, out.is
	}
	return []said{out}
}

// stepwise says that the values of a type are whole numbers of its units: dates of days, timestamps and times of
// microseconds.
func stepwise(oid uint32) bool {
	return pgresolve.IsInt(oid) || pgresolve.IsTime(oid) && oid != pgtype.IntervalOID
}

// instants bounds the moment that is compared with an instant; open where nothing is known.
func (b *builder) instants(r *Expr) bounds.Interval {
	switch {
	case r.typ == pgtype.TimestamptzOID:
		return r.bounds
	case (r.typ == pgtype.DateOID || r.typ == pgtype.TimestampOID) && r.value != nil && r.bounds.Finite():
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

// plainColumn finds the column that e reads, through casts to wider number types.
func plainColumn(e *Expr) *Expr {
	if e = e.uncast(); e.col == nil {
		return nil
	}
	return e.relabelled()
}

// uncast takes casts away that keep every value and the order.
func (e *Expr) uncast() *Expr {
	for e.exactCast() {
		e = e.args[0]
	}
	return e
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

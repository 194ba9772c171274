package query

import "fmt"

// The nodes in this file are what a sensitivity rests on: each bounds what one unit adds to an answer. They are types
// of their own so that tests can take one away, and see that it was needed.

// UnitClamp keeps the integer of one unit in one group within bounds. It is never NULL.
type UnitClamp struct {
	X      Scalar
	Lo, Hi int64
}

func (c UnitClamp) write(w *writer) {
	F("LEAST(GREATEST({}, ({})), {})", c.X, c.Lo, c.Hi).write(w)
}

// UnitRows counts the rows of a unit in one group as so many whole rows that those of all its groups are at most Most.
// It has no effect on a unit that has no more. One that has All rows gets ⌊(Upto·Most + phase)/All⌋ less the same of
// the groups before: that adds up to Most, and over the phases each group has its Rows·Most/All on average.
type UnitRows struct {
	Rows      Scalar // in this group
	Upto, All Scalar // in this group and those before it, and in all; nil: this is the only group
	Most      int64
	Hash      Scalar // of the unit, ≥ 0
}

func (r UnitRows) write(w *writer) {
	if r.All == nil {
		F("LEAST({}, {})", r.Rows, r.Most).write(w)
		return
	}
	all := F("({})::pg_catalog.numeric", r.All)
	upto := func(rows Scalar) Scalar {
		return F("pg_catalog.div(({})::pg_catalog.numeric * {} + pg_catalog.mod({}, {}), {})", rows, r.Most, r.Hash, all, all)
	}
	F("CASE WHEN {} <= {} THEN {} ELSE ({} - {})::pg_catalog.int8 END", r.All, r.Most, r.Rows, upto(r.Upto),
		upto(F("{} - {}", r.Upto, r.Rows))).write(w)
}

// UnitWeight is what a group has of the bound on its unit's rows: its Rows, or Most where it has more.
type UnitWeight struct {
	Rows Scalar
	Most int64
}

func (r UnitWeight) write(w *writer) { F("LEAST({}, {})::pg_catalog.int4", r.Rows, r.Most).write(w) }

// WholeWeight is the weight, in steps, of a unit that is in one group alone.
const WholeWeight = 1 << 20

// SelectionWeight is what a unit weighs in each of its Groups for a selection: WholeWeight over their root, rounded
// down.
type SelectionWeight struct{ Groups Scalar }

func (s SelectionWeight) write(w *writer) {
	F("pg_catalog.floor({} / pg_catalog.sqrt(({})::pg_catalog.float8))::pg_catalog.int8", int64(WholeWeight),
		s.Groups).write(w)
}

// UnitShare reduces an integer of one unit in one group as a number of rows that it is of is reduced there, from Rows
// to Kept, and rounds it by the unit's hash. Within ±M for each of Rows, it comes out within ±M for each of Kept. With
// numbers of other rows before it, which are ≥ 0 as X is, it is what X adds to the reduced sum: so all of them together
// come out within what the sum of all would.
type UnitShare struct {
	X, Rows, Kept Scalar
	Before        []Scalar
	Hash          Scalar // of the unit, ≥ 0
}

func (s UnitShare) write(w *writer) {
	share := func(x Scalar) Scalar {
		return F("pg_catalog.div({} * {} + pg_catalog.mod(pg_catalog.div({}, 2097152), {}), {})", x, s.Kept, s.Hash, s.Rows,
			s.Rows)
	}
	x := F("({})::pg_catalog.numeric", s.X)
	reduced := F("pg_catalog.sign({}) * {}", x, share(F("pg_catalog.abs({})", x)))
	if len(s.Before) > 0 {
		before := F("({})::pg_catalog.numeric", List{" + ", s.Before})
		reduced = F("{} - {}", share(F("({} + {})", before, x)), share(before))
	}
	F("CASE WHEN {} >= {} THEN {} ELSE ({})::pg_catalog.int8 END", s.Kept, s.Rows, s.X, reduced).write(w)
}

// UnitTotal reduces an integer of one unit in one group so that the magnitudes of those in all its groups, which are
// Total, add up to at most Most.
type UnitTotal struct {
	X, Total Scalar
	Most     int64
}

func (t UnitTotal) write(w *writer) {
	F("CASE WHEN {} <= {} THEN {} ELSE pg_catalog.div(({})::pg_catalog.numeric * {}, {})::pg_catalog.int8 END", t.Total,
		t.Most, t.X, t.X, t.Most, t.Total).write(w)
}

// Pick numbers the rows of each unit in an order that depends on this unit's rows alone; with Groups, its groups, so
// that rows of one group have one number.
type Pick struct {
	Partition []Scalar // the unit first
	Order     []Scalar
	Groups    bool
}

func (p Pick) write(w *writer) {
	call := Raw("row_number()")
	if p.Groups {
		call = Raw("dense_rank()")
	}
	Over{Call: call, Partition: p.Partition, Order: p.Order}.write(w)
}

// First keeps rows by the number that a Pick gave them.
type First struct {
	Rank Column
	N    int64
}

func (f First) write(w *writer) { F("{} <= {}", f.Rank, f.N).write(w) }

// Ordinals gives each row of some arrays of one length its first place there: k1, k2… and o. Rows that are equal by
// Equalities, a COLLATE clause or nothing for each array, are one, and NULL is equal to NULL; so a row that joins on
// all of k1, k2… with the same equalities meets at most one.
type Ordinals struct {
	Arrays     []Scalar
	Equalities []string
}

func (o *Ordinals) writeQuery(w *writer) {
	v := Named("v")
	s := &Select{From: Unnest(v, o.Arrays, true), Groups: len(o.Arrays)}
	for i, equality := range o.Equalities {
		name := fmt.Sprintf("k%d", i+1)
		s.Outputs = append(s.Outputs, Output{F("{}{}", v.Column(name), equality), name})
	}
	s.Outputs = append(s.Outputs, Output{F("min({})", v.Column("o")), "o"})
	s.writeQuery(w)
}

// Unnest makes a FROM item of the rows of some arrays of one length: k1, k2…, and their place o if it is asked for.
func Unnest(as *Alias, arrays []Scalar, ordinality bool) *Function {
	f := &Function{Ordinality: ordinality, As: as}
	calls := make([]Scalar, len(arrays))
	for i, a := range arrays {
		calls[i] = F("pg_catalog.unnest({})", a)
		f.Columns = append(f.Columns, fmt.Sprintf("k%d", i+1))
	}
	f.Call = calls[0]
	if len(calls) > 1 {
		f.Call = F("ROWS FROM ({})", List{", ", calls})
	}
	if ordinality {
		f.Columns = append(f.Columns, "o")
	}
	return f
}

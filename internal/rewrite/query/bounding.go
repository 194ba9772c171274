package query

// The nodes in this file are what a sensitivity rests on: each bounds what one unit adds to an answer. They are types of their own so that
// tests can take one away, and see that it was needed.

// UnitClamp keeps the integer of one unit in one group within bounds. It is never NULL.
type UnitClamp struct {
	X      Scalar
	Lo, Hi int64
}

func (c UnitClamp) write(w *writer) {
	F("LEAST(GREATEST({}, ({})), {})", c.X, c.Lo, c.Hi).write(w)
}

// Pick numbers the rows of each unit in an order that depends on this unit's rows alone; with Groups, its groups, so that rows of one
// group have one number.
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

// Ordinals gives each value of an array its first place there: k and o. Values that are equal by Equality, a COLLATE clause or nothing,
// are one row, so a row that joins on k with the same equality meets at most one.
type Ordinals struct {
	Values   Scalar
	Equality string
}

func (o *Ordinals) writeQuery(w *writer) {
	v := Named("v")
	from := &Function{Call: F("pg_catalog.unnest({})", o.Values), Ordinality: true, As: v, Columns: []string{"k", "o"}}
	(&Select{
		Outputs: []Output{{F("{}{}", v.Column("k"), o.Equality), "k"}, {F("min({})", v.Column("o")), "o"}},
		From:    from, Groups: 1,
	}).writeQuery(w)
}

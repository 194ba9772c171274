package certify

import (
	"math/big"
	"slices"
)

// kind says what a unit can do to a relation (docs/certify.md).
type kind int

const (
	public kind = iota
	split       // may have unit columns, which hold in each row the unit that the row is from
	nested      // what DISTINCT makes of a split one, as it forgets whose a row was
	grouped
)

// relation is what is known of the rows of a FROM item or a subquery.
type relation struct {
	kind    kind
	columns []column
	rows    *big.Rat // of a split one, how many one unit has; of a nested one, how many it is without x; nil: no bound
	alike   []alike
	// of one table: each of its rows is made of another row of it, or it is several such beside each other
	scan   *scan
	list   []map[*id]entry // of VALUES: its rows, or more
	keys   []key           // no two rows of a unit (split), or at all (public), are alike in all columns of one
	via    *Via            // the rows have a unit only where this key is joined: a table that has not been joined yet
	unsure bool            // rows without a unit may be among them
	bound  bool            // it stands beside a row of a query around, and depends on it
	reads  []*id           // ... on these columns
	// ... and has rows of the unit of that row alone, since they are equated with what these columns of it tell
	tie    []*id
	home   string  // kind of the privacy unit
	source *source // its rows are some of these
}

// column is a column of a relation.
type column struct {
	name  string
	value value
}

// key is a set of columns. An index lets several rows have NULL, what DISTINCT and GROUP BY make does not.
type key struct {
	columns []*id
	nulls   bool // NULL is equal to NULL in it
}

// within reports whether all columns are among others.
func within(columns, all []*id) bool {
	return !slices.ContainsFunc(columns, func(c *id) bool { return !slices.Contains(all, c) })
}

// groups are the keys of a grouped relation, or of each part of a UNION ALL.
func (r *relation) groups() []key {
	keys := slices.Clone(r.keys)
	for _, a := range r.alike {
		keys = append(keys, a.key)
	}
	return keys
}

// places are where the columns of a key are in a relation, or nil.
func (r *relation) places(k key) (at []int) {
	for _, c := range k.columns {
		i := slices.IndexFunc(r.columns, func(o column) bool { return o.value.id == c })
		if i < 0 {
			return nil
		}
		at = append(at, i)
	}
	slices.Sort(at)
	return at
}

// id is the identity of a column: a value per row that stays what it is through filters, joins and projections.
type id struct{ _ byte }

// value is what is known of an expression in any row.
type value struct {
	typ     string // as in pg_type, or "row"
	array   bool
	span    // numbers, and of dates nothing
	notNull bool
	// not NULL in the rows that are left, though perhaps in others, for which it may be computed all the same
	present   bool
	integral  bool   // a number without a fraction, and printed so
	exact     bool   // equal values have equal bytes
	collation string // of text; "" is the default
	vague     bool   // which of equal values it is is left to the plan
	// of text that is not exact: the collation by which alone it is equal to others; "" if that is not seen
	equality string
	public   bool   // each of its values is made of public ones, or NULL: only which rows have it is private
	ofUnit   bool   // the same in all rows of a unit
	bin      bool   // of a key: it is claimed to be a bin
	unit     bool   // it is the unit of the row, or NULL
	of       []*id  // of a unit that is no column: columns of rows of that unit
	around   bool   // it is of a row of a query around, and so are its unit and ident
	home     string // of a private column: kind of the privacy unit
	mirrors  *id    // it is NULL or the same as that column, which a LEFT JOIN compared with it
	ident    string // equal values of this name belong to one unit, which is the row's

	id       *id
	elements []*string // of a parameter
	values   *big.Rat  // it has so many values at most, NULL apart; nil: no bound
	few      *big.Rat  // in the rows of a unit it has so many values at most, NULL among them; nil: no bound
	holds    []*id     // columns that this one tells
	moves    *big.Rat  // so many rows of a unit have it other than zero and NULL; nil: no bound but their number
	// sum of magnitudes over the rows of a unit is at most this; nil: no bound but rows times the largest
	total *big.Rat
	// >= 0, and no more than a number whose square, times the rows of a unit, is at most this; nil: not known
	squares   *big.Rat
	dominated []dominated // by other columns
	sum       *summed
	window    *window
	pieces    []piece
	reduces   *id        // its magnitude is at most that of this column, in every row
	def       *condition // what a column of truth values was made of
	influence *Influence // of a grouped relation: not a key
}

// dominated says that |value| <= times·(the column by), which is >= 0, in every row.
type dominated struct {
	by    *id
	times *big.Rat
}

// summed is a count or sum over the rows that one unit has in a group: every row under the filter adds at most most.
type summed struct {
	group *id // which GROUP BY
	under []*condition
	count bool
	most  *big.Rat
}

// told are the columns that a value tells: those that it is made of one to one.
func (v value) told() []*id {
	if v.id == nil {
		return v.holds[:len(v.holds):len(v.holds)]
	}
	return append([]*id{v.id}, v.holds...)
}

// rowsOf are columns of the rows whose unit a value is, or tells.
func (v value) rowsOf() []*id {
	if v.id != nil && v.of == nil {
		return []*id{v.id}
	}
	return v.of
}

// there reports whether a value is not NULL in the rows that are left.
func (v value) there() bool { return v.notNull || v.present }

// at finds a column of a relation.
func (r *relation) at(name string) (column, bool) {
	i := slices.IndexFunc(r.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return column{}, false
	}
	return r.columns[i], true
}

// has reports whether it has a column.
func (r *relation) has(c *id) bool {
	return slices.ContainsFunc(r.columns, func(o column) bool { return o.value.id == c })
}

// unique reports whether a unit has at most one row per value of the columns, NULL equal to NULL.
//
// Rule: a key lies within them that takes NULLs for equal or has none; or a unit has one row. Proof: rows alike in more
// columns are alike in fewer.
func (r *relation) unique(have []*id, notNull func(*id) bool) bool {
	if r.rows != nil && compare(r.rows, one) <= 0 && r.kind == split {
		return true
	}
	return slices.ContainsFunc(r.keys, func(k key) bool {
		for _, c := range k.columns {
			if !slices.Contains(have, c) || !k.nulls && !notNull(c) {
				return false
			}
		}
		return true
	})
}

// room bounds the rows of a unit by the values that the columns of a key can have.
func (r *relation) room() (rows *big.Rat) {
	for _, k := range r.keys {
		n := one
		for _, c := range k.columns {
			i := slices.IndexFunc(r.columns, func(o column) bool { return o.value.id == c })
			if i < 0 || !k.nulls && !r.columns[i].value.there() {
				n = nil
				break
			}
			n = times(n, r.columns[i].value.places())
		}
		rows = least(rows, n)
	}
	return rows
}

// notNull reports whether a column of the relation has no NULL.
func (r *relation) notNull(c *id) bool {
	return slices.ContainsFunc(r.columns, func(o column) bool { return o.value.id == c && o.value.there() })
}

// times multiplies bounds; nil is infinity, but zero times infinity is zero.
func times(a, b *big.Rat) *big.Rat {
	if a != nil && a.Sign() == 0 || b != nil && b.Sign() == 0 {
		return new(big.Rat)
	}
	if a == nil || b == nil {
		return nil
	}
	return new(big.Rat).Mul(a, b)
}

// plus adds bounds; nil is infinity.
func plus(a, b *big.Rat) *big.Rat {
	if a == nil || b == nil {
		return nil
	}
	return new(big.Rat).Add(a, b)
}

// compare is a.Cmp(b), without the products that it makes of whole numbers too.
func compare(a, b *big.Rat) int {
	if a.IsInt() && b.IsInt() {
		return a.Num().Cmp(b.Num())
	}
	return a.Cmp(b)
}

// least is the smaller of bounds; nil is infinity.
func least(a *big.Rat, more ...*big.Rat) *big.Rat {
	for _, b := range more {
		if a == nil || b != nil && compare(b, a) < 0 {
			a = b
		}
	}
	return a
}

// most is the larger of bounds; nil is infinity.
func most(a, b *big.Rat) *big.Rat {
	if a == nil || b == nil {
		return nil
	}
	if compare(a, b) < 0 {
		return b
	}
	return a
}

// magnitudes bounds the sum of magnitudes of a value over the rows of a unit.
//
// Rule: the least of what is known, rows times the largest magnitude, and times this bound of a column that dominates
// it. Proof: each is a bound; for the last, sum the inequality over the rows.
func (v value) magnitudes(rows *big.Rat, of func(*id) *big.Rat) *big.Rat {
	b := least(v.total, times(rows, v.largest()))
	for _, d := range v.dominated {
		b = least(b, times(d.times, of(d.by)))
	}
	return b
}

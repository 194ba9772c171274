package schema

import (
	"encoding/binary"
	"hash"
	"io"
	"iter"
)

// Keys lists the keys of groups, in the order of their ordinals. Nobody changes a list.
type Keys interface {
	Len() int
	Value(group, column int) *Canonical // nil is NULL
}

// KeyRows are keys at hand: one row for each group.
type KeyRows [][]*Canonical

// Len implements Keys.
func (r KeyRows) Len() int { return len(r) }

// Value implements Keys.
func (r KeyRows) Value(group, column int) *Canonical { return r[group][column] }

// KeyColumn gives the values of one column.
func KeyColumn(keys Keys, column int) iter.Seq[*Canonical] {
	return func(yield func(*Canonical) bool) {
		for g := range keys.Len() {
			if !yield(keys.Value(g, column)) {
				return
			}
		}
	}
}

// Table holds many rows of canonical values: packed in columns, a value takes four bytes more than its text. It implements Keys.
type Table struct {
	rows    int
	columns []packed
}

// packed are the values of one column, one behind the other.
type packed struct {
	text  Canonical
	ends  []uint32 // of each value in text; with null set for NULL
	nulls int
}

const null = 1 << 31 // lists are far smaller than that (backend)

// Pack makes a table of rows.
func Pack(rows [][]*Canonical, columns int) *Table {
	t := &Table{rows: len(rows), columns: make([]packed, columns)}
	for c := range t.columns {
		ends, end, nulls := make([]uint32, len(rows)), 0, 0
		for i, r := range rows {
			if r[c] == nil {
				ends[i] = uint32(end) | null
				nulls++
				continue
			}
			end += len(*r[c])
			ends[i] = uint32(end)
		}
		t.columns[c] = packed{joined(KeyColumn(KeyRows(rows), c), end), ends, nulls}
	}
	return t
}

// Len implements Keys. A table that is not known yet has no rows.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.rows
}

// Bytes is how much memory its values take.
func (t *Table) Bytes() (n int) {
	if t != nil {
		for _, c := range t.columns {
			n += len(c.text) + 4*len(c.ends)
		}
	}
	return n
}

// HoldsNull says that a value of a column is NULL.
func (t *Table) HoldsNull(column int) bool { return t != nil && t.columns[column].nulls > 0 }

// Value implements Keys.
func (t *Table) Value(row, column int) *Canonical {
	c := &t.columns[column]
	if c.ends[row]&null != 0 {
		return nil
	}
	start := uint32(0)
	if row > 0 {
		start = c.ends[row-1] &^ null
	}
	v := c.text[start:c.ends[row]]
	return &v
}

// Hash writes the table to a hash, so that no two tables write the same.
func (t *Table) Hash(h hash.Hash) {
	_ = binary.Write(h, binary.BigEndian, []int64{int64(t.rows), int64(len(t.columns))}) // a hash takes everything
	for _, c := range t.columns {
		_ = binary.Write(h, binary.BigEndian, c.ends)
		_, _ = io.WriteString(h, string(c.text))
	}
}

package schema

import (
	"encoding/binary"
	"hash"
	"io"
	"iter"
	"strings"
)

// Keys lists the keys of groups, in the order of their ordinals. Nobody changes a list.
type Keys interface {
	Len() int
	Value(group, column int) (v Canonical, notNull bool)
}

// KeyRows are keys at hand: one row for each group.
type KeyRows [][]*Canonical

// Len implements Keys.
func (r KeyRows) Len() int { return len(r) }

// Value implements Keys.
func (r KeyRows) Value(group, column int) (v Canonical, notNull bool) {
	if r[group][column] == nil {
		return "", false
	}
	return *r[group][column], true
}

// KeyPart are some of many keys, in this order. It implements Keys.
type KeyPart struct {
	Of     Keys
	Groups []int
}

// Len implements Keys.
func (p KeyPart) Len() int { return len(p.Groups) }

// Value implements Keys.
func (p KeyPart) Value(group, column int) (v Canonical, notNull bool) {
	return p.Of.Value(p.Groups[group], column)
}

// KeyColumn returns the values of one column, each until the next; nil is NULL.
func KeyColumn(keys Keys, column int) iter.Seq[*Canonical] {
	return func(yield func(*Canonical) bool) {
		value, known := new(Canonical), false
		for g := range keys.Len() {
			next := value
			if *value, known = keys.Value(g, column); !known {
				next = nil
			}
			if !yield(next) {
				return
			}
		}
	}
}

// KeyRow returns the key of one group; nil is NULL.
func KeyRow(keys Keys, group, columns int) []*Canonical {
	row := make([]*Canonical, columns)
	for i := range row {
		if v, known := keys.Value(group, i); known {
			row[i] = &v
		}
	}
	return row
}

// Table holds many rows of canonical values: packed in columns, a value takes four bytes more than its text. It
// implements Keys.
type Table struct {
	rows    int
	columns []packed
}

// packed are the values of one column, one behind the other.
type packed struct {
	text  strings.Builder
	ends  []uint32 // of each value in text; with null set for NULL
	nulls int
}

const null = 1 << 31 // lists are far smaller than that (backend)

// NewTable makes a table of so many columns, which has no rows yet.
func NewTable(columns int) *Table { return &Table{columns: make([]packed, columns)} }

// Add copies a row.
func (t *Table) Add(row []*Canonical) {
	t.rows++
	for i := range t.columns {
		c, flag := &t.columns[i], uint32(0)
		if row[i] == nil {
			c.nulls++
			flag = null
		} else {
			_, _ = c.text.WriteString(string(*row[i])) // a Builder takes everything
		}
		c.ends = append(c.ends, uint32(c.text.Len())|flag)
	}
}

// Len implements Keys. A table that is not known yet has no rows.
func (t *Table) Len() int {
	if t == nil {
		return 0
	}
	return t.rows
}

// Rows returns the rows one by one: for a table of a few.
func (t *Table) Rows() [][]*Canonical {
	rows := make([][]*Canonical, t.Len())
	for i := range rows {
		rows[i] = KeyRow(t, i, len(t.columns))
	}
	return rows
}

// Bytes is how much memory its values take.
func (t *Table) Bytes() (n int) {
	if t != nil {
		for i := range t.columns {
			c := &t.columns[i]
			n += c.text.Len() + 4*len(c.ends)
		}
	}
	return n
}

// HoldsNull reports whether a value of a column is NULL.
func (t *Table) HoldsNull(column int) bool { return t != nil && t.columns[column].nulls > 0 }

// Value implements Keys.
func (t *Table) Value(row, column int) (v Canonical, notNull bool) {
	c := &t.columns[column]
	if c.ends[row]&null != 0 {
		return "", false
	}
	start := uint32(0)
	if row > 0 {
		start = c.ends[row-1] &^ null
	}
	return c.between(start, c.ends[row]), true
}

// Hash writes the table to a hash, so that no two tables write the same.
func (t *Table) Hash(h hash.Hash) {
	_ = binary.Write(h, binary.BigEndian, []int64{int64(t.rows), int64(len(t.columns))}) // a hash takes everything
	for i := range t.columns {
		c := &t.columns[i]
		_ = binary.Write(h, binary.BigEndian, c.ends)
		_, _ = io.WriteString(h, c.text.String())
	}
}

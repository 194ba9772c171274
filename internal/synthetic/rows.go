package synthetic

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// Rows is a table of a twin: its rows are made while they are read, once, and each is valid until the next. An error
// ends them.
type Rows struct {
	Table   policy.Name
	Columns []string
	All     iter.Seq2[[][]byte, error] // texts as PostgreSQL reads them; nil is NULL
	Public  bool                       // they are copied, before others
	Keep    bool                       // rows that the table has stay in their place
}

// writer makes the values of one column, in the order of rows.
type writer func(row int) []byte

// tables are those that have columns, parents first.
func (p *plan) rows(all map[*table]*drawn) ([]Rows, error) {
	var list []Rows
	for _, t := range p.tables {
		if t.relation == nil {
			continue
		}
		d := all[t]
		writers := make([]writer, len(t.relation.Columns))
		for i := range t.relation.Columns {
			var err error
			if writers[i], err = p.writer(d, all, &t.relation.Columns[i]); err != nil {
				return nil, fmt.Errorf("%s.%s: %w", t, t.relation.Columns[i].Name, err)
			}
		}
		list = append(list, Rows{Table: t.name, Columns: t.columns(), All: d.all(writers)})
	}
	return list, nil
}

// tries is how often a row is made before it is left out, where each has values of a unique key that another has.
const tries = 100

// all makes the rows, those that have the values of a unique key of several columns that an earlier one has again.
func (d *drawn) all(writers []writer) iter.Seq2[[][]byte, error] {
	return func(yield func([][]byte, error) bool) {
		columns, row := d.columns(), make([][]byte, len(writers))
		var keys [][]int
		for _, unique := range d.relation.Unique {
			if len(unique) > 1 {
				var key []int
				for _, name := range unique {
					key = append(key, slices.Index(columns, name))
				}
				keys = append(keys, key)
			}
		}
		seen := make([]map[string]bool, len(keys))
		for i := range seen {
			seen[i] = map[string]bool{}
		}
		fresh := func() bool {
			texts := make([]string, len(keys))
			for i, key := range keys {
				for _, at := range key {
					if row[at] == nil { // NULL is equal to nothing
						texts[i] = ""
						break
					}
					texts[i] += strconv.Itoa(len(row[at])) + ":" + string(row[at])
				}
				if texts[i] != "" && seen[i][texts[i]] {
					return false
				}
			}
			for i, text := range texts {
				seen[i][text] = true
			}
			return true
		}
		for n := range d.n {
			made := false
			for try := 0; try < tries && !made; try++ {
				d.again = try > 0
				for i, w := range writers {
					row[i] = w(n)
				}
				made = len(keys) == 0 || fresh()
			}
			if !made {
				d.left++
			} else if !yield(row, nil) {
				return
			}
		}
	}
}

// writer chooses how a column's values are made: keys are counted, foreign keys lead to rows that are there, what was
// asked for is as it was drawn, and the rest is made up.
func (p *plan) writer(d *drawn, all map[*table]*drawn, c *rewrite.RelationColumn) (writer, error) {
	if d.parent != nil && c.Name == d.link {
		if d.parent.relation == nil {
			return p.counted(c, func(row int) int { return int(d.parents[row]) })
		}
		return p.key(all, d.parent, d.key, func(row int) int { return int(d.parents[row]) })
	}
	if refers, column := p.foreign(d.table, c.Name); refers != nil {
		return p.reference(d, all, c, refers, column)
	}
	if key, ok := p.publicKey(d.table, c.Name); ok {
		return d.anyOf(p.keys[key], c), nil
	}
	if d.unique(c.Name) {
		return p.counted(c, func(row int) int { return row })
	}
	at := slices.IndexFunc(d.attributes, func(a *attribute) bool { return a.column == c })
	if at < 0 || d.attributes[at].grid == nil && len(d.attributes[at].values) == 0 { // a domain without values
		return d.madeUp(p.schema, c, nil)
	}
	a := d.attributes[at]
	cells := d.cells[a]
	switch {
	case a.nulls:
		null := slices.Index(a.values, "t")
		return d.madeUp(p.schema, c, func(row int) bool { return int(cells[row]) == null })
	case a.grid != nil:
		return func(row int) []byte {
			if int(cells[row]) == len(a.starts) && !c.NotNull {
				return nil
			}
			cell := min(cells[row], uint16(len(a.starts)-1))
			if d.again {
				cell = a.any(d.random)
			}
			return []byte(a.grid.text(a.step(d.random, cell)))
		}, nil
	}
	return func(row int) []byte {
		if int(cells[row]) == len(a.values) && !c.NotNull {
			return nil
		}
		return []byte(a.values[min(int(cells[row]), len(a.values)-1)])
	}, nil
}

// key gives the value of a unique column of a row that is there.
func (p *plan) key(all map[*table]*drawn, t *table, column string, row func(int) int) (writer, error) {
	at, err := p.writer(all[t], all, t.relation.Column(column))
	if err != nil {
		return nil, err
	}
	return func(n int) []byte { return at(row(n)) }, nil
}

// null says of which rows a reference is NULL; nil: of none.
func (d *drawn) null(c *rewrite.RelationColumn) func(row int) bool {
	at := slices.IndexFunc(d.attributes, func(a *attribute) bool { return a.column == c })
	if at < 0 {
		return nil
	}
	a := d.attributes[at]
	return func(row int) bool { return int(d.cells[a][row]) == slices.Index(a.values, "t") }
}

// anyOf gives any key of a public table.
func (d *drawn) anyOf(keys [][]byte, c *rewrite.RelationColumn) writer {
	null := d.null(c)
	return func(row int) []byte {
		if len(keys) == 0 || null != nil && null(row) {
			return nil
		}
		return keys[d.random.IntN(len(keys))]
	}
}

// reference leads to any row of a table that is there; of the table itself, to one before.
func (p *plan) reference(d *drawn, all map[*table]*drawn, c *rewrite.RelationColumn, to *table, column string) (
	writer, error,
) {
	null := d.null(c)
	of := all[to]
	before := slices.Index(p.tables, to) < slices.Index(p.tables, d.table)
	if of == nil || of != d && !before || of == d && !d.unique(column) {
		if c.NotNull {
			return nil, fmt.Errorf("it refers to rows that are made after it")
		}
		return func(int) []byte { return nil }, nil
	}
	at, err := p.key(all, to, column, func(row int) int {
		if of == d {
			return d.random.IntN(max(1, row))
		}
		return d.random.IntN(max(1, of.n))
	})
	return func(row int) []byte {
		if of.n == 0 || null != nil && null(row) || of == d && row == 0 && !c.NotNull {
			return nil
		}
		return at(row)
	}, err
}

// counted makes values that are different for different numbers.
func (p *plan) counted(c *rewrite.RelationColumn, number func(row int) int) (writer, error) {
	switch base := p.schema.BaseType(c.Type); base {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.NumericOID, pgtype.Float8OID:
		first := int64(1)
		if g, ok := gridOf(p.schema, c); ok && (g.low > 1 || g.high < 1) && base != pgtype.NumericOID {
			first = g.low
		}
		return func(row int) []byte { return strconv.AppendInt(nil, first+int64(number(row)), 10) }, nil
	case pgtype.UUIDOID:
		return func(row int) []byte { return fmt.Appendf(nil, "00000000-0000-4000-8000-%012x", number(row)) }, nil
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID:
		return func(row int) []byte {
			n := strconv.FormatInt(int64(number(row)+1), 36)
			if strings.Contains(strings.ToLower(c.Name), "mail") {
				return []byte("person" + n + "@example.org")
			}
			return []byte(n)
		}, nil
	}
	if g, ok := gridOf(p.schema, c); ok {
		return func(row int) []byte { return []byte(g.text(g.low + int64(number(row)))) }, nil
	}
	return nil, fmt.Errorf("no different values of type %s can be made up", c.TypeName)
}

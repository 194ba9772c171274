package synthetic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// attribute is something of each row of a table that counts are asked by: a column's value, whether it is NULL, or
// how many rows of another table refer to the row.
type attribute struct {
	column    *rewrite.RelationColumn // nil: it counts rows
	rows      *table                  // whose rows it counts; nil: none's
	nulls     bool                    // it is whether the column is NULL, which has no domain
	grid      *grid                   // nil: its values are listed
	starts    []int64                 // of a grid: the first steps of its cells
	values    []string                // listed: those of the answer, in its order; without NULL
	largest   []float64               // units by their rows in the cell where they have most; nil: not asked
	variances []float64               // of noise in masses
	// of each cell, and at last of NULL: fitted numbers of rows; known once it is asked
	masses []float64
}

func (a *attribute) name() string {
	if a.rows != nil {
		return "rows of " + a.rows.name.String()
	}
	return a.column.Name
}

// size is the number of cells, with that of NULL.
func (a *attribute) size() int {
	if a.grid != nil {
		return len(a.starts) + 1
	}
	return len(a.values) + 1
}

// expression is the attribute of the rows that are called as.
func (a *attribute) expression(as string) string {
	switch {
	case a.rows != nil:
		return fmt.Sprintf("coalesce(%s.n, 0)", quoted(a.name()))
	case a.nulls:
		return "(" + quoted(as, a.column.Name) + " IS NULL)"
	}
	return quoted(as, a.column.Name)
}

// from joins what the expression reads beside the rows.
func (a *attribute) from(as string) string {
	if a.rows == nil {
		return ""
	}
	return fmt.Sprintf(
		" LEFT JOIN (SELECT %[1]s AS k, count(*) AS n FROM %[2]s AS c GROUP BY 1) AS %[3]s ON %[3]s.k = %[4]s", quoted("c", a.rows.link), quoted(a.rows.name.Schema, a.rows.name.Relation), quoted(a.name()),
		quoted(as, a.rows.key))
}

// bins are ranges of cells that counts by two attributes are asked by.
type bins struct {
	of []int // cell → bin
	n  int
}

// listedBins is how many listed values are not merged: whatever order they have, it says nothing.
const listedBins = 12

// rowsBins is how many bins numbers of rows have: what noise hides is drawn as if it were independent, and units with
// many rows, which are few, weigh by these.
const rowsBins = 12

// merge makes bins of neighbouring cells, with about the same part of the weights each; NULL is one of its own.
func merge(a *attribute, most int) bins {
	weights := a.weights()
	last := len(weights) - 1
	switch {
	case a.grid == nil:
		most = max(most, listedBins)
	case a.rows != nil:
		most = min(most, rowsBins)
	}
	b := bins{of: make([]int, len(weights))}
	total := 0.0
	for _, w := range weights[:last] {
		total += w
	}
	held := 0.0
	for cell, w := range weights[:last] {
		switch {
		case last <= most: // each is a bin
			b.of[cell], b.n = cell, cell
			continue
		case held > 0 && held+w/2 > total/float64(most) && b.n < most-1:
			b.n, held = b.n+1, 0
		}
		b.of[cell], held = b.n, held+w
	}
	b.of[last], b.n = b.n+1, b.n+2
	return b
}

// weights say how finely cells are told apart: by their rows, and of a number as much by what they add up to.
func (a *attribute) weights() []float64 {
	rows, sum := 0.0, 0.0
	sizes := make([]float64, len(a.masses))
	for cell, n := range a.masses {
		if rows += n; a.grid != nil && a.grid.number && cell < len(a.starts) {
			sizes[cell] = n * abs(float64(a.starts[cell])+float64(a.end(cell)-1)) / 2
			sum += sizes[cell]
		}
	}
	out := make([]float64, len(a.masses))
	for cell, n := range a.masses {
		out[cell] = n / max(rows, 1)
		if sum > 0 {
			out[cell] += sizes[cell] / sum
		}
	}
	return out
}

func abs(x float64) float64 { return max(x, -x) }

// end is the step behind a cell of a grid.
func (a *attribute) end(cell int) int64 {
	if cell+1 < len(a.starts) {
		return a.starts[cell+1]
	}
	return a.grid.high + 1
}

// key is SQL for the bin of the rows that are called as, and which bin each of its texts is; "" is NULL.
func (a *attribute) key(as string, b bins) (sql string, bin func(text []byte) (int, bool)) {
	x := a.expression(as)
	numbered := func(text []byte) (int, bool) {
		if text == nil {
			return b.n - 1, true
		}
		n, err := strconv.Atoi(string(text))
		return n, err == nil && n >= 0 && n < b.n-1
	}
	if a.grid != nil {
		var edges []string
		for cell := 1; cell < len(a.starts); cell++ {
			if b.of[cell] != b.of[cell-1] {
				edges = append(edges, `"`+a.grid.text(a.starts[cell])+`"`)
			}
		}
		if len(edges) == 0 { // one bin: everything is above what no value is below
			return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN 0 END", x), numbered
		}
		return fmt.Sprintf("width_bucket(%s, '{%s}'::%s)", x, strings.Join(edges, ","), a.grid.array), numbered
	}
	if b.n == a.size() || a.values == nil { // each value is a bin
		return x, func(text []byte) (int, bool) {
			if text == nil {
				return b.n - 1, true
			}
			cell := slices.Index(a.values, string(text))
			return max(cell, 0), cell >= 0
		}
	}
	lists := make([][]string, b.n-1)
	for cell, v := range a.values {
		lists[b.of[cell]] = append(lists[b.of[cell]], "'"+strings.ReplaceAll(v, "'", "''")+"'")
	}
	sql = "CASE"
	for i, list := range lists {
		sql += fmt.Sprintf(" WHEN %s IN (%s) THEN %d", x, strings.Join(list, ", "), i)
	}
	return sql + " END", numbered
}

// single has a bin for each cell.
func (a *attribute) single() bins {
	b := bins{make([]int, a.size()), a.size()}
	for cell := range b.of {
		b.of[cell] = cell
	}
	return b
}

// sums adds up the masses of cells by bins.
func (b bins) sums(masses []float64) []float64 {
	out := make([]float64, b.n)
	for cell, n := range masses {
		out[b.of[cell]] += n
	}
	return out
}

// values gives the bins of cells.
func (b bins) values(cells []uint16) []uint16 {
	out := make([]uint16, len(cells))
	for row, cell := range cells {
		out[row] = uint16(b.of[cell])
	}
	return out
}

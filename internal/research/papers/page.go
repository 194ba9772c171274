package papers

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dpproxy/dpproxy/internal/research/plot"
)

// page is what is said about one paper.
type page struct {
	name, title, source string
	blocks              []block
}

// block is one of: heading, prose, finding, table, plot.Figure.
type block any

type (
	heading string
	prose   string
	finding string // where the paper is wrong
)

// table has one row of column names and rows of cells.
type table struct {
	head []string
	rows [][]string
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch v := c.(type) {
		case float64:
			row[i] = number(v)
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	t.rows = append(t.rows, row)
}

// number has four digits; what is below 1e-9 is rounding.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case math.Abs(v) < 1e-9:
		return "0"
	}
	return fmt.Sprintf("%.4g", v)
}

// figures are those of the page, in order.
func (p page) figures() (list []plot.Figure) {
	for _, b := range p.blocks {
		if f, ok := b.(plot.Figure); ok {
			list = append(list, f)
		}
	}
	return list
}

const textWidth = 100

// text is the page for a terminal.
func (p page) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s", p.title, strings.Repeat("=", utf8.RuneCountInString(p.title)), wrap(p.source, textWidth))
	for _, x := range p.blocks {
		b.WriteByte('\n')
		switch x := x.(type) {
		case heading:
			fmt.Fprintf(&b, "%s\n%s\n", x, strings.Repeat("-", utf8.RuneCountInString(string(x))))
		case prose:
			b.WriteString(wrap(string(x), textWidth))
		case finding:
			b.WriteString(wrap("WRONG: "+string(x), textWidth))
		case table:
			b.WriteString(x.text())
		case plot.Figure:
			b.WriteString(x.Text(72, 18))
		}
	}
	return b.String()
}

// text aligns the columns: the first to the left, the others to the right.
func (t table) text() string {
	width := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, c := range row {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		line := ""
		for i, c := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line += c + pad
			} else {
				line += "  " + pad + c
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// wrap breaks lines between words.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String() + "\n"
}

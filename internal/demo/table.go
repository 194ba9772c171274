package demo

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// String prints an answer as psql would.
func (a answer) String() string {
	var b strings.Builder
	if a.failed != nil {
		fmt.Fprintf(&b, "ERROR:  %s\n", a.failed.Message)
		if a.failed.Detail != "" {
			fmt.Fprintf(&b, "DETAIL:  %s\n", a.failed.Detail)
		}
		if a.failed.Hint != "" {
			fmt.Fprintf(&b, "HINT:  %s\n", a.failed.Hint)
		}
		return b.String()
	}
	for _, n := range a.notices {
		fmt.Fprintf(&b, "%s:  %s\n", n.Severity, n.Message)
		if n.Detail != "" {
			fmt.Fprintf(&b, "DETAIL:  %s\n", n.Detail)
		}
		if n.Hint != "" {
			fmt.Fprintf(&b, "HINT:  %s\n", n.Hint)
		}
	}
	widths := make([]int, len(a.columns))
	for i, c := range a.columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range a.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for i, c := range a.columns {
		space := widths[i] - utf8.RuneCountInString(c.Name)
		b.WriteString(bar(i) + strings.Repeat(" ", space/2) + c.Name + strings.Repeat(" ", space-space/2))
	}
	b.WriteString(" \n")
	for i, w := range widths {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(strings.Repeat("-", w+2))
	}
	b.WriteString("\n")
	for _, row := range a.rows {
		for i, v := range row {
			b.WriteString(bar(i) + pad(v, widths[i], numeric(a.columns[i].DataTypeOID), i == len(row)-1))
		}
		b.WriteString("\n")
	}
	plural := "s"
	if len(a.rows) == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "(%d row%s)\n", len(a.rows), plural)
	return b.String()
}

func bar(i int) string {
	if i == 0 {
		return " "
	}
	return " | "
}

// pad fills a cell; psql leaves the end of a row as it is.
func pad(s string, width int, right, last bool) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(s))
	switch {
	case right:
		return space + s
	case last:
		return s
	}
	return s + space
}

// numeric types stand on the right: int8, int2, int4, float4, float8, numeric.
func numeric(oid uint32) bool {
	switch oid {
	case 20, 21, 23, 700, 701, 1700:
		return true
	}
	return false
}

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
		say(&b, "ERROR", a.failed.Message, a.failed.Detail, a.failed.Hint)
		return b.String()
	}
	for _, n := range a.notices {
		say(&b, n.Severity, n.Message, n.Detail, n.Hint)
	}
	head, rule := make([]string, len(a.columns)), make([]string, len(a.columns))
	widths := make([]int, len(a.columns))
	for i, c := range a.columns {
		widths[i] = utf8.RuneCountInString(c.Name)
		for _, row := range a.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		space := widths[i] - utf8.RuneCountInString(c.Name)
		head[i] = strings.Repeat(" ", space/2) + c.Name + strings.Repeat(" ", space-space/2)
		rule[i] = strings.Repeat("-", widths[i]+2)
	}
	fmt.Fprintf(&b, " %s \n%s\n", strings.Join(head, " | "), strings.Join(rule, "+"))
	for _, row := range a.rows {
		cells := make([]string, len(row))
		for i, v := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(v))
			switch {
			case numeric(a.columns[i].DataTypeOID):
				cells[i] = space + v
			case i == len(row)-1: // psql leaves the end of a row as it is
				cells[i] = v
			default:
				cells[i] = v + space
			}
		}
		fmt.Fprintf(&b, " %s\n", strings.Join(cells, " | "))
	}
	plural := "s"
	if len(a.rows) == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "(%d row%s)\n", len(a.rows), plural)
	return b.String()
}

// say prints a message with what it has of a detail and a hint.
func say(b *strings.Builder, severity, message, detail, hint string) {
	for _, line := range [][2]string{{severity, message}, {"DETAIL", detail}, {"HINT", hint}} {
		if line[1] != "" {
			fmt.Fprintf(b, "%s:  %s\n", line[0], line[1])
		}
	}
}

// numeric types stand on the right: int8, int2, int4, float4, float8, numeric.
func numeric(oid uint32) bool {
	switch oid {
	case 20, 21, 23, 700, 701, 1700:
		return true
	}
	return false
}

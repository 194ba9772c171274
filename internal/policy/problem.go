package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a policy, and where. Line and Column count from 1 and are 0 when the file
// could not be read at all.
type Problem struct {
	File         string
	Line, Column int
	Path         string // "tables.patients.columns.age.bounds"
	Message      string
}

// String renders FILE:line:col: path: message, with FILE as it was named on the command line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		b.WriteString(printable(p.Path))
		b.WriteString(": ")
	}
	b.WriteString(printable(p.Message))
	return b.String()
}

// printable keeps a problem on one line, and a terminal as it is, whatever the file's keys and values hold.
func printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// maxQuoted is how much of a text from the file a message repeats, in bytes.
const maxQuoted = 80

// quoted repeats a text from the file.
func quoted(s string) string { return strconv.Quote(shortened(s)) }

func shortened(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}

// Errors lists everything that is wrong with a policy, in the order of the file.
type Errors []Problem

// Error puts one problem on a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns the problems in the order of the file, each once.
func (e Errors) sorted() Errors {
	slices.SortStableFunc(e, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(e)
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const tableHead = "| question | | goal | dpproxy | plain Laplace | plain Gaussian |\n|---|---|---|---|---|---|\n"

// table writes figures as Markdown.
func table(figures []figure) string {
	var b strings.Builder
	b.WriteString(tableHead)
	last := ""
	for _, f := range figures {
		question := ""
		if f.question != last {
			question, last = code(f.question), f.question
		}
		measured := f.measured()
		if f.missed() {
			measured = "**" + measured + ", missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", question, f.what, f.goal(), measured, f.text(f.laplace),
			f.text(f.gaussian))
	}
	return b.String()
}

// code puts the SQL of a question, what follows its last ": ", between backticks.
func code(question string) string {
	i := strings.LastIndex(question, ": ") + 2
	if i < 2 || !strings.HasPrefix(question[i:], "SELECT") {
		return question
	}
	return question[:i] + "`" + question[i:] + "`"
}

func countMissed(figures []figure) int {
	missed := 0
	for _, f := range figures {
		if f.missed() {
			missed++
		}
	}
	return missed
}

const (
	tableFrom = "<!-- table: begin (go run ./tests/accuracy -write docs/accuracy.md) -->\n"
	tableTo   = "<!-- table: end -->"
)

// line is one of a table: the question, which a table has once for the lines that follow each other, what is measured
// of it, and the rest.
type line struct{ question, what, rest string }

// lines reads a table.
func lines(table string) (list []line) {
	question := ""
	for text := range strings.Lines(strings.TrimPrefix(table, tableHead)) {
		cells := strings.SplitN(strings.TrimPrefix(text, "|"), "|", 3)
		if len(cells) < 3 {
			continue
		}
		if q := strings.TrimSpace(cells[0]); q != "" {
			question = q
		}
		list = append(list, line{question, strings.TrimSpace(cells[1]), strings.TrimSuffix(cells[2], "\n")})
	}
	return list
}

// merged replaces the lines of a table that are measured anew, and adds others at its end.
func merged(old, table string) string {
	list := lines(old)
	for _, l := range lines(table) {
		at := slices.IndexFunc(list, func(o line) bool { return o.question == l.question && o.what == l.what })
		if at < 0 {
			at, list = len(list), append(list, l)
		}
		list[at] = l
	}
	var b strings.Builder
	b.WriteString(tableHead)
	last := ""
	for _, l := range list {
		question := l.question
		if question == last {
			question = ""
		}
		last = l.question
		fmt.Fprintf(&b, "| %s | %s |%s\n", question, l.what, l.rest)
	}
	return b.String()
}

// write puts a table between the markers of a page, or what is new of it if it is not whole.
func write(page, table string, whole bool) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(data), tableFrom)
	old, after, ended := strings.Cut(rest, tableTo)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(tableFrom), tableTo)
	}
	if !whole {
		table = merged(old, table)
	}
	return os.WriteFile(page, []byte(before+tableFrom+table+tableTo+after), 0o644)
}

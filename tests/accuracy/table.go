package main

import (
	"fmt"
	"os"
	"strings"
)

// table writes figures as Markdown.
func table(figures []figure) string {
	var b strings.Builder
	b.WriteString("| question | | goal | dpproxy | plain Laplace | plain Gaussian |\n|---|---|---|---|---|---|\n")
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
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", question, f.what, f.goal(), measured, f.text(f.laplace), f.text(f.gaussian))
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

// write puts a table between the markers of a page.
func write(page, table string) error {
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(data), tableFrom)
	_, after, ended := strings.Cut(rest, tableTo)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(tableFrom), tableTo)
	}
	return os.WriteFile(page, []byte(before+tableFrom+table+tableTo+after), 0o644)
}

package main

import (
	"fmt"
	"math"
	"os"
	"strings"
)

// text writes a value with its standard error.
func (f figure) text(value, err float64) string {
	switch {
	case math.IsNaN(value):
		return "–"
	case f.percent && err > 0:
		return fmt.Sprintf("%.1f ± %.1f %%", 100*value, 100*err)
	case f.percent:
		return fmt.Sprintf("%.0f %%", 100*value)
	}
	return fmt.Sprintf("%.3g", value)
}

// table writes the figures as Markdown, and counts those that are worse than what holds.
func table(tallies []tally) (text string, missed int) {
	var b strings.Builder
	b.WriteString("| | goal |")
	for _, t := range tallies {
		fmt.Fprintf(&b, " %s, %d questions |", t.world, t.questions)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(tallies)) + "\n")
	for _, f := range figures {
		fmt.Fprintf(&b, "| %s | %s |", f.name, f.goal)
		for _, t := range tallies {
			text := f.text(f.of(t))
			if f.missed(t) {
				missed++
				text = "**" + text + ", it was " + f.text(f.today[t.world], 0) + "**"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String(), missed
}

const (
	figuresFrom = "<!-- truth: begin (go run ./tests/truth -write docs/accuracy.md) -->\n"
	pricesFrom  = "<!-- truth: begin (go run ./tests/truth -prices -write docs/accuracy.md) -->\n"
	tableTo     = "<!-- truth: end -->"
)

// publish prints a table, and puts it behind a marker of a page, if there is one.
func publish(page, from, table string) error {
	fmt.Print("\n" + table)
	if page == "" {
		return nil
	}
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(data), from)
	_, after, ended := strings.Cut(rest, tableTo)
	if !found || !ended {
		return fmt.Errorf("%s has no lines %q and %q", page, strings.TrimSpace(from), tableTo)
	}
	return os.WriteFile(page, []byte(before+from+table+tableTo+after), 0o644)
}

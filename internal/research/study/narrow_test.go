package study

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var update = flag.Bool("update", false, "write the table of narrow ranges into docs/mechanisms.md")

const mechanismsPage = "../../../docs/mechanisms.md"

// TestNarrowTable holds the table of docs/mechanisms.md, section 12, and its promise. -update writes all of it; its
// last rows take a minute and are not compared.
func TestNarrowTable(t *testing.T) {
	longest := int64(20)
	if *update {
		longest = 50
	}
	rows, err := Narrow(longest)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.worst() > 1.05 {
			t.Errorf("L %d, sensitivity %d: auto errs %.3f times the optimum", r.Length, r.Sensitivity, r.worst())
		}
	}
	page, err := os.ReadFile(mechanismsPage)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- narrow -->\n", "<!-- /narrow -->"
	before, rest, ok := strings.Cut(string(page), from)
	table, after, closed := strings.Cut(rest, to)
	switch want := narrowTable(rows); {
	case !ok || !closed:
		t.Fatalf("%s has no %s", mechanismsPage, strings.TrimSpace(from))
	case *update:
		if err := os.WriteFile(mechanismsPage, []byte(before+from+want+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case !strings.HasPrefix(table, want):
		t.Errorf(
			"docs/mechanisms.md has\n%s\nwant\n%s\nwrite it with: go test ./internal/research/study -run NarrowTable -update",
			table, want)
	}
}

// TestNarrowPrintsThePage: the command prints the whole table of docs/mechanisms.md.
func TestNarrowPrintsThePage(t *testing.T) {
	var c Command
	k, err := kong.New(&c, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"narrow"}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(mechanismsPage)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "<!-- narrow -->")
	table, _, _ = strings.Cut(table, "<!-- /narrow -->")
	for _, length := range narrowLengths {
		if written := strings.Contains(table, fmt.Sprintf("\n| %d, 1 |", length)); written != (length <= c.Narrow.Longest) {
			t.Errorf("the page has L = %d: %v; the command prints up to %d", length, written, c.Narrow.Longest)
		}
	}
}

// worst is the largest ratio of auto's error to the least there is.
func (r NarrowRow) worst() float64 {
	ratios := make([]float64, len(r.Auto))
	for i := range ratios {
		ratios[i] = r.Auto[i] / r.Optimum[i]
	}
	return slices.Max(ratios)
}

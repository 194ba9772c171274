package main

import (
	"os"
	"strings"
	"testing"
)

// TestMergedKeepsTheTable: the page's table is what its own lines make of it, and a line that is measured anew takes
// the old one's place.
func TestMergedKeepsTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), tableFrom)
	old, _, found := strings.Cut(rest, tableTo)
	if !found || merged(old, tableHead) != old {
		t.Errorf("the table is another after nothing was measured:\n%s", merged(old, tableHead))
	}
	const two = tableHead + "| a | x | 1 | 2 | – | – |\n|  | y | 3 | 4 | – | – |\n| b | x | 5 | 6 | – | – |\n"
	const want = tableHead +
		"| a | x | 1 | 2 | – | – |\n|  | y | 7 | 8 | – | – |\n| b | x | 5 | 6 | – | – |\n| c | z | 9 | 9 | – | – |\n"
	if got := merged(two, tableHead+"| a | y | 7 | 8 | – | – |\n| c | z | 9 | 9 | – | – |\n"); got != want {
		t.Errorf("got:\n%s", got)
	}
}

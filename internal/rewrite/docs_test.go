package rewrite_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// supportTable is the page that holds the generated table, below its marker.
const (
	supportTable = "../../docs/reference/statements.md"
	tableMarker  = "<!-- The rest of this page is generated from internal/rewrite/testdata/corpus: go test ./internal/rewrite -run TestSupportTable -rewrite -->\n"
)

// TestSupportTable holds docs/reference/statements.md against the corpus.
func TestSupportTable(t *testing.T) {
	page, err := os.ReadFile(supportTable)
	if err != nil {
		t.Fatal(err)
	}
	head, old, ok := strings.Cut(string(page), tableMarker)
	if !ok {
		t.Fatalf("%s has no marker", supportTable)
	}
	table := corpusTable(t)
	if rewriting := flag.Lookup("rewrite"); rewriting != nil && rewriting.Value.String() == "true" {
		if err := os.WriteFile(supportTable, []byte(head+tableMarker+table), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table {
		t.Errorf("%s is not what the corpus says; run the command in its marker", supportTable)
	}
}

func corpusTable(t *testing.T) string {
	files, err := filepath.Glob("testdata/corpus/*")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(&b, "\n### %s\n\n| statement | |\n|---|---|\n", strings.TrimSuffix(title, "."))
		for _, q := range readCorpus(t, filepath.Base(f), string(text)) {
			verdict := cell(verdictOf(string(text), q.sql))
			if q.expected != "" {
				verdict += fmt.Sprintf(", as PostgreSQL answers `%s`", cell(q.expected))
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", cell(q.sql), verdict)
		}
	}
	return b.String()
}

// verdictOf shortens a recorded verdict to one cell.
func verdictOf(text, sql string) string {
	_, after, _ := strings.Cut(text, "\n"+sql+"\n----\n")
	first, _, _ := strings.Cut(after, "\n")
	switch {
	case strings.HasPrefix(first, "answered"):
		return "yes"
	case strings.HasPrefix(first, "refused"):
		code, message, _ := strings.Cut(strings.TrimPrefix(first, "refused "), ": ")
		code, _, _ = strings.Cut(code, " ")
		return code + " " + message
	}
	return "yes, as it is"
}

func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s)
}

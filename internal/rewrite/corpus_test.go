package rewrite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// corpusQuery is one query of the corpus. Where its answer differs from PostgreSQL's on purpose, expected is the statement
// that PostgreSQL answers alike: the block that begins with oracle, behind the query.
type corpusQuery struct {
	file, sql, params, expected string
}

// TestCorpus compares verdicts, plans and SQL with the corpus. go test -run TestCorpus -rewrite writes them anew.
func TestCorpus(t *testing.T) {
	datadriven.Walk(t, "testdata/corpus", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "oracle" {
				return "" // TestOracle asks it
			}
			params := ""
			for _, a := range d.CmdArgs {
				params = strings.Join(a.Vals, ",")
			}
			return theWorld.verdict(d.Input, parameters(params))
		})
	})
}

// corpus reads all queries of the corpus without checking them.
func corpus(t testing.TB) []corpusQuery {
	var all []corpusQuery
	files, err := filepath.Glob("testdata/corpus/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, readCorpus(filepath.Base(f), string(text))...)
	}
	return all
}

// readCorpus finds the queries of one datadriven file.
func readCorpus(file, text string) []corpusQuery {
	var all []corpusQuery
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if lines[i] != "oracle" && !strings.HasPrefix(lines[i], "query") {
			continue
		}
		at := i
		var sql []string
		for i++; lines[i] != "----"; i++ {
			sql = append(sql, lines[i])
		}
		text := strings.TrimSpace(strings.Join(sql, "\n"))
		if lines[at] == "oracle" {
			all[len(all)-1].expected = text
			continue
		}
		_, params, _ := strings.Cut(strings.TrimSuffix(lines[at], ")"), "params=(")
		all = append(all, corpusQuery{file: fmt.Sprintf("%s:%d", file, at+1), sql: text, params: params})
	}
	return all
}

// TestHintsAreSentences: as PostgreSQL's are, from a capital to a full stop.
func TestHintsAreSentences(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			hint, ok := strings.CutPrefix(strings.TrimSpace(line), "hint: ")
			if ok && (hint[:1] != strings.ToUpper(hint[:1]) || !strings.HasSuffix(hint, ".")) {
				t.Errorf("%s: %q", f, hint)
			}
		}
	}
}

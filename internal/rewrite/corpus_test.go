package rewrite_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/dpproxy/dpproxy/internal/rewrite/rewritetest"
)

// corpusQuery is one query of the corpus. Where its answer differs from PostgreSQL's on purpose, expected is the
// statement that PostgreSQL answers alike: the block that begins with oracle, behind the query.
type corpusQuery struct {
	file, sql, params, expected string
	printed                     bool // marked sql
}

// TestCorpus compares verdicts, plans and sensitivities with the corpus, and the SQL of queries marked sql, as in
// "query sql params=(1)". The SQL of the others is held by TestOracle and TestSensitivity to what it means. go test
// -run TestCorpus -rewrite writes them anew.
func TestCorpus(t *testing.T) {
	datadriven.Walk(t, "testdata/corpus", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "oracle" {
				return "" // TestOracle asks it
			}
			params := ""
			for _, a := range d.CmdArgs {
				if a.Key == "params" {
					params = strings.Join(a.Vals, ",")
				}
			}
			return theWorld.verdict(d.Input, parameters(params), d.HasArg("sql"))
		})
	})
}

// corpusFiles chooses the files of the corpus that TestOracle and TestSensitivity ask: go test -run TestOracle -corpus
// '02_*'.
var corpusFiles = flag.String("corpus", "*", "files of the corpus to ask")

// corpus reads all queries of the corpus without checking them.
func corpus(t testing.TB) []corpusQuery {
	var all []corpusQuery
	files, err := filepath.Glob(filepath.Join("testdata/corpus", *corpusFiles))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, readCorpus(t, filepath.Base(f), string(text))...)
	}
	return all
}

// readCorpus finds the queries of one datadriven file.
func readCorpus(t testing.TB, file, text string) []corpusQuery {
	queries, err := rewritetest.Queries(file, text)
	if err != nil {
		t.Fatal(err)
	}
	var all []corpusQuery
	for _, q := range queries {
		all = append(all, corpusQuery{file: q.File, sql: q.SQL, params: q.Params, expected: q.Expected, printed: q.Printed})
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
			if hint, _, _ = strings.Cut(hint, "More: SELECT "); hint == "" {
				continue
			}
			if hint = strings.TrimSpace(hint); ok && (hint[:1] != strings.ToUpper(hint[:1]) || !strings.HasSuffix(hint, ".")) {
				t.Errorf("%s: %q", f, hint)
			}
		}
	}
}

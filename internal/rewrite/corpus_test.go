package rewrite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// corpusQuery is one query of the corpus.
type corpusQuery struct {
	file, sql, params string
}

// TestCorpus compares verdicts, plans and SQL with the corpus. go test -run TestCorpus -rewrite writes them anew.
func TestCorpus(t *testing.T) {
	datadriven.Walk(t, "testdata/corpus", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
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
		if !strings.HasPrefix(lines[i], "query") {
			continue
		}
		q := corpusQuery{file: fmt.Sprintf("%s:%d", file, i+1)}
		if _, p, ok := strings.Cut(lines[i], "params=("); ok {
			q.params = strings.TrimSuffix(p, ")")
		}
		for i++; lines[i] != "----"; i++ {
			q.sql += lines[i] + "\n"
		}
		q.sql = strings.TrimSpace(q.sql)
		all = append(all, q)
	}
	return all
}

package certify_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestImports: certify imports PostgreSQL's parser and the standard library, and nothing of this module.
func TestImports(t *testing.T) {
	files, err := filepath.Glob("../../internal/certify/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			if strings.Contains(path, ".") && path != "github.com/pganalyze/pg_query_go/v6" {
				t.Errorf("%s imports %s", f, path)
			}
		}
	}
}

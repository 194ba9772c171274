package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// treePackages build queries for main as trees of package query, which alone writes them.
var treePackages = []string{".", "expr", "relation", "aggregate", "bind", "release", "measure", "query", "finish"}

// editPlaces are the files of these packages that read or write other texts than SQL.
var editPlaces = map[string]string{
	"internal/rewrite/expr/literal.go":         "what the analyst wrote as a constant",
	"internal/rewrite/expr/literal_time.go":    "what the analyst wrote as a time",
	"internal/rewrite/expr/rule_format.go":     "a format of to_char",
	"internal/rewrite/expr/rule_pattern.go":    "a pattern of LIKE",
	"internal/rewrite/expr/rule_arithmetic.go": "a template that is not filled in yet",
}

// textPlaces are the files where a tree becomes a text, and what that is for. Whoever adds one decides here that
// nothing reads or edits the text of a query for main again.
var textPlaces = map[string]string{
	"internal/rewrite/measure/print.go":         "what main is asked",
	"internal/rewrite/release/domain.go":        "a proof, which main is asked",
	"internal/rewrite/relation/values.go":       "a list for the shadow, and the proof of its values",
	"internal/rewrite/relation/publicbounds.go": "a question to the public tables, and its proof",
	"internal/rewrite/relation/multiplicity.go": "a number of public rows, and its proof",
	"internal/rewrite/relation/preserved.go":    "a condition for the shadow",
	"internal/rewrite/relation/base.go":         "a condition for the shadow",
	"internal/rewrite/finish/text.go":           "the finish query, for the shadow",
	"internal/rewrite/expr/keys.go":             "domains, for the shadow",
	"internal/rewrite/expr/decided.go":          "a condition on values of a key, for the shadow",
	"internal/rewrite/expr/series.go":           "domains, for the shadow",
	"internal/rewrite/expr/local.go":            "domains, for the shadow",
	"internal/rewrite/expr/truncated.go":        "limits of a column, for the shadow",
	"internal/rewrite/expr/rule_datetime.go":    "domains, for the shadow",
}

// statementPlaces are the files that hold SELECTs as text. None is for main. Package catalog, which asks the shadow
// alone, has many.
var statementPlaces = map[string]string{
	"internal/rewrite/query/select.go":       "the writer itself",
	"internal/rewrite/relation/base.go":      "a condition for the shadow",
	"internal/rewrite/release/aggregate.go":  "an expression of the finish query",
	"internal/rewrite/finish/text.go":        "the finish query",
	"internal/rewrite/finish/read.go":        "a question about collations, for the shadow",
	"internal/rewrite/expr/keys.go":          "domains, for the shadow",
	"internal/rewrite/expr/decided.go":       "a condition on values of a key, for the shadow",
	"internal/rewrite/expr/series.go":        "domains, for the shadow",
	"internal/rewrite/expr/local.go":         "domains, for the shadow",
	"internal/rewrite/expr/truncated.go":     "limits of a column, for the shadow",
	"internal/rewrite/expr/rule_datetime.go": "domains, for the shadow",
	"internal/rewrite/expr/rule_math.go":     "domains, for the shadow",
}

// statement is the beginning of a SELECT, not the name of the command in a message.
var statement = regexp.MustCompile(`(^|\()SELECT `)

// editors are the functions of package strings that edit a text.
var editors = []string{"Replace", "ReplaceAll", "NewReplacer"}

// TestQueriesForMainAreTrees: below internal/rewrite no text of a query for main is made but by package query, or
// edited by anyone.
func TestQueriesForMainAreTrees(t *testing.T) {
	asText, asStatement, editing := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for name, file := range rewriteFiles(t) {
		if !slices.Contains(treePackages, filepath.Dir(strings.TrimPrefix(name, "internal/rewrite/"))) {
			continue
		}
		editing[name] = edits(file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch v := n.(type) {
			case *ast.CallExpr:
				switch selector(v.Fun) {
				case "query.Print", "query.PrintReading", "query.Text":
					asText[name] = true
				}
				return !isRefusal(v)
			case *ast.BasicLit:
				if text, err := strconv.Unquote(v.Value); err == nil && v.Kind == token.STRING && statement.MatchString(text) {
					asStatement[name] = true
				}
			}
			return true
		})
	}
	listed(t, editPlaces, editing, "edits text, by package regexp or a replacement")
	listed(t, textPlaces, asText, "makes a text of a tree")
	listed(t, statementPlaces, asStatement, "holds a SELECT as text")
}

// listed holds what was found to a list, both ways.
func listed(t *testing.T, places map[string]string, found map[string]bool, what string) {
	t.Helper()
	for name, is := range found {
		if is && places[name] == "" {
			t.Errorf("%s %s: build a tree of package query, or say in this test what the text is for", name, what)
		}
	}
	for name := range places {
		if !found[name] {
			t.Errorf("%s no longer %s: take it off the list", name, what)
		}
	}
}

// edits reports whether a file could edit a text.
func edits(file *ast.File) bool {
	found := false
	for _, i := range file.Imports {
		found = found || i.Path.Value == `"regexp"`
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.SelectorExpr); ok {
			name, ofStrings := strings.CutPrefix(selector(v), "strings.")
			found = found || ofStrings && slices.Contains(editors, name)
		}
		return true
	})
	return found
}

// isRefusal reports whether a call makes an error, whose message and hint may quote SQL.
func isRefusal(call *ast.CallExpr) bool {
	name := selector(call.Fun)
	return strings.HasPrefix(name, "pgerr.") || strings.HasPrefix(name, "refusal.") ||
		strings.HasSuffix(name, ".Refuse") || strings.HasSuffix(name, ".RefuseAt")
}

// selector is package.Name, or the last two names of a longer chain.
func selector(e ast.Expr) string {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	switch x := s.X.(type) {
	case *ast.Ident:
		return x.Name + "." + s.Sel.Name
	case *ast.SelectorExpr:
		return x.Sel.Name + "." + s.Sel.Name
	}
	return "." + s.Sel.Name
}

// rewriteFiles are the files of internal/rewrite that are no tests, by path from the root.
func rewriteFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(filepath.Join(root, "internal/rewrite"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// canonicalMakers are the places that may make a rewrite.Canonical: where PostgreSQL's values come in, the array of
// such values, and the seed of a hash, which is an integer.
var canonicalMakers = map[string]bool{
	"internal/backend/canonical.go":     true,
	"internal/rewrite/schema/values.go": true,
	"internal/rewrite/relation/base.go": true,
}

// TestValuesCrossInOnePlace: no other code turns a text into a value for another database.
func TestValuesCrossInOnePlace(t *testing.T) {
	const root = "../.."
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && namesCanonical(c.Fun) {
				if found[filepath.ToSlash(name)] = true; !canonicalMakers[filepath.ToSlash(name)] {
					t.Errorf("%s makes a rewrite.Canonical: values cross by backend's canonical alone", name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range canonicalMakers {
		if !found[name] {
			t.Errorf("%s makes no rewrite.Canonical any more: take it off the list", name)
		}
	}
}

// namesCanonical recognises the conversions Canonical(…), rewrite.Canonical(…) and (*rewrite.Canonical)(…).
func namesCanonical(f ast.Expr) bool {
	switch x := f.(type) {
	case *ast.ParenExpr:
		return namesCanonical(x.X)
	case *ast.StarExpr:
		return namesCanonical(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Name == "Canonical"
	case *ast.Ident:
		return x.Name == "Canonical"
	}
	return false
}

package architecture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// text is a comment of a Go file, or a whole file of another kind.
type text struct {
	path string // from the root
	line int    // of the first line
	body string
}

// repository is what the repository declares and says.
type repository struct {
	files map[string]bool // paths from the root
	code  map[string]bool // Name, Type.Method and package.Name of every declaration outside tests
	tests map[string]bool // Test, Benchmark and Fuzz functions
	texts []text          // comments of Go files, and files of words: docs, SQL, YAML, scripts
}

// wordFiles are the kinds of files, beside Go's, that cite documents.
var wordFiles = map[string]bool{".md": true, ".sql": true, ".yaml": true, ".yml": true, ".sh": true, ".txt": true}

func readRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{files: map[string]bool{}, code: map[string]bool{}, tests: map[string]bool{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" || name == "bin" || name == "dist" || name == "site/pages" {
				return filepath.SkipDir
			}
			return nil
		}
		name = filepath.ToSlash(name)
		r.files[name] = true
		if ext := filepath.Ext(name); ext == ".go" {
			return r.readGo(path, name)
		} else if wordFiles[ext] || d.Name() == "Makefile" || d.Name() == "Dockerfile" {
			body, err := os.ReadFile(path)
			r.texts = append(r.texts, text{name, 1, string(body)})
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *repository) readGo(path, name string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			r.texts = append(r.texts, text{name, set.Position(c.Pos()).Line, c.Text})
		}
	}
	inTest := strings.HasSuffix(name, "_test.go")
	for _, d := range file.Decls {
		for _, declared := range declaredNames(d) {
			if inTest {
				r.tests[declared] = r.tests[declared] || testName.MatchString(declared)
				continue
			}
			r.code[declared] = true
			r.code[file.Name.Name+"."+declared] = true
		}
	}
	return nil
}

// declaredNames are the names that a declaration gives: Name, and for a method Type.Name as well.
func declaredNames(d ast.Decl) []string {
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			return []string{f.Name.Name}
		}
		return []string{f.Name.Name, receiverName(f.Recv.List[0].Type) + "." + f.Name.Name}
	}
	var names []string
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

func receiverName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

package certify_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
)

var update = flag.Bool("update", false, "print the rules into docs/certify.md anew")

// inOrder are the files of the checker, in the order of reading.
var inOrder = []string{
	"check", "relation", "from", "scan", "proven", "equations", "lists", "units", "rows", "select", "group", "within",
	"window", "forms",
	"sets", "layers", "exclude", "scope", "expr", "branches", "collate",
	"interval", "types", "operators", "arithmetic", "patterns", "ranges", "times", "casts", "functions", "table", "spans",
}

const page = "../../docs/certify.md"

const rulesBegin, rulesEnd = "<!-- rules -->\n", "<!-- end of rules -->"

// TestPage: docs/certify.md has every rule of the checker as its code states it, and every function that it knows.
func TestPage(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(content), rulesBegin)
	old, after, end := strings.Cut(rest, rulesEnd)
	if !ok || !end {
		t.Fatal("the page has no place for the rules")
	}
	want := rules(t)
	if *update {
		if err := os.WriteFile(page, []byte(before+rulesBegin+want+rulesEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != want {
		t.Error("the rules on the page are not those of the code: go test ./tests/certify -run TestPage -update")
	}
}

// TestDerivation: the page's example is derived as the page says, by rules that the page has.
func TestDerivation(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(content), "<!-- derivation -->\n\n")
	shown, after, end := strings.Cut(rest, "\n<!-- end of derivation -->\n")
	sql, _, _ := strings.Cut(shown, "\n\n")
	if !end {
		t.Fatal("the page has no place for a derivation")
	}
	want := sql + "\n\n"
	for _, s := range certify.Derive(clinic, strings.ReplaceAll(sql[4:], "\n    ", "\n"), nil, nil) {
		want += "    " + s.String() + "\n"
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+"<!-- derivation -->\n\n"+want+"\n<!-- end of derivation -->\n"+after),
			0o644); err != nil {
			t.Fatal(err)
		}
	} else if shown != want {
		t.Errorf(
			"the derivation on the page is not what certify derives: go test ./tests/certify -run 'TestPage|TestDerivation' -update\n%s", want)
	}
	for _, m := range readCorpus(t) {
		steps := certify.Derive(clinic, m.sql, m.parameters, nil)
		if _, err := certify.Check(clinic, m.sql, m.parameters, nil); (err == nil) != (steps[len(steps)-1].Rule == "answer") {
			t.Errorf("%s: %v, derived by %v", m.sql, err, steps)
		}
		for _, s := range steps {
			if !strings.Contains(rest, "\n`"+s.Rule+"`: ") || s.Of == "" {
				t.Errorf("no rule on the page: %s", s)
			}
		}
	}
}

// rules prints the comments that state a rule, file by file, and the table of functions.
func rules(t *testing.T) string {
	var page strings.Builder
	files, _ := filepath.Glob("../../internal/certify/*.go")
	if known := len(inOrder); len(files) < known {
		t.Fatalf("%d files, of which %d are named", len(files), known)
	}
	set := token.NewFileSet()
	named := map[string]bool{"doc": true, "facts": true, "node": true, "derivation": true}
	for _, name := range inOrder {
		named[name] = true
		f, err := parser.ParseFile(set, "../../internal/certify/"+name+".go", nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&page, "\n**%s.go**\n", name)
		for _, c := range f.Comments {
			if text := ruleText(c.Text()); text != "" {
				fmt.Fprintf(&page, "\n`%s`: %s\n", enclosing(f, c), text)
			}
		}
		if name == "table" {
			page.WriteString(
				"\nWhat each takes without an error, and gives; `..` bounds numbers and lengths of texts; `?`: NULL where no argument is; `!`: one spelling.\n\n")
			for _, row := range tableRows(f) {
				fmt.Fprintf(&page, "    %s\n", row)
			}
		}
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".go"); !named[name] {
			t.Errorf("%s.go is not in the order of reading", name)
		}
	}
	return page.String() + "\n"
}

var spaces = regexp.MustCompile(`\s+`)

// ruleText is what a comment says behind «Rule:», in one line; empty: it states none.
func ruleText(comment string) string {
	_, text, _ := strings.Cut(comment, "Rule:")
	return strings.TrimSpace(spaces.ReplaceAllString(text, " "))
}

// enclosing names the declaration that a comment is of or in.
func enclosing(f *ast.File, c *ast.CommentGroup) string {
	for _, d := range f.Decls {
		if c.Pos() > d.End() {
			continue
		}
		switch d := d.(type) {
		case *ast.FuncDecl:
			return d.Name.Name
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && c.Pos() <= v.End() {
					return v.Names[0].Name
				}
				if v, ok := s.(*ast.TypeSpec); ok {
					return v.Name.Name
				}
			}
		}
	}
	return "package"
}

// tableRows are the rows of the table of functions that are written out.
func tableRows(f *ast.File) (rows []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "row" {
			rows = append(rows, written(call.Args[0]))
		}
		return true
	})
	return rows
}

// written is a string as the code has it: T stands for each type of a loop.
func written(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(x.Value)
		return s
	case *ast.BinaryExpr:
		return written(x.X) + written(x.Y)
	}
	return "T"
}

package rewrite_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// notMeasured are the nodes that no measure query has.
var notMeasured = map[string]string{
	"once":   "a proof asks it",
	"ladder": "Clamp is written as one",
	"Name":   "the finish query reads released columns by it",
}

// TestEveryNodeIsPrinted: every node type of package query is in the SQL of a query of the corpus that is marked sql,
// so that a change of the printer can be read there.
func TestEveryNodeIsPrinted(t *testing.T) {
	found, marked := map[string]bool{}, 0
	for _, q := range corpus(t) {
		if !q.printed {
			continue
		}
		marked++
		asked, err := theWorld.ask(q.sql, parameters(q.params))
		if err != nil || asked.plan == nil {
			t.Errorf("%s is marked sql and has none", q.file)
			continue
		}
		blocks, err := theWorld.trees(asked)
		if err != nil {
			t.Fatalf("%s: %v", q.file, err)
		}
		for _, trees := range blocks {
			for _, tree := range trees {
				nodesOf(tree, found)
			}
		}
	}
	if marked < 40 || marked > 120 {
		t.Errorf("%d queries of the corpus are marked sql, want at most 120: as few as show every kind of query", marked)
	}
	for _, name := range nodeTypes(t) {
		if why := notMeasured[name]; why != "" && found[name] {
			t.Errorf("query.%s is in a measure query, although %s", name, why)
		} else if why == "" && !found[name] {
			t.Errorf("no query that is marked sql has a query.%s: mark one", name)
		}
	}
}

// nodesOf notes the types of a tree's nodes.
func nodesOf(tree query.Query, found map[string]bool) {
	note := func(node any) {
		of := reflect.TypeOf(node)
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		found[of.Name()] = true
	}
	query.Map{
		Scalar: func(x query.Scalar) query.Scalar { note(x); return x },
		Query:  func(q query.Query) query.Query { note(q); return q },
		Source: func(s query.Source) query.Source { note(s); return s },
	}.OfQuery(tree)
}

// nodeTypes are the types of package query that write themselves.
func nodeTypes(t *testing.T) []string {
	files, err := filepath.Glob("query/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "write" && f.Name.Name != "writeQuery" && f.Name.Name != "writeSource" {
				continue
			}
			of := f.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			names = append(names, of.(*ast.Ident).Name)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %v are nodes", names)
	}
	return names
}

package measure

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// measureFunctions are the functions that the measure printer writes without a schema; main's search_path is
// pg_catalog.
var measureFunctions = map[string]bool{
	"count": true, "sum": true, "min": true, "max": true, "bool_and": true, "bool_or": true, "row_number": true,
	"dense_rank": true,
}

// Verify parses a measure query again and holds it to what a plan may say: one SELECT of known nodes, over the
// tables that the plan reads, with functions of pg_catalog. A fault of a printer, or a constant that were more than a
// constant, would show here before main sees it. The columns of tables that it reads are those that the plan relies on.
func Verify(b *relation.Base, text string, tables []*policy.Table) error {
	if text == "" {
		return nil
	}
	tree, err := pg_query.Parse(text)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return fmt.Errorf("the measure query is not one SELECT: %w", err)
	}
	if err := sqltree.RefuseUnknown("", tree.Stmts[0].Stmt); err != nil {
		return fmt.Errorf("the measure query has an unknown node: %w", err)
	}
	planned := map[policy.Name]bool{}
	for _, t := range tables {
		planned[t.Name] = true
		for t.Unit != nil && t.Unit.Via != nil {
			planned[t.Unit.Via.References] = true
			if t = b.Schema.Policy.Table(t.Unit.Via.References); t == nil {
				break
			}
		}
	}
	var wrong error
	scans := map[string]policy.Name{} // by alias: a text has each once
	read := map[[2]string]bool{}
	sqltree.Visit(tree.Stmts[0].Stmt, func(n *pg_query.Node) bool {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_RangeVar:
			if name := (policy.Name{Schema: v.RangeVar.Schemaname, Relation: v.RangeVar.Relname}); !planned[name] {
				wrong = fmt.Errorf("the measure query reads %s, which its plan does not", name)
			} else {
				scans[v.RangeVar.Alias.GetAliasname()] = name
			}
		case *pg_query.Node_ColumnRef:
			names := sqltree.StringList(v.ColumnRef.Fields)
			read[[2]string{names[0], names[len(names)-1]}] = true
		case *pg_query.Node_FuncCall:
			names := sqltree.StringList(v.FuncCall.Funcname)
			if !(len(names) == 2 && names[0] == "pg_catalog" || len(names) == 1 && measureFunctions[names[0]]) {
				wrong = fmt.Errorf("the measure query calls %v", names)
			}
		case *pg_query.Node_SelectStmt:
			if v.SelectStmt.IntoClause != nil || len(v.SelectStmt.LockingClause) > 0 || v.SelectStmt.WithClause != nil {
				wrong = fmt.Errorf("the measure query has a clause that no plan has")
			}
		}
		return wrong == nil
	})
	for of := range read {
		if table, ok := scans[of[0]]; ok {
			b.Rely(policy.ColumnOf{Table: table, Column: of[1]})
		}
	}
	return wrong
}

package measure

import (
	"fmt"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// measureFunctions are the functions that the measure printer writes without a schema; main's search_path is
// pg_catalog.
var measureFunctions = map[string]bool{
	"count": true, "sum": true, "min": true, "max": true, "bool_and": true, "bool_or": true, "row_number": true,
	"dense_rank": true,
}

// verify parses a measure query that may run though it is not certified, and holds it to what a plan may say: one
// SELECT of known nodes, over tables that the plan reads, with functions of pg_catalog. A fault of a printer, or a
// constant that were more than a constant, would show here before main sees it.
func verify(text string, planned map[policy.Name]bool) error {
	tree, err := pg_query.Parse(text)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return fmt.Errorf("the measure query is not one SELECT: %w", err)
	}
	if err := sqltree.RefuseUnknown("", tree.Stmts[0].Stmt); err != nil {
		return fmt.Errorf("the measure query has an unknown node: %w", err)
	}
	var wrong error
	sqltree.Visit(tree.Stmts[0].Stmt, func(n *pg_query.Node) bool {
		switch v := n.GetNode().(type) {
		case *pg_query.Node_RangeVar:
			if name := (policy.Name{Schema: v.RangeVar.Schemaname, Relation: v.RangeVar.Relname}); !planned[name] {
				wrong = fmt.Errorf("the measure query reads %s, which its plan does not", name)
			}
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
	return wrong
}

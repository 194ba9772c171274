package command

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
)

// Of turns the parse tree of one statement into a Command. sql is the statement's own text. It reports false for what
// is the engine's: SELECT, VALUES, TABLE, WITH … SELECT and EXPLAIN.
func Of(node *pg_query.Node, sql string) (Command, bool) {
	switch n := node.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return functions(n.SelectStmt)
	case *pg_query.Node_ExplainStmt:
		return explain(n.ExplainStmt)
	case *pg_query.Node_TransactionStmt:
		return transaction(n.TransactionStmt), true
	case *pg_query.Node_VariableSetStmt:
		return variableSet(n.VariableSetStmt), true
	case *pg_query.Node_VariableShowStmt:
		return Show{Name: n.VariableShowStmt.Name}, true
	case *pg_query.Node_DiscardStmt:
		return discard(n.DiscardStmt), true
	case *pg_query.Node_PrepareStmt:
		return prepare(n.PrepareStmt, sql), true
	case *pg_query.Node_ExecuteStmt:
		return execute(n.ExecuteStmt, sql), true
	case *pg_query.Node_DeallocateStmt:
		return Deallocate{Name: n.DeallocateStmt.Name}, true
	case *pg_query.Node_DeclareCursorStmt:
		return declare(n.DeclareCursorStmt, sql), true
	case *pg_query.Node_FetchStmt:
		return fetch(n.FetchStmt), true
	case *pg_query.Node_ClosePortalStmt:
		return CloseCursor{Name: n.ClosePortalStmt.Portalname}, true
	case *pg_query.Node_CopyStmt:
		return copyTo(n.CopyStmt, sql), true
	case *pg_query.Node_ListenStmt:
		return Listen{Channel: n.ListenStmt.Conditionname}, true
	case *pg_query.Node_UnlistenStmt:
		return Unlisten{Channel: n.UnlistenStmt.Conditionname}, true
	case *pg_query.Node_NotifyStmt:
		return Notify{Channel: n.NotifyStmt.Conditionname}, true
	case *pg_query.Node_DoStmt:
		if unlistens(n.DoStmt) {
			return DoUnlisten{}, true
		}
	case *pg_query.Node_ConstraintsSetStmt:
		return Constraints{}, true
	}
	return refuse(node), true
}

// asyncpgUnlisten is the body of the DO block in asyncpg's Connection.reset: the only one with a meaning here.
const asyncpgUnlisten = "BEGIN PERFORM * FROM pg_listening_channels() LIMIT 1; IF FOUND THEN UNLISTEN *; END IF; END;"

func unlistens(d *pg_query.DoStmt) bool {
	if len(d.Args) != 1 || d.Args[0].GetDefElem().GetDefname() != "as" {
		return false
	}
	body := d.Args[0].GetDefElem().GetArg().GetString_().GetSval()
	return strings.Join(strings.Fields(body), " ") == asyncpgUnlisten
}

func discard(d *pg_query.DiscardStmt) Command {
	switch d.Target {
	case pg_query.DiscardMode_DISCARD_PLANS:
		return Discard{What: "PLANS"}
	case pg_query.DiscardMode_DISCARD_SEQUENCES:
		return Discard{What: "SEQUENCES"}
	case pg_query.DiscardMode_DISCARD_TEMP:
		return Discard{What: "TEMP"}
	}
	return Discard{What: "ALL"}
}

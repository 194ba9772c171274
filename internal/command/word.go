package command

import pg_query "github.com/pganalyze/pg_query_go/v6"

// Word names a statement for those who may not read it: its command as PostgreSQL's documentation calls it, or nothing.
// VALUES, TABLE and WITH are SELECT. Nothing that the client has written is in it.
func Word(node *pg_query.Node) string {
	switch n := node.GetNode().(type) {
	case *pg_query.Node_SelectStmt:
		return "SELECT"
	case *pg_query.Node_ExplainStmt:
		return "EXPLAIN"
	case *pg_query.Node_TransactionStmt:
		return transactionWord(n.TransactionStmt.Kind)
	case *pg_query.Node_VariableSetStmt, *pg_query.Node_ConstraintsSetStmt:
		return "SET"
	case *pg_query.Node_VariableShowStmt:
		return "SHOW"
	case *pg_query.Node_DiscardStmt:
		return "DISCARD"
	case *pg_query.Node_PrepareStmt:
		return "PREPARE"
	case *pg_query.Node_ExecuteStmt:
		return "EXECUTE"
	case *pg_query.Node_DeallocateStmt:
		return "DEALLOCATE"
	case *pg_query.Node_DeclareCursorStmt:
		return "DECLARE"
	case *pg_query.Node_FetchStmt:
		return "FETCH"
	case *pg_query.Node_ClosePortalStmt:
		return "CLOSE"
	case *pg_query.Node_CopyStmt:
		return "COPY"
	case *pg_query.Node_ListenStmt:
		return "LISTEN"
	case *pg_query.Node_UnlistenStmt:
		return "UNLISTEN"
	case *pg_query.Node_NotifyStmt:
		return "NOTIFY"
	case *pg_query.Node_DoStmt:
		return "DO"
	case *pg_query.Node_CallStmt:
		return "CALL"
	case *pg_query.Node_InsertStmt:
		return "INSERT"
	case *pg_query.Node_UpdateStmt:
		return "UPDATE"
	case *pg_query.Node_DeleteStmt:
		return "DELETE"
	case *pg_query.Node_MergeStmt:
		return "MERGE"
	case *pg_query.Node_TruncateStmt:
		return "TRUNCATE"
	case *pg_query.Node_CreateStmt, *pg_query.Node_CreateTableAsStmt:
		return "CREATE TABLE"
	}
	return ""
}

func transactionWord(kind pg_query.TransactionStmtKind) string {
	switch kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN, pg_query.TransactionStmtKind_TRANS_STMT_START:
		return "BEGIN"
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		return "COMMIT"
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return "ROLLBACK"
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT, pg_query.TransactionStmtKind_TRANS_STMT_RELEASE,
		pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return "SAVEPOINT"
	}
	return ""
}

package command

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// refuse words the refusal of a statement that is neither a question nor a session command.
func refuse(node *pg_query.Node) Refused {
	switch n := node.GetNode().(type) {
	case *pg_query.Node_DoStmt:
		return unsupported("DO")
	case *pg_query.Node_CallStmt:
		return unsupported("CALL")
	case *pg_query.Node_InsertStmt:
		return denied("INSERT", readOnlyHint)
	case *pg_query.Node_UpdateStmt:
		return denied("UPDATE", readOnlyHint)
	case *pg_query.Node_DeleteStmt:
		return denied("DELETE", readOnlyHint)
	case *pg_query.Node_MergeStmt:
		return denied("MERGE", readOnlyHint)
	case *pg_query.Node_TruncateStmt:
		return denied("TRUNCATE", readOnlyHint)
	case *pg_query.Node_LockStmt:
		return denied("LOCK", "Leave it out: dpproxy takes no locks for clients.")
	case *pg_query.Node_VacuumStmt:
		if n.VacuumStmt.IsVacuumcmd {
			return denied("VACUUM", readOnlyHint)
		}
		return denied("ANALYZE", readOnlyHint)
	case *pg_query.Node_CreateTableAsStmt:
		return denied("CREATE TABLE AS", "Use WITH … AS (…) inside the query instead.")
	case *pg_query.Node_CreateStmt:
		return denied("CREATE TABLE", "Use WITH … AS (…) inside the query instead of a temporary table.")
	case *pg_query.Node_RefreshMatViewStmt:
		return denied("REFRESH MATERIALIZED VIEW", readOnlyHint)
	}
	return denied("this statement", readOnlyHint)
}

// explain leaves EXPLAIN to the engine, but for that of a session command.
func explain(e *pg_query.ExplainStmt) (Command, bool) {
	if e.Query.GetExecuteStmt() == nil && e.Query.GetDeclareCursorStmt() == nil {
		return nil, false
	}
	return Refused{pgerr.New(pgerr.FeatureNotSupported, "EXPLAIN of EXECUTE or DECLARE CURSOR is not supported",
		pgerr.Hint("EXPLAIN the query itself, with its values."))}, true
}

const readOnlyHint = "Send this statement to the database itself: dpproxy answers questions and changes nothing."

func denied(what, hint string) Refused {
	return Refused{refusal.New(refusal.ReadOnly, "permission denied: "+what+" is not allowed through dpproxy",
		pgerr.Hint("%s", hint))}
}

func unsupported(what string) Refused {
	return Refused{refusal.New(refusal.Procedure, what+" is not supported through dpproxy",
		pgerr.Hint("Send the queries that it would run as statements of their own."))}
}

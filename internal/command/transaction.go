package command

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

func transaction(t *pg_query.TransactionStmt) Command {
	switch t.Kind {
	case pg_query.TransactionStmtKind_TRANS_STMT_BEGIN:
		return Begin{Modes: modes(t.Options)}
	case pg_query.TransactionStmtKind_TRANS_STMT_START:
		return Begin{Start: true, Modes: modes(t.Options)}
	case pg_query.TransactionStmtKind_TRANS_STMT_COMMIT:
		return Commit{Chain: t.Chain}
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		return Rollback{Chain: t.Chain}
	case pg_query.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
		return Savepoint{Name: t.SavepointName}
	case pg_query.TransactionStmtKind_TRANS_STMT_RELEASE:
		return Release{Name: t.SavepointName}
	case pg_query.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		return RollbackTo{Name: t.SavepointName}
	}
	return Refused{pgerr.New(pgerr.FeatureNotSupported, "prepared transactions are not supported",
		pgerr.Hint("Use COMMIT or ROLLBACK: dpproxy changes no data."))}
}

// modes reads the options of BEGIN and SET TRANSACTION.
func modes(options []*pg_query.Node) Modes {
	var m Modes
	for _, o := range options {
		d := o.GetDefElem()
		flag := d.GetArg().GetAConst().GetIval().GetIval() != 0
		switch d.GetDefname() {
		case "transaction_isolation":
			m.Isolation = d.GetArg().GetAConst().GetSval().GetSval()
		case "transaction_read_only":
			m.ReadOnly = &flag
		case "transaction_deferrable":
			m.Deferrable = &flag
		}
	}
	return m
}

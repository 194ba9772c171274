package session

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// step carries one statement through apply.
type step struct {
	statement Statement
	behind    []Statement   // in the same simple query
	prepared  Prepared      // once known: of the statement inside PREPARE
	inner     Statement     // once known: the statement inside PREPARE
	arguments []command.Arg // values of the parameters of a command
	formats   []int16       // result formats
	query     *query        // once bound: the statement's own, that of DECLARE or of EXECUTE
}

// apply runs one statement on a state. The rows of a query are left to read.
func (s *Session) apply(ctx context.Context, st *state, x *step) (*result, error) {
	if err := st.usable(x.statement.Command); err != nil {
		return nil, err
	}
	if x.statement.Command == nil {
		return s.applyQuery(ctx, st, x)
	}
	r, err := s.applyCommand(ctx, st, x)
	return r, withOffset(err, x.statement.Offset)
}

// applyQuery binds a statement of the engine.
func (s *Session) applyQuery(ctx context.Context, st *state, x *step) (*result, error) {
	if x.query == nil {
		q, err := s.bindText(ctx, st, x)
		if err != nil {
			return nil, err
		}
		x.query = q
	}
	st.tx.asked = true
	return &result{columns: x.query.columns, query: x.query}, nil
}

// bindText prepares and binds a statement of a simple query, which has no parameters.
func (s *Session) bindText(ctx context.Context, st *state, x *step) (*query, error) {
	scope := s.scope(st)
	scope.Workload = x.behind
	prepared, err := x.statement.Parsed.Prepare(ctx, scope, nil)
	if err != nil {
		return nil, withOffset(err, x.statement.Offset)
	}
	if len(prepared.Params()) > 0 {
		return nil, withOffset(noParameter(x.statement.SQL), x.statement.Offset)
	}
	return s.bindQuery(ctx, scope, prepared, nil, nil, x.formats, x.statement.Offset)
}

func (s *Session) applyCommand(ctx context.Context, st *state, x *step) (*result, error) {
	st.tx.asked = st.tx.asked || takesSnapshot(x.statement.Command)
	switch c := x.statement.Command.(type) {
	case command.Begin:
		return st.begin(c), nil
	case command.Commit:
		return st.commit(c.Chain)
	case command.Rollback:
		return st.rollback(c.Chain)
	case command.Savepoint:
		return st.savepoint(c.Name)
	case command.Release:
		return st.release(c.Name)
	case command.RollbackTo:
		return st.rollbackTo(c.Name)
	case command.SetTransaction:
		return st.setTransaction(c)
	case command.Set:
		return s.set(ctx, st, c)
	case command.Reset:
		return st.reset(c)
	case command.Show:
		return s.showResult(st, c)
	case command.Role:
		return s.role(c)
	case command.Discard:
		return st.discard(c)
	case command.Prepare:
		return s.prepare(ctx, st, x, c)
	case command.Execute:
		return s.execute(ctx, st, x, c)
	case command.Deallocate:
		return st.deallocate(c)
	case command.Declare:
		return s.declare(ctx, st, x, c)
	case command.Fetch:
		return s.fetch(ctx, st, x, c)
	case command.Copy:
		return s.copyTo(ctx, st, c)
	case command.CloseCursor:
		return st.closeCursor(c)
	case command.Constraints:
		r := &result{tag: "SET CONSTRAINTS"}
		if !st.tx.block && !st.tx.many {
			r.warn(noActiveTransaction, "SET CONSTRAINTS can only be used in transaction blocks")
		}
		return r, nil
	case command.Functions:
		return s.functions(ctx, st, x, c)
	}
	return plain(x.statement.Command)
}

// takesSnapshot says which commands settle a transaction's modes, as queries do: PostgreSQL's
// PlannedStmtRequiresSnapshot (src/backend/tcop/pquery.c).
func takesSnapshot(c command.Command) bool {
	switch c.(type) {
	case command.Prepare, command.Execute, command.Deallocate, command.Declare, command.Copy, command.CloseCursor,
		command.Discard, command.Functions, command.DoUnlisten:
		return true
	}
	return false
}

// plain answers the commands that change nothing here, and refusals.
func plain(c command.Command) (*result, error) {
	switch c := c.(type) {
	case command.Listen:
		return &result{tag: "LISTEN"}, nil
	case command.Unlisten:
		return &result{tag: "UNLISTEN"}, nil
	case command.DoUnlisten:
		return &result{tag: "DO"}, nil
	case command.Notify:
		return &result{tag: "NOTIFY"}, nil
	case command.Refused:
		return nil, c.Err
	}
	return nil, pgerr.New(pgerr.FeatureNotSupported, "statement is not supported")
}

// noParameter refuses a parameter where nothing can bind it, at its first place in the text.
func noParameter(sql string) error {
	return pgerr.New("42P02", "there is no parameter $1",
		pgerr.At(utf8.RuneCountInString(sql[:max(0, strings.Index(sql, "$"))])+1),
		pgerr.Hint("Bind parameters with the extended protocol."))
}

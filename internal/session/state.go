package session

import (
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Limits on what one session may hold.
const (
	maxStatements = 10000
	// maxStatementText bounds the texts of all prepared statements together, in bytes; their parse trees are some thirty
	// times larger.
	maxStatementText = 2 << 20
	maxPortals       = 1000
	maxSavepoints    = 1000
)

// state holds everything that a statement may change.
type state struct {
	layers     layers
	tx         transaction
	statements map[string]*preparedStatement
	text       int // bytes of the statements' texts
	portals    map[string]*portal
}

// preparedStatement holds what Parse or PREPARE has stored.
type preparedStatement struct {
	name      string
	statement *Statement // nil: empty query
	prepared  Prepared   // of the statement itself, or of the one inside DECLARE; nil for other commands
	types     []uint32   // parameter types of commands
	trace     *Trace     // of Parse; nil: it was told with a Bind
}

func (s *preparedStatement) size() int {
	if s.statement == nil {
		return 0
	}
	return len(s.statement.SQL)
}

func (st *state) statement(name string) (*preparedStatement, error) {
	if s, ok := st.statements[name]; ok {
		return s, nil
	}
	if name == "" {
		return nil, pgerr.New(pgerr.InvalidStatementName, "unnamed prepared statement does not exist")
	}
	return nil, pgerr.New(pgerr.InvalidStatementName, `prepared statement "`+name+`" does not exist`)
}

// addStatement stores a prepared statement; a named one must be new.
func (st *state) addStatement(s *preparedStatement) error {
	if s.name != "" {
		if err := st.freeStatementName(s.name); err != nil {
			return err
		}
	}
	st.dropStatement(s.name)
	if len(st.statements) >= maxStatements || st.text+s.size() > maxStatementText {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many or too long prepared statements", pgerr.Hint("DEALLOCATE those that are no longer needed."))
	}
	st.statements[s.name] = s
	st.text += s.size()
	return nil
}

func (st *state) freeStatementName(name string) error {
	if _, taken := st.statements[name]; taken {
		return pgerr.New(pgerr.DuplicatePreparedStatement, `prepared statement "`+name+`" already exists`)
	}
	return nil
}

// dropStatement forgets a prepared statement, if there is one.
func (st *state) dropStatement(name string) {
	if s, ok := st.statements[name]; ok {
		st.text -= s.size()
		delete(st.statements, name)
	}
}

func (st *state) portal(name string) (*portal, error) {
	if p, ok := st.portals[name]; ok {
		return p, nil
	}
	return nil, pgerr.New(pgerr.InvalidCursorName, `portal "`+name+`" does not exist`)
}

func (st *state) addPortal(p *portal) error {
	if len(st.portals) >= maxPortals {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many open cursors", pgerr.Hint("CLOSE those that are no longer needed."))
	}
	if st.stored()+p.held() > MaxStored {
		return errStored
	}
	p.sequence = st.tx.next()
	st.portals[p.name] = p
	return nil
}

// usable refuses everything but the end of a failed transaction.
func (st *state) usable(c command.Command) error {
	if !st.tx.block || !st.tx.failed {
		return nil
	}
	switch c.(type) {
	case command.Commit, command.Rollback, command.RollbackTo:
		return nil
	}
	return errAborted
}

var errAborted error = pgerr.New(pgerr.InFailedTransaction, "current transaction is aborted, commands ignored until end of transaction block")

// result holds what one statement sends back: a tag, and rows if it has columns.
type result struct {
	columns []pgconn.FieldDescription
	rows    [][][]byte
	query   *query   // in the place of rows: all rows of a query
	copying *copying // likewise, as COPY data
	tag     string
	notices []*pgconn.Notice
}

// warn adds a WARNING.
func (r *result) warn(code, message string) {
	r.notices = append(r.notices, &pgconn.Notice{Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: code, Message: message})
}

// stored counts the bytes that open portals hold.
func (st *state) stored() int {
	n := 0
	for _, p := range st.portals {
		n += p.held()
	}
	return n
}

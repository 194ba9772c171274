package session

import (
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Limits on what one session may hold.
const (
	maxStatements = 10000
	maxPortals    = 1000
	maxSavepoints = 1000
)

// What is kept takes about so many bytes of memory.
const (
	// TreeBytes is for each byte of a statement's text: its parse tree and its analysis.
	TreeBytes = 40
	// objectBytes is for each statement, portal and savepoint, columnBytes for each column of one, and valueBytes for each
	// value besides its own.
	objectBytes = 1024
	columnBytes = 200
	valueBytes  = 32
)

// state holds everything that a statement may change.
type state struct {
	layers     layers
	tx         transaction
	statements map[string]*preparedStatement
	portals    map[string]*portal
	memory     *memory.Account // counts all of it
}

// preparedStatement holds what Parse or PREPARE has stored.
type preparedStatement struct {
	name      string
	text      int         // bytes of what the client has sent
	hold      memory.Hold // while it is stored
	statement *Statement  // nil: empty query
	prepared  Prepared    // of the statement itself, or of the one inside DECLARE; nil for other commands
	types     []uint32    // parameter types of commands
	trace     *Trace      // of Parse; nil: it was told with a Bind
}

// bytes is how much memory a statement takes.
func (s *preparedStatement) bytes() int {
	n := objectBytes + len(s.name) + TreeBytes*s.text + 8*len(s.params())
	if s.prepared != nil {
		n += columnBytes * len(s.prepared.Columns())
	}
	return n
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
	if len(st.statements) >= maxStatements {
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many prepared statements",
			pgerr.Hint("DEALLOCATE those that are no longer needed."))
	}
	var err error
	if s.hold, err = st.memory.Take(s.bytes()); err != nil {
		return err
	}
	st.statements[s.name] = s
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
		s.hold.Free()
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
		return pgerr.New(pgerr.ProgramLimitExceeded, "too many open cursors",
			pgerr.Hint("CLOSE those that are no longer needed."))
	}
	var err error
	if p.hold, err = st.memory.Take(p.bytes); err != nil {
		return err
	}
	p.sequence = st.tx.next()
	st.portals[p.name] = p
	return nil
}

// dropPortal forgets a portal and its rows, if there is one.
func (st *state) dropPortal(name string) {
	p, ok := st.portals[name]
	if !ok {
		return
	}
	p.hold.Free()
	for _, q := range []*query{p.query, p.inner} {
		if q != nil {
			q.hold.Free()
		}
	}
	delete(st.portals, name)
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

var errAborted error = pgerr.New(pgerr.InFailedTransaction,
	"current transaction is aborted, commands ignored until end of transaction block")

// result holds what one statement sends back: a tag, and rows if it has columns.
type result struct {
	columns []pgconn.FieldDescription
	rows    [][][]byte
	query   *query      // in the place of rows: all rows of a query
	copying *copying    // likewise, as COPY data
	hold    memory.Hold // of rows
	tag     string
	notices []*pgconn.Notice
}

// warn adds a WARNING.
func (r *result) warn(code, message string) {
	r.notices = append(r.notices, &pgconn.Notice{
		Severity: "WARNING", SeverityUnlocalized: "WARNING", Code: code,
		Message: message,
	})
}

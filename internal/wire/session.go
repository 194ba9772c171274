package wire

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/memory"
)

// Handler opens a session for a client that has authenticated.
type Handler interface {
	// Open is called once per connection. An error is sent as FATAL.
	Open(ctx context.Context, startup Startup) (Session, error)
}

// Startup is what a client said before its first statement.
type Startup struct {
	Analyst    string            // the authenticated identity, in the policy's spelling: the ledger's key
	User       string            // as sent; what current_user shows
	Database   string            // as sent, or User
	Parameters map[string]string // settings from the packet and from its options, without user, database, replication
	RemoteAddr string
	ProcessID  uint32          // of BackendKeyData
	Memory     *memory.Account // what the connection keeps; it is closed behind the session
	// Notice queues a notice that is sent before the first ReadyForQuery. It is valid during Open only.
	Notice func(*pgconn.Notice)
}

// Session answers the statements of one connection. All calls come from one goroutine; a cancelled ctx means that the
// client asked to cancel, went away, or that the server is stopping (context.Cause says which).
//
// Errors are *pgconn.PgError where the client may see the text; any other error reaches it as XX000 with a fixed text
// and is logged. After an error in an extended message the wire skips to Sync by itself.
type Session interface {
	// Parameters lists the ParameterStatus pairs to report at startup, in order.
	Parameters() []Parameter

	// Query runs a simple-query text: zero or more statements.
	Query(ctx context.Context, sql string, w ResultWriter) error

	Parse(ctx context.Context, name, sql string, parameterTypes []uint32) error
	Bind(ctx context.Context, b Bind) error
	DescribeStatement(ctx context.Context, name string) (parameterTypes []uint32, columns []pgconn.FieldDescription,
		err error)
	DescribePortal(ctx context.Context, name string) ([]pgconn.FieldDescription, error)
	// Execute writes at most maxRows rows (0: all) and then PortalSuspended, CommandComplete or EmptyQuery.
	Execute(ctx context.Context, portal string, maxRows uint32, w ResultWriter) error
	CloseStatement(name string)
	ClosePortal(name string)

	// Sync is called before every ReadyForQuery. It ends an implicit transaction, or fails an explicit one when failed
	// says that an error was sent since the last ReadyForQuery. It returns the reported settings that have changed since.
	Sync(failed bool) []Parameter
	// TransactionStatus is the byte of ReadyForQuery: 'I', 'T' or 'E'.
	TransactionStatus() byte
	// IdleTimeout is how long the client may stay silent now (0 means no limit), and the FATAL error that then ends the
	// session.
	IdleTimeout() (time.Duration, *pgconn.PgError)
	// Encoding is what the client's text is in now: of what it sends, and of column names, notices and errors. Parameters
	// and rows are the session's to convert, since their types say which of them are text.
	Encoding() *clientencoding.Encoding
	Close()
}

// Parameter is one ParameterStatus.
type Parameter struct{ Name, Value string }

// Bind carries the fields of a Bind message. A nil value is NULL. Format codes are 0 or 1; there are none, one, or one
// per parameter.
type Bind struct {
	Portal, Statement string
	ParameterFormats  []int16
	Parameters        [][]byte
	ResultFormats     []int16
}

// ResultWriter takes what a statement sends back. Calls block when the client does not read.
type ResultWriter interface {
	// RowDescription is sent by simple queries only (NoData is the wire's business).
	RowDescription(columns []pgconn.FieldDescription) error
	// DataRow keeps no reference to values after it returns. A nil value is NULL.
	DataRow(values [][]byte) error
	CommandComplete(tag string) error
	EmptyQuery() error
	PortalSuspended() error
	Notice(n *pgconn.Notice) error
	// CopyOut begins COPY … TO STDOUT: its format is 0 for text, 1 for binary, and so is that of each of its columns.
	CopyOut(format byte, columns int) error
	CopyData(data []byte) error
	CopyDone() error
}

package session

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Engine answers single statements. It knows nothing of names, portals, cursors and transactions: those are the
// session's. It is safe for concurrent use by many sessions.
//
// Errors are *pgconn.PgError where the client may see the text. Positions in them count characters in Statement.SQL
// (the session adds Statement.Offset), except those of Parse, which count in the whole text. When ctx is done, an
// engine may return any error: the session replaces it by the PgError that is context.Cause(ctx).
type Engine interface {
	// Parse splits a text and checks its syntax: no names, no backend. Empty and comment-only texts give no statement.
	Parse(sql string) ([]Statement, error)

	// Charge spends for a bound statement if that needs it, durable when it returns. It comes right before Execute, or
	// Void. ErrReloaded means that nothing was charged, and that the statement is to be bound again.
	Charge(ctx context.Context, scope Scope, bound Bound) error

	// CheckSetting has the backend validate a setting that only PostgreSQL can judge: "TimeZone" (a zone, a number of
	// hours, or INTERVAL '+00:00'; what set_config takes). It returns the value as SHOW prints it; an error is 22023.
	CheckSetting(ctx context.Context, name, value string) (canonical string, err error)

	// Info returns what new sessions report and SHOW prints. A policy reload or a backend restart may change it.
	Info(ctx context.Context) (Info, error)
}

// ErrReloaded says that the policy has been read again since a statement was bound. Clients read it, in the words at
// which drivers prepare again, only where it has been each time that the statement was bound.
var ErrReloaded error = pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
	pgerr.Hint("The policy has been read again since the statement was bound. Send it again."))

// Statement is one statement of a text that a client sent.
type Statement struct {
	SQL     string
	Offset  int             // characters before SQL in the client's text
	Word    string          // command.Word
	Command command.Command // what the session does itself; nil: the engine's
	Parsed  Parsed          // what the engine does; nil where Command is not
}

// Parsed is a statement of the engine whose syntax is checked. It is immutable.
type Parsed interface {
	// Prepare checks names and types. parameterTypes are the client's, 0 where it left them open. It costs nothing and
	// touches no private row.
	Prepare(ctx context.Context, scope Scope, parameterTypes []uint32) (Prepared, error)
}

// Prepared is a statement whose names and types are known. It is immutable and may outlive transactions and settings.
type Prepared interface {
	Params() []uint32
	// Columns describes the result with format 0; nil: no result (NoData).
	Columns() []pgconn.FieldDescription
	// Bind analyses the statement with its values; nothing is charged and no private row is read. formats has the length
	// 0, 1 or len(values); a nil value is NULL. resultFormats is 0, 1 or one code per column. An error refuses the
	// statement.
	Bind(ctx context.Context, scope Scope, formats []int16, values [][]byte, resultFormats []int16) (Bound, error)
}

// Bound is a statement with its values, ready to be charged and run once.
type Bound interface {
	// Execute runs the statement under the scope that Bind was given. It is called once, after Charge.
	Execute(ctx context.Context) (Rows, error)
}

// Voider is implemented by a Bound that holds something between its charge and its Execute. Void gives it up: the
// client went away before it came to Execute.
type Voider interface {
	Void()
}

// Sized is implemented by a Bound that may hold much until it is executed: Bytes says about how much, TreeBytes for its
// text among it.
type Sized interface {
	Bytes() int
}

// Describer is implemented by a Bound that cannot give every column in the format that Bind asked for. Otherwise the
// columns are Prepared.Columns with those formats.
type Describer interface {
	ResultColumns() []pgconn.FieldDescription
}

// Rows is a result, read once from its beginning. It may hold a backend connection until Close.
type Rows interface {
	// Columns describes the rows with the formats that Bind asked for; nil: the statement returns no rows.
	Columns() []pgconn.FieldDescription
	// Next returns io.EOF after the last row. The values are valid until the following call; a nil value is NULL.
	Next() ([][]byte, error)
	// Tag is the command tag once Next has returned io.EOF: "SELECT 3", "EXPLAIN".
	Tag() string
	// Notices go to the client after the rows, once Next has returned io.EOF.
	Notices() []*pgconn.Notice
	// Close may be called at any time and more than once.
	Close()
}

// Scope says for whom and under which settings a statement runs.
type Scope struct {
	Analyst   string // the ledger's key
	User      string // what current_user shows
	Database  string // what current_database() shows
	ProcessID uint32 // what pg_backend_pid() shows
	Settings  Settings
	Last      []Released  // what the session's last private statement has released
	Workload  []Statement // that come with it in the same message, behind it
	Memory    *memory.Account
}

// MostTogether bounds the statements that one is planned together with.
const MostTogether = 64

// Released is an aggregate of a private statement that was answered.
type Released struct {
	Column    string // as the NOTICE names it
	Mechanism string
	// of the noise, in the aggregate's unit, of an average in its sum's; 0: it has none that is one number
	Scale float64
	// the widest 95% margin among the groups, in the aggregate's unit, of times in seconds; nil: none is known
	Margin  *float64
	LeftOut *float64 // the share of rows that are left out; nil: unknown
	Epsilon float64  // that the whole statement has spent
	// of the rows of an answer that is sorted by it: «1, 2, 3–10», of which the last is within the noise; empty: it is not
	Place string
}

// Releaser is implemented by a Bound over private rows. Released says what it has released, once it is executed.
type Releaser interface {
	Released() []Released
}

// Info describes backend and policy to a session.
type Info struct {
	// Parameters holds settings as the backend reports them, by PostgreSQL's spelling. Required: server_version,
	// server_encoding, integer_datetimes. Others (lc_collate, server_version_num, max_identifier_length, TimeZone, …)
	// replace the session's built-in defaults.
	Parameters map[string]string
	// Database is the name that a client must connect to: that of main. Empty means any.
	Database   string
	Epsilon    float64 // what a statement costs without SET dpproxy.epsilon
	EpsilonMax float64 // the most that SET dpproxy.epsilon accepts
	// EmptyGroups is what dpproxy.empty_groups is without SET.
	EmptyGroups string
	// Intervals is what dpproxy.intervals is without SET.
	Intervals bool
	// Rows is what dpproxy.rows is without SET, by analyst; only who has Synthetic may set it, or dpproxy.source, to that.
	Rows func(analyst string) string
}

package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// internalErrorText is all that a client learns of a failure of dpproxy's.
const internalErrorText = "internal error in dpproxy"

var (
	// errClientGone ends what runs for a client that closed its connection.
	errClientGone = errors.New("client went away")
	// errCanceled is the cause of a context that a CancelRequest ended.
	errCanceled = newError("ERROR", pgerr.QueryCanceled, "canceling statement due to user request")
	// errShutdown ends sessions when the server stops.
	errShutdown = newError("FATAL", pgerr.AdminShutdown, "terminating connection due to administrator command")
)

func newError(severity, code, format string, args ...any) *pgconn.PgError {
	return &pgconn.PgError{
		Severity: severity, SeverityUnlocalized: severity, Code: code,
		Message: fmt.Sprintf(format, args...),
	}
}

func violation(format string, args ...any) *pgconn.PgError {
	return newError("ERROR", pgerr.ProtocolViolation, format, args...)
}

func fatal(code, format string, args ...any) *pgconn.PgError {
	return newError("FATAL", code, format, args...)
}

// asFatal returns e with severity FATAL: what ends a connection must say so.
func asFatal(e *pgconn.PgError) *pgconn.PgError {
	f := *e
	f.Severity, f.SeverityUnlocalized = "FATAL", "FATAL"
	return &f
}

// asError returns an error that ends a statement, in the place of one that ends a connection.
func asError(err error) error {
	e, _ := visible(err)
	f := *e
	f.Severity, f.SeverityUnlocalized = "ERROR", "ERROR"
	return &f
}

// visible returns the error that a client may see, and whether err itself was one. Everything that is not a PgError
// becomes one fixed text, so that no path of the program can leak by its error texts.
func visible(err error) (*pgconn.PgError, bool) {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e, true
	}
	return newError("ERROR", pgerr.InternalError, internalErrorText), false
}

// response takes over severity, code, message, detail, hint and position. Every other field (where, schema, table,
// file, line, routine, …) would speak of queries that are not the client's.
func response(e *pgconn.PgError) pgproto3.ErrorResponse {
	severity := e.SeverityUnlocalized
	if severity == "" {
		severity = e.Severity
	}
	if severity == "" {
		severity = "ERROR"
	}
	r := pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity, Code: e.Code,
		Message: clean(e.Message), Detail: clean(e.Detail), Hint: clean(e.Hint), Position: e.Position,
	}
	if len(r.Code) != 5 {
		r.Code = pgerr.InternalError
	}
	if r.Message == "" {
		r.Message = "unspecified error"
	}
	return r
}

// clean drops NUL, which would end a field early, and bytes that are not UTF-8: clients may quote themselves in errors.
func clean(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "?") }

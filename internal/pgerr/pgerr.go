// Package pgerr builds the errors that a client sees, in PostgreSQL's own shape.
//
// Every package that can refuse a statement returns a *pgconn.PgError made here, so that code, hint and position
// travel unchanged from the place that knows the reason to the wire.
package pgerr

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATE codes, by the names of PostgreSQL's errcodes.txt.
const (
	FeatureNotSupported        = "0A000" // SQL that the analysis does not support
	ProtocolViolation          = "08P01"
	InvalidParameterValue      = "22023"
	CharacterNotInRepertoire   = "22021"
	UntranslatableCharacter    = "22P05" // no such character in the other encoding
	InFailedTransaction        = "25P02"
	InvalidStatementName       = "26000"
	InvalidAuthorization       = "28000"
	InvalidPassword            = "28P01"
	InvalidCursorName          = "34000"
	InvalidCatalogName         = "3D000"
	SyntaxError                = "42601"
	InsufficientPrivilege      = "42501" // rows, writes, catalog objects off the allow-list
	UndefinedObject            = "42704"
	UndefinedTable             = "42P01"
	UndefinedColumn            = "42703"
	DuplicateCursor            = "42P03"
	DuplicatePreparedStatement = "42P05"
	TooManyConnections         = "53300" // also: no pool connection in time
	OutOfMemory                = "53200"
	BudgetExceeded             = "53400" // configuration_limit_exceeded
	ProgramLimitExceeded       = "54000" // statement too large
	StatementTooComplex        = "54001" // too deep
	ObjectNotInState           = "55000" // measure query failed before
	QueryCanceled              = "57014"
	AdminShutdown              = "57P01"
	IOError                    = "58030" // ledger unavailable
	InternalError              = "XX000"
)

// Option refines an error.
type Option func(*pgconn.PgError)

// New returns an error with severity ERROR. The message says what happened; hints say what to do.
func New(code, message string, options ...Option) *pgconn.PgError {
	e := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: message}
	for _, o := range options {
		o(e)
	}
	return e
}

// Hint says what to write or do instead.
func Hint(format string, args ...any) Option {
	return func(e *pgconn.PgError) { e.Hint = fmt.Sprintf(format, args...) }
}

// Detail adds facts. It must never quote private data or the policy.
func Detail(format string, args ...any) Option {
	return func(e *pgconn.PgError) { e.Detail = fmt.Sprintf(format, args...) }
}

// At points into the client's text: position counts characters from 1; 0 means unknown.
func At(position int) Option {
	return func(e *pgconn.PgError) { e.Position = int32(position) }
}

// Fatal marks an error that ends the session.
func Fatal() Option {
	return func(e *pgconn.PgError) { e.Severity, e.SeverityUnlocalized = "FATAL", "FATAL" }
}

package refusal

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// New makes a refusal. Its hint says which form is answered, as the options have it or the reason in general,
// and ends with the statement that explains the reason.
func New(reason Reason, message string, options ...pgerr.Option) *pgconn.PgError {
	e := pgerr.New(reason.Code(), message, options...)
	if e.Hint == "" {
		e.Hint = reasons[reason].instead
	}
	if e.Hint != "" {
		e.Hint += " "
	}
	e.Hint += "More: " + reason.Help()
	return e
}

// OfRows reports whether an error is a refusal to return private rows, or values of them. It is decided by what a
// statement returns, before anything is looked at that it computes. Such a statement has an answer of synthetic rows.
func OfRows(err error) bool { return Is(err, Rows) || Is(err, ReturnsValues) || Is(err, UnitKey) }

// Is reports whether an error is a refusal for a reason.
func Is(err error, reason Reason) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.HasSuffix(e.Hint, reason.Help())
}

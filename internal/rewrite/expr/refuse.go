package expr

import (
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/jackc/pgx/v5/pgconn"
)

// Refusal is an expression that cannot be accepted: the client's error, and where its cause begins.
type Refusal struct {
	Err      *pgconn.PgError // without position
	Location int             // byte offset in the parsed text; −1: unknown
}

// Error is the message.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives the client's error.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes a refusal with SQLSTATE 0A000 at a byte location.
func Refuse(location int, message, hint string) error {
	return refuseWith(pgerr.FeatureNotSupported, location, message, hint)
}

func refuseWith(code string, location int, message, hint string) error {
	var options []pgerr.Option
	if hint != "" {
		options = append(options, pgerr.Hint("%s", hint))
	}
	return &Refusal{Err: pgerr.New(code, message, options...), Location: location}
}

package expr

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Refusal says why an expression cannot be accepted: the client's error, and where its cause begins.
type Refusal struct {
	Err      *pgconn.PgError // without position
	Location int             // byte offset in the parsed text; −1: unknown
}

// Error gives the message.
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
		options = append(options, pgerr.Hint("%s", sentence(hint)))
	}
	return &Refusal{Err: pgerr.New(code, message, options...), Location: location}
}

// sentence writes a hint as PostgreSQL writes hints: from a capital to a full stop.
func sentence(hint string) string {
	return strings.ToUpper(hint[:1]) + strings.TrimSuffix(hint[1:], ".") + "."
}

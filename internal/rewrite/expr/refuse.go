package expr

import (
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// Refusal says why an expression cannot be accepted: the client's error, and where its cause begins.
type Refusal struct {
	Err      *pgconn.PgError // without position
	Reason   refusal.Reason
	Location int // byte offset in the parsed text; −1: unknown
}

// Error gives the message.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap gives the client's error.
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse makes a refusal at a byte location.
func Refuse(reason refusal.Reason, location int, message, hint string) error {
	return &Refusal{
		Err: refusal.New(reason, message, pgerr.Hint("%s", sentence(hint))), Reason: reason,
		Location: location,
	}
}

// sentence writes a hint as PostgreSQL writes hints: from a capital to a full stop.
func sentence(hint string) string {
	if hint == "" {
		return ""
	}
	return strings.ToUpper(hint[:1]) + strings.TrimSuffix(hint[1:], ".") + "."
}

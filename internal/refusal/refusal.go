package refusal

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Page is where the reasons are explained, as hints name it.
const Page = "docs/refusals.md"

// New makes a refusal. Its hint says which form is answered, as the options have it or the reason in general,
// and ends with the reason's section of Page.
func New(reason Reason, message string, options ...pgerr.Option) *pgconn.PgError {
	e := pgerr.New(reason.Code(), message, options...)
	if e.Hint == "" {
		e.Hint = reasons[reason].instead
	}
	if e.Hint != "" {
		e.Hint += " "
	}
	e.Hint += "See " + Page + "#" + reason.Anchor()
	return e
}

// Is says whether an error is a refusal for a reason.
func Is(err error, reason Reason) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && strings.HasSuffix(e.Hint, "#"+reason.Anchor())
}

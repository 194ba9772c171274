package ledger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// ErrClosed is the reason why a ledger is unavailable after Close.
var ErrClosed = errors.New("the ledger is closed")

// ErrAsked means that nothing was charged, because the question has been answered or another proxy is answering it. It
// is not for clients: the caller looks for the answer, and asks again.
var ErrAsked = errors.New("the question is being answered")

// ErrReplanned means that nothing was charged, because the statement was planned for another method of accounting: the
// caller plans it anew.
var ErrReplanned error = pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type",
	pgerr.Hint("The policy's accounting has changed since the statement was planned. Send it again."))

// Lease is how long others wait for whoever has charged a question and not answered it. After it they are charged for
// it, and measure it, themselves.
const Lease = 30 * time.Second

// InvalidCharge is the error of a charge that no correct plan causes. ClientError hides its reason from clients.
type InvalidCharge struct{ Reason error }

func (e InvalidCharge) Error() string { return "invalid charge: " + e.Reason.Error() }

// ClientError replaces an InvalidCharge by what a client may see of it and logs the reason. It leaves every other error
// as it is.
func ClientError(log *slog.Logger, err error) error {
	var invalid InvalidCharge
	if !errors.As(err, &invalid) {
		return err
	}
	log.Error("charge refused", "error", invalid.Reason)
	return pgerr.New(pgerr.InternalError, "the statement's cost is not a number that can be charged")
}

// Unavailable logs why a store failed and returns what a client may see of it.
func Unavailable(log *slog.Logger, doing string, reason error) *pgconn.PgError {
	log.Error("ledger unavailable", "doing", doing, "error", reason)
	return pgerr.New(pgerr.IOError, "the budget ledger is unavailable",
		pgerr.Hint("No answer was given. Ask the administrator of dpproxy to look at its log."))
}

// Canceled is the error for a caller who stopped waiting. The charge may have been made.
func Canceled(ctx context.Context) *pgconn.PgError {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")
	}
	return pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
}

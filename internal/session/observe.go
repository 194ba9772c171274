package session

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Event says how one statement ended. It holds neither texts nor values.
type Event struct {
	Account
	Analyst  string
	Database string        // that the client has connected to
	SQLSTATE string        // that the client got; 00000: no error, 08006: the client was gone
	Took     time.Duration // of the message that ran or refused it, from its arrival to its end
	Trace    *Trace        // nil: none was asked for
}

// Account is what an engine says of a statement that it was given to run.
type Account struct {
	Verdict     string  // the engine's word; of what it has not run: "session", "refused", or "void", which is charged
	Epsilon     float64 // that was charged
	Fingerprint string  // of the plan, as the ledger records it; empty: no private row is asked
}

// Accounted is implemented by a Bound that says what became of it. It is asked once Execute or Charge has returned.
type Accounted interface {
	Account() Account
}

// Verdicts of what the engine has not run.
const (
	verdictSession = "session"
	verdictRefused = "refused"
	verdictVoid    = "void"
)

// Observe has f told of every statement. It is called once, before the first session opens; f returns at once.
func (h *Handler) Observe(f func(Event)) { h.observe = f }

// Trace has events hold a trace while on says so. It is called once, before the first session opens.
func (h *Handler) Trace(on func() bool) { h.traces = on }

// ran remembers a statement that the engine was given to run by this message.
func (s *Session) ran(b Bound) {
	if s.handler.observe == nil {
		return
	}
	account := Account{}
	if a, ok := b.(Accounted); ok {
		account = a.Account()
	}
	if account.Verdict == "" && account.Epsilon > 0 {
		account.Verdict = verdictVoid
	} else if account.Verdict == "" {
		account.Verdict = verdictRefused
	}
	s.accounts = append(s.accounts, account)
}

// ended reports the statements of one message. An error is that of the last one, or of what did not come to run. Where
// quiet is set, a message that ran nothing and has no error is no statement: it prepared one, or went on with one.
func (s *Session) ended(ctx context.Context, since time.Time, quiet bool, err error) {
	if s.handler.observe == nil {
		return
	}
	accounts := s.accounts
	s.accounts = s.accounts[:0]
	if len(accounts) == 0 {
		switch {
		case err != nil:
			accounts = append(accounts, Account{Verdict: verdictRefused})
		case quiet:
			return
		default:
			accounts = append(accounts, Account{Verdict: verdictSession})
		}
	}
	now := time.Now()
	if s.trace != nil {
		s.trace.Ended = s.trace.At(now)
	}
	for i, a := range accounts {
		e := Event{
			Account: a, Analyst: s.startup.Analyst, Database: s.startup.Database, SQLSTATE: "00000",
			Took: now.Sub(since), Trace: s.trace,
		}
		if i < len(accounts)-1 && e.Trace != nil { // an argument of the last one, which has the stages
			e.Trace = &Trace{Operation: s.trace.Operation, Began: s.trace.Began, Ended: s.trace.Ended}
		}
		if i == len(accounts)-1 && err != nil {
			e.SQLSTATE = sqlstate(ctx, err)
		}
		s.handler.observe(e)
	}
}

// sqlstate is what the client reads of an error: wire shows the cause of a cancel, and all that is no PgError as an
// internal error.
func sqlstate(ctx context.Context, err error) string {
	var shown *pgconn.PgError
	switch {
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &shown):
		return shown.Code
	case ctx.Err() != nil:
		return "08006"
	case errors.As(err, &shown):
		return shown.Code
	}
	return pgerr.InternalError
}

package session

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Session is one client's session. It belongs to one goroutine.
type Session struct {
	handler      *Handler
	engine       Engine
	startup      wire.Startup
	info         Info
	state        *state
	lastReported map[string]string // reported settings as the client knows them
	lastSettings Settings          // that they are from
	accounts     []Account         // of the statements that the message has run
	trace        *Trace            // of the statement that the message is about; nil: nobody wants it
	released     []Released        // by the last private statement
	hold         memory.Hold       // of these
}

var _ wire.Session = (*Session)(nil)

func itoa(n int) string { return strconv.Itoa(n) }

// scope says for whom and how a statement runs in a state.
func (s *Session) scope(st *state) Scope {
	return Scope{
		Analyst: s.startup.Analyst, User: s.startup.User, Database: s.startup.Database,
		ProcessID: s.startup.ProcessID, Settings: st.layers.current, Last: s.released, Memory: st.memory,
	}
}

// Parameters lists what is reported at startup.
func (s *Session) Parameters() []wire.Parameter {
	list := make([]wire.Parameter, 0, len(reported))
	for _, p := range reported {
		value := s.show(s.state, lookup(p.name))
		s.lastReported[p.name] = value
		list = append(list, wire.Parameter{Name: p.name, Value: value})
	}
	return list
}

// changed lists the reported settings that the client does not know yet.
func (s *Session) changed() []wire.Parameter {
	settings := s.state.layers.current
	if settings.same(s.lastSettings) {
		return nil
	}
	s.lastSettings = settings
	var list []wire.Parameter
	for _, p := range reported {
		if value := s.show(s.state, lookup(p.name)); value != s.lastReported[p.name] {
			s.lastReported[p.name] = value
			list = append(list, wire.Parameter{Name: p.name, Value: value})
		}
	}
	return list
}

// Sync ends an implicit transaction; an explicit one fails if an error was sent.
func (s *Session) Sync(failed bool) []wire.Parameter {
	switch {
	case s.state.tx.block:
		if failed && !s.state.tx.failed {
			s.state.fail()
		}
	case failed:
		s.state.endAborted()
	default:
		s.state.endCommitted()
	}
	s.state.tx.many = false
	return s.changed()
}

// TransactionStatus returns the byte of ReadyForQuery.
func (s *Session) TransactionStatus() byte { return s.state.tx.status() }

// IdleTimeout returns idle_session_timeout, or idle_in_transaction_session_timeout inside a transaction.
func (s *Session) IdleTimeout() (time.Duration, *pgconn.PgError) {
	name, e := "idle_session_timeout", pgerr.New("57P05", "terminating connection due to idle-session timeout",
		pgerr.Fatal())
	if s.state.tx.block {
		name, e = "idle_in_transaction_session_timeout",
			pgerr.New("25P03", "terminating connection due to idle-in-transaction timeout", pgerr.Fatal())
	}
	return s.duration(name), e
}

// duration reads a setting in milliseconds. 0 turns it off.
func (s *Session) duration(name string) time.Duration {
	ms, err := strconv.ParseInt(s.state.layers.current.Get(name), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// timed runs f under statement_timeout, and names the reason when a context's end is behind an error.
func (s *Session) timed(ctx context.Context, f func(context.Context) error) error {
	if d := s.duration("statement_timeout"); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errTimeout)
		defer cancel()
	}
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		var cause *pgconn.PgError
		if errors.As(context.Cause(ctx), &cause) {
			return cause
		}
	}
	return err
}

var errTimeout = pgerr.New(pgerr.QueryCanceled, "canceling statement due to statement timeout")

// remember keeps what dpproxy.last shows, unless there is no memory for it.
func (s *Session) remember(list []Released) {
	s.hold.Free()
	s.released = nil
	n := 0
	for _, r := range list {
		n += columnBytes + len(r.Column)
	}
	if hold, err := s.state.memory.Take(n); err == nil {
		s.released, s.hold = list, hold
	}
}

// Close forgets everything. Nothing outside the session belongs to it: results that were not read are dropped.
func (s *Session) Close() {
	s.state.portals, s.state.statements = nil, nil // what they hold goes with the connection's account
}

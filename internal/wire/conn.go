package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/xdg-go/scram"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// readBuffer is the size of a connection's read buffer in bytes.
const readBuffer = 8 << 10

// conn is one client connection. All of it but inbox, reader and running belongs to the goroutine of serve.
type conn struct {
	server *Server
	host   string
	log    *slog.Logger

	// What slots knows of it.
	slot    bool // it counts as a session
	entered int  // how many came before, and it
	network string

	raw     *timedConn
	stream  net.Conn  // raw, or TLS over it
	tls     *tls.Conn // nil: plain
	binding scram.ChannelBinding
	r       *bufio.Reader
	w       *writer

	pid, secret uint32
	running     running

	ctx     context.Context
	cancel  context.CancelCauseFunc
	inbox   *inbox
	reader  reader
	session Session
	memory  *memory.Account // from authentication on
	skip    bool            // discard everything until Sync: an extended message failed
	failed  bool            // an error was sent since the last ReadyForQuery
	atRest  bool            // ReadyForQuery was the last reply: nothing is pending
}

func newConn(s *Server, raw net.Conn, host string) *conn {
	c := &conn{server: s, host: host, raw: &timedConn{Conn: raw, timeout: s.config.Timeouts.Write}}
	c.log = s.config.Logger.With("remote", raw.RemoteAddr().String())
	c.stream = c.raw
	c.ctx, c.cancel = context.WithCancelCause(s.ctx)
	return c
}

// serve runs the connection from its first byte to its end.
func (c *conn) serve() {
	defer func() { c.memory.Close() }()
	defer c.raw.Close()
	defer c.cancel(errClientGone)
	defer func() {
		if r := recover(); r != nil {
			c.panicked(r)
		}
	}()
	// A stopping server interrupts reads and writes of the startup phase; later the reader's end does it.
	unwatch := context.AfterFunc(c.server.ctx, func() { c.raw.Close() })
	opened, err := c.open()
	unwatch()
	if err != nil {
		c.end(err)
		return
	}
	if opened {
		c.loop()
	}
}

// panicked logs a fault of the program and ends the connection; the others go on.
func (c *conn) panicked(r any) {
	c.log.Error("panic in a connection", "panic", r, "stack", string(debug.Stack()))
	c.sayGoodbye(fatal(pgerr.InternalError, internalErrorText))
}

// end reports why the startup phase failed: to the client if it can still hear, and to the log.
func (c *conn) end(err error) {
	e, own := visible(err)
	var netErr net.Error
	var quiet silent
	switch {
	case errors.Is(err, io.EOF):
		return // port scanners and load balancers connect and leave
	case errors.As(err, &quiet):
		c.log.Info("no TLS session", "error", err)
		c.server.config.Metrics.ConnectionRefused("startup")
		return
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &netErr), errors.Is(err, net.ErrClosed):
		c.log.Debug("connection lost during startup", "error", err)
		c.server.config.Metrics.ConnectionRefused("startup")
		return
	case errors.Is(err, errLength):
		e = fatal(pgerr.ProtocolViolation, "invalid message length")
	case !own:
		c.log.Warn("startup failed", "error", err)
	}
	if e.Code != pgerr.TooManyConnections { // those are counted under their own reason
		c.server.config.Metrics.ConnectionRefused("startup")
	}
	c.sayGoodbye(asFatal(e))
}

// timedConn gives every write a deadline, so that a client that stops reading cannot hold a connection without limit.
type timedConn struct {
	net.Conn
	timeout time.Duration
	until   time.Time // no write may last longer; zero: only timeout counts
	closing atomic.Bool
}

// lastWords is how long a closing server waits for a client to take its last message.
const lastWords = time.Second

// hurry shortens the write that is under way and all later ones.
func (t *timedConn) hurry() {
	t.closing.Store(true)
	_ = t.SetWriteDeadline(time.Now().Add(lastWords)) // fails on a closed connection alone
}

func (t *timedConn) Write(p []byte) (int, error) {
	deadline := time.Now().Add(t.timeout)
	if t.closing.Load() {
		deadline = time.Now().Add(lastWords)
	}
	if !t.until.IsZero() && t.until.Before(deadline) {
		deadline = t.until
	}
	if err := t.Conn.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	return t.Conn.Write(p)
}

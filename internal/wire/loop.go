package wire

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgproto3/v2"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// loop handles messages until the client or the server ends the session.
func (c *conn) loop() {
	defer c.log.Info("session closed")
	defer c.session.Close()
	defer c.server.cancels.remove(c)
	defer c.startReading()()
	defer c.raw.Close()
	defer c.cancel(errClientGone)
	defer context.AfterFunc(c.server.ctx, c.raw.hurry)()
	for {
		f, err := c.next()
		if err != nil {
			c.finish(err)
			return
		}
		c.begin()
		start := time.Now()
		if c.inside() && f.refused == nil && f.kind != 'S' && f.kind != 'H' && f.kind != 'X' {
			if err := c.server.slots.take(c); err != nil {
				f.refused = asError(err)
			}
		}
		more := c.handleSafely(f)
		c.server.config.Metrics.Message(messageName(f.kind), time.Since(start))
		c.inbox.release(f)
		if !more || c.w.err != nil {
			return
		}
	}
}

// handleSafely turns a panic into the end of this one connection.
func (c *conn) handleSafely(f frame) (more bool) {
	defer func() {
		if r := recover(); r != nil {
			c.panicked(r)
			more = false
		}
	}()
	return c.handle(f)
}

// finish says goodbye where there is something to say.
func (c *conn) finish(err error) {
	var idle errIdle
	switch {
	case errors.As(err, &idle):
		c.sayGoodbye(asFatal(idle.reason))
	case errors.Is(err, errShutdown):
		c.sayGoodbye(errShutdown)
	case errors.Is(err, errLength):
		c.log.Info("lost step with the client", "error", err)
		c.sayGoodbye(fatal(pgerr.ProtocolViolation, "invalid message length"))
	}
}

// run calls f under a context that a CancelRequest, a closed connection or a closing server ends, and gives the cause
// of that end in the place of whatever error it led to.
func (c *conn) run(f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	c.running.set(cancel)
	defer c.running.set(nil)
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return err
}

// ready ends a simple query or an extended batch.
func (c *conn) ready() error {
	if err := c.w.parameters(c.session.Sync(c.failed)); err != nil {
		return err
	}
	c.failed, c.skip, c.atRest = false, false, true
	if c.inside() {
		c.server.slots.give(c)
	}
	if err := c.w.send(&pgproto3.ReadyForQuery{TxStatus: c.session.TransactionStatus()}); err != nil {
		return err
	}
	return c.w.flush()
}

// fail sends an error at once. It reports false when the connection must end.
func (c *conn) fail(err error) bool {
	c.failed = true
	e, own := visible(err)
	if errors.Is(err, errClientGone) {
		return false
	}
	if !own {
		c.log.Error("statement failed", "error", err)
	}
	if c.w.errorResponse(e) != nil || c.w.flush() != nil {
		return false
	}
	c.server.config.Metrics.ErrorSent(e.Code)
	return e.Severity != "FATAL" && e.SeverityUnlocalized != "FATAL"
}

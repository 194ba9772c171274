package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// patience is how long a message may take before another goroutine reads ahead of it. The one that handles messages
// reads those that follow quick ones: to wake another for each would take longer than to handle it.
const patience = 50 * time.Millisecond

// reader is how a connection waits for messages, besides its inbox.
type reader struct {
	slow *time.Timer // looks whether a message takes longer than patience

	mu          sync.Mutex
	resting     bool // in a read that may last
	interrupted bool
}

// errIdle carries the error that ends a session whose client stays silent for too long.
type errIdle struct{ reason *pgconn.PgError }

func (e errIdle) Error() string { return e.reason.Message }

// startReading makes the inbox. stop ends the goroutine that may read ahead, after the connection was closed.
func (c *conn) startReading() (stop func()) {
	c.inbox = newInbox(c.server.config.Limits.Pipeline, c.memory)
	c.reader.slow = time.AfterFunc(time.Hour, c.look)
	c.reader.slow.Stop()
	unwatch := context.AfterFunc(c.server.draining, c.interrupt)
	return func() {
		unwatch()
		c.reader.slow.Stop()
		c.inbox.close()
	}
}

// next waits for a message, for the idle timeout, or for the server to stop.
func (c *conn) next() (frame, error) {
	for {
		f, ok, ahead, err := c.inbox.take()
		switch {
		case ok || err != nil:
			return f, err
		case ahead:
			if err := c.await(); err != nil {
				return frame{}, err
			}
		case c.buffered():
			return c.readNow()
		case c.atRest:
			return c.readAtRest()
		case c.inbox.readAhead(): // only at rest may a read be broken off
			go c.read()
		}
	}
}

// buffered reports whether a whole message came with the one before.
func (c *conn) buffered() bool {
	if c.r.Buffered() < headerSize {
		return false
	}
	header, err := c.r.Peek(headerSize)
	return err == nil && int64(c.r.Buffered()) > int64(binary.BigEndian.Uint32(header[1:]))
}

// readNow reads a message to handle it at once.
func (c *conn) readNow() (frame, error) {
	kind, size, err := readHeader(c.r)
	if err != nil {
		return frame{}, err
	}
	refused := tooLarge(size, c.server.config.Limits.Message)
	var hold memory.Hold
	if refused == nil {
		hold, refused = c.memory.Take(messageCopies * size)
	}
	f, err := readBody(c.r, kind, size, refused)
	f.hold = hold
	if err == nil {
		c.inbox.claim(f)
	}
	return f, err
}

// readAtRest is readNow while nothing is pending: the idle timeout and the end of the server break it off.
func (c *conn) readAtRest() (frame, error) {
	timeout, reason := c.session.IdleTimeout()
	if timeout > 0 {
		_ = c.raw.SetReadDeadline(time.Now().Add(timeout)) // fails on a closed connection alone, as the read does then
	}
	c.reader.rest(true)
	if c.server.draining.Err() != nil {
		return frame{}, errShutdown
	}
	f, err := c.readNow()
	if interrupted := c.reader.rest(false); interrupted || timeout > 0 {
		_ = c.raw.SetReadDeadline(time.Time{})
	}
	switch late := errors.Is(err, os.ErrDeadlineExceeded); {
	case late && c.server.draining.Err() != nil:
		return frame{}, errShutdown
	case late:
		return frame{}, errIdle{reason}
	}
	return f, err
}

// rest notes the beginning or the end of a read that may be broken off, and says whether it was.
func (r *reader) rest(resting bool) (interrupted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	interrupted = r.interrupted
	r.resting, r.interrupted = resting, false
	return interrupted
}

// interrupt breaks off the read of a connection at rest.
func (c *conn) interrupt() {
	c.reader.mu.Lock()
	defer c.reader.mu.Unlock()
	if c.reader.resting {
		c.reader.interrupted = true
		_ = c.raw.SetReadDeadline(time.Unix(1, 0)) // fails on a closed connection alone
	}
}

// await waits for what another goroutine reads.
func (c *conn) await() error {
	var timeout <-chan time.Time
	var reason *pgconn.PgError
	var draining <-chan struct{}
	if c.atRest { // or something is in the buffer that the client has yet to ask for
		draining = c.server.draining.Done()
		if d, e := c.session.IdleTimeout(); d > 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			timeout, reason = timer.C, e
		}
	}
	select {
	case <-c.inbox.ready:
		return nil
	case <-timeout:
		return errIdle{reason}
	case <-draining:
		return errShutdown
	case <-c.server.ctx.Done():
		return errShutdown
	}
}

// begin notes that a message is handled from now on.
func (c *conn) begin() {
	if c.inbox.begin() {
		c.reader.slow.Reset(patience)
	}
}

// look has the stream read ahead of a message that takes long.
func (c *conn) look() {
	switch read, again := c.inbox.look(); {
	case read:
		c.read()
	case again:
		c.reader.slow.Reset(patience)
	}
}

// read fills the inbox until the messages that come are handled at once again, or until the stream ends; then it
// cancels what runs: nobody waits for it any more.
func (c *conn) read() {
	defer c.inbox.readers.Done()
	for {
		kind, size, err := readHeader(c.r)
		var f frame
		if err == nil {
			f, err = c.readAhead(kind, size)
		}
		if err != nil {
			if !errors.Is(err, errLength) {
				c.cancel(errClientGone)
			}
			c.inbox.end(err)
			return
		}
		if !c.inbox.put(f) {
			return
		}
	}
}

// readAhead reads a message behind its header once there is room for it. One that is thrown away takes none.
func (c *conn) readAhead(kind byte, size int) (frame, error) {
	refused := tooLarge(size, c.server.config.Limits.Message)
	room := size
	if refused != nil {
		room = 0
	}
	hold, ok, full := c.inbox.reserve(room, c.ctx.Done())
	if !ok {
		return frame{}, errClientGone
	}
	if refused == nil {
		refused = full
	}
	f, err := readBody(c.r, kind, size, refused)
	f.hold = hold
	return f, err
}

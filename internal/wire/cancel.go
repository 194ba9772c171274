package wire

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"sync"
)

// cancels maps the keys that clients got in BackendKeyData to their connections.
type cancels struct {
	mu    sync.Mutex
	conns map[uint32]*conn
}

func newCancels() *cancels { return &cancels{conns: map[uint32]*conn{}} }

// add gives c a process id that nobody else has, and a secret.
func (r *cancels) add(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var b [8]byte
		rand.Read(b[:]) // never fails (Go 1.24)
		pid := binary.BigEndian.Uint32(b[:4]) &^ (1 << 31)
		if _, taken := r.conns[pid]; pid == 0 || taken {
			continue
		}
		c.pid, c.secret = pid, binary.BigEndian.Uint32(b[4:])
		r.conns[pid] = c
		return
	}
}

func (r *cancels) remove(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c.pid)
}

// request cancels what runs on the connection that has this key. A wrong key changes nothing.
func (r *cancels) request(body []byte) (found bool) {
	if len(body) != 8 {
		return false
	}
	r.mu.Lock()
	c := r.conns[binary.BigEndian.Uint32(body[:4])]
	r.mu.Unlock()
	if c == nil {
		return false
	}
	var secret [4]byte
	binary.BigEndian.PutUint32(secret[:], c.secret)
	if subtle.ConstantTimeCompare(secret[:], body[4:]) != 1 {
		return false
	}
	c.running.cancel(errCanceled)
	return true
}

// running holds the way to cancel the message that a connection handles now. Between two messages there is none, so a
// late CancelRequest never hits the next statement.
type running struct {
	mu   sync.Mutex
	stop func(error)
}

func (r *running) set(stop func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop = stop
}

func (r *running) cancel(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop(cause)
	}
}

package wire

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"
)

// silent wraps an error after which nothing may be written to the client: it expects TLS, and plain bytes would be
// nonsense to it or a gift to a man in the middle.
type silent struct{ error }

func (s silent) Unwrap() error { return s.error }

// timedReplay reads what was peeked and writes with the connection's deadlines.
type timedReplay struct {
	*replayed
	raw *timedConn
}

func (t *timedReplay) Write(p []byte) (int, error) { return t.raw.Write(p) }

// sendNow sends a message that the client is waiting for.
func (c *conn) sendNow(m pgproto3.BackendMessage) error {
	if err := c.w.send(m); err != nil {
		return err
	}
	return c.w.flush()
}

// sayGoodbye sends a last error, if the client can read it.
func (c *conn) sayGoodbye(e *pgconn.PgError) {
	if c.w == nil {
		c.w = newWriter(c.stream)
	}
	if c.w.errorResponse(e) == nil && c.w.flush() == nil {
		c.server.config.Metrics.ErrorSent(e.Code)
	}
}

// negotiateProtocolVersion is message 'v', which the codec does not have: the newest version that the server speaks and
// the protocol extensions that it does not know.
type negotiateProtocolVersion struct {
	newest  uint32
	unknown []string
}

// Backend marks a message that servers send.
func (*negotiateProtocolVersion) Backend() {}

// Decode is for clients only.
func (*negotiateProtocolVersion) Decode([]byte) error {
	return errors.New("NegotiateProtocolVersion is sent by servers")
}

// Encode appends the message to dst.
func (n *negotiateProtocolVersion) Encode(dst []byte) ([]byte, error) {
	body := binary.BigEndian.AppendUint32(nil, n.newest)
	body = binary.BigEndian.AppendUint32(body, uint32(len(n.unknown)))
	for _, name := range n.unknown {
		body = append(body, name...)
		body = append(body, 0)
	}
	dst = append(dst, 'v')
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)+4))
	return append(dst, body...), nil
}

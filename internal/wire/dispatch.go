package wire

import (
	"context"

	"github.com/jackc/pgproto3/v2"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// messageNames names the types that clients may send after authentication.
var messageNames = map[byte]string{
	'Q': "Query", 'P': "Parse", 'B': "Bind", 'D': "Describe", 'E': "Execute", 'C': "Close", 'S': "Sync", 'H': "Flush",
	'X': "Terminate",
	'F': "FunctionCall", 'd': "CopyData", 'c': "CopyDone", 'f': "CopyFail",
}

func messageName(kind byte) string {
	if name, ok := messageNames[kind]; ok {
		return name
	}
	return "unknown"
}

// handle answers one message. It reports false when the connection must end.
func (c *conn) handle(f frame) bool {
	if f.kind == 'X' {
		return false
	}
	if _, known := messageNames[f.kind]; !known {
		c.fail(fatal(pgerr.ProtocolViolation, "invalid frontend message type %d", f.kind))
		return false
	}
	if c.skip && f.kind != 'S' {
		return true
	}
	if f.refused != nil && f.kind != 'd' && f.kind != 'c' && f.kind != 'f' {
		return c.handleRefused(f)
	}
	if len(f.body) > 0 && (f.kind == 'S' || f.kind == 'H') {
		return c.handleBadSync(f.kind)
	}
	switch f.kind {
	case 'S':
		return c.ready() == nil
	case 'H':
		return c.w.flush() == nil
	case 'd', 'c', 'f':
		return true // left over from a COPY that was refused: PostgreSQL ignores them too
	}
	c.atRest = false
	switch f.kind {
	case 'Q':
		return c.query(f)
	case 'F':
		return c.functionCall()
	}
	if err := c.extended(f); err != nil {
		// The client may wait for this error without ever sending Sync, so it is not held back.
		c.skip = true
		return c.fail(err)
	}
	return c.w.err == nil
}

// handleRefused answers a message that was not even kept.
func (c *conn) handleRefused(f frame) bool {
	c.atRest = false
	if f.kind != 'Q' && f.kind != 'F' && f.kind != 'S' {
		c.skip = true
		return c.fail(f.refused)
	}
	return c.fail(f.refused) && c.ready() == nil
}

// handleBadSync refuses a Sync or a Flush that has a body. A Sync is one all the same.
func (c *conn) handleBadSync(kind byte) bool {
	c.atRest, c.skip = false, kind == 'H'
	return c.fail(violation("invalid message format")) && (kind == 'H' || c.ready() == nil)
}

func (c *conn) query(f frame) bool {
	message, err := decode('Q', f.body)
	var sql string
	if err == nil {
		sql, err = c.text(message.(*pgproto3.Query).String)
	}
	if err == nil {
		err = c.run(func(ctx context.Context) error { return c.session.Query(ctx, sql, results{c.w}) })
	}
	if err != nil && !c.fail(err) {
		return false
	}
	return c.ready() == nil
}

// text reads what the client has sent in its encoding.
func (c *conn) text(s string) (string, error) {
	b, err := c.session.Encoding().Decode([]byte(s))
	return string(b), err
}

// functionCall refuses the fast path, which would run any function by its OID.
func (c *conn) functionCall() bool {
	e := newError("ERROR", pgerr.InsufficientPrivilege, "function call messages are not supported")
	e.Hint = "Call the function in a SELECT."
	return c.fail(e) && c.ready() == nil
}

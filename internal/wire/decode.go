package wire

import (
	"fmt"

	"github.com/jackc/pgproto3/v2"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// decode reads one message body. Its layout is checked first, byte by byte, because the codec does not reject trailing
// bytes or negative lengths; the recover is for what nobody has thought of. Errors are protocol violations.
func decode(kind byte, body []byte) (message pgproto3.FrontendMessage, err error) {
	defer func() {
		if r := recover(); r != nil {
			message, err = nil, violation("invalid message format")
		}
	}()
	if err := checkLayout(kind, body); err != nil {
		return nil, err
	}
	switch kind {
	case 'Q':
		message = &pgproto3.Query{}
	case 'P':
		message = &pgproto3.Parse{}
	case 'B':
		message = &pgproto3.Bind{}
	case 'D':
		message = &pgproto3.Describe{}
	case 'E':
		message = &pgproto3.Execute{}
	case 'C':
		message = &pgproto3.Close{}
	default:
		return nil, fmt.Errorf("no codec for message type %q", kind)
	}
	if err := message.Decode(body); err != nil {
		return nil, violation("invalid message format")
	}
	return message, nil
}

// layout walks over a message body. After its first fault every step fails.
type layout struct {
	rest []byte
	err  error
}

func checkLayout(kind byte, body []byte) error {
	l := &layout{rest: body}
	switch kind {
	case 'Q':
		l.text()
	case 'P':
		l.text()
		l.text()
		l.skip(4 * l.int16())
	case 'B':
		l.bind()
	case 'D', 'C':
		l.target(kind)
	case 'E':
		l.text()
		l.skip(4)
	}
	if l.err == nil && len(l.rest) > 0 {
		l.fail("invalid message format")
	}
	return l.err
}

// bind checks portal, statement, parameter formats, parameters, result formats.
func (l *layout) bind() {
	l.text()
	l.text()
	formats := l.formats()
	count := l.int16()
	if l.err == nil && formats > 1 && formats != count {
		l.fail("bind message has %d parameter formats but %d parameters", formats, count)
	}
	for range count {
		if l.err != nil {
			return
		}
		if n := l.int32(); n != -1 {
			l.skip(n)
		}
	}
	l.formats()
}

// formats checks a counted list of format codes and returns its length.
func (l *layout) formats() int {
	count := l.int16()
	for range count {
		if l.err != nil {
			return count
		}
		if code := int16(l.int16()); l.err == nil && code != 0 && code != 1 {
			l.err = newError("ERROR", pgerr.InvalidParameterValue, "unsupported format code: %d", code)
		}
	}
	return count
}

// target checks the body of Describe and Close: a kind of object and its name.
func (l *layout) target(kind byte) {
	if len(l.rest) == 0 {
		l.fail("insufficient data left in message")
		return
	}
	t := l.rest[0]
	l.skip(1)
	l.text()
	if l.err == nil && len(l.rest) == 0 && t != 'S' && t != 'P' {
		name := map[byte]string{'D': "DESCRIBE", 'C': "CLOSE"}[kind]
		l.fail("invalid %s message subtype %d", name, t)
	}
}

func (l *layout) fail(format string, args ...any) {
	if l.err == nil {
		l.err = violation(format, args...)
	}
}

func (l *layout) skip(n int) {
	if n < 0 || n > len(l.rest) {
		l.fail("insufficient data left in message")
	}
	if l.err != nil {
		return
	}
	l.rest = l.rest[n:]
}

func (l *layout) int16() int {
	b := l.rest
	l.skip(2)
	if l.err != nil {
		return 0
	}
	return int(b[0])<<8 | int(b[1])
}

func (l *layout) int32() int {
	b := l.rest
	l.skip(4)
	if l.err != nil {
		return 0
	}
	return int(int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])))
}

// text skips a NUL-terminated string.
func (l *layout) text() {
	if l.err != nil {
		return
	}
	for i, c := range l.rest {
		if c == 0 {
			l.rest = l.rest[i+1:]
			return
		}
	}
	l.fail("invalid string in message")
}

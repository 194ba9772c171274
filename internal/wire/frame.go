package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
)

const (
	// maxStartupPacket is PostgreSQL's MAX_STARTUP_PACKET_LENGTH (src/include/libpq/pqcomm.h), in bytes with the length
	// word. Messages of the authentication phase are held to it too.
	maxStartupPacket = 10000
	// maxDrain bounds how much of an oversized message is read and thrown away to stay in step with the client.
	maxDrain = 64 << 20
	// headerSize is the type byte and the length word.
	headerSize = 5
)

// frame holds one message: its type byte and what follows the length word.
type frame struct {
	kind byte
	body []byte
	hold memory.Hold // of the body, until the message is handled
	// refused says why the body was thrown away.
	refused error
}

// errLength is a length word that no message can have; the rest of the stream cannot be read.
var errLength = errors.New("invalid message length")

// readHeader reads type and body length. The body is not allocated: whoever reads it checks the length first.
func readHeader(r io.Reader) (kind byte, size int, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:1]); err != nil {
		return 0, 0, err
	}
	if _, err := io.ReadFull(r, header[1:]); err != nil {
		return 0, 0, noEOF(err)
	}
	length := binary.BigEndian.Uint32(header[1:])
	if length < 4 || length > 1<<31-1 {
		return 0, 0, fmt.Errorf("%w: %d in a message of type %q", errLength, length, header[0])
	}
	return header[0], int(length) - 4, nil
}

// messageCopies is how often the bytes of a message are in memory while it is handled: as they came, decoded, and on
// their way through the client's encoding.
const messageCopies = 4

// readBody reads a body of size bytes, unless it is refused: then it is thrown away up to maxDrain; beyond that the
// stream is given up.
func readBody(r io.Reader, kind byte, size int, refused error) (frame, error) {
	f := frame{kind: kind, refused: refused}
	if refused != nil {
		if size > maxDrain {
			return f, fmt.Errorf("%w: %d bytes in a message of type %q", errLength, size, kind)
		}
		_, err := io.CopyN(io.Discard, r, int64(size))
		return f, noEOF(err)
	}
	f.body = make([]byte, size)
	_, err := io.ReadFull(r, f.body)
	return f, noEOF(err)
}

// tooLarge refuses a body beyond the limit.
func tooLarge(size, limit int) error {
	if size <= limit {
		return nil
	}
	return newError("ERROR", pgerr.ProgramLimitExceeded, "message of %d bytes exceeds the limit of %d", size, limit)
}

// noEOF marks the end of a stream inside a message.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

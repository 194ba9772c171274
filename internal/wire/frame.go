package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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
	// tooLarge is the length of a body over the limit, which was thrown away.
	tooLarge int
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

// readBody reads a body of size bytes, at most limit. A larger one is thrown away up to maxDrain and returned with
// tooLarge set; beyond that the stream is given up.
func readBody(r io.Reader, kind byte, size, limit int) (frame, error) {
	if size > limit {
		if size > maxDrain {
			return frame{}, fmt.Errorf("%w: %d bytes in a message of type %q", errLength, size, kind)
		}
		if _, err := io.CopyN(io.Discard, r, int64(size)); err != nil {
			return frame{}, noEOF(err)
		}
		return frame{kind: kind, tooLarge: size}, nil
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return frame{}, noEOF(err)
	}
	return frame{kind: kind, body: body}, nil
}

// noEOF marks the end of a stream inside a message.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

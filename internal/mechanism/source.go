package mechanism

import (
	"crypto/rand"
	"encoding/binary"
)

// sourceBlock is how many bytes are fetched from crypto/rand at a time: a system call per release would dominate it.
const sourceBlock = 4096

// Source yields random 64-bit words from crypto/rand, fetched in blocks. It is not safe for concurrent use: every
// session has its own. The zero Source is ready.
type Source struct {
	block [sourceBlock]byte
	left  int
	fill  func([]byte) // replaces crypto/rand in this package's tests
	draws uint64

	scratch proposal // of the release being drawn, kept here to spare an allocation
}

// NewSource returns a Source of crypto/rand. It never fails: where the system has no randomness, crypto/rand ends the
// process.
func NewSource() *Source { return new(Source) }

// Uint64 returns the next word. Words are erased from the block as they are handed out.
func (s *Source) Uint64() uint64 {
	if s.left < 8 {
		if s.fill == nil {
			rand.Read(s.block[:])
		} else {
			s.fill(s.block[:])
		}
		s.left = sourceBlock
	}
	at := s.block[sourceBlock-s.left:]
	w := binary.LittleEndian.Uint64(at)
	binary.LittleEndian.PutUint64(at, 0)
	s.left -= 8
	s.draws++
	return w
}

// Draws counts the words handed out so far: the tests of sampling compare it, since the amount of work must not depend
// on the true value.
func (s *Source) Draws() uint64 { return s.draws }

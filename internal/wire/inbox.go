package wire

import (
	"sync"

	"github.com/dpproxy/dpproxy/internal/memory"
)

// inbox holds the messages that were read ahead and not yet handled, and knows who reads the stream: the goroutine that
// handles messages, or another while one of them takes long (reader.go). So a slow statement does not stop the reading:
// a client may send a long pipeline before it reads its first reply, and its going away is noticed.
//
// Its size is bounded in bytes, and so is the memory that all connections keep; a full inbox stops the reading, and
// then the write timeout ends a client that does not read either.
type inbox struct {
	limit  int
	memory *memory.Account

	mu     sync.Mutex
	frames []frame
	bytes  int
	err    error // why reading ended; delivered after the frames

	ahead   bool           // another goroutine reads
	readers sync.WaitGroup // that goroutine
	waiting bool           // for what it reads
	closed  bool           // nothing is to be read any more

	// The message that is handled.
	busy  bool
	begun uint64 // its number
	seen  uint64 // the number of the one that look has last seen
	armed bool   // look will be called

	ready chan struct{} // holds a token when there may be something to take
	space chan struct{} // holds a token when there may be room
}

// frameOverhead is what a frame costs besides its body, so that empty messages are bounded too (bytes).
const frameOverhead = 64

func newInbox(limit int, account *memory.Account) *inbox {
	return &inbox{limit: limit, memory: account, ready: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reserve waits until a message of n bytes may be read. ok is false when done is closed first. A message larger than
// the whole inbox is let in when the inbox is empty; if there is no memory for it then, full says so.
func (b *inbox) reserve(n int, done <-chan struct{}) (hold memory.Hold, ok bool, full error) {
	for {
		b.mu.Lock()
		if empty := b.bytes == 0; empty || b.bytes+n+frameOverhead <= b.limit {
			size := messageCopies * n
			if !empty { // one message is always taken, and many that are empty are not for nothing
				size += 2 * frameOverhead
			}
			hold, full = b.memory.Take(size)
			if full != nil && empty {
				n = 0
			}
			if full == nil || empty {
				b.bytes += n + frameOverhead
				b.mu.Unlock()
				return hold, true, full
			}
		}
		b.mu.Unlock()
		select {
		case <-b.space:
		case <-done:
			return memory.Hold{}, false, nil
		}
	}
}

// claim takes the room of a message that is handled at once.
func (b *inbox) claim(f frame) {
	b.mu.Lock()
	b.bytes += len(f.body) + frameOverhead
	b.mu.Unlock()
}

// put adds a frame whose size was reserved. It returns false to the goroutine that reads ahead when it need not go on:
// the one that handles messages was waiting for this one, and reads the next itself.
func (b *inbox) put(f frame) (more bool) {
	b.mu.Lock()
	b.frames = append(b.frames, f)
	more = !b.waiting
	b.ahead, b.waiting = more, false
	b.mu.Unlock()
	signal(b.ready)
	return more
}

// end says that nothing more will come.
func (b *inbox) end(err error) {
	b.mu.Lock()
	b.err, b.ahead = err, false
	b.mu.Unlock()
	signal(b.ready)
}

// take returns the oldest frame, or why reading ended. Where there is neither, ahead says whether another goroutine
// reads: wait for ready. A frame's reservation is given back by release, after it was handled.
func (b *inbox) take() (f frame, ok, ahead bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.frames) == 0 {
		b.frames, b.waiting = nil, b.ahead
		return frame{}, false, b.ahead, b.err
	}
	f, b.frames[0] = b.frames[0], frame{}
	b.frames = b.frames[1:]
	return f, true, b.ahead, nil
}

// readAhead makes the caller have another goroutine read, unless nothing is left to read.
func (b *inbox) readAhead() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.startReader()
}

func (b *inbox) startReader() bool {
	if b.ahead || b.closed || b.err != nil {
		return false
	}
	b.ahead = true
	b.readers.Add(1)
	return true
}

// begin notes that a message is handled. It says whether look is to be called after a while.
func (b *inbox) begin() (arm bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun++
	arm, b.busy, b.armed = !b.armed, true, true
	if arm {
		b.seen = b.begun
	}
	return arm
}

// look makes the caller read ahead where the message that is handled is still the one of the last time. Else it says
// whether to look again.
func (b *inbox) look() (read, again bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy && b.seen == b.begun {
		b.armed = false
		return b.startReader(), false
	}
	b.seen, b.armed = b.begun, b.busy
	return false, b.busy
}

// close ends the reading, of a stream that is closed already.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.readers.Wait()
}

// release ends the handling of a message.
func (b *inbox) release(f frame) {
	f.hold.Free()
	b.mu.Lock()
	b.busy = false
	b.bytes -= len(f.body) + frameOverhead
	b.mu.Unlock()
	signal(b.space)
}

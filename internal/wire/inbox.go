package wire

import (
	"sync"
)

// inbox holds the messages that were read and not yet handled. The goroutine that reads fills it and the one that
// handles empties it, so that a slow statement never stops the reading: a client may send a long pipeline before it
// reads its first reply, and its going away is noticed at once.
//
// Its size is bounded in bytes; a full inbox stops the reading, and then the write timeout ends a client that does
// not read either.
type inbox struct {
	limit int

	mu     sync.Mutex
	frames []frame
	bytes  int
	err    error // why reading ended; delivered after the frames

	ready chan struct{} // holds a token when there may be something to take
	space chan struct{} // holds a token when there may be room
}

// frameOverhead is what a frame costs besides its body, so that empty messages are bounded too (bytes).
const frameOverhead = 64

func newInbox(limit int) *inbox {
	return &inbox{limit: limit, ready: make(chan struct{}, 1), space: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reserve waits until a message of n bytes may be read. It returns false when done is closed first. A message larger
// than the whole inbox is let in when the inbox is empty.
func (b *inbox) reserve(n int, done <-chan struct{}) bool {
	n += frameOverhead
	for {
		b.mu.Lock()
		if b.bytes == 0 || b.bytes+n <= b.limit {
			b.bytes += n
			b.mu.Unlock()
			return true
		}
		b.mu.Unlock()
		select {
		case <-b.space:
		case <-done:
			return false
		}
	}
}

// put adds a frame whose size was reserved.
func (b *inbox) put(f frame) {
	b.mu.Lock()
	b.frames = append(b.frames, f)
	b.mu.Unlock()
	signal(b.ready)
}

// end says that nothing more will come.
func (b *inbox) end(err error) {
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	signal(b.ready)
}

// take returns the oldest frame. ok is false when there is none yet: wait for ready. A frame's reservation is given
// back by release, after it was handled.
func (b *inbox) take() (f frame, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.frames) == 0 {
		b.frames = nil
		return frame{}, false, b.err
	}
	f, b.frames[0] = b.frames[0], frame{}
	b.frames = b.frames[1:]
	return f, true, nil
}

func (b *inbox) release(f frame) {
	b.mu.Lock()
	b.bytes -= len(f.body) + frameOverhead
	b.mu.Unlock()
	signal(b.space)
}

func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.frames) == 0 && b.err == nil
}

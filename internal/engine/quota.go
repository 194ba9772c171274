package engine

import (
	"context"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// shares bounds how many connections of a pool one analyst's statements hold at a time: a few statements that run for long
// would else keep every other analyst waiting.
type shares struct {
	limit int
	wait  time.Duration // for one of his own statements to end; 0: for ever
	mu    sync.Mutex
	slots map[string]chan struct{}
}

// newShares leaves a quarter of a pool of n, and at least one connection if it has two, to the others.
func newShares(n int, wait time.Duration) *shares {
	return &shares{limit: max(1, n-max(1, n/4)), wait: wait, slots: map[string]chan struct{}{}}
}

// take waits for a slot of the analyst; give returns it and may be called more than once.
func (s *shares) take(ctx context.Context, analyst string) (give func(), err error) {
	s.mu.Lock()
	slots := s.slots[analyst]
	if slots == nil {
		slots = make(chan struct{}, s.limit)
		s.slots[analyst] = slots
	}
	s.mu.Unlock()
	waiting := ctx
	if s.wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, s.wait)
		defer cancel()
	}
	select {
	case slots <- struct{}{}:
		return sync.OnceFunc(func() { <-slots }), nil
	case <-waiting.Done():
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, pgerr.New(pgerr.TooManyConnections, "too many of your statements are running",
			pgerr.Hint("Let one of them end, or ask the administrator to raise the limits under pool."))
	}
}

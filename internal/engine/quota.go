package engine

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// quota bounds how many connections of a pool one analyst's statements hold at a time. Without it, a few long
// statements of one analyst would keep all others waiting.
type quota struct {
	limit int64
	wait  time.Duration // for one of the analyst's own statements to end; 0 means no limit
	mu    sync.Mutex
	slots map[string]*semaphore.Weighted // by analyst
}

// newQuota leaves a quarter of a pool of n, and at least one connection if it has two, to the others.
func newQuota(n int, wait time.Duration) *quota {
	return &quota{limit: int64(max(1, n-max(1, n/4))), wait: wait, slots: map[string]*semaphore.Weighted{}}
}

// Acquire waits for a slot of the analyst. release gives it back and may be called more than once.
func (q *quota) Acquire(ctx context.Context, analyst string) (release func(), err error) {
	q.mu.Lock()
	slots := q.slots[analyst]
	if slots == nil {
		slots = semaphore.NewWeighted(q.limit)
		q.slots[analyst] = slots
	}
	q.mu.Unlock()
	if ctx.Err() == nil && slots.TryAcquire(1) {
		return sync.OnceFunc(func() { slots.Release(1) }), nil
	}
	waiting := ctx
	if q.wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, q.wait)
		defer cancel()
	}
	if slots.Acquire(waiting, 1) == nil {
		return sync.OnceFunc(func() { slots.Release(1) }), nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, pgerr.New(pgerr.TooManyConnections, "too many of your statements are running",
		pgerr.Hint("Let one of them end, or ask the administrator to raise the limits under pool."))
}

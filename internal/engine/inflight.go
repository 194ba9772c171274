package engine

import (
	"context"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

// inFlightLimit ends the wait for the same question: after it, the one that waits is charged and measured itself.
const inFlightLimit = ledger.Lease

// inFlight holds the questions that are charged and not answered yet. The same question of the same analyst waits for
// the answer, which is then kept: a dashboard that sends one statement from many connections pays once.
type inFlight struct {
	mu sync.Mutex
	m  map[string]chan struct{} // by key of the answer; closed when the answer is there, or will not come
}

// acquire puts a question in flight, or waits until the one in flight has ended and returns nil. The returned function
// ends it and may be called more than once. inFlightLimit ends a question that nobody else does.
func (f *inFlight) acquire(ctx context.Context, key string) (release func()) {
	f.mu.Lock()
	other, busy := f.m[key]
	if busy {
		f.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
		return nil
	}
	if f.m == nil {
		f.m = map[string]chan struct{}{}
	}
	mine := make(chan struct{})
	f.m[key] = mine
	f.mu.Unlock()
	end := sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.m, key)
		close(mine)
	})
	limit := time.AfterFunc(inFlightLimit, end)
	return func() {
		limit.Stop()
		end()
	}
}

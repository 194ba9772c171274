package engine

import (
	"context"
	"sync"
	"time"
)

// flightLimit is how long a question waits for the same question that is being answered, before it is asked for itself.
const flightLimit = 30 * time.Second

// flights are the questions that are charged and not answered yet. The same question of the same analyst waits for the
// answer, which is then in the cache: a dashboard that sends one statement from many connections pays once.
type flights struct {
	mu sync.Mutex
	m  map[string]chan struct{} // by key of the answer cache; closed when the flight ends
}

// enter begins a flight, or waits until the one under way has ended and returns nil. The returned function ends the flight
// and may be called more than once; a flight that nobody ends is over after flightLimit.
func (f *flights) enter(ctx context.Context, key string) (leave func()) {
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
	limit := time.AfterFunc(flightLimit, end)
	return func() {
		limit.Stop()
		end()
	}
}

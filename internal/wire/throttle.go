package wire

import (
	"context"
	"sync"
	"time"
)

const (
	// freeFailures is how many wrong passwords an address may send before answers slow down: people mistype.
	freeFailures = 5
	// failureDelay is added per failure beyond those, up to maxFailureDelay.
	failureDelay    = 200 * time.Millisecond
	maxFailureDelay = 5 * time.Second
	// failureMemory is how long after its last failure an address is forgotten.
	failureMemory = 10 * time.Minute
	// maxThrottled bounds the table of addresses.
	maxThrottled = 10000
)

// throttle slows down addresses that guess passwords. Every answer waits, right ones too: a quick one would tell that
// the password was right.
type throttle struct {
	mu        sync.Mutex
	addresses map[string]*failures
	now       func() time.Time
}

type failures struct {
	count int
	last  time.Time
}

func newThrottle() *throttle {
	return &throttle{addresses: map[string]*failures{}, now: time.Now}
}

func (t *throttle) delay(host string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.addresses[host]
	if f == nil || f.count <= freeFailures || t.now().Sub(f.last) > failureMemory {
		return 0
	}
	return min(time.Duration(f.count-freeFailures)*failureDelay, maxFailureDelay)
}

// wait delays an answer to host, or ends with ctx.
func (t *throttle) wait(ctx context.Context, host string) error {
	d := t.delay(host)
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *throttle) failed(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if len(t.addresses) >= maxThrottled {
		t.forget(now)
	}
	f := t.addresses[host]
	if f == nil || now.Sub(f.last) > failureMemory {
		f = &failures{}
		t.addresses[host] = f
	}
	f.count++
	f.last = now
}

func (t *throttle) succeeded(host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.addresses, host)
}

// forget drops entries: what is old, or else everything (an attacker with ten thousand addresses gains little by it).
func (t *throttle) forget(now time.Time) {
	for host, f := range t.addresses {
		if now.Sub(f.last) > failureMemory {
			delete(t.addresses, host)
		}
	}
	if len(t.addresses) >= maxThrottled {
		clear(t.addresses)
	}
}

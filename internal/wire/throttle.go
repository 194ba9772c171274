package wire

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// freeFailures is how many wrong passwords of a user an address may send before answers slow down, and freeOfAddress how many of all
	// users together: people mistype, and many people may have one address.
	freeFailures  = 5
	freeOfAddress = 100
	// failureDelay is added per failure beyond those, up to maxFailureDelay.
	failureDelay    = 200 * time.Millisecond
	maxFailureDelay = 5 * time.Second
	// failureMemory is how long after its last failure an address is forgotten.
	failureMemory = 10 * time.Minute
	// maxThrottled bounds the table.
	maxThrottled = 10000
)

// throttle slows down those who guess passwords. Every answer waits, right ones too: a quick one would tell that the password was right.
type throttle struct {
	mu     sync.Mutex
	counts map[guesser]*failures
	now    func() time.Time
}

// guesser is a user at an address, or an address: names may be long.
type guesser [sha256.Size]byte

type failures struct {
	count int
	last  time.Time
}

func newThrottle() *throttle {
	return &throttle{counts: map[guesser]*failures{}, now: time.Now}
}

func atAddress(host string) guesser    { return sha256.Sum256([]byte(host)) }
func userAt(user, host string) guesser { return sha256.Sum256([]byte(host + "\x00" + user)) }

func (t *throttle) delay(user, host string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	beyond := max(t.failures(userAt(user, host))-freeFailures, t.failures(atAddress(host))-freeOfAddress, 0)
	return min(time.Duration(beyond)*failureDelay, maxFailureDelay)
}

// failures counts those that are not too long ago.
func (t *throttle) failures(g guesser) int {
	f := t.counts[g]
	if f == nil || t.now().Sub(f.last) > failureMemory {
		return 0
	}
	return f.count
}

// wait delays an answer to a user at host, or ends with ctx.
func (t *throttle) wait(ctx context.Context, user, host string) error {
	d := t.delay(user, host)
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

func (t *throttle) failed(user, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for _, g := range []guesser{userAt(user, host), atAddress(host)} {
		if len(t.counts) >= maxThrottled {
			t.forget(now)
		}
		n := t.failures(g) + 1
		t.counts[g] = &failures{n, now}
	}
}

// succeeded forgets the failures of that user at that address. Those of others stay, so that nobody wipes out guesses by a login of their own.
func (t *throttle) succeeded(user, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, userAt(user, host))
}

// forget drops entries: what is old, or else everything (an attacker with ten thousand addresses gains little by it).
func (t *throttle) forget(now time.Time) {
	for g, f := range t.counts {
		if now.Sub(f.last) > failureMemory {
			delete(t.counts, g)
		}
	}
	if len(t.counts) >= maxThrottled {
		clear(t.counts)
	}
}

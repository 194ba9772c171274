package wire

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

const (
	// freeFailures is how many wrong passwords of a user an address may send before answers slow down, and freeOfAddress
	// how many of all users together: people mistype, and many people may have one address.
	freeFailures  = 5
	freeOfAddress = 100
	// failureDelay is added per failure beyond those, up to maxFailureDelay.
	failureDelay    = 200 * time.Millisecond
	maxFailureDelay = 5 * time.Second
	// maxTurn is how long an attempt may wait: for those of the same user and address before it, and for its own delay.
	maxTurn = 3 * maxFailureDelay
	// failureMemory is how long after its last failure an address is forgotten.
	failureMemory = 10 * time.Minute
	// maxThrottled bounds the table.
	maxThrottled = 10000
)

// throttle slows down those who guess passwords. Every answer waits, right ones too: a quick one would tell that the
// password was right.
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
	turn  time.Time // when the last answer that waits leaves
}

func newThrottle() *throttle {
	return &throttle{counts: map[guesser]*failures{}, now: time.Now}
}

func atAddress(host string) guesser    { return sha256.Sum256([]byte(host)) }
func userAt(user, host string) guesser { return sha256.Sum256([]byte(host + "\x00" + user)) }

// delay is what an attempt has to wait for, if no other is under way.
func (t *throttle) delay(user, host string) time.Duration {
	beyond := max(t.failures(userAt(user, host))-freeFailures, t.failures(atAddress(host))-freeOfAddress, 0)
	return min(time.Duration(beyond)*failureDelay, maxFailureDelay)
}

// turn gives an attempt its place behind those of the same user and address that are under way, so that guesses made
// beside each other are no faster than one by one. It returns how long the attempt waits, or false where that is too
// long.
func (t *throttle) turn(user, host string) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.delay(user, host)
	if f := t.counts[userAt(user, host)]; f != nil && d > 0 {
		now := t.now()
		d = max(f.turn.Sub(now), 0) + d
		if d > maxTurn {
			return 0, false
		}
		f.turn = now.Add(d)
	}
	return d, true
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
	d, ok := t.turn(user, host)
	if !ok {
		return fatal(pgerr.TooManyConnections, "too many attempts to log in as this user from this address")
	}
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
		f := failures{count: t.failures(g) + 1, last: now}
		if before := t.counts[g]; before != nil {
			f.turn = before.turn
		}
		t.counts[g] = &f
	}
}

// succeeded forgets the failures of that user at that address. Those of others stay, so that nobody wipes out guesses
// by a login of their own.
func (t *throttle) succeeded(user, host string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.counts, userAt(user, host))
}

// forget drops entries: what is old and what slows nobody down, or else everything (an attacker with ten thousand
// addresses gains little by it).
func (t *throttle) forget(now time.Time) {
	for g, f := range t.counts {
		if f.count <= freeFailures || now.Sub(f.last) > failureMemory {
			delete(t.counts, g)
		}
	}
	if len(t.counts) >= maxThrottled {
		clear(t.counts)
	}
}

// Package memory counts the bytes that clients make the proxy keep: prepared statements, portals and their rows,
// messages that wait, answers of the console. What would be too much for one connection, for all connections of one
// analyst, or for all of them together is refused before it is kept, with SQLSTATE 53200.
//
// Counts are estimates from above of what the Go heap holds. What belongs to no client, such as the schema and the
// caches, has bounds of its own beside these.
package memory

import (
	"math"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Default is how much all clients together may make the proxy keep, bytes.
const Default = 256 << 20

// An analyst may have half of what all have, and one connection a quarter: nobody can take everything from the others.
const (
	analystShare    = 2
	connectionShare = 4
	// strangerShare is that of those who have not authenticated: requests of browsers that are being read.
	strangerShare = 8
)

// What is kept no more goes back to the operating system a while after so much of the limit has become free, and is
// still free then. Go by itself keeps it for minutes. To return it costs a whole collection of garbage: who takes and
// frees much all the time causes one each returnPause.
const (
	returnShare = 8
	returnDelay = 2 * time.Second
	returnPause = 10 * time.Second
)

// Budget is what all clients share. It is safe for concurrent use.
type Budget struct {
	limit int64
	free  func() // returns what is free to the operating system
	work  *semaphore.Weighted

	mu        sync.Mutex
	used      int64
	highest   int64 // of used, since memory was last returned
	returning bool
	returned  time.Time // the last time
	analysts  map[string]*share
}

// share is what the connections of one analyst hold.
type share struct {
	used, connections, limit int64
	work                     *semaphore.Weighted // of which its statements take
}

// New returns a budget of so many bytes.
func New(limit int64) *Budget {
	return &Budget{
		limit: limit, free: debug.FreeOSMemory, work: semaphore.NewWeighted(limit),
		analysts: map[string]*share{},
	}
}

// Account is what one connection holds. A nil account has no limit.
type Account struct {
	budget  *Budget
	analyst string
	share   *share
	used    int64
	limit   int64
}

// Open begins an account of an analyst's connection; of nobody's, if the name is empty.
func (b *Budget) Open(analyst string) *Account {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.analysts[analyst]
	if s == nil {
		s = &share{limit: b.limit / analystShare, work: semaphore.NewWeighted(b.limit / analystShare)}
		if analyst == "" {
			s.limit = b.limit / strangerShare
		}
		b.analysts[analyst] = s
	}
	s.connections++
	return &Account{budget: b, analyst: analyst, share: s, limit: b.limit / connectionShare}
}

// Used is how much all clients hold.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Close gives back all that is held, and ends the account.
func (a *Account) Close() {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.give(a, a.used)
	a.limit = 0 // nothing can be held any more
	if a.share.connections--; a.share.connections == 0 {
		delete(b.analysts, a.analyst)
	}
}

// What each limit says when it is reached.
var (
	errConnection = pgerr.New(pgerr.OutOfMemory, "out of memory for this connection",
		pgerr.Hint(
			"Close prepared statements, portals and cursors that are no longer needed, fetch results without a cursor, or send less at a time."))
	errAnalyst = pgerr.New(pgerr.OutOfMemory, "out of memory for your connections",
		pgerr.Hint(
			"Close connections, prepared statements and cursors that are no longer needed, or ask the administrator to raise limits.memory."))
	errAll = pgerr.New(pgerr.OutOfMemory, "out of memory",
		pgerr.Hint("Other clients keep much. Try again later, or ask the administrator to raise limits.memory."))
)

// take counts n bytes more.
func (a *Account) take(n int64) error {
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case n > a.limit-a.used:
		return errConnection
	case n > a.share.limit-a.share.used:
		return errAnalyst
	case n > b.limit-b.used:
		return errAll
	}
	a.used += n
	a.share.used += n
	b.used += n
	b.highest = max(b.highest, b.used)
	return nil
}

// give counts n bytes less, of those that the account still holds. The budget is locked.
func (b *Budget) give(a *Account, n int64) {
	n = min(n, a.used)
	a.used -= n
	a.share.used -= n
	b.used -= n
	if b.muchIsFree() && !b.returning {
		b.returning = true
		time.AfterFunc(b.pause(time.Now()), b.giveBack)
	}
}

// muchIsFree reports whether it is worth to return memory. The budget is locked.
func (b *Budget) muchIsFree() bool { return b.highest-b.used >= b.limit/returnShare }

// pause is how long memory stays here that has become free. The budget is locked.
func (b *Budget) pause(now time.Time) time.Duration {
	return max(returnDelay, b.returned.Add(returnPause).Sub(now))
}

// giveBack returns what is free, if that is still much.
func (b *Budget) giveBack() {
	b.mu.Lock()
	much := b.muchIsFree()
	if much {
		b.highest, b.returned = b.used, time.Now()
	}
	b.mu.Unlock()
	if much {
		b.free()
	}
	b.mu.Lock()
	b.returning = false
	b.mu.Unlock()
}

// Hold is what one thing takes of an account. It belongs to one goroutine at a time. The zero value holds nothing, of
// no account.
type Hold struct {
	account *Account
	bytes   int64
}

// Hold begins to count one thing, which takes nothing yet.
func (a *Account) Hold() Hold { return Hold{account: a} }

// Take begins to count one thing of n bytes.
func (a *Account) Take(n int) (Hold, error) {
	h := a.Hold()
	return h, h.Grow(n)
}

// Grow counts n bytes more.
func (h *Hold) Grow(n int) error {
	if h.account == nil || n <= 0 {
		return nil
	}
	if err := h.account.take(int64(n)); err != nil {
		return err
	}
	h.bytes += int64(n)
	return nil
}

// Give counts n bytes less.
func (h *Hold) Give(n int) {
	if h.account == nil || n <= 0 {
		return
	}
	b := h.account.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.give(h.account, int64(n))
	h.bytes -= int64(n)
}

// Join counts what another thing of the account has taken with this one.
func (h *Hold) Join(other *Hold) {
	if h.account == nil {
		h.account = other.account
	}
	h.bytes += other.bytes
	other.bytes = 0
}

// Free gives everything back.
func (h *Hold) Free() { h.Give(int(h.bytes)) }

// Soft is the limit for Go's garbage collector beside a budget: garbage is collected earlier where clients and caches
// hold much, and not so early that collecting takes all time.
func Soft(limit int64) int64 {
	const ownNeed = 192 << 20 // schema, caches, what statements work with
	if limit > (math.MaxInt64-ownNeed)/2 {
		return math.MaxInt64
	}
	return 2*limit + ownNeed
}

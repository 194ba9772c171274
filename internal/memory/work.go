package memory

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// Statements that run work with as much again as clients may keep, and those of one analyst with half of it. Who finds
// none left waits.

// openShare is the part of it that a statement takes of which nobody may know what it takes.
const openShare = 8

var (
	errStatement = pgerr.New(pgerr.OutOfMemory, "out of memory for this statement",
		pgerr.Hint("Ask for fewer groups times aggregates at a time, or ask the administrator to raise limits.memory."))
	errBusy = pgerr.New(pgerr.OutOfMemory, "out of memory for the statements that run",
		pgerr.Hint(
			"Try again when others have ended, or ask the administrator to raise limits.memory, or to declare max_rows or values."))
)

// CanWork refuses a statement that works with more than there is even when no other runs.
func (a *Account) CanWork(exact int64) error {
	if a == nil || exact <= a.budget.limit {
		return nil
	}
	return errStatement
}

// Work takes what a statement works with, before anything is charged: exact bytes, and beside them at most so many that
// depend on private rows. Both follow from public facts, and so must the moment at which release is called: they decide
// who waits, and who is refused. wait bounds the time until others have ended; 0: nothing does.
func (a *Account) Work(ctx context.Context, exact, open int64, wait time.Duration) (release func(), err error) {
	if a == nil || exact+open == 0 {
		return func() {}, nil
	}
	if err := a.CanWork(exact); err != nil {
		return nil, err
	}
	b := a.budget
	n := min(exact+min(open, b.limit/openShare), b.limit/analystShare)
	waiting := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	of := []*semaphore.Weighted{a.share.work, b.work} // in this order: who has all's waits for nobody
	for i, s := range of {
		if ctx.Err() == nil && s.TryAcquire(n) || s.Acquire(waiting, n) == nil {
			continue
		}
		for _, taken := range of[:i] {
			taken.Release(n)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, errBusy
	}
	return sync.OnceFunc(func() {
		for _, s := range of {
			s.Release(n)
		}
	}), nil
}

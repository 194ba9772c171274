package memory

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

// TestWork: a statement takes what it needs, of what nobody knows an eighth at most; an analyst has half of all, and
// what is larger than that runs by itself.
func TestWork(t *testing.T) {
	ctx, b := context.Background(), New(800)
	alice, bob := b.Open("alice"), b.Open("bob")
	take := func(a *Account, exact, open int64) (func(), error) { return a.Work(ctx, exact, open, time.Nanosecond) }
	must := func(a *Account, exact, open int64) func() {
		t.Helper()
		release, err := take(a, exact, open)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	if _, err := take(alice, 801, 0); err != errStatement {
		t.Errorf("more than there is: %v", err)
	}
	all := must(alice, 800, 0) // counts as half
	if _, err := take(alice, 1, 0); err != errBusy {
		t.Errorf("beside it: %v", err)
	}
	others := []func(){must(bob, 100, 50), must(bob, 0, math.MaxInt64), must(bob, 50, 150)} // 150, 100 and 150
	if _, err := take(b.Open("carol"), 100, 0); err != errBusy {
		t.Errorf("more than all may: %v", err)
	}
	all()
	all()
	must(alice, 400, 0)()
	for _, release := range others {
		release()
	}
	must(bob, 400, 0)()
	if b.Used() != 0 {
		t.Errorf("%d bytes count as kept", b.Used())
	}
}

// TestWorkWaits for another statement to end, and no longer than its own.
func TestWorkWaits(t *testing.T) {
	b := New(800)
	a := b.Open("alice")
	first, err := a.Work(context.Background(), 400, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(time.Millisecond, func() { cancel(gone) })
	if _, err := a.Work(ctx, 400, 0, 0); !errors.Is(err, gone) {
		t.Errorf("%v, want %v", err, gone)
	}
	time.AfterFunc(time.Millisecond, first)
	second, err := a.Work(context.Background(), 400, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	second()
	if _, err := (*Account)(nil).Work(context.Background(), math.MaxInt64, 0, 0); err != nil {
		t.Errorf("where nobody counts: %v", err)
	}
}

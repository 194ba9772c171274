package memory

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func hold(t *testing.T, a *Account, n int) Hold {
	t.Helper()
	h, err := a.Take(n)
	if err != nil {
		t.Fatalf("%d bytes: %v", n, err)
	}
	return h
}

func refused(t *testing.T, what string, a *Account, n int, want error) {
	t.Helper()
	_, err := a.Take(n)
	var e *pgconn.PgError
	if err != want || !errors.As(err, &e) || e.Code != "53200" || e.Hint == "" {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestShares: a connection has a quarter, an analyst half, strangers an eighth, and all together everything.
func TestShares(t *testing.T) {
	b := New(800)
	alice := []*Account{b.Open("alice"), b.Open("alice"), b.Open("alice")}
	first := hold(t, alice[0], 200)
	refused(t, "a connection", alice[0], 1, errConnection)
	hold(t, alice[1], 200)
	refused(t, "an analyst", alice[2], 1, errAnalyst)
	hold(t, b.Open("bob"), 200)
	stranger := b.Open("")
	hold(t, stranger, 100)
	refused(t, "strangers", b.Open(""), 1, errAnalyst)
	hold(t, b.Open("carol"), 100)
	refused(t, "all", b.Open("dave"), 1, errAll)
	first.Free()
	first.Free()
	if used := b.Used(); used != 600 {
		t.Errorf("%d bytes after one hold was freed, want 600", used)
	}
	alice[1].Close()
	if used := b.Used(); used != 400 {
		t.Errorf("%d bytes after an account was closed, want 400", used)
	}
	hold(t, alice[2], 200)
	if err := first.Grow(201); err != errConnection {
		t.Errorf("more than a connection's share: %v", err)
	}
}

// TestHoldsOutliveTheirAccount: what is freed after the connection has ended is not given back twice.
func TestHoldsOutliveTheirAccount(t *testing.T) {
	b := New(800)
	a, other := b.Open("alice"), b.Open("alice")
	kept := hold(t, other, 10)
	h := hold(t, a, 100)
	a.Close()
	h.Free()
	if used := b.Used(); used != 10 {
		t.Errorf("%d bytes, want 10", used)
	}
	if err := h.Grow(1); err == nil {
		t.Error("a closed account holds something")
	}
	kept.Free()
	other.Close()
	if b.Used() != 0 || len(b.analysts) != 0 {
		t.Errorf("%d bytes, %d analysts after everything was closed", b.Used(), len(b.analysts))
	}
}

func TestNoAccountHasNoLimit(t *testing.T) {
	var a *Account
	h := hold(t, a, 1<<40)
	h.Free()
	a.Close()
	if err := new(Hold).Grow(1 << 40); err != nil {
		t.Error(err)
	}
}

// TestMemoryIsReturnedNowAndThen: once much has become free and while it is, and not again soon after.
func TestMemoryIsReturnedNowAndThen(t *testing.T) {
	b, returned := New(800), 0
	b.free = func() { returned++ }
	b.returning = true // no timer is needed: it is called here
	a := b.Open("alice")
	first := hold(t, a, 200)
	first.Free()
	second := hold(t, a, 150)
	if b.giveBack(); returned != 0 {
		t.Error("returned, though what was freed is taken again")
	}
	if wait := b.pause(time.Now()); wait != returnDelay {
		t.Errorf("the first time %v after it was freed, want %v", wait, returnDelay)
	}
	second.Free()
	if b.giveBack(); returned != 1 {
		t.Errorf("returned %d times", returned)
	}
	if b.giveBack(); returned != 1 {
		t.Error("returned again, though nothing has become free since")
	}
	if wait := b.pause(b.returned.Add(3 * time.Second)); wait != returnPause-3*time.Second {
		t.Errorf("%v after three seconds, want %v", wait, returnPause-3*time.Second)
	}
}

// TestSums: whatever comes and goes at the same time, nothing exceeds its share, and nothing stays.
func TestSums(t *testing.T) {
	b := New(4000)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			a := b.Open([]string{"alice", "bob", "carol"}[i%3])
			defer a.Close()
			for n := range 500 {
				h, err := a.Take(n)
				if used := b.Used(); used > 4000 {
					t.Errorf("%d bytes are held", used)
				}
				if err == nil && n%3 > 0 {
					h.Free()
				}
			}
		})
	}
	all.Wait()
	if b.Used() != 0 {
		t.Errorf("%d bytes stay", b.Used())
	}
}

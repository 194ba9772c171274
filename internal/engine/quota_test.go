package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestQuotaLeavesRoom: the statements of one analyst take their quota and no more, and leave that of another alone.
func TestQuotaLeavesRoom(t *testing.T) {
	for _, c := range []struct{ pool, want int }{{8, 6}, {4, 3}, {2, 1}, {1, 1}, {0, 1}} {
		s := newQuota(c.pool, time.Millisecond)
		var last func()
		for i := range c.want {
			release, err := s.Acquire(context.Background(), "alice")
			if err != nil {
				t.Fatalf("a pool of %d: statement %d: %v", c.pool, i+1, err)
			}
			last = release
		}
		if _, err := s.Acquire(context.Background(), "alice"); codeOf(err) != "53300" {
			t.Errorf("a pool of %d: statement %d: %v, want 53300", c.pool, c.want+1, err)
		}
		if _, err := s.Acquire(context.Background(), "bob"); err != nil {
			t.Errorf("a pool of %d: another analyst: %v", c.pool, err)
		}
		last()
		last()
		if _, err := s.Acquire(context.Background(), "alice"); err != nil {
			t.Errorf("a pool of %d: after one has ended: %v", c.pool, err)
		}
	}
}

func TestQuotaObeysCancel(t *testing.T) {
	s := newQuota(1, 0)
	if _, err := s.Acquire(context.Background(), "alice"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("cancelled")
	cancel(stop)
	if _, err := s.Acquire(ctx, "alice"); !errors.Is(err, stop) {
		t.Errorf("%v, want the reason of the cancel", err)
	}
}

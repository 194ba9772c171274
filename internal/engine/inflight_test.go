package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

func TestInFlightLetsOneQuestionThrough(t *testing.T) {
	var f inFlight
	var answered atomic.Bool
	var charged atomic.Int64
	var sessions sync.WaitGroup
	for range 64 {
		sessions.Go(func() {
			for !answered.Load() {
				release := f.acquire(context.Background(), "question")
				if release == nil {
					continue
				}
				if !answered.Load() {
					charged.Add(1)
					answered.Store(true)
				}
				release()
				release()
			}
		})
	}
	sessions.Wait()
	if charged.Load() != 1 {
		t.Errorf("charged %d times", charged.Load())
	}
	if len(f.m) != 0 {
		t.Errorf("%d questions are left in flight", len(f.m))
	}
}

func TestInFlightDoesNotHoldACancelledSession(t *testing.T) {
	var f inFlight
	defer f.acquire(context.Background(), "question")()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if release := f.acquire(ctx, "question"); release != nil {
		t.Error("the same question is in flight twice")
	}
	if release := f.acquire(ctx, "another"); release == nil {
		t.Error("another question had to wait")
	}
}

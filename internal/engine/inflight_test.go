package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

func TestFlightsLetOneQuestionThrough(t *testing.T) {
	var f flights
	var answered atomic.Bool
	var charged atomic.Int64
	var sessions sync.WaitGroup
	for range 64 {
		sessions.Go(func() {
			for !answered.Load() {
				leave := f.enter(context.Background(), "question")
				if leave == nil {
					continue
				}
				if !answered.Load() {
					charged.Add(1)
					answered.Store(true)
				}
				leave()
				leave()
			}
		})
	}
	sessions.Wait()
	if charged.Load() != 1 {
		t.Errorf("charged %d times", charged.Load())
	}
	if len(f.m) != 0 {
		t.Errorf("%d flights are left", len(f.m))
	}
}

func TestFlightsDoNotHoldACancelledSession(t *testing.T) {
	var f flights
	defer f.enter(context.Background(), "question")()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if leave := f.enter(ctx, "question"); leave != nil {
		t.Error("a second flight of the same question began")
	}
	if leave := f.enter(ctx, "another"); leave == nil {
		t.Error("another question had to wait")
	}
}

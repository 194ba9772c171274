package gather

import (
	"testing"
	"time"
)

func TestNobodyWaitsAlone(t *testing.T) {
	var g Gather
	never := func() int { t.Error("it looks for more requests"); return 0 }
	g.Wait(never, nil)
	g.Committed(1, time.Hour)
	g.Wait(never, nil)
}

func TestGatherWaitsForAsManyAsBefore(t *testing.T) {
	var g Gather
	g.Committed(3, time.Hour)
	waiting, work := 1, make(chan struct{}, 2)
	work <- struct{}{}
	work <- struct{}{}
	g.Wait(func() int { waiting++; return waiting - 1 }, work)
	if waiting != 4 {
		t.Errorf("it looked %d times", waiting-1)
	}
}

func TestGatherGivesUp(*testing.T) {
	var g Gather
	g.Committed(3, 4*time.Millisecond)
	g.Wait(func() int { return 2 }, nil)
}

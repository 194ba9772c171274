package rewrite_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// polled is a context that counts how often it is looked at, and ends after some of these.
type polled struct {
	context.Context
	polls, last int // 0: it never ends
}

var errEnded = errors.New("the context has ended")

func (p *polled) Err() error {
	p.polls++
	if p.last > 0 && p.polls >= p.last {
		return errEnded
	}
	return nil
}

func (p *polled) Value(any) any { return nil }

// mostAllocations bounds what is allocated in planning a statement of shapeBytes, which takes about a tenth of a
// microsecond each: it counts work that nobody has thought of counting.
const (
	shapeBytes      = 4096
	mostAllocations = 1_600_000
)

// TestShapesOfStatements plans statements that grow in one respect each. Whatever is compared with each other, planning
// ends soon.
func TestShapesOfStatements(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			c := &polled{Context: context.Background()}
			before := allocations()
			_, err := theWorld.askUntil(c, s.largest(shapeBytes), nil)
			n := allocations() - before
			t.Logf("%d looks at the context, %d allocations: %v", c.polls, n, err)
			if n > mostAllocations {
				t.Errorf("%d allocations", n)
			}
			if _, err := theWorld.ask(s.text(6), nil); err != nil && strings.Contains(err.Error(), "planning it takes") {
				t.Errorf("six parts: %v", err)
			}
		})
	}
}

func allocations() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// TestPlanningStops: planning ends where its context does, wherever that is, and does not look again.
func TestPlanningStops(t *testing.T) {
	for _, s := range shapes {
		whole := &polled{Context: context.Background()}
		sql := s.largest(1000)
		if _, err := theWorld.askUntil(whole, sql, nil); err != nil || whole.polls < 2 {
			continue
		}
		for _, last := range []int{1, (1 + whole.polls) / 2} {
			c := &polled{Context: context.Background(), last: last}
			_, err := theWorld.askUntil(c, sql, nil)
			if !errors.Is(err, errEnded) || c.polls > last+1 {
				t.Errorf("%s, ended at look %d of %d: %d looks, %v", s.name, last, whole.polls, c.polls, err)
			}
		}
	}
}

// TestTooManySteps: a statement beyond all that people write is refused, and says so.
func TestTooManySteps(t *testing.T) {
	sql := "SELECT " + line(700, ", ", "stddev(age+%[1]d)") + " FROM patients"
	if _, err := theWorld.ask(sql, nil); err == nil || !strings.Contains(err.Error(), "planning it takes more than") {
		t.Errorf("%v", err)
	}
}

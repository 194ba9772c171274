package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
)

const ms = time.Millisecond

func TestMoment(t *testing.T) {
	steps := policy.Timing{Steps: 1.25}
	both := policy.Timing{Steps: 1.25, Quantum: 50 * ms}
	for _, c := range []struct {
		name    string
		timing  policy.Timing
		elapsed time.Duration
		want    time.Duration
	}{
		{"nothing took no time", steps, 0, ms},
		{"the first step", steps, 1, ms},
		{"a step itself", steps, ms, ms},
		{"just above a step", steps, ms + 1, 1250 * time.Microsecond},
		{"the third step", steps, 1300 * time.Microsecond, 1562500 * time.Nanosecond},
		{"powers of two", policy.Timing{Steps: 2}, 65 * ms, 128 * ms},
		{"a power of two itself", policy.Timing{Steps: 2}, 64 * ms, 64 * ms},
		{"a quantum after the step", both, 49 * ms, 100 * ms}, // the step is 54.2 ms
		{"a quantum hides the steps below it", both, 2 * ms, 50 * ms},
		{"a quantum alone", policy.Timing{Quantum: 50 * ms}, 101 * ms, 150 * ms},
		{"a multiple of the quantum itself", policy.Timing{Quantum: 50 * ms}, 100 * ms, 100 * ms},
		{"off", policy.Timing{}, 123456, 123456},
	} {
		if got := Moment(c.timing, c.elapsed); got != c.want {
			t.Errorf("%s: Moment(%v) = %v, want %v", c.name, c.elapsed, got, c.want)
		}
	}
}

// TestMomentsAreFew counts what an analyst can tell apart, as docs/threat-model.md does.
func TestMomentsAreFew(t *testing.T) {
	for _, c := range []struct {
		name     string
		timing   policy.Timing
		from, to time.Duration
		most     int
	}{
		{"up to a minute", policy.Timing{Steps: 1.25}, 0, time.Minute, 51},
		{"from 10 ms to 1 s", policy.Timing{Steps: 1.25}, 10 * ms, time.Second, 22},
		{"10 % around 40 ms", policy.Timing{Steps: 1.25}, 36 * ms, 44 * ms, 2},
		{"10 % around 3 s", policy.Timing{Steps: 1.25}, 2700 * ms, 3300 * ms, 2},
		{"up to a minute, in steps of 2", policy.Timing{Steps: 2}, 0, time.Minute, 17},
	} {
		seen := map[time.Duration]bool{}
		last := time.Duration(0)
		for elapsed := c.from; elapsed <= c.to; elapsed += 100 * time.Microsecond {
			at := Moment(c.timing, elapsed)
			if at < elapsed || at < last {
				t.Fatalf("%s: Moment(%v) = %v after %v", c.name, elapsed, at, last)
			}
			seen[at], last = true, at
		}
		if len(seen) > c.most {
			t.Errorf("%s: %d moments, want at most %d", c.name, len(seen), c.most)
		}
	}
}

// fakeClock passes only where a test says so.
type fakeClock struct{ now time.Time }

func (c *fakeClock) pace(t policy.Timing) pace {
	return pace{t, func() time.Time { return c.now }, func(_ context.Context, d time.Duration) { c.now = c.now.Add(d) }, nil}
}

func TestPaceHoldsEveryOutcome(t *testing.T) {
	failed := errors.New("main failed")
	for name, outcome := range map[string]error{"an answer": nil, "a failure": failed} {
		for _, took := range []time.Duration{130 * ms, 140 * ms, 151 * ms} {
			clock := &fakeClock{}
			start := clock.now
			err := clock.pace(policy.Timing{Steps: 2}).run(context.Background(), func(func() error) error {
				clock.now = clock.now.Add(took)
				return outcome
			})
			if !errors.Is(err, outcome) {
				t.Errorf("%s after %v: %v", name, took, err)
			}
			if got := clock.now.Sub(start); got != 256*ms {
				t.Errorf("%s after %v leaves at %v, want 256ms", name, took, got)
			}
		}
	}
}

// TestPaceHoldsWhatOthersSee: a stage is asked of the shadow at a public moment, and the outcome has another.
func TestPaceHoldsWhatOthersSee(t *testing.T) {
	for _, took := range []time.Duration{65 * ms, 100 * ms, 128 * ms} {
		clock := &fakeClock{}
		start := clock.now
		var seen time.Duration
		err := clock.pace(policy.Timing{Steps: 2}).run(context.Background(), func(hold func() error) error {
			clock.now = clock.now.Add(took)
			err := hold()
			seen = clock.now.Sub(start)
			clock.now = clock.now.Add(took / 10)
			return err
		})
		if left := clock.now.Sub(start); err != nil || seen != 128*ms || left != 256*ms {
			t.Errorf("after %v it is seen at %v and leaves at %v (%v), want 128ms and 256ms", took, seen, left, err)
		}
	}
}

// TestPaceOfCancels cancels at 150 ms: before the work has ended, while it holds, and after it. Nobody can tell which.
func TestPaceOfCancels(t *testing.T) {
	const holding = 129 * ms
	canceled := pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")
	for _, took := range []time.Duration{holding, 130 * ms, 170 * ms} {
		clock := &fakeClock{}
		start := clock.now
		ctx, cancel := context.WithCancelCause(context.Background())
		p := clock.pace(policy.Timing{Steps: 2})
		sleep := p.sleep
		p.sleep = func(ctx context.Context, d time.Duration) {
			sleep(ctx, d)
			cancel(canceled)
		}
		err := p.run(ctx, func(hold func() error) error {
			if took == holding {
				clock.now = clock.now.Add(took)
				return hold()
			}
			if took > 150*ms { // Measure returns as soon as its context ends
				clock.now = clock.now.Add(150 * ms)
				cancel(canceled)
				return context.Cause(ctx)
			}
			clock.now = clock.now.Add(took)
			return nil
		})
		if !errors.Is(err, error(canceled)) {
			t.Errorf("work of %v: %v, want the cancel", took, err)
		}
		if got := clock.now.Sub(start); got != 256*ms {
			t.Errorf("work of %v: the cancel leaves at %v, want 256ms", took, got)
		}
	}
}

// TestSleepEndsWithTheStatement would take an hour if it did not.
func TestSleepEndsWithTheStatement(*testing.T) {
	for _, cause := range []error{errors.New("client went away"), pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		sleepOn(ctx, time.Hour)
	}
}

package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
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

func TestPaceHoldsEveryOutcome(t *testing.T) {
	failed := errors.New("main failed")
	for name, outcome := range map[string]error{"an answer": nil, "a failure": failed} {
		for _, took := range []time.Duration{130 * ms, 140 * ms, 151 * ms} {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := pace{timing: policy.Timing{Steps: 2}}.run(t.Context(), func(func() error) error {
					time.Sleep(took)
					return outcome
				})
				if !errors.Is(err, outcome) {
					t.Errorf("%s after %v: %v", name, took, err)
				}
				if got := time.Since(start); got != 256*ms {
					t.Errorf("%s after %v leaves at %v, want 256ms", name, took, got)
				}
			})
		}
	}
}

// TestPaceHoldsWhatOthersSee: a stage is asked of the shadow at a public moment, and the outcome has another.
func TestPaceHoldsWhatOthersSee(t *testing.T) {
	for _, took := range []time.Duration{65 * ms, 100 * ms, 128 * ms} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var seen time.Duration
			err := pace{timing: policy.Timing{Steps: 2}}.run(t.Context(), func(hold func() error) error {
				time.Sleep(took)
				err := hold()
				seen = time.Since(start)
				time.Sleep(took / 10)
				return err
			})
			if left := time.Since(start); err != nil || seen != 128*ms || left != 256*ms {
				t.Errorf("after %v it is seen at %v and leaves at %v (%v), want 128ms and 256ms", took, seen, left, err)
			}
		})
	}
}

// TestPaceOfWhoLeaves: a statement ends at 150 ms, by a cancel or with its client, before its work has ended, while it
// holds, and after it. However long main takes to stop, nobody can tell which.
func TestPaceOfWhoLeaves(t *testing.T) {
	for _, cause := range []error{
		pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request"),
		errors.New("client went away"),
	} {
		for _, took := range []time.Duration{65 * ms, 129 * ms, 149 * ms, 150 * ms, 170 * ms, time.Hour} {
			for _, stops := range []time.Duration{0, 3 * ms, 200 * ms, time.Second} {
				for _, holds := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancelCause(t.Context())
						start := time.Now()
						time.AfterFunc(150*ms, func() { cancel(cause) })
						err := pace{timing: policy.Timing{Steps: 4, Quantum: 300 * ms}}.run(ctx, func(hold func() error) error {
							select {
							case <-time.After(took):
							case <-ctx.Done():
								time.Sleep(stops)
								return context.Cause(ctx)
							}
							if holds {
								return hold()
							}
							return nil
						})
						if !errors.Is(err, cause) {
							t.Errorf("work of %v: %v, want the cause", took, err)
						}
						if got := time.Since(start); got != 150*ms+leaveWait {
							t.Errorf("work of %v that stops after %v ends at %v, want %v", took, stops, got, 150*ms+leaveWait)
						}
					})
				}
			}
		}
	}
}

// TestPaceOfSlowStops: where main takes longer than leaveWait to stop, whole ones tell of it.
func TestPaceOfSlowStops(t *testing.T) {
	on, off := pace{timing: policy.Timing{Steps: 2}}, pace{}
	for _, c := range []struct {
		p               pace
		left, now, want time.Duration
	}{
		{on, 150 * ms, 150 * ms, 1150 * ms},
		{on, 150 * ms, 1150 * ms, 1150 * ms},
		{on, 150 * ms, 1151 * ms, 2150 * ms},
		{on, 0, 3500 * ms, 4000 * ms},
		{off, 150 * ms, 170 * ms, 170 * ms},
	} {
		if got := c.p.after(c.left, c.now); got != c.want {
			t.Errorf("left at %v and stopped at %v: %v, want %v", c.left, c.now, got, c.want)
		}
	}
}

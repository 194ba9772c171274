package engine

import (
	"context"
	"math"
	"time"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// pace delays the outcome of work on private rows until a public moment.
type pace struct {
	timing policy.Timing
	trace  *session.Trace // is told the public moments alone; nil: there is none
}

// run does the work and returns at the moment that follows its end. If ctx ends before that moment, the outcome is
// ctx's cause, whether the work had ended or not, and comes at a moment that follows from when ctx ended: a cancel, a
// time-out or a client that leaves would time the work more finely. The work holds wherever it does what others can
// see.
func (p pace) run(ctx context.Context, work func(hold func() error) error) error {
	started := time.Now()
	from := p.trace.At(started)
	p.trace.Hold(from)
	var left time.Duration
	gone := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		left = time.Since(started)
		close(gone)
	})
	defer stop()
	hold := func() error {
		elapsed := time.Since(started)
		at := Moment(p.timing, elapsed)
		select {
		case <-time.After(at - elapsed):
		case <-gone:
		}
		if ctx.Err() == nil {
			p.trace.Hold(from.Add(at))
		}
		return context.Cause(ctx) // if there is one, it is for nobody yet
	}
	err := work(hold)
	ended := hold()
	if ended != nil {
		<-gone
		at := p.after(left, time.Since(started))
		time.Sleep(at - time.Since(started))
		p.trace.Hold(from.Add(at))
	}
	p.trace.Measured("measure", from)
	if ended != nil {
		return ended
	}
	p.trace.Release(func(since time.Duration) time.Duration { return Moment(p.timing, since) })
	return err
}

// leaveWait hides how quickly main stops when a statement ends before its measure: the outcome comes so much later,
// whether main had to be stopped or not. It is short for a client that waits to go on, and long for main.
const leaveWait = time.Second

// after is when the outcome of a statement may be known that ended at left, and whose work has ended by now: leaveWait
// later, or that again as often as it takes.
func (p pace) after(left, now time.Duration) time.Duration {
	if p.timing == (policy.Timing{}) {
		return now
	}
	waits := (now - left + leaveWait - 1) / leaveWait
	return left + max(1, waits)*leaveWait
}

// Moment returns the first moment at or after elapsed at which an outcome may be known: the least power of t.Steps in
// milliseconds, and from there the next multiple of t.Quantum.
func Moment(t policy.Timing, elapsed time.Duration) time.Duration {
	at := elapsed
	if t.Steps > 1 {
		power := float64(time.Millisecond)
		for power < float64(elapsed) {
			power *= t.Steps
		}
		at = time.Duration(math.Ceil(power))
	}
	if t.Quantum > 0 {
		at = (at + t.Quantum - 1) / t.Quantum * t.Quantum
	}
	return at
}

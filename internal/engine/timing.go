package engine

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// pace delays the outcome of work on private rows until a public moment. Its clock is a field for the tests.
type pace struct {
	timing policy.Timing
	now    func() time.Time
	sleep  func(context.Context, time.Duration)
	trace  *session.Trace // is told the public moments alone; nil: there is none
}

// run does the work and returns at the moment that follows its end. If ctx ends before that moment, the outcome is ctx's
// cause, whether the work had ended or not: a cancel or a time-out that shows which would time the work more finely. The work holds
// wherever it does what others can see.
func (p pace) run(ctx context.Context, work func(hold func() error) error) error {
	started, over := p.now(), false
	from := p.trace.At(started)
	p.trace.Hold(from)
	hold := func() error {
		if over { // a cancel has been waited for
			return context.Cause(ctx)
		}
		elapsed := p.now().Sub(started)
		at := Moment(p.timing, elapsed)
		p.sleep(ctx, at-elapsed)
		if over = ctx.Err() != nil; !over || canceled(ctx) {
			p.trace.Hold(from.Add(at))
		} // else nobody has seen when it ended
		return context.Cause(ctx)
	}
	err := work(hold)
	ended := hold()
	p.trace.Measured("measure", from)
	if ended != nil {
		return ended
	}
	p.trace.Release(func(since time.Duration) time.Duration { return Moment(p.timing, since) })
	return err
}

// Moment returns the first moment at or after elapsed at which an outcome may be known: the least power of t.Steps in milliseconds,
// and from there the next multiple of t.Quantum.
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

// cancelWait bounds how much longer a statement waits after a cancel or a time-out. It hides how quickly the work stopped, and
// is short for a client that waits to go on.
const cancelWait = time.Second

// sleepOn waits for d. A cancel or a time-out shortens it to cancelWait, whether the work has ended or not. It returns at
// once when the client has gone or the server stops: nobody sees the outcome then.
func sleepOn(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		if canceled(ctx) {
			select {
			case <-timer.C:
			case <-time.After(cancelWait):
			}
		}
	}
}

// canceled says that a cancel or a time-out has ended ctx: the client waits for the outcome.
func canceled(ctx context.Context) bool {
	var cause *pgconn.PgError
	return errors.As(context.Cause(ctx), &cause) && cause.Code == pgerr.QueryCanceled
}

package session

import (
	"context"
	"time"
)

// Trace collects the stages of one statement, with the times that may be told of them to people who may not see a
// private row (docs/privacy.md P32). Until main works on private rows these are the clock's. While it does, the last
// public moment is all that is told, and after it how much time has passed since that moment, rounded. A nil Trace
// collects nothing; one belongs to one goroutine at a time.
type Trace struct {
	Operation    string // the statement's command.Word; empty: another
	Began, Ended time.Time
	Stages       []Stage

	public time.Time                         // the last public moment; zero: main has not worked on private rows
	since  func(time.Duration) time.Duration // rounds what has passed since then; nil: none of it is told
}

// Stage is one stage of a statement: "parse", "analyse", "plan", "charge", "measure", "draw" or "finish".
type Stage struct {
	Name         string
	Began, Ended time.Time
}

// At is the time that may be told of now, which is the clock's.
func (t *Trace) At(now time.Time) time.Time {
	switch {
	case t == nil || t.public.IsZero():
		return now
	case t.since == nil:
		return t.public
	}
	return t.public.Add(t.since(max(0, now.Sub(t.public))))
}

// Stage adds a stage that ends now, and whose beginning the clock says. A measure must neither begin nor end in
// between.
func (t *Trace) Stage(name string, began time.Time) {
	if t != nil {
		t.add(name, t.At(began), t.At(time.Now()))
	}
}

// Mark adds a stage that takes no time, at the last public moment: nothing is told of its duration.
func (t *Trace) Mark(name string) { t.Measured(name, t.lastMoment()) }

// Measured adds a stage that ends at the last public moment.
func (t *Trace) Measured(name string, began time.Time) {
	if t != nil {
		t.add(name, began, t.public)
	}
}

func (t *Trace) add(name string, began, ended time.Time) {
	t.Stages = append(t.Stages, Stage{Name: name, Began: began, Ended: ended})
}

func (t *Trace) lastMoment() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.public
}

// Hold has every time be this public moment, until the next Hold or a Release.
func (t *Trace) Hold(at time.Time) {
	if t != nil {
		t.public, t.since = at, nil
	}
}

// Release lets time go on from the last public moment: since rounds what has passed.
func (t *Trace) Release(since func(time.Duration) time.Duration) {
	if t != nil {
		t.since = since
	}
}

type traceKey struct{}

// TraceOf is the trace of the statement that ctx belongs to; nil: it has none.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// WithTrace makes t the trace of ctx.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// traced begins the trace of a message that arrived at since, if somebody wants traces.
func (s *Session) traced(ctx context.Context, since time.Time) context.Context {
	if s.trace = nil; s.handler.traces == nil || !s.handler.traces() {
		return ctx
	}
	s.trace = &Trace{Began: since}
	return WithTrace(ctx, s.trace)
}

// of says which statement the trace is of. It goes on with what an earlier message about the statement has left, once.
func (t *Trace) of(st *Statement, earlier **Trace) {
	if t == nil {
		return
	}
	if *earlier != nil {
		*t, *earlier = **earlier, nil
	}
	if st != nil {
		t.Operation = st.Word
	}
}

// parse has the engine parse a text.
func (s *Session) parse(sql string) ([]Statement, error) {
	defer s.trace.Stage("parse", time.Now())
	return s.engine.Parse(sql)
}

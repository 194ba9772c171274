package session

import (
	"context"
	"time"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Query runs the statements of a simple-query text one after the other, as PostgreSQL does: the syntax of all is
// checked first, and the first that fails ends the text. What those before it have sent and were charged stays. Each is
// planned together with those behind it (Scope.Workload).
func (s *Session) Query(ctx context.Context, sql string, w wire.ResultWriter) error {
	started, client := time.Now(), ctx
	ctx = s.traced(client, started)
	s.CloseStatement("")
	parsed, err := s.parse(sql)
	if err != nil {
		s.ended(ctx, started, true, err)
		return err
	}
	if len(parsed) == 0 {
		return w.EmptyQuery()
	}
	s.state.tx.many = len(parsed) > 1
	for i := range parsed {
		x := &step{statement: parsed[i], behind: parsed[i+1:]}
		s.trace.of(&parsed[i], new(*Trace))
		err := s.timed(ctx, func(ctx context.Context) error { return s.runSimple(ctx, x, w) })
		s.ended(ctx, started, false, err)
		if err != nil {
			return err
		}
		started = time.Now()
		ctx = s.traced(client, started)
	}
	return nil
}

// runSimple runs one statement and sends its whole result, as text. It takes the place of the unnamed portal, once it
// has passed its analysis.
func (s *Session) runSimple(ctx context.Context, x *step, w wire.ResultWriter) error {
	if x.statement.Command != nil && s.state.usable(x.statement.Command) == nil {
		s.ClosePortal("")
	}
	r, err := s.apply(ctx, s.state, x)
	if err != nil {
		return s.described(x, err, w)
	}
	s.ClosePortal("")
	if r.query != nil {
		return s.sendQuery(ctx, r.query, w)
	}
	if r.copying != nil {
		return s.sendCopy(ctx, r.copying, w)
	}
	defer r.hold.Free()
	if r.columns != nil {
		if err := w.RowDescription(r.columns); err != nil {
			return err
		}
	}
	if err := s.notify(w, r.notices); err != nil {
		return err
	}
	for _, row := range r.rows {
		if err := s.row(w, r.columns, row); err != nil {
			return err
		}
	}
	return w.CommandComplete(r.tag)
}

// described sends the description of a SELECT of functions before the error that one of them has raised.
func (s *Session) described(x *step, err error, w wire.ResultWriter) error {
	c, ok := x.statement.Command.(command.Functions)
	if !ok || s.state.usable(c) != nil {
		return err
	}
	if lost := w.RowDescription(functionColumns(c)); lost != nil {
		return lost
	}
	return err
}

func (s *Session) sendQuery(ctx context.Context, q *query, w wire.ResultWriter) error {
	defer q.free()
	if err := s.charge(ctx, q); err != nil {
		return err
	}
	if q.columns != nil {
		if err := w.RowDescription(q.columns); err != nil {
			s.void(q)
			return err
		}
	}
	if err := s.each(ctx, q, func(values [][]byte) error { return s.row(w, q.columns, values) }); err != nil {
		return err
	}
	if err := s.notify(w, q.notices); err != nil {
		return err
	}
	return w.CommandComplete(q.tag)
}

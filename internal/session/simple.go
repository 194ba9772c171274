package session

import (
	"context"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Query runs a simple-query text. One statement is analysed and run; several are first all analysed, on a copy of the
// state, then charged together, then run.
func (s *Session) Query(ctx context.Context, sql string, w wire.ResultWriter) error {
	s.CloseStatement("")
	parsed, err := s.engine.Parse(sql)
	if err != nil {
		return err
	}
	if len(parsed) == 0 {
		return w.EmptyQuery()
	}
	steps := make([]*step, len(parsed))
	for i := range parsed {
		steps[i] = &step{statement: parsed[i]}
	}
	if len(steps) > 1 {
		s.state.tx.many = true
		if err := s.timed(ctx, func(ctx context.Context) error { return s.decide(ctx, steps) }); err != nil {
			return err
		}
	}
	defer void(steps)
	for _, x := range steps {
		if err := s.timed(ctx, func(ctx context.Context) error { return s.runSimple(ctx, x, w) }); err != nil {
			return err
		}
	}
	return nil
}

// decide analyses all statements of a text with those before them in force, and charges for all of them. An error
// leaves the session as it was.
func (s *Session) decide(ctx context.Context, steps []*step) error {
	work := s.state.clone()
	var spend []*query
	for _, x := range steps {
		x.dry = true
		if _, err := s.apply(ctx, work, x); err != nil {
			return err
		}
		for _, q := range x.spend {
			if !q.charged && !contains(spend, q) {
				spend = append(spend, q)
			}
		}
		x.dry = false
	}
	return s.charge(ctx, spend)
}

// void forgets charges of queries that did not run because a statement before them failed: a later FETCH charges again.
// Otherwise a cursor would keep a charge of an older budget period or policy.
func void(steps []*step) {
	for _, x := range steps {
		for _, q := range x.spend {
			if q.executed || !q.charged {
				continue
			}
			q.charged = false
			if v, ok := q.bound.(Voider); ok {
				v.Void()
			}
		}
	}
}

func contains(list []*query, q *query) bool {
	for _, other := range list {
		if other == q {
			return true
		}
	}
	return false
}

// runSimple runs one statement and sends its whole result, as text. It takes the place of the unnamed portal, once it has
// passed its analysis.
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
	if r.columns != nil {
		if err := w.RowDescription(r.columns); err != nil {
			return err
		}
	}
	if err := s.notify(w, r.notices); err != nil {
		return err
	}
	for _, row := range r.rows {
		if err := w.DataRow(row); err != nil {
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
	if err := s.charge(ctx, []*query{q}); err != nil {
		return err
	}
	if q.columns != nil {
		if err := w.RowDescription(q.columns); err != nil {
			return err
		}
	}
	if err := s.each(ctx, q, w.DataRow); err != nil {
		return err
	}
	if err := s.notify(w, q.notices); err != nil {
		return err
	}
	return w.CommandComplete(q.tag)
}

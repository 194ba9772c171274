package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/command"
	"github.com/dpproxy/dpproxy/internal/memory"
)

// query carries one bound statement through charge and execution.
type query struct {
	bound   Bound // until it is executed
	bind    func(context.Context) (Bound, error)
	columns []pgconn.FieldDescription // with formats; nil: no rows
	offset  int                       // characters before the statement in the client's text, or command.Elsewhere

	hold     memory.Hold // of the plan until it is executed, of the rows after
	charged  bool
	executed bool
	err      error // of the execution: it is not tried again

	// After load the whole result is here.
	rows    packedRows
	tag     string
	notices []*pgconn.Notice
}

// bindQuery has the engine plan a statement with its values, under a scope.
func (s *Session) bindQuery(ctx context.Context, scope Scope, p Prepared, formats []int16, values [][]byte,
	resultFormats []int16, offset int,
) (*query, error) {
	q := &query{columns: withFormats(p.Columns(), resultFormats), offset: offset}
	q.bind = func(ctx context.Context) (Bound, error) { return p.Bind(ctx, scope, formats, values, resultFormats) }
	if err := s.plan(ctx, q); err != nil {
		return nil, err
	}
	if d, ok := q.bound.(Describer); ok {
		q.columns = d.ResultColumns()
	}
	return q, nil
}

// free gives back what a query holds that no portal keeps.
func (q *query) free() { q.hold.Free() }

// plan has the engine plan a query, in the place of what was planned before.
func (s *Session) plan(ctx context.Context, q *query) error {
	bound, err := q.bind(ctx)
	if err != nil {
		return withOffset(err, q.offset)
	}
	q.hold.Free()
	if sized, ok := bound.(Sized); ok {
		if q.hold, err = s.state.memory.Take(sized.Bytes()); err != nil {
			return err
		}
	}
	q.bound = bound
	return nil
}

// withFormats gives columns the result formats of a Bind: none, one for all, or one each.
func withFormats(columns []pgconn.FieldDescription, formats []int16) []pgconn.FieldDescription {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].Format = formatOf(formats, i)
	}
	return columns
}

func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 0:
		return 0
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// start charges the query if that is still to be done, and executes it.
func (s *Session) start(ctx context.Context, q *query) (Rows, error) {
	if q.err != nil {
		return nil, q.err
	}
	if err := s.charge(ctx, q); err != nil {
		return nil, err
	}
	q.executed = true
	bound := q.bound
	q.bound, q.bind = nil, nil
	rows, err := bound.Execute(ctx)
	q.hold.Free()
	s.ran(bound)
	if err != nil {
		q.err = withOffset(err, q.offset)
		return nil, q.err
	}
	if r, ok := bound.(Releaser); ok {
		s.remember(r.Released())
	}
	return rows, nil
}

// mostBinds is how often a query is bound anew: reloads that come faster are refused.
const mostBinds = 10

// charge spends for a query, once. What was bound before a reload of the policy is bound anew.
func (s *Session) charge(ctx context.Context, q *query) error {
	if q.charged {
		return nil
	}
	err := s.engine.Charge(ctx, s.scope(s.state), q.bound)
	for n := 0; n < mostBinds && errors.Is(err, ErrReloaded); n++ {
		if err := s.plan(ctx, q); err != nil {
			return err
		}
		err = s.engine.Charge(ctx, s.scope(s.state), q.bound)
	}
	if err != nil {
		s.ran(q.bound)
		return withOffset(err, q.offset)
	}
	q.charged = true
	return nil
}

// void forgets the charge of a query that will not run.
func (s *Session) void(q *query) {
	s.ran(q.bound)
	q.charged = false
	if v, ok := q.bound.(Voider); ok {
		v.Void()
	}
}

// each runs the query and hands over its rows one by one; they are not kept.
func (s *Session) each(ctx context.Context, q *query, row func([][]byte) error) error {
	rows, err := s.start(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	return q.read(rows, row)
}

// read reads rows to their end.
func (q *query) read(rows Rows, row func([][]byte) error) error {
	for {
		values, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			q.err = withOffset(err, q.offset)
			return q.err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	q.tag, q.notices = rows.Tag(), rows.Notices()
	return nil
}

// load runs the query and keeps its rows, so that a cursor can move over them and no backend connection waits for it.
func (s *Session) load(ctx context.Context, q *query) error {
	if q.executed {
		return q.err
	}
	rows, err := s.start(ctx, q)
	if err != nil {
		return err // where it was the charge, a later FETCH may be charged
	}
	q.err = q.store(rows, s.state.memory)
	return q.err
}

// store keeps rows, as far as there is memory for them.
func (q *query) store(rows Rows, account *memory.Account) error {
	defer rows.Close()
	kept, inMemory := rows.(*Stored)
	if inMemory {
		q.tag, q.notices = kept.tag, kept.notices
	} else {
		kept = NewStored(nil, account)
		if err := q.read(rows, kept.Add); err != nil {
			kept.Close()
			return err
		}
	}
	q.rows = kept.rows
	q.hold.Join(&kept.hold)
	return nil
}

// withOffset adds a statement's offset in the client's text to the position of an error. An error from elsewhere loses
// its position.
func withOffset(err error, offset int) error {
	var e *pgconn.PgError
	if offset == 0 || !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	c := *e
	if c.Position += int32(offset); offset == command.Elsewhere {
		c.Position = 0
	}
	return &c
}

// commandTag makes the tag of a statement that sent n rows with this message.
func commandTag(tag string, n int) string {
	if strings.HasPrefix(tag, "SELECT") {
		return "SELECT " + itoa(n)
	}
	return tag
}

package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// CheckMeasure has main parse every query of a measurement and prove what it rests on, before anything is charged
// (P27). Parsing is parse analysis alone: nothing is planned, no statistics are read, and the proofs read catalogs and
// public values; so no error that comes from here has seen a row. It is free, so it has connections of its own: a wait
// for one of main's would tell when a measure ends.
//
// A *ProofError says which proof failed, a *RefusedError that main does not take a query; other errors are for the
// client.
func (b *Backend) CheckMeasure(ctx context.Context, m Measurement) error {
	for attempt := 0; ; attempt++ {
		conn, err := b.check.acquire(ctx)
		if err != nil {
			return err
		}
		began, err := b.checkOn(ctx, conn, m)
		if attempt == 0 && ctx.Err() == nil && (!began && connectionLost(err) || conflicts(err)) {
			b.check.pool.Reset()
			continue
		}
		return b.checkError(ctx, err)
	}
}

// checkOn asks on a connection. began says that it was there to be asked.
func (b *Backend) checkOn(ctx context.Context, conn *pgxpool.Conn, m Measurement) (began bool, _ error) {
	known, pins := pinnedOf(conn.Conn()), b.pins(measuring, m.Settings)
	c := &checking{Measurement: m, known: known, questions: b.questions(m.Proofs)}
	var messages []pgproto3.FrontendMessage
	find := func(sql string, types []uint32, values [][]byte) *statement {
		key, s := statementKey{sql, typesKey(types), pins}, &statement{}
		if short(values) {
			s = known.find(b.check, key)
		}
		if !s.parsed {
			c.parsing = append(c.parsing, prepares{key, s})
		}
		return s
	}
	for _, q := range c.questions {
		messages = append(messages, find(q.sql, q.types, q.values).messages(
			q.sql, q.types, pgproto3.Bind{Parameters: q.values})...)
	}
	for _, q := range m.Queries {
		_, types := b.parameters(q.SQL)
		s := find(q.SQL.Text, types, nil) // which is not executed
		if !s.parsed {
			messages = append(messages, &pgproto3.Parse{Name: s.name, Query: q.SQL.Text, ParameterOIDs: types})
		}
		// which parses it anew where a table has changed
		messages = append(messages, &pgproto3.Describe{ObjectType: 'S', Name: s.name})
	}
	if known.citus {
		messages = append(messages, b.explains(m)...)
	}
	g, err := guard(ctx, conn, pins, messages...)
	if err != nil {
		return false, err
	}
	failed := c.read(g) // a proof that fails explains what main objects to behind it
	end := g.end()
	return true, cmp.Or(failed, end)
}

// explains have the coordinator of a Citus cluster plan the queries: which joins it takes it says when it plans, and
// not when it parses. It asks no worker, and knows nothing of their rows.
func (b *Backend) explains(m Measurement) []pgproto3.FrontendMessage {
	list := []pgproto3.FrontendMessage{&pgproto3.Parse{Query: planAlone.setSQL()}, &pgproto3.Bind{}, &pgproto3.Execute{}}
	for _, q := range m.Queries {
		values, types := b.parameters(q.SQL)
		list = append(list, &pgproto3.Parse{Query: "EXPLAIN (COSTS OFF) " + q.SQL.Text, ParameterOIDs: types},
			&pgproto3.Bind{Parameters: values}, &pgproto3.Execute{})
	}
	return list
}

// checking reads what main answers to a check.
type checking struct {
	Measurement
	known     *pinned
	questions []question
	parsing   []prepares // statements that are parsed, in order
}

// read gives the first objection. What main reports is the guard's to say.
func (c *checking) read(g *guarded) error {
	for _, q := range c.questions {
		var column [][]byte
		for done := false; !done; {
			switch m := c.next(g).(type) {
			case nil:
				return nil
			case *pgproto3.DataRow:
				column = append(column, slices.Clone(m.Values[0]))
			case *pgproto3.CommandComplete:
				done = true
			}
		}
		if err := q.check(column); err != nil {
			return err
		}
	}
	for _, q := range c.Queries {
		for done := false; !done; {
			switch m := c.next(g).(type) {
			case nil:
				return nil
			case *pgproto3.RowDescription:
				if len(m.Fields) != len(q.Keys)+q.Integers {
					return fmt.Errorf("%w: not the columns of a measure", errProtocol)
				}
				done = true
			case *pgproto3.NoData:
				return fmt.Errorf("%w: not the columns of a measure", errProtocol)
			}
		}
	}
	return nil
}

// next reads a message, and notes what has been parsed.
func (c *checking) next(g *guarded) pgproto3.BackendMessage {
	message := g.receive()
	if isA[*pgproto3.ParseComplete](message) && len(c.parsing) > 0 {
		c.known.prepared(c.parsing[0].key, c.parsing[0].statement)
		c.parsing = c.parsing[1:]
	}
	return message
}

// RefusedError says that main does not take a measure query. Its text is for the administrator's log.
type RefusedError struct{ err error }

func (e *RefusedError) Error() string { return "main refuses a measure query: " + e.err.Error() }

func (b *Backend) checkError(ctx context.Context, err error) error {
	var proof *ProofError
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &proof):
		return proof
	case errors.As(err, &refused) && !connectionLost(err) && !conflicts(err), errors.Is(err, errProtocol):
		return &RefusedError{err}
	}
	return b.check.unreachable(err)
}

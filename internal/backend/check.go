package backend

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// CheckMeasure has main parse every query of a measurement and prove what it rests on, before anything is charged (P27). Parsing is
// parse analysis alone: nothing is planned, no statistics are read, and the proofs read catalogs and public values; so no error that
// comes from here has seen a row. It is free, so it has connections of its own: a wait for one of main's would tell when a measure ends.
//
// A *ProofError says which proof failed, a *RefusedError that main does not take a query; other errors are for the client.
func (b *Backend) CheckMeasure(ctx context.Context, m Measurement) error {
	for attempt := 0; ; attempt++ {
		conn, err := b.check.acquire(ctx)
		if err != nil {
			return err
		}
		tx := begin(ctx, conn, measureOn(conn), m.Settings.mainPins())
		b.sendProofs(tx, proofsOf(m.Proofs))
		for _, q := range m.Queries {
			_, oids := b.parameters(q.SQL)
			tx.pipeline.SendPrepare("", q.SQL.Text, oids)
		}
		explained := b.sendExplains(tx, m)
		err = tx.send()
		sent := err == nil
		if sent {
			err = readCheck(tx, m, explained)
		}
		if end := tx.end(); err == nil {
			err = end
		}
		if attempt == 0 && ctx.Err() == nil && (!sent && connectionLost(err) || conflicts(err)) {
			b.check.pool.Reset()
			continue
		}
		return b.checkError(ctx, err)
	}
}

// sendExplains has the coordinator of a Citus cluster plan the queries: which joins it takes it says when it plans, and not when it parses. It asks no
// worker, and knows nothing of their rows. It returns the number of answers.
func (b *Backend) sendExplains(tx *transaction, m Measurement) int {
	if !pinnedOf(tx.conn.Conn()).citus {
		return 0
	}
	tx.pipeline.SendQueryParams(planAlone.setSQL(), nil, nil, nil, nil)
	for _, q := range m.Queries {
		values, types := b.parameters(q.SQL)
		tx.pipeline.SendQueryParams("EXPLAIN (COSTS OFF) "+q.SQL.Text, values, types, nil, nil)
	}
	return 1 + len(m.Queries)
}

func readCheck(tx *transaction, m Measurement, explained int) error {
	if err := readProofs(tx, proofsOf(m.Proofs)); err != nil {
		return err
	}
	for _, q := range m.Queries {
		result, err := tx.pipeline.GetResults()
		if err != nil {
			return err
		}
		description, ok := result.(*pgconn.StatementDescription)
		if !ok || len(description.Fields) != len(q.Keys)+q.Integers {
			return fmt.Errorf("%w: not the columns of a measure", errProtocol)
		}
	}
	for range explained {
		if _, err := tx.answer(); err != nil {
			return err
		}
	}
	return nil
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

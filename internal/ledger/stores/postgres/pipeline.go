package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// pipeline sends several statements in one round trip and reads each result with the function that was queued for it.
type pipeline struct {
	batch pgx.Batch
	read  []func(pgx.BatchResults) error
}

func (p *pipeline) queue(read func(pgx.BatchResults) error, sql string, args ...any) {
	p.batch.Queue(sql, args...)
	p.read = append(p.read, read)
}

// exec queues a statement without a result.
func (p *pipeline) exec(sql string, args ...any) {
	p.queue(func(results pgx.BatchResults) error {
		_, err := results.Exec()
		return err
	}, sql, args...)
}

// commit queues a COMMIT. The server answers it with ROLLBACK if the transaction has failed.
func (p *pipeline) commit() {
	p.queue(func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		if err == nil && tag.String() != "COMMIT" {
			err = fmt.Errorf("COMMIT was answered with %s", tag)
		}
		return err
	}, "COMMIT")
}

// row queues a query of one row.
func (p *pipeline) row(sql string, args []any, to ...any) {
	p.queue(func(results pgx.BatchResults) error { return results.QueryRow().Scan(to...) }, sql, args...)
}

// rows queues a query and reads each of its rows.
func (p *pipeline) rows(each func(pgx.Rows) error, sql string, args ...any) {
	p.queue(func(results pgx.BatchResults) error {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := each(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}, sql, args...)
}

// run sends the statements and reads their results up to the first error.
func (p *pipeline) run(ctx context.Context, conn *pgxpool.Conn) (err error) {
	results := conn.SendBatch(ctx, &p.batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, read := range p.read {
		if err := read(results); err != nil {
			return err
		}
	}
	return nil
}

// scanAccount reads an account's name and state. If the state is damaged it returns the name all the same.
func scanAccount(rows pgx.Rows) (name string, a accounting.Account, err error) {
	var state []byte
	if err = rows.Scan(&name, &state); err != nil {
		return "", a, err
	}
	if a, err = accounting.DecodeAccount(name, state); err != nil {
		err = accounting.AccountError(name, err)
	}
	return name, a, err
}

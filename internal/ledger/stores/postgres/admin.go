package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// ensureGroup creates the account of all analysts together, once a policy bounds it. Everything that was charged before
// counts in it.
func (s *Store) ensureGroup(ctx context.Context, r *accounting.Rules) error {
	if !r.BoundsGroup() {
		return nil
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var there bool
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(groupLock)); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		var now time.Time
		if err := tx.QueryRow(
			ctx, `SELECT clock_timestamp(), EXISTS (SELECT FROM dpproxy_ledger.account WHERE name = '')`).Scan(&now, &there); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if there {
			return nil
		}
		accounts, err := storedAccounts(ctx, tx)
		if err != nil {
			return err
		}
		group, first, err := accounting.OpenGroup(r, r.Time(now), accounts)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO dpproxy_ledger.record VALUES ('', $1, $2, $3, $4, $5)`,
			int64(first.Number), first.At, int16(first.Kind), first.Payload, first.Chain[:])
		if err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO dpproxy_ledger.account VALUES ('', $1)`, group.Encode())
		}
		return err
	})
}

// snapshot runs f in a transaction that sees one state of the ledger.
func (s *Store) snapshot(ctx context.Context, f func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// storedAccounts reads all accounts.
func storedAccounts(ctx context.Context, tx pgx.Tx) (map[string]accounting.Account, error) {
	rows, err := tx.Query(ctx, `SELECT name, state FROM dpproxy_ledger.account`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string]accounting.Account)
	for rows.Next() {
		name, a, err := scanAccount(rows)
		if err != nil {
			return nil, err
		}
		if a.Records > 0 { // an account of a first charge that was refused has no record
			out[name] = a
		}
	}
	return out, rows.Err()
}

// Show lists all accounts.
func (s *Store) Show(ctx context.Context) ([]ledger.AccountSummary, error) {
	r := s.Rules.Load()
	var out []ledger.AccountSummary
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
			return err
		}
		accounts, err := storedAccounts(ctx, tx)
		if err != nil {
			return err
		}
		out = r.Show(accounts, r.Time(now))
		return nil
	})
	return out, err
}

// Has reports whether the ledger has an account of that name.
func (s *Store) Has(ctx context.Context, name string) (there bool, err error) {
	err = s.read(ctx, `SELECT EXISTS (SELECT FROM dpproxy_ledger.account WHERE name = $1)`, []any{name},
		func(row pgx.Rows) error { return row.Scan(&there) })
	return there, err
}

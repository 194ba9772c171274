package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
		if err := tx.QueryRow(ctx, `SELECT clock_timestamp(), EXISTS (SELECT FROM dpproxy_ledger.account WHERE name = '')`).Scan(&now, &there); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if there {
			return nil
		}
		d, err := deriveTables(ctx, tx)
		if err != nil {
			return err
		}
		group, first, err := d.OpenGroup(r, r.Time(now))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO dpproxy_ledger.record VALUES ('', $1, $2, $3, '', $4, $5)`,
			int64(first.Number), first.At, int16(first.Kind), first.Payload, first.Chain[:])
		if err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO dpproxy_ledger.account VALUES ('', $1)`, group.Encode())
		}
		return err
	})
}

// deriveTables derives every account from the records that tx sees.
func deriveTables(ctx context.Context, tx pgx.Tx) (*accounting.Derivation, error) {
	d := accounting.NewDerivation()
	if err := eachRecord(ctx, tx, d.Add); err != nil {
		return nil, fmt.Errorf("ledger is damaged: %w", err)
	}
	d.Finish()
	return d, nil
}

// eachRecord reads all records, account by account.
func eachRecord(ctx context.Context, tx pgx.Tx, each func(analyst string, payload []byte, stored accounting.Chain) error) error {
	rows, err := tx.Query(ctx, `SELECT analyst, payload, chain FROM dpproxy_ledger.record ORDER BY analyst, n`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var analyst string
		var payload, link []byte
		if err := rows.Scan(&analyst, &payload, &link); err != nil {
			return err
		}
		var stored accounting.Chain
		if len(link) != len(stored) {
			return accounting.AccountError(analyst, fmt.Errorf("a record has a chain of %d bytes, not %d", len(link), len(stored)))
		}
		copy(stored[:], link)
		if err := each(analyst, payload, stored); err != nil {
			return err
		}
	}
	return rows.Err()
}

// snapshot runs f in a transaction that sees one state of the ledger.
func (s *Store) snapshot(ctx context.Context, f func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, f)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Verify derives every total from the records and compares it with the one that is stored.
func (s *Store) Verify(ctx context.Context) (ledger.Report, error) {
	var out ledger.Report
	err := s.snapshot(ctx, func(tx pgx.Tx) error {
		d, err := deriveTables(ctx, tx)
		if err != nil {
			return err
		}
		out = d.Report()
		stored, err := storedAccounts(ctx, tx)
		if err != nil {
			return err
		}
		return d.Compare(stored)
	})
	return out, err
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

// Export writes every record as a line of JSON.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	buffered := bufio.NewWriter(w)
	return s.snapshot(ctx, func(tx pgx.Tx) error {
		err := eachRecord(ctx, tx, func(_ string, payload []byte, stored accounting.Chain) error {
			return accounting.ExportRecord(buffered, payload, stored)
		})
		if err != nil {
			return err
		}
		return buffered.Flush()
	})
}

// Show lists all accounts.
func (s *Store) Show(ctx context.Context) ([]ledger.AccountSummary, error) {
	r := s.rules.Load()
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
		refused, err := refusedCounts(ctx, tx)
		if err != nil {
			return err
		}
		out = r.Show(accounts, refused, r.Time(now))
		return nil
	})
	return out, err
}

// refusedCounts counts the refused fingerprints of each analyst.
func refusedCounts(ctx context.Context, tx pgx.Tx) (map[string]int, error) {
	rows, err := tx.Query(ctx, `SELECT f.analyst, count(DISTINCT f.fingerprint) FROM dpproxy_ledger.record f
		WHERE f.kind = 3 AND NOT EXISTS (SELECT FROM dpproxy_ledger.record c WHERE c.analyst = f.analyst AND c.kind = 4 AND c.n > f.n)
		GROUP BY f.analyst`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make(map[string]int)
	for rows.Next() {
		var name string
		var count int
		if err := rows.Scan(&name, &count); err != nil {
			return nil, err
		}
		out[name] = count
	}
	return out, rows.Err()
}

// has returns a function that says whether the ledger has an account of that name.
func (s *Store) has(ctx context.Context) func(string) (bool, error) {
	return func(name string) (there bool, err error) {
		err = s.read(ctx, `SELECT EXISTS (SELECT FROM dpproxy_ledger.account WHERE name = $1)`, []any{name},
			func(row pgx.Rows) error { return row.Scan(&there) })
		return there, err
	}
}

// Reset opens a new period.
func (s *Store) Reset(ctx context.Context, analyst string) (ledger.AccountSummary, error) {
	name, err := s.rules.Load().Addressed(analyst, s.has(ctx))
	if err != nil {
		return ledger.AccountSummary{}, err
	}
	var out ledger.AccountSummary
	err = s.do(ctx, &request{analyst: name, decide: func(b *accounting.Book) error {
		err := b.Reset()
		out = b.Summary()
		return err
	}})
	return out, err
}

// Clear forgets an analyst's refused fingerprints.
func (s *Store) Clear(ctx context.Context, analyst string) (int, error) {
	name, err := s.rules.Load().Addressed(analyst, s.has(ctx))
	if err != nil {
		return 0, err
	}
	count := 0
	err = s.snapshot(ctx, func(tx pgx.Tx) error {
		counts, err := refusedCounts(ctx, tx)
		count = counts[name]
		return err
	})
	if err != nil || count == 0 {
		return 0, err
	}
	return count, s.do(ctx, &request{analyst: name, decide: func(b *accounting.Book) error { return b.Clear() }})
}

// Package postgres keeps a ledger in tables of a PostgreSQL database that several proxies share.
//
// A charge takes two round trips: one begins a transaction, locks the accounts and loads them (lock.go); the other adds
// the records, stores the accounts and commits (commit.go, pipeline.go). Requests that wait in this process share a
// transaction, whoever's they are (lead.go). schema.sql has the tables; the ledger's role can add records but not
// change them.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/accounts"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// Store is the ledger in a PostgreSQL database that several proxies share. A transaction locks the analyst's
// account, then the group's if there is one: the process that holds the rows decides. Requests that wait in this
// process are decided together in one transaction.
type Store struct {
	accounts.Accounts

	pool   *pgxpool.Pool
	sealer answers.Sealer
	curves curves
	mark   []byte // of this process's claims

	work    chan struct{} // holds a token when a request has come
	waiters chan struct{} // holds a token for each transaction that may wait for an account's lock

	mu      sync.Mutex            // guards what follows
	queues  map[string][]*request // that wait, by analyst
	leading bool                  // lead is running
	apart   map[string]bool       // analysts whose requests do not wait for lead (serveApart)
	serving sync.WaitGroup
	closing bool
}

// Limits of one exchange with the ledger's database. A proxy that hangs must not keep an account locked: the server
// takes the lock away before others give up waiting for it. And a session should get the error before its client gives
// up.
const (
	heldTimeout     = 3 * time.Second
	lockTimeout     = 5 * time.Second
	exchangeTimeout = 15 * time.Second
)

// Open connects and checks that the schema exists and has the format of this version.
func Open(ctx context.Context, dsn string, c ledger.Config) (*Store, error) {
	r, err := accounting.NewRules(c)
	if err != nil {
		return nil, err
	}
	pc, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	// Without named statements the ledger works behind a pooler.
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	s := &Store{
		pool: pool, mark: newMark(), work: make(chan struct{}, 1),
		waiters: make(chan struct{}, max(1, pool.Config().MaxConns/2)),
		queues:  make(map[string][]*request), apart: make(map[string]bool),
	}
	s.Keeper = s
	s.Rules.Store(r)
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// prepare reads the ledger's format, orders and key, and writes them into a new ledger.
func (s *Store) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	var there bool
	if err := s.pool.QueryRow(ctx, `SELECT to_regclass('dpproxy_ledger.record') IS NOT NULL`).Scan(&there); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if !there {
		return errors.New(
			"ledger: its database has no schema dpproxy_ledger, or the ledger's role may not use it. Run dpproxy setup")
	}
	fresh, err := answers.NewKey()
	if err != nil {
		return err
	}
	if _,
		err := s.pool.Exec(
		ctx, `INSERT INTO dpproxy_ledger.meta VALUES ('format', $1), ('orders', $2), ('key', $3) ON CONFLICT DO NOTHING`,
		[]byte{accounting.FormatVersion}, accounting.EncodeOrders(), fresh); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	var format, orders, key []byte
	if err := s.pool.QueryRow(ctx, `SELECT (SELECT value FROM dpproxy_ledger.meta WHERE name = 'format'),
		(SELECT value FROM dpproxy_ledger.meta WHERE name = 'orders'), (SELECT value FROM dpproxy_ledger.meta WHERE name = 'key')`,
	).Scan(&format, &orders, &key); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	switch {
	case !bytes.Equal(format, []byte{accounting.FormatVersion}):
		return fmt.Errorf("ledger: its tables have format %v; this version knows %d", format, accounting.FormatVersion)
	case !bytes.Equal(orders, accounting.EncodeOrders()):
		return errors.New(
			"ledger: its tables were made by a version of dpproxy with other Rényi orders: export them, and start a new ledger")
	}
	if s.sealer, err = answers.NewSealer(key); err != nil {
		return fmt.Errorf("ledger: the key of the answers: %w", err)
	}
	return s.ensureGroup(ctx, s.Rules.Load())
}

// Reconfigure takes over the budgets of a reloaded policy.
func (s *Store) Reconfigure(ctx context.Context, c ledger.Config) error {
	r, err := s.Rules.Load().Reload(c)
	if err != nil {
		return err
	}
	if err := s.ensureGroup(ctx, r); err != nil {
		return err
	}
	s.Rules.Store(r)
	return nil
}

// Close waits for the charges in progress and disconnects.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.serving.Wait()
	s.pool.Close()
	return nil
}

// now returns the time for answers, which need no clock that all proxies share.
func (s *Store) now() time.Time { return s.Rules.Load().Time(time.Now()) }

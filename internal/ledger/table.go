package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// tableStore is the ledger in a PostgreSQL database that several proxies share. A transaction locks the analyst's
// account, then the group's if there is one: the process that holds the rows decides. Requests of one analyst that wait
// in this process are decided together in one transaction.
type tableStore struct {
	pool   *pgxpool.Pool
	sealer sealer
	rules  atomic.Pointer[rules]

	mu      sync.Mutex
	queues  map[string][]*tableRequest // by analyst; an entry exists while a goroutine serves it
	serving sync.WaitGroup
	closing bool
}

// Limits of one exchange with the ledger's database. A proxy that hangs must not keep an account locked, and a session
// should get the error before its client gives up.
const (
	lockTimeout     = 5 * time.Second
	exchangeTimeout = 15 * time.Second
)

// openTable connects, and checks that the schema is there and of this version.
func openTable(ctx context.Context, dsn string, c Config) (*tableStore, error) {
	r, err := newRules(c)
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
	s := &tableStore{pool: pool, queues: make(map[string][]*tableRequest)}
	s.rules.Store(r)
	if err := s.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// prepare reads the ledger's format, orders and key, and writes them into a new ledger.
func (s *tableStore) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	var there bool
	if err := s.pool.QueryRow(ctx, `SELECT to_regclass('dpproxy_ledger.record') IS NOT NULL`).Scan(&there); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if !there {
		return errors.New("ledger: its database has no schema dpproxy_ledger, or the ledger's role may not use it. Run dpproxy setup")
	}
	fresh, err := newKey()
	if err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, `INSERT INTO dpproxy_ledger.meta VALUES ('format', $1), ('orders', $2), ('key', $3) ON CONFLICT DO NOTHING`,
		[]byte{formatVersion}, encodeOrders(), fresh); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	var format, orders, key []byte
	if err := s.pool.QueryRow(ctx, `SELECT (SELECT value FROM dpproxy_ledger.meta WHERE name = 'format'),
		(SELECT value FROM dpproxy_ledger.meta WHERE name = 'orders'), (SELECT value FROM dpproxy_ledger.meta WHERE name = 'key')`,
	).Scan(&format, &orders, &key); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	switch {
	case !bytes.Equal(format, []byte{formatVersion}):
		return fmt.Errorf("ledger: its tables have format %v; this version knows %d", format, formatVersion)
	case !bytes.Equal(orders, encodeOrders()):
		return errors.New("ledger: its tables were made by a version of dpproxy with other Rényi orders: export them, and start a new ledger")
	}
	if s.sealer, err = newSealer(key); err != nil {
		return fmt.Errorf("ledger: the key of the answers: %w", err)
	}
	return s.ensureGroup(ctx, s.rules.Load())
}

// Reconfigure takes over the budgets of a reloaded policy.
func (s *tableStore) Reconfigure(ctx context.Context, c Config) error {
	r, err := s.rules.Load().reload(c)
	if err != nil {
		return err
	}
	if err := s.ensureGroup(ctx, r); err != nil {
		return err
	}
	s.rules.Store(r)
	return nil
}

// Close waits for the charges in progress and disconnects.
func (s *tableStore) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.serving.Wait()
	s.pool.Close()
	return nil
}

// now returns the time for answers, which need no clock that all proxies share.
func (s *tableStore) now() time.Time { return s.rules.Load().Time(time.Now()) }

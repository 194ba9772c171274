package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// groupLock is the advisory lock that keeps the group's account from being made while charges are: they take it shared.
const groupLock = 0x6470_6772_6f75_7001

// beginSQL opens a transaction whose commit is durable whatever the database's default is, and which cannot hold a lock
// for long.
const beginSQL = `SELECT set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $3, true),
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
		ELSE current_setting('synchronous_commit') END, true),
	pg_advisory_xact_lock_shared($1)`

// accountsSQL locks an account and the group's, always in this order: an empty name sorts first.
const accountsSQL = `SELECT name, state FROM dpproxy_ledger.account WHERE name IN ($1, '') ORDER BY name DESC FOR UPDATE`

// nowSQL comes after the locks: time passes while one waits for them.
const nowSQL = `SELECT clock_timestamp(), ARRAY (SELECT fingerprint FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 3
	AND fingerprint = ANY ($2) AND n > coalesce((SELECT max(n) FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 4), 0))`

// commit decides a batch of one analyst's requests in one transaction and answers them when it is on disk.
func (s *tableStore) commit(analyst string, batch []*request) {
	r := s.rules.Load()
	replies := make([]error, len(batch))
	err := s.attempt(r, analyst, batch, replies)
	r.at("committed")
	for i, request := range batch {
		if err != nil && replies[i] == nil {
			replies[i] = errUnavailable(r.Log, "charging", err)
		}
		request.done <- replies[i]
	}
}

// at calls the test that ends the process between the steps of a charge.
func (r *rules) at(step string) {
	if r.step != nil {
		r.step(step)
	}
}

func (s *tableStore) attempt(r *rules, analyst string, batch []*request, replies []error) error {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	conn, b, err := s.lock(ctx, r, analyst, batch)
	if err != nil && ctx.Err() == nil && !isServerError(err) {
		// A connection of the pool may be one of a server that has been restarted. Nothing is charged yet.
		s.pool.Reset()
		conn, b, err = s.lock(ctx, r, analyst, batch)
	}
	if err != nil {
		return err
	}
	defer conn.Release() // closes the connection if it is still in a transaction
	for i, request := range batch {
		replies[i] = request.decide(b)
	}
	r.at("decided")
	if len(b.lines) == 0 {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return err
	}
	return s.write(ctx, conn, b)
}

// isServerError tells a server's own answer from a broken connection.
func isServerError(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") // 57P01…57P03: the server is stopping or starting
}

// lock begins a transaction, locks the accounts, and loads a book with them.
func (s *tableStore) lock(ctx context.Context, r *rules, analyst string, batch []*request) (_ *pgxpool.Conn, _ *book, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			conn.Release()
		}
	}()
	var fingerprints []string
	for _, request := range batch {
		fingerprints = append(fingerprints, request.fingerprints...)
	}
	b := &book{rules: r, account: account{name: analyst}}
	var refused []string
	begin := &loader{batch: &pgx.Batch{}}
	begin.exec("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	begin.exec(beginSQL, int64(groupLock), milliseconds(lockTimeout), milliseconds(exchangeTimeout))
	known := false
	accounts := func(l *loader) {
		l.accounts(analyst, func(a account) {
			switch {
			case a.name == analyst:
				b.account, known = a, true
			default:
				b.group = &a
			}
		})
		l.row(nowSQL, []any{analyst, fingerprints}, &b.now, &refused)
	}
	accounts(begin)
	if err := begin.run(ctx, conn); err != nil {
		return nil, nil, err
	}
	if !known { // there must be a row to lock
		again := &loader{batch: &pgx.Batch{}}
		again.exec(`INSERT INTO dpproxy_ledger.account VALUES ($1, $2) ON CONFLICT DO NOTHING`, analyst, b.account.encode())
		accounts(again)
		if err := again.run(ctx, conn); err != nil {
			return nil, nil, err
		}
	}
	if _, limited := r.limits[groupName]; limited && b.group == nil && analyst != groupName {
		return nil, nil, errors.New("the account of all analysts together is missing")
	}
	if r.Clock != nil {
		b.now = r.Clock()
	}
	b.now = clock(b.now, &b.account, b.group)
	cleared := b.account.cleared
	b.failed = func(fingerprint string, later uint64) bool {
		for _, l := range b.lines {
			if l.kind == kindFail && l.fingerprint == fingerprint && l.n > later {
				return true
			}
		}
		return later == cleared && slices.Contains(refused, fingerprint) // a later clearing is in this very batch
	}
	return conn, b, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// write adds the book's records, stores its accounts, and commits, in one round trip.
func (s *tableStore) write(ctx context.Context, conn *pgxpool.Conn, b *book) error {
	var (
		names, fingerprints []string
		numbers             []int64
		times               []time.Time
		kinds               []int16
		payloads, chains    [][]byte
	)
	for _, l := range b.lines {
		names = append(names, l.analyst)
		numbers = append(numbers, int64(l.n))
		times = append(times, l.at)
		kinds = append(kinds, int16(l.kind))
		fingerprints = append(fingerprints, l.fingerprint)
		payloads = append(payloads, l.payload)
		chains = append(chains, l.chain[:])
	}
	store := &loader{batch: &pgx.Batch{}}
	store.exec(`INSERT INTO dpproxy_ledger.record SELECT * FROM unnest($1::text[], $2::int8[], $3::timestamptz[], $4::int2[],
		$5::text[], $6::bytea[], $7::bytea[])`, names, numbers, times, kinds, fingerprints, payloads, chains)
	const update = `UPDATE dpproxy_ledger.account SET state = $2 WHERE name = $1`
	store.exec(update, b.account.name, b.account.encode())
	if b.group != nil {
		store.exec(update, groupName, b.group.encode())
	}
	// In the same round trip: after an error the server skips everything up to the end of the batch.
	store.batch.Queue("COMMIT")
	store.take = append(store.take, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		if err == nil && tag.String() != "COMMIT" {
			err = fmt.Errorf("COMMIT was answered with %s", tag)
		}
		return err
	})
	b.rules.at("written")
	return store.run(ctx, conn)
}

// loader sends several statements in one round trip and hands each result to whom it belongs.
type loader struct {
	batch *pgx.Batch
	take  []func(pgx.BatchResults) error
}

func (l *loader) exec(sql string, args ...any) {
	l.batch.Queue(sql, args...)
	l.take = append(l.take, func(results pgx.BatchResults) error {
		_, err := results.Exec()
		return err
	})
}

func (l *loader) row(sql string, args []any, to ...any) {
	l.batch.Queue(sql, args...)
	l.take = append(l.take, func(results pgx.BatchResults) error { return results.QueryRow().Scan(to...) })
}

func (l *loader) rows(sql string, args []any, each func(pgx.Rows) error) {
	l.batch.Queue(sql, args...)
	l.take = append(l.take, func(results pgx.BatchResults) error {
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
	})
}

// accounts locks and loads an account and the group's, those that are there.
func (l *loader) accounts(name string, to func(account)) {
	l.rows(accountsSQL, []any{name}, func(row pgx.Rows) error {
		var stored string
		var state []byte
		if err := row.Scan(&stored, &state); err != nil {
			return err
		}
		a, err := decodeAccount(state)
		if err == nil && a.name != stored {
			err = fmt.Errorf("holds account %q", a.name)
		}
		if err != nil {
			return fmt.Errorf("account %q: %w", stored, err)
		}
		to(a)
		return nil
	})
}

func (l *loader) run(ctx context.Context, conn *pgxpool.Conn) (err error) {
	results := conn.SendBatch(ctx, l.batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, take := range l.take {
		if err := take(results); err != nil {
			return err
		}
	}
	return nil
}

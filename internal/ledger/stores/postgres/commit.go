package postgres

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// groupLock is the advisory lock that keeps the group's account from being created during a charge: charges take it shared.
const groupLock = 0x6470_6772_6f75_7001

// beginSQL makes the commit durable whatever the database's default is, and bounds how long the transaction can hold a
// lock. The server counts the time in which it waits for the proxy's next round trip; from version 17 on also that in which it
// waits for the rest of one.
const beginSQL = `SELECT set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $3, true),
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
		ELSE current_setting('synchronous_commit') END, true),
	CASE WHEN current_setting('server_version_num')::int4 >= 170000 THEN set_config('transaction_timeout', $4, true) END,
	pg_advisory_xact_lock_shared($1)`

// accountsSQL locks an account and the group's, always in this order: DESC puts the group's empty name last.
const accountsSQL = `SELECT name, state FROM dpproxy_ledger.account WHERE name IN ($1, '') ORDER BY name DESC FOR UPDATE`

// nowSQL comes after the locks, because time passes while a transaction waits for them.
const nowSQL = `SELECT clock_timestamp(), ARRAY (SELECT fingerprint FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 3
	AND fingerprint = ANY ($2) AND n > coalesce((SELECT max(n) FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 4), 0))`

// commit decides one analyst's requests in one transaction and answers them when it is on disk.
func (s *Store) commit(analyst string, requests []*request) {
	r := s.rules.Load()
	replies := make([]error, len(requests))
	err := s.attempt(r, analyst, requests, replies)
	r.Reached("committed")
	for i, request := range requests {
		if err != nil && replies[i] == nil {
			replies[i] = ledger.Unavailable(r.Log, "charging", err)
		}
		request.done <- replies[i]
	}
}

// attempt runs the transaction. It sets the replies of the requests that are refused.
func (s *Store) attempt(r *accounting.Rules, analyst string, requests []*request, replies []error) error {
	ctx, cancel := context.WithTimeout(context.Background(), exchangeTimeout)
	defer cancel()
	asked := make(map[string]bool)
	conn, b, err := s.lock(ctx, r, analyst, requests, asked)
	if err != nil && ctx.Err() == nil && !isServerError(err) {
		// The server may have been restarted since the pool connected. Nothing is charged yet.
		s.pool.Reset()
		conn, b, err = s.lock(ctx, r, analyst, requests, asked)
	}
	if err != nil {
		return err
	}
	defer conn.Release() // closes the connection if it is still in a transaction
	var claims [][]byte
	for i, request := range requests {
		if slices.ContainsFunc(request.questions, func(hash []byte) bool { return asked[string(hash)] }) {
			replies[i] = ledger.ErrAsked
		} else if replies[i] = ledger.ClientError(r.Log, request.decide(b)); replies[i] == nil {
			claims = append(claims, request.questions...)
			for _, hash := range request.questions {
				asked[string(hash)] = true
			}
		}
	}
	r.Reached("decided")
	if len(b.Entries) == 0 {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return err
	}
	return s.write(ctx, conn, b, claims)
}

// isServerError says whether the server itself answered with err; otherwise the connection is broken.
func isServerError(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && !strings.HasPrefix(e.Code, "57P") // 57P01…57P03: the server is stopping or starting
}

// lock begins a transaction, locks the accounts, and returns a book on them. It adds the questions that are answered, or claimed, to asked.
func (s *Store) lock(ctx context.Context, r *accounting.Rules, analyst string, requests []*request, asked map[string]bool) (_ *pgxpool.Conn, _ *accounting.Book, err error) {
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
	var hashes [][]byte
	for _, request := range requests {
		fingerprints, hashes = append(fingerprints, request.fingerprints...), append(hashes, request.questions...)
	}
	own := accounting.NewAccount(analyst)
	var group *accounting.Account
	var now time.Time
	var refused []string
	begin := &pipeline{}
	begin.exec("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	begin.exec(beginSQL, int64(groupLock), milliseconds(lockTimeout), milliseconds(heldTimeout), milliseconds(exchangeTimeout))
	known := false
	accounts := func(p *pipeline) {
		p.accounts(analyst, func(name string, a accounting.Account) {
			if name == analyst {
				own, known = a, true
			} else {
				group = &a
			}
		})
		p.row(nowSQL, []any{analyst, fingerprints}, &now, &refused)
		s.asked(p, hashes, asked)
	}
	accounts(begin)
	if err := begin.run(ctx, conn); err != nil {
		return nil, nil, err
	}
	if !known { // without a row there is nothing to lock
		again := &pipeline{}
		again.exec(`INSERT INTO dpproxy_ledger.account VALUES ($1, $2) ON CONFLICT DO NOTHING`, analyst, own.Encode())
		accounts(again)
		if err := again.run(ctx, conn); err != nil {
			return nil, nil, err
		}
	}
	if r.BoundsGroup() && group == nil && analyst != accounting.GroupName {
		return nil, nil, errors.New("the account of all analysts together is missing")
	}
	var b *accounting.Book
	b = accounting.NewBook(r, r.Time(now), own, group, func(fingerprint string, cleared uint64) bool {
		for _, e := range b.Entries {
			if e.Kind == accounting.KindFail && e.Fingerprint == fingerprint && e.Number > cleared {
				return true
			}
		}
		// Where cleared is a later record than own's, one of these requests is the clearing: what the query found is cleared.
		return cleared == own.Cleared && slices.Contains(refused, fingerprint)
	})
	return conn, b, nil
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// write adds the book's entries, stores its accounts and claims, and commits, in one round trip.
func (s *Store) write(ctx context.Context, conn *pgxpool.Conn, b *accounting.Book, claims [][]byte) error {
	var (
		names, fingerprints []string
		numbers             []int64
		times               []time.Time
		kinds               []int16
		payloads, chains    [][]byte
	)
	for _, e := range b.Entries {
		names = append(names, e.Analyst)
		numbers = append(numbers, int64(e.Number))
		times = append(times, e.At)
		kinds = append(kinds, int16(e.Kind))
		fingerprints = append(fingerprints, e.Fingerprint)
		payloads = append(payloads, e.Payload)
		chains = append(chains, e.Chain[:])
	}
	store := &pipeline{}
	store.exec(`INSERT INTO dpproxy_ledger.record SELECT * FROM unnest($1::text[], $2::int8[], $3::timestamptz[], $4::int2[],
		$5::text[], $6::bytea[], $7::bytea[])`, names, numbers, times, kinds, fingerprints, payloads, chains)
	const update = `UPDATE dpproxy_ledger.account SET state = $2 WHERE name = $1`
	store.exec(update, b.Account.Name, b.Account.Encode())
	if b.Group != nil {
		store.exec(update, accounting.GroupName, b.Group.Encode())
	}
	s.claim(store, claims)
	// COMMIT can be in the same round trip: after an error the server skips everything up to the end of the batch.
	store.commit()
	b.Rules.Reached("written")
	return store.run(ctx, conn)
}

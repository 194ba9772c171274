package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// groupLock is the advisory lock that keeps the group's account from being created during a charge: charges take it
// shared.
const groupLock = 0x6470_6772_6f75_7001

// beginSQL makes the commit durable whatever the database's default is, and bounds how long the transaction can hold a
// lock. The server counts the time in which it waits for the proxy's next round trip; from version 17 on also that in
// which it waits for the rest of one.
const beginSQL = `SELECT set_config('lock_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $3, true),
	set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
		ELSE current_setting('synchronous_commit') END, true),
	CASE WHEN current_setting('server_version_num')::int4 >= 170000 THEN set_config('transaction_timeout', $4, true) END,
	pg_advisory_xact_lock_shared($1)`

// Accounts are locked, or made, before the group's is locked, by everybody. A transaction of several accounts waits for
// none of them, so no two wait for each other.
const (
	oneAccountSQL = `SELECT name, state FROM dpproxy_ledger.account WHERE name = ANY ($1) FOR UPDATE`
	accountsSQL   = oneAccountSQL + ` SKIP LOCKED`
)

// transaction is a charge in progress: it has locked accounts.
type transaction struct {
	conn   *pgxpool.Conn
	rules  *accounting.Rules
	now    time.Time
	own    map[string]*accounting.Account // that are locked, by name
	group  *accounting.Account            // nil: there is none, or it is the one in own
	asked  map[string]bool                // questions that are answered or claimed, by hash
	books  []*accounting.Book
	claims [][]byte // hashes of questions
}

// lock begins a transaction, locks the accounts of the requests, and reads what they ask about. It waits for one
// account, or skips those that are locked.
func (s *Store) lock(ctx context.Context, r *accounting.Rules, work map[string][]*request, wait bool) (
	_ *transaction, err error,
) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Release()
		}
	}()
	t := &transaction{conn: conn, rules: r, own: make(map[string]*accounting.Account), asked: make(map[string]bool)}
	begin := &pipeline{}
	begin.exec("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	begin.exec(beginSQL, int64(groupLock), milliseconds(lockTimeout), milliseconds(heldTimeout),
		milliseconds(exchangeTimeout))
	lockSQL := accountsSQL
	if wait {
		lockSQL = oneAccountSQL
		for analyst := range work { // without a row there is nothing to lock
			none := accounting.NewAccount(analyst)
			begin.exec(`INSERT INTO dpproxy_ledger.account VALUES ($1, $2) ON CONFLICT DO NOTHING`, analyst, none.Encode())
		}
	}
	s.load(begin, t, lockSQL, work)
	if err := begin.run(ctx, conn); err != nil {
		return nil, err
	}
	if _, itself := work[accounting.GroupName]; itself {
		t.group = nil
	} else if r.BoundsGroup() && t.group == nil {
		return nil, errors.New("the account of all analysts together is missing")
	}
	return t, nil
}

// load queues what locks the accounts and reads what the requests ask about.
func (s *Store) load(p *pipeline, t *transaction, lockSQL string, work map[string][]*request) {
	var names []string
	var hashes [][]byte
	for analyst, requests := range work {
		names = append(names, analyst)
		for _, request := range requests {
			hashes = append(hashes, request.questions...)
		}
	}
	p.rows(func(rows pgx.Rows) error {
		name, a, err := scanAccount(rows)
		// damaged: that is its own analyst's trouble, as is a lock on it
		if err != nil && lockSQL == accountsSQL && name != "" {
			return nil
		}
		t.own[name] = &a
		return err
	}, lockSQL, names)
	p.rows(func(rows pgx.Rows) error {
		_, a, err := scanAccount(rows)
		t.group = &a
		return err
	}, oneAccountSQL, []string{accounting.GroupName})
	// After the locks, because time passes while a transaction waits for them.
	p.row("SELECT clock_timestamp()", nil, &t.now)
	if len(hashes) > 0 {
		p.rows(func(rows pgx.Rows) error {
			var hash []byte
			err := rows.Scan(&hash)
			t.asked[string(hash)] = true
			return err
		}, askedSQL, hashes, s.now())
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

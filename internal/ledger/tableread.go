package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Spend admits all charges or none, and returns once they are on disk.
func (s *tableStore) Spend(ctx context.Context, analyst string, charges []Charge) (Balance, error) {
	var balance Balance
	r := &request{analyst: analyst, fingerprints: fingerprints(charges), decide: func(b *book) (err error) {
		balance, err = b.spend(charges)
		return err
	}}
	if err := s.do(ctx, r); err != nil {
		return Balance{}, err
	}
	return balance, nil
}

func fingerprints(charges []Charge) []string {
	var out []string
	for _, c := range charges {
		out = append(out, c.Fingerprint)
	}
	return out
}

// Fail counts a failure of main and refuses its fingerprint to an analyst from now on.
func (s *tableStore) Fail(ctx context.Context, analyst, fingerprint string) error {
	return s.do(ctx, &request{analyst: analyst, decide: func(b *book) error { return b.fail(fingerprint) }})
}

// Releasable says whether an answer that was measured may be given.
func (s *tableStore) Releasable(ctx context.Context, analyst string) error {
	b, err := s.peek(ctx, "counting failures", analyst, nil)
	if err != nil {
		return err
	}
	return b.checkFailures()
}

// read runs a query that changes nothing, once more if the connection turned out to be dead before the first row.
func (s *tableStore) read(ctx context.Context, sql string, args []any, each func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	begun, err := s.readOnce(ctx, sql, args, each)
	if err != nil && !begun && ctx.Err() == nil && !isServerError(err) {
		s.pool.Reset()
		_, err = s.readOnce(ctx, sql, args, each)
	}
	return err
}

func (s *tableStore) readOnce(ctx context.Context, sql string, args []any, each func(pgx.Rows) error) (begun bool, err error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		begun = true
		if err := each(rows); err != nil {
			return begun, err
		}
	}
	return begun, rows.Err()
}

// unavailable is the client's error of a failed read.
func (s *tableStore) unavailable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return errGivenUp(ctx)
	}
	return errUnavailable(s.rules.Load().Log, doing, err)
}

// peek is a book on the accounts as they are now, without a lock, whose records nobody will write.
func (s *tableStore) peek(ctx context.Context, doing, analyst string, charges []Charge) (*book, error) {
	accounts, b := map[string]account{}, &book{rules: s.rules.Load()}
	var refused []string
	err := s.read(ctx, `SELECT now, state, refused FROM (`+nowSQL+`) moment (now, refused) LEFT JOIN dpproxy_ledger.account ON name IN ($1, '')`,
		[]any{analyst, fingerprints(charges)}, func(row pgx.Rows) error {
			var state []byte
			if err := row.Scan(&b.now, &state, &refused); err != nil || state == nil {
				return err
			}
			a, err := decodeAccount(state)
			accounts[a.name] = a
			return err
		})
	if err != nil {
		return nil, s.unavailable(ctx, doing, err)
	}
	if b.rules.Clock != nil {
		b.now = b.rules.Clock()
	}
	b.account = accounts[analyst]
	b.account.name = analyst
	if group, ok := accounts[groupName]; ok {
		b.group = &group
	}
	b.now = clock(b.now, &b.account, b.group)
	b.failed = func(fingerprint string, _ uint64) bool { return slices.Contains(refused, fingerprint) }
	return b, nil
}

// Balance is what an analyst has left.
func (s *tableStore) Balance(ctx context.Context, analyst string) (Balance, error) {
	b, err := s.peek(ctx, "reading a balance", analyst, nil)
	if err != nil {
		return Balance{}, err
	}
	return b.balance(), nil
}

// Preview is Spend without charging.
func (s *tableStore) Preview(ctx context.Context, analyst string, charges []Charge) (Balance, error) {
	b, err := s.peek(ctx, "previewing a charge", analyst, charges)
	if err != nil {
		return Balance{}, err
	}
	return b.spend(charges)
}

// Failed tells whether a fingerprint is refused to an analyst.
func (s *tableStore) Failed(ctx context.Context, analyst, fingerprint string) (bool, error) {
	failed := false
	err := s.read(ctx, `SELECT EXISTS (SELECT FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 3 AND fingerprint = $2
		AND n > coalesce((SELECT max(n) FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 4), 0))`,
		[]any{analyst, fingerprint}, func(row pgx.Rows) error { return row.Scan(&failed) })
	if err != nil {
		return false, s.unavailable(ctx, "reading failures", err)
	}
	return failed, nil
}

// History lists an analyst's charges, latest first; limit ≤ 0: all.
func (s *tableStore) History(ctx context.Context, analyst string, limit int) ([]Entry, error) {
	var rows *int
	if limit > 0 {
		rows = &limit
	}
	var out []Entry
	err := s.read(ctx, `SELECT payload FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 2 ORDER BY n DESC LIMIT $2`,
		[]any{analyst, rows}, func(row pgx.Rows) error {
			var payload []byte
			if err := row.Scan(&payload); err != nil {
				return err
			}
			r, err := decodeRecord(payload)
			if err == nil {
				out = append(out, Entry{At: r.at, Query: r.query, Epsilon: r.epsilon})
			}
			return err
		})
	if err != nil {
		return nil, s.unavailable(ctx, "reading the history", err)
	}
	return out, nil
}

// PutAnswer keeps an answer, and removes some that have expired. Its commit does not wait for the disk: an answer that a
// crash loses costs another charge.
func (s *tableStore) PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) error {
	if ttl <= 0 {
		return nil
	}
	now, hash := s.now(), answerHash(key)
	expires := now.Add(ttl).Truncate(time.Microsecond)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return s.unavailable(ctx, "keeping an answer", err)
	}
	defer conn.Release()
	put := &loader{batch: &pgx.Batch{}}
	put.exec("BEGIN")
	put.exec("SET LOCAL synchronous_commit = off")
	put.exec(`INSERT INTO dpproxy_ledger.answer VALUES ($1, $2, $3)
		ON CONFLICT (hash) DO UPDATE SET expires = excluded.expires, sealed = excluded.sealed`,
		[]byte(hash), expires, s.sealer.seal(hash, expires, answer))
	put.exec(`DELETE FROM dpproxy_ledger.answer WHERE hash IN (SELECT hash FROM dpproxy_ledger.answer WHERE expires <= $1
		ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`, now, purgeBatch)
	put.exec("COMMIT")
	if err := put.run(ctx, conn); err != nil {
		return s.unavailable(ctx, "keeping an answer", err)
	}
	return nil
}

// Answer returns what PutAnswer kept, while it lives.
func (s *tableStore) Answer(ctx context.Context, key string) ([]byte, bool, error) {
	hash := answerHash(key)
	var expires time.Time
	var sealed []byte
	err := s.read(ctx, `SELECT expires, sealed FROM dpproxy_ledger.answer WHERE hash = $1`, []any{[]byte(hash)},
		func(row pgx.Rows) error { return row.Scan(&expires, &sealed) })
	if err != nil {
		return nil, false, s.unavailable(ctx, "reading an answer", err)
	}
	if sealed == nil || !s.now().Before(expires) {
		return nil, false, nil
	}
	answer, ok := s.sealer.open(s.rules.Load().Log, hash, expires, sealed)
	return answer, ok, nil
}

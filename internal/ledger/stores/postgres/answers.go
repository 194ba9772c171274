package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/answers"
)

// purgeBatch is the number of expired answers that one PutAnswer removes at most.
const purgeBatch = 64

// putSQL replaces a claim, whoever has it, and an answer that has expired. Two proxies answer one question where one of
// them took longer than its claim: the first answer is kept.
const putSQL = `INSERT INTO dpproxy_ledger.answer VALUES ($1, $2, $3)
	ON CONFLICT (hash) DO UPDATE SET expires = excluded.expires, sealed = excluded.sealed
	WHERE octet_length(answer.sealed) = 16 OR answer.expires <= $4`

// PutAnswer keeps an answer, unless there is one, and removes some that have expired. Its commit does not wait for the
// disk: a crash that loses an answer costs its analyst another charge.
func (s *Store) PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) ([]byte, error) {
	if ttl <= 0 {
		return answer, nil
	}
	now, hash := s.now(), answers.Hash(key)
	expires := now.Add(ttl).Truncate(time.Microsecond)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, s.unavailable(ctx, "keeping an answer", err)
	}
	defer conn.Release()
	put := &pipeline{}
	put.exec("BEGIN")
	put.exec("SET LOCAL synchronous_commit = off")
	put.exec(putSQL, []byte(hash), expires, s.sealer.Seal(hash, expires, answer), now)
	var sealed []byte
	put.row("SELECT expires, sealed FROM dpproxy_ledger.answer WHERE hash = $1", []any{[]byte(hash)}, &expires, &sealed)
	put.exec(`DELETE FROM dpproxy_ledger.answer WHERE hash IN (SELECT hash FROM dpproxy_ledger.answer WHERE expires <= $1
		ORDER BY expires LIMIT $2 FOR UPDATE SKIP LOCKED)`, now, purgeBatch)
	put.exec("COMMIT")
	if err := put.run(ctx, conn); err != nil {
		return nil, s.unavailable(ctx, "keeping an answer", err)
	}
	if kept, ok := s.sealer.Open(s.Rules.Load().Log, hash, expires, sealed); ok {
		return kept, nil
	}
	return answer, nil
}

// Answer returns what PutAnswer kept, until it expires.
func (s *Store) Answer(ctx context.Context, key string) ([]byte, bool, error) {
	hash := answers.Hash(key)
	var expires time.Time
	var sealed []byte
	err := s.read(ctx, `SELECT expires, sealed FROM dpproxy_ledger.answer WHERE hash = $1`, []any{[]byte(hash)},
		func(row pgx.Rows) error { return row.Scan(&expires, &sealed) })
	if err != nil {
		return nil, false, s.unavailable(ctx, "reading an answer", err)
	}
	if len(sealed) <= markBytes || !s.now().Before(expires) {
		return nil, false, nil
	}
	answer, ok := s.sealer.Open(s.Rules.Load().Log, hash, expires, sealed)
	return answer, ok, nil
}

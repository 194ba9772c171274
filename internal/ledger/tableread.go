package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Releasable returns an error if the analyst's failures are used up.
func (s *tableStore) Releasable(ctx context.Context, analyst string) error {
	b, err := s.peek(ctx, "counting failures", analyst, nil)
	if err != nil {
		return err
	}
	return b.checkFailures()
}

// read runs a query that changes nothing. It tries again if the connection turns out to be dead before the first row.
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

// unavailable returns the client's error of a failed read.
func (s *tableStore) unavailable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return Canceled(ctx)
	}
	return Unavailable(s.rules.Load().Log, doing, err)
}

// peek returns a book on the accounts as they are now, without a lock. Nobody writes its entries.
func (s *tableStore) peek(ctx context.Context, doing, analyst string, charges []Charge) (*book, error) {
	rules, own := s.rules.Load(), newAccount(analyst)
	var group *account
	var now time.Time
	var refused []string
	err := s.read(ctx, `SELECT now, coalesce(name, ''), state, refused FROM (`+nowSQL+`) moment (now, refused)
		LEFT JOIN dpproxy_ledger.account ON name IN ($1, '')`,
		[]any{analyst, fingerprints(charges)}, func(row pgx.Rows) error {
			var name string
			var state []byte
			if err := row.Scan(&now, &name, &state, &refused); err != nil || state == nil {
				return err
			}
			a, err := decodeAccount(name, state)
			if name == analyst {
				own = a
			} else {
				group = &a
			}
			return err
		})
	if err != nil {
		return nil, s.unavailable(ctx, doing, err)
	}
	return newBook(rules, rules.Time(now), own, group, func(fingerprint string, _ uint64) bool {
		return slices.Contains(refused, fingerprint)
	}), nil
}

// Balance returns what an analyst has spent and has left.
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
	balance, err := b.spend(charges)
	return balance, ClientError(b.rules.Log, err)
}

// Failed says whether a fingerprint is refused to an analyst.
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

// History lists an analyst's charges, latest first. A limit ≤ 0 means no limit.
func (s *tableStore) History(ctx context.Context, analyst string, limit int) ([]HistoryEntry, error) {
	var rows *int
	if limit > 0 {
		rows = &limit
	}
	var out []HistoryEntry
	err := s.read(ctx, `SELECT payload FROM dpproxy_ledger.record WHERE analyst = $1 AND kind = 2 ORDER BY n DESC LIMIT $2`,
		[]any{analyst, rows}, func(row pgx.Rows) error {
			var payload []byte
			if err := row.Scan(&payload); err != nil {
				return err
			}
			r, err := decodeRecord(payload)
			if err == nil {
				out = append(out, r.historyEntry())
			}
			return err
		})
	if err != nil {
		return nil, s.unavailable(ctx, "reading the history", err)
	}
	return out, nil
}

package postgres

import (
	"context"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/accounting"
)

// read runs a query that changes nothing. It tries again if the connection turns out to be dead before the first row.
func (s *Store) read(ctx context.Context, sql string, args []any, each func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	begun, err := s.readOnce(ctx, sql, args, each)
	if err != nil && !begun && ctx.Err() == nil && !isServerError(err) {
		s.pool.Reset()
		_, err = s.readOnce(ctx, sql, args, each)
	}
	return err
}

func (s *Store) readOnce(ctx context.Context, sql string, args []any, each func(pgx.Rows) error) (
	begun bool, err error,
) {
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
func (s *Store) unavailable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return ledger.Canceled(ctx)
	}
	return ledger.Unavailable(s.Rules.Load().Log, doing, err)
}

// Peek returns a book on the accounts as they are now, without a lock. Nobody writes its entries.
func (s *Store) Peek(ctx context.Context, doing, analyst string) (*accounting.Book, error) {
	rules, own := s.Rules.Load(), accounting.NewAccount(analyst)
	var group *accounting.Account
	var now time.Time
	err := s.read(ctx, `SELECT now, coalesce(name, ''), state FROM clock_timestamp() now
		LEFT JOIN dpproxy_ledger.account ON name IN ($1, '')`,
		[]any{analyst}, func(row pgx.Rows) error {
			var name string
			var state []byte
			if err := row.Scan(&now, &name, &state); err != nil || state == nil {
				return err
			}
			a, err := accounting.DecodeAccount(name, state)
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
	return accounting.NewBook(rules, rules.Time(now), own, group), nil
}

// History lists an analyst's charges, latest first. A limit ≤ 0 means no limit.
func (s *Store) History(ctx context.Context, analyst string, limit int) ([]ledger.HistoryEntry, error) {
	latest := limit
	if limit <= 0 {
		latest = math.MaxInt
	}
	var payloads [][]byte
	names := curveNames{}
	// From the latest record on that tells what was spent before all of these charges.
	err := s.read(
		ctx, `SELECT payload FROM dpproxy_ledger.record WHERE analyst = $1 AND kind IN (1, 2, 5, 6) AND n >= coalesce((
			SELECT n FROM dpproxy_ledger.record WHERE analyst = $1 AND kind IN (1, 5) AND n <= (
				SELECT min(n) FROM (SELECT n FROM dpproxy_ledger.record WHERE analyst = $1 AND kind IN (2, 6) ORDER BY n DESC LIMIT $2) charged)
			ORDER BY n DESC LIMIT 1), 1) ORDER BY n`,
		[]any{analyst, latest}, func(row pgx.Rows) error {
			var payload []byte
			if err := row.Scan(&payload); err != nil {
				return err
			}
			names.add(payload)
			payloads = append(payloads, payload)
			return nil
		})
	if err != nil {
		return nil, s.unavailable(ctx, "reading the history", err)
	}
	curves := curvesRead{}
	err = s.read(ctx, curvesNamed, []any{names.list()}, curves.scan)
	past := s.Rules.Load().Past(analyst, curves.find)
	for i := 0; i < len(payloads) && err == nil; i++ {
		err = past.Add(payloads[i])
	}
	if err != nil {
		return nil, s.unavailable(ctx, "reading the history", err)
	}
	return past.Latest(limit), nil
}

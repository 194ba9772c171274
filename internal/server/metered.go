package server

import (
	"context"
	"errors"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/metrics"
)

// metered counts and times the calls of statements on a ledger.
type metered struct {
	ledger.Store
	metrics *metrics.Metrics
}

// observe counts one call; records is how many records it has made durable.
func (l metered) observe(operation string, since time.Time, records int, err error) {
	if err != nil {
		records = 0
	}
	l.metrics.Ledger(operation, time.Since(since), records, err)
}

// observeSpend counts no error where the question is being answered.
func (l metered) observeSpend(since time.Time, charges int, err error) {
	if errors.Is(err, ledger.ErrAsked) {
		charges, err = 0, nil
	}
	l.observe("spend", since, charges, err)
}

func (l metered) Spend(ctx context.Context, analyst string, charges []ledger.Charge) (b ledger.Balance, err error) {
	defer func(since time.Time) { l.observeSpend(since, len(charges), err) }(time.Now())
	return l.Store.Spend(ctx, analyst, charges)
}

func (l metered) Balance(ctx context.Context, analyst string) (b ledger.Balance, err error) {
	defer func(since time.Time) { l.observe("balance", since, 0, err) }(time.Now())
	return l.Store.Balance(ctx, analyst)
}

func (l metered) Answer(ctx context.Context, key string) (answer []byte, found bool, err error) {
	defer func(since time.Time) { l.observe("answer", since, 0, err) }(time.Now())
	return l.Store.Answer(ctx, key)
}

func (l metered) PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) (kept []byte, err error) {
	defer func(since time.Time) { l.observe("keep", since, 1, err) }(time.Now())
	return l.Store.PutAnswer(ctx, key, answer, ttl)
}

func (l metered) Fail(ctx context.Context, analyst, fingerprint string) (err error) {
	defer func(since time.Time) { l.observe("fail", since, 1, err) }(time.Now())
	return l.Store.Fail(ctx, analyst, fingerprint)
}

func (l metered) Releasable(ctx context.Context, analyst string) (err error) {
	defer func(since time.Time) { l.observe("releasable", since, 0, err) }(time.Now())
	return l.Store.Releasable(ctx, analyst)
}

package admin

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Spender is the part of a ledger that charges, and that says what it would charge.
type Spender interface {
	Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error)
	ledger.Previewer
}

// Profiler charges what `dpproxy profile` releases, to the account that is kept for it.
type Profiler interface {
	// Profile admits all charges or none, and returns once they are on disk.
	Profile(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	// Preview returns the balance or the error that Profile would return now. It writes nothing.
	Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	Close() error
}

// OpenProfiler opens a ledger to charge a profile: through the running proxy's socket, or, where no proxy holds it, in
// the file or the tables themselves. A ledger file that does not exist yet is made.
func OpenProfiler(ctx context.Context, dsn string, c ledger.Config) (Profiler, error) {
	var unreachable error
	if ledger.FilePath(dsn) != "" {
		var client *Client
		if client, unreachable = Dial(ctx, SocketPath(dsn)); unreachable == nil {
			return client, nil
		}
	}
	s, err := stores.Open(ctx, dsn, c)
	if err != nil && unreachable != nil {
		return nil, fmt.Errorf("%w (and no running dpproxy answers: %w)", err, unreachable)
	}
	if err != nil {
		return nil, err
	}
	return direct{s}, nil
}

// direct charges without a running proxy.
type direct struct{ store ledger.Store }

func (d direct) Profile(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return d.store.Spend(ctx, policy.ProfileAccount, charges)
}

func (d direct) Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return d.store.Preview(ctx, policy.ProfileAccount, charges)
}

func (d direct) Close() error { return d.store.Close() }

// chargesBytes bounds the body of a call: some kilobytes for each charge.
const chargesBytes = 32 << 20

// Profile has the running proxy charge.
func (c *Client) Profile(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return c.charges(ctx, "/profile", charges)
}

// Preview asks the running proxy what Profile would do.
func (c *Client) Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return c.charges(ctx, "/preview", charges)
}

// charges sends charges. They travel as gob, which has infinities.
func (c *Client) charges(ctx context.Context, path string, charges []ledger.Charge) (balance ledger.Balance,
	err error,
) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(charges); err != nil {
		return balance, err
	}
	target := url.URL{Scheme: "http", Host: "dpproxy", Path: path}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), &body)
	if err != nil {
		return balance, err
	}
	answer, err := c.send(ctx, request)
	if err != nil {
		return balance, err
	}
	return balance, decode(ctx, answer, &balance)
}

// profile charges the account of `dpproxy profile`, and no other, or says what that would do.
func profile(w http.ResponseWriter, r *http.Request, l ledger.Admin, preview bool) {
	balance, err := func() (ledger.Balance, error) {
		spender, ok := l.(Spender)
		if !ok {
			return ledger.Balance{}, errors.New("this ledger cannot be charged")
		}
		var charges []ledger.Charge
		if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, chargesBytes)).Decode(&charges); err != nil {
			return ledger.Balance{}, err
		}
		if preview {
			return spender.Preview(r.Context(), policy.ProfileAccount, charges)
		}
		return spender.Spend(r.Context(), policy.ProfileAccount, charges)
	}()
	reply(w, balance, err)
}

// reply writes an answer, or why there is none.
func reply(w http.ResponseWriter, answer any, err error) {
	status := http.StatusOK
	if err != nil {
		status, answer = http.StatusInternalServerError, failure{err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(deadlineWriter{w}).Encode(answer) // fails if the caller is gone
}

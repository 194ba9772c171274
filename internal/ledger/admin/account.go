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
	"slices"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Spender is the part of a ledger that charges, and that says what it would charge.
type Spender interface {
	Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error)
	ledger.Previewer
}

// Account charges what a command releases, to the account that is kept for it.
type Account interface {
	// Charge admits all charges or none, and returns once they are on disk.
	Charge(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	// Preview returns the balance or the error that Charge would return now. It writes nothing.
	Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error)
	Close() error
}

// OpenAccount opens a ledger to charge one of policy.OwnAccounts: through the running proxy's socket, or, where no
// proxy holds it, in the file or the tables themselves. A ledger file that does not exist yet is made.
func OpenAccount(ctx context.Context, dsn, account string, c ledger.Config) (Account, error) {
	var unreachable error
	if ledger.FilePath(dsn) != "" {
		var client *Client
		if client, unreachable = Dial(ctx, SocketPath(dsn)); unreachable == nil {
			return remote{client, account}, nil
		}
	}
	s, err := stores.Open(ctx, dsn, c)
	if err != nil && unreachable != nil {
		return nil, fmt.Errorf("%w (and no running dpproxy answers: %w)", err, unreachable)
	}
	if err != nil {
		return nil, err
	}
	return direct{s, account}, nil
}

// direct charges without a running proxy.
type direct struct {
	store   ledger.Store
	account string
}

func (d direct) Charge(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return d.store.Spend(ctx, d.account, charges)
}

func (d direct) Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return d.store.Preview(ctx, d.account, charges)
}

func (d direct) Close() error { return d.store.Close() }

// chargesBytes bounds the body of a call: some kilobytes for each charge.
const chargesBytes = 32 << 20

// remote has the running proxy charge.
type remote struct {
	*Client
	account string
}

func (r remote) Charge(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return r.charges(ctx, "/charge", r.account, charges)
}

func (r remote) Preview(ctx context.Context, charges []ledger.Charge) (ledger.Balance, error) {
	return r.charges(ctx, "/preview", r.account, charges)
}

// charges sends charges. They travel as gob, which has infinities.
func (c *Client) charges(ctx context.Context, path, account string, charges []ledger.Charge) (balance ledger.Balance,
	err error,
) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errNoAnswer)
	defer cancel()
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(charges); err != nil {
		return balance, err
	}
	target := url.URL{
		Scheme: "http", Host: "dpproxy", Path: path,
		RawQuery: url.Values{"account": {account}}.Encode(),
	}
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

// charge charges an account of a command, and no analyst's, or says what that would do.
func charge(w http.ResponseWriter, r *http.Request, l ledger.Admin, preview bool) {
	balance, err := func() (ledger.Balance, error) {
		spender, ok := l.(Spender)
		if !ok {
			return ledger.Balance{}, errors.New("this ledger cannot be charged")
		}
		account := r.URL.Query().Get("account")
		if !slices.Contains(policy.OwnAccounts, account) {
			return ledger.Balance{}, fmt.Errorf("%q is no account of a command", account)
		}
		var charges []ledger.Charge
		if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, chargesBytes)).Decode(&charges); err != nil {
			return ledger.Balance{}, err
		}
		if preview {
			return spender.Preview(r.Context(), account, charges)
		}
		return spender.Spend(r.Context(), account, charges)
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

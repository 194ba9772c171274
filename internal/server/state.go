package server

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
)

// open makes all that belongs to one policy.
func open(ctx context.Context, p *policy.Policy, log *slog.Logger) (_ *state, err error) {
	st := &state{policy: p}
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	if st.tls, err = loadTLS(p.TLS); err != nil {
		return nil, err
	}
	if st.backend, err = backend.Open(ctx, p, log); err != nil {
		return nil, err
	}
	if st.identity, err = newIdentity(ctx, p); err != nil {
		return nil, err
	}
	return st, nil
}

// check compares the databases with the policy. No private row is read.
func (st *state) check(ctx context.Context, log *slog.Logger) error {
	found, err := provision.CheckLive(ctx, st.policy, st.backend)
	if err != nil {
		return err
	}
	if len(found.Advice) > 0 {
		log.Info("dpproxy check --live has advice", "lines", len(found.Advice))
	}
	return found.Err()
}

func (st *state) close() {
	if st.identity != nil {
		st.identity.close()
	}
	if st.backend != nil {
		st.backend.Close()
	}
}

const (
	mockKey  = "mock verifiers" // no answer's key: those are hex
	mockLife = 100 * 365 * 24 * time.Hour
)

// mockSecret makes the fake salts of users that do not exist survive a restart, as real ones do. It lives with the
// ledger's answers.
func mockSecret(ctx context.Context, l ledger.Ledger) ([]byte, error) {
	stored, found, err := l.Answer(ctx, mockKey)
	if err != nil || found {
		return stored, err
	}
	fresh := make([]byte, 32)
	rand.Read(fresh)                                  // never fails: it ends the program instead
	return l.PutAnswer(ctx, mockKey, fresh, mockLife) // of another proxy, if that was first
}

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/tracing"
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
	if st.tracer, err = openTracer(p.Tracing, log); err != nil {
		return nil, err
	}
	if err := provision.CheckApart(p); err != nil {
		return nil, err
	}
	for _, one := range p.Each() {
		d := &database{policy: one}
		if d.backend, err = backend.Open(ctx, one, log); err != nil {
			return nil, one.In(err)
		}
		st.databases = append(st.databases, d)
	}
	if st.identity, err = newIdentity(ctx, p); err != nil {
		return nil, err
	}
	return st, nil
}

// check compares the databases with the policy. No private row is read.
func (st *state) check(ctx context.Context, log *slog.Logger) error {
	var problems []error
	var all []*provision.Findings
	advice := 0
	for _, d := range st.databases {
		found, err := provision.CheckLive(ctx, d.policy, d.backend)
		if err != nil {
			return d.policy.In(err)
		}
		advice += len(found.Advice)
		d.suspected(found.Suspects, log)
		problems, all = append(problems, found.Err()), append(all, found)
	}
	problems = append(problems, provision.SameMain(all))
	if advice > 0 {
		log.Info("dpproxy check --live has advice", "lines", advice)
	}
	return errors.Join(problems...)
}

// drain waits until no statement uses the databases.
func (st *state) drain() {
	var drains sync.WaitGroup
	for _, d := range st.databases {
		drains.Go(d.backend.Drain)
	}
	drains.Wait()
}

func (st *state) close() {
	if st.identity != nil {
		st.identity.close()
	}
	for _, d := range st.databases {
		d.backend.Close()
	}
	if st.tracer != nil {
		_ = st.tracer.Close() // the proxy ends all the same
	}
}

// openTracer begins to send traces, if the policy says where to; nil: it does not.
func openTracer(p *policy.Tracing, log *slog.Logger) (*tracing.Tracer, error) {
	if p == nil {
		return nil, nil
	}
	roots, err := authorities("tracing.ca", p.CA)
	if err != nil {
		return nil, err
	}
	return tracing.Open(p, roots, log)
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

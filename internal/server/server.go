package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/tracing"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// Server is a running proxy.
type Server struct {
	log     *slog.Logger
	metrics *metrics.Metrics
	ledger  ledger.Store
	wire    *wire.Server

	listener net.Listener
	console  net.Addr        // nil: no console
	saved    *saved.Store    // nil: no console
	monitor  *http.Server    // nil: no metrics listener
	failed   chan error      // why a listener ended by itself
	serving  context.Context // ends with the server
	stop     context.CancelFunc
	running  sync.WaitGroup

	reloading chan struct{} // one reload at a time: who has put something in
	// closed when no statement runs under the policy before the one in force. Who reads it holds reloading
	drained <-chan struct{}
	state   atomic.Pointer[state]
	drift   atomic.Pointer[string] // what the last look has found; nil: there was none
	members *policy.Members
}

var errStopped = errors.New("the server has stopped")

// state holds what a reload replaces.
type state struct {
	policy    *policy.Policy // what the databases have in common
	databases []*database    // in the order of the file
	identity  *identity
	tls       tlsSource
	tracer    *tracing.Tracer // nil: none
}

// Start checks everything, and then listens and serves until Shutdown or Close. ctx bounds the checks only.
func Start(ctx context.Context, p *policy.Policy, log *slog.Logger) (_ *Server, err error) {
	serving, stop := context.WithCancel(context.Background())
	s := &Server{
		log: log, metrics: metrics.New(), failed: make(chan error, 8), members: policy.NewMembers(),
		reloading: make(chan struct{}, 1), serving: serving, stop: stop,
	}
	none := make(chan struct{})
	close(none)
	s.drained = none
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	p.SetMembers(s.members)
	st, err := open(ctx, p, log)
	if err != nil {
		return nil, err
	}
	s.state.Store(st)
	if err := st.check(ctx, log); err != nil {
		return nil, err
	}
	store, err := stores.Open(ctx, p.Ledger, s.ledgerConfig(p))
	if err != nil {
		return nil, err // s.ledger stays a plain nil, which release asks for
	}
	s.ledger = metered{store, s.metrics}
	for _, d := range st.databases {
		if err := s.answer(ctx, d); err != nil {
			return nil, d.policy.In(err)
		}
	}
	mock, err := mockSecret(ctx, s.ledger)
	if err != nil {
		return nil, err
	}
	s.wire, err = wire.New(wire.Config{
		Handler:       (*router)(s),
		Authenticator: (*authenticator)(s),
		TLS:           s.tlsConfig,
		RequireTLS:    !p.Insecure,
		Limits: wire.Limits{
			Connections: p.Limits.Connections, PerAddress: p.Limits.PerAddress,
			Memory: p.Limits.Memory,
		},
		MockSecret: mock,
		Logger:     log,
		Metrics:    s.metrics,
	})
	if err != nil {
		return nil, err
	}
	if err := s.monitorOn(p.Metrics); err != nil {
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", p.Listen); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if err := s.consoleOn(p); err != nil {
		return nil, err
	}
	s.run("administrator's socket", func() error {
		return admin.Serve(serving, admin.SocketPath(p.Ledger), s.ledger,
			log)
	})
	s.run("watch", s.watch)
	s.run("budgets in the metrics", s.budgets)
	s.run("listener "+s.listener.Addr().String(), func() error { return s.wire.Serve(s.listener) })
	return s, nil
}

// run serves in the background and reports why it ended, unless the server was told to stop.
func (s *Server) run(name string, serve func() error) {
	s.running.Go(func() {
		err := serve()
		if err != nil && !errors.Is(err, wire.ErrServerClosed) && !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("%s: %w", name, err)
		}
	})
}

// Addr returns the address that clients connect to.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Failed delivers an error when a listener has ended by itself.
func (s *Server) Failed() <-chan error { return s.failed }

// Ready tells whether every database and the ledger answer, and whether the databases are what the policy says.
func (s *Server) Ready(ctx context.Context) error {
	st := s.state.Load()
	if st == nil {
		return errStopped
	}
	for _, d := range st.databases {
		if err := d.backend.Ping(ctx); err != nil {
			if s.state.Load() != st { // a reload has closed its connections
				return s.Ready(ctx)
			}
			return d.policy.In(err)
		}
	}
	if err := s.stale(); err != nil {
		return err
	}
	_, err := s.ledger.Balance(ctx, st.policy.AnyAnalyst()) // one account is enough to see that the store answers
	return err
}

// Shutdown stops accepting, lets running statements finish until ctx is done, and releases everything.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.wire.Shutdown(ctx)
	s.release()
	return err
}

// Close ends every session now. What was charged stays charged.
func (s *Server) Close() error {
	err := s.wire.Close()
	s.release()
	return err
}

// release closes whatever Start has opened, from the clients inwards. It may be called more than once.
func (s *Server) release() {
	s.stop()
	if s.listener != nil {
		s.listener.Close()
	}
	if s.monitor != nil {
		s.monitor.Close()
	}
	s.running.Wait()
	if st := s.state.Swap(nil); st != nil {
		st.close()
	}
	if s.saved != nil {
		if err := s.saved.Close(); err != nil {
			s.log.Error("saved questions did not close cleanly", "error", err)
		}
	}
	if s.ledger != nil {
		if err := s.ledger.Close(); err != nil {
			s.log.Error("ledger did not close cleanly", "error", err)
		}
	}
}

// monitorOn serves metrics, health and readiness.
func (s *Server) monitorOn(address string) error {
	s.metrics.Pools(s.pools)
	if address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("metrics.listen: %w", err)
	}
	s.monitor = &http.Server{Handler: s.metrics.Handler(s.Ready, s.log), ReadHeaderTimeout: 5 * time.Second}
	s.run("metrics listener", func() error { return s.monitor.Serve(listener) })
	s.log.Info("metrics", "address", listener.Addr().String())
	return nil
}

func (s *Server) pools() map[string]metrics.Pool {
	pools := map[string]metrics.Pool{}
	st := s.state.Load()
	if st == nil {
		return pools
	}
	for _, d := range st.databases {
		for name, stat := range d.backend.Stats() {
			if d.policy.Name != "" {
				name = d.policy.Name + "." + name
			}
			pools[name] = metrics.Pool{
				Total: stat.TotalConns(), Idle: stat.IdleConns(), Max: stat.MaxConns(),
				Acquired: stat.AcquireCount(), WaitSeconds: stat.AcquireDuration().Seconds(),
			}
		}
	}
	return pools
}

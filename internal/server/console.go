package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/dpproxy/dpproxy/internal/console"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/admin"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/saved"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
)

// consoleOn serves the console. Its analysts are clients of the wire, by a pipe in the place of a network.
func (s *Server) consoleOn(p *policy.Policy) error {
	if p.Console == nil {
		return nil
	}
	var err error
	if s.saved, err = saved.Open(s.serving, p.Ledger, s.log); err != nil {
		return err
	}
	pipe := console.NewPipe()
	c, err := console.New(console.Config{
		Dial:      pipe.Dial,
		Databases: s.databases,
		TLS:       func() *tls.Config { return s.tlsConfig() },
		Secure:    p.TLS != nil,
		Names:     func() []string { return s.names() },
		Proxy:     &administration{s},
		Memory:    s.wire.Memory(),
		Saved:     s.saved,
		Log:       s.log,
	})
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	listener, err := net.Listen("tcp", p.Console.Listen)
	if err != nil {
		return fmt.Errorf("console.listen: %w", err)
	}
	s.console = listener.Addr()
	s.run("console's connections", func() error { return s.wire.Serve(pipe) })
	s.run("console", func() error { return c.Serve(s.serving, listener) })
	scheme := "http"
	if p.TLS != nil {
		scheme = "https"
	}
	s.log.Info("console", "address", scheme+"://"+listener.Addr().String())
	return nil
}

// ConsoleAddr returns where browsers connect to; nil: there is no console.
func (s *Server) ConsoleAddr() net.Addr { return s.console }

// databases names what analysts connect to.
func (s *Server) databases() []string {
	var names []string
	if st := s.state.Load(); st != nil {
		for _, d := range st.databases {
			names = append(names, d.name(s.serving))
		}
	}
	return names
}

// names lists names of the console beside its addresses.
func (s *Server) names() []string {
	if st := s.state.Load(); st != nil && st.policy.Console != nil {
		return st.policy.Console.Names
	}
	return nil
}

// administration implements console.Proxy.
type administration struct{ server *Server }

// Policy is the one in force; while the server stops, an empty one.
func (a *administration) Policy() *policy.Policy {
	if st := a.server.state.Load(); st != nil {
		return st.policy
	}
	return &policy.Policy{Defaults: policy.Defaults{Epsilon: 1, EpsilonMax: 1}}
}

func (a *administration) Accounts(ctx context.Context) ([]ledger.AccountSummary, error) {
	return a.server.ledger.Show(ctx)
}

func (a *administration) Counts() (metrics.Counts, error) {
	c, err := a.server.metrics.Counts()
	c.Pools = a.server.pools()
	return c, err
}

// Compare looks at the databases as `dpproxy check --live` does. No private row is read.
func (a *administration) Compare(ctx context.Context) (problems, advice []string, err error) {
	st := a.server.state.Load()
	if st == nil {
		return nil, nil, errStopped
	}
	for _, d := range st.databases {
		found, err := provision.CheckLive(ctx, d.policy, d.backend)
		if err != nil {
			return nil, nil, d.policy.In(err)
		}
		for _, p := range found.Problems {
			problems = append(problems, p.Error())
		}
		advice = append(advice, found.Advice...)
	}
	return problems, advice, nil
}

// Redeem looks a token up where `dpproxy console` put it.
func (a *administration) Redeem(ctx context.Context, token string) (bool, error) {
	return admin.Redeem(ctx, a.server.ledger, token)
}

// listenOf is where a policy's console listens; empty: it has none.
func listenOf(c *policy.Console) string {
	if c == nil {
		return ""
	}
	return c.Listen
}

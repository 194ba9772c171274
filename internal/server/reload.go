package server

import (
	"context"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// statementGrace is how long a reload waits for the statements that run under the policy before the one in force. So
// databases see the connections of two policies at a time, and of older ones only those of statements that take longer.
const statementGrace = 30 * time.Second

// Reload reads the policy file and the certificates again. On an error nothing has changed: the old policy stays.
func (s *Server) Reload(ctx context.Context) error {
	err := s.reloadAlone(ctx)
	s.metrics.Reloaded(err == nil)
	return err
}

// reloadAlone reloads once no other reload, or look, is under way.
func (s *Server) reloadAlone(ctx context.Context) error {
	select {
	case s.reloading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.reloading }()
	select {
	case <-s.drained:
	case <-time.After(statementGrace):
		s.log.Warn("statements still run under a policy that was replaced before; their connections stay open until they end")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.reload(ctx)
}

func (s *Server) reload(ctx context.Context) error {
	old := s.state.Load()
	if old == nil {
		return errStopped
	}
	p, err := policy.Load(old.policy.File)
	if err != nil {
		return err
	}
	if err := Need(p); err != nil {
		return err
	}
	p.SetMembers(s.members)
	fresh, err := open(ctx, p, s.log)
	if err != nil {
		return err
	}
	if err := fresh.check(ctx, s.log); err != nil {
		fresh.close()
		return err
	}
	use, err := s.load(ctx, old, fresh)
	if err != nil {
		fresh.close()
		return err
	}
	// Budgets first: a statement that is planned under the new policy must not be charged under the old one's budgets.
	if err := s.ledger.Reconfigure(ctx, s.ledgerConfig(p)); err != nil {
		fresh.close()
		return err
	}
	use()
	s.drifted(nil)
	s.retire(old)
	s.sayUnchanged(old.policy, p)
	return nil
}

// retire closes the connections of a replaced policy: those that nobody uses at once, and the others when their
// statements have ended, or the server stops.
func (s *Server) retire(old *state) {
	drained := make(chan struct{})
	s.drained = drained
	go func() {
		old.drain()
		close(drained)
	}()
	s.running.Go(func() {
		select {
		case <-drained:
		case <-s.serving.Done():
		}
		old.close()
	})
}

// sayUnchanged names what a running proxy cannot take over.
func (s *Server) sayUnchanged(old, fresh *policy.Policy) {
	for key, changed := range map[string]bool{
		"listen":             old.Listen != fresh.Listen,
		"insecure":           old.Insecure != fresh.Insecure,
		"console.listen":     listenOf(old.Console) != listenOf(fresh.Console),
		"tls of the console": fresh.Console != nil && (old.TLS == nil) != (fresh.TLS == nil),
		"metrics.listen":     old.Metrics != fresh.Metrics,
		"ledger":             old.Ledger != fresh.Ledger,
		"limits.connections": old.Limits.Connections != fresh.Limits.Connections,
		"limits.memory":      old.Limits.Memory != fresh.Limits.Memory,
		"limits.per_address": old.Limits.PerAddress != fresh.Limits.PerAddress,
	} {
		if changed {
			s.log.Warn("changed in the policy, but takes effect after a restart", "key", key)
		}
	}
}

// ledgerConfig has the ledger write to the proxy's log.
func (s *Server) ledgerConfig(p *policy.Policy) ledger.Config {
	config := ledger.ConfigOf(p)
	config.Log = s.log
	return config
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dpproxy/dpproxy/internal/provision"
)

const (
	watchEvery = time.Minute
	lookTime   = 30 * time.Second // for one look, after which it counts as not answered
)

// watch looks every minute whether the databases are still what the policy says.
func (s *Server) watch() error {
	ticks := time.NewTicker(watchEvery)
	defer ticks.Stop()
	for {
		select {
		case <-s.serving.Done():
			return nil
		case <-ticks.C:
			s.Look()
		}
	}
}

// Look compares the databases with the policy, and says what has changed: by the metric, /readyz, and one log line per
// problem when the problems change. Databases that do not answer are Ready's to report. No private row is read.
func (s *Server) Look() {
	s.reloading <- struct{}{} // a reload checks by itself
	defer func() { <-s.reloading }()
	st := s.state.Load()
	if st == nil {
		return
	}
	var looks sync.WaitGroup // one that does not answer keeps nobody from the others
	for _, d := range st.databases {
		looks.Go(func() { d.look(s.serving, s.log) })
	}
	looks.Wait()
	var drift []error
	for _, d := range st.databases {
		drift = append(drift, d.drift)
	}
	if s.serving.Err() == nil {
		s.drifted(errors.Join(drift...))
	}
}

// look compares one database with its policy, if it answers.
func (d *database) look(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if d.backend.Ping(ctx) != nil {
		return
	}
	drift := d.policy.Locate(d.engine.Refresh(ctx))
	found, err := provision.CheckDrift(ctx, d.policy)
	if ctx.Err() != nil {
		return
	}
	if found != nil {
		d.engine.Withhold(found.Exposed)
		d.suspected(found.Suspects, log)
	}
	if err == nil {
		err = found.Err()
	}
	d.drift = errors.Join(drift, err)
}

// suspected warns of public tables that look like people's, once as long as they do.
func (d *database) suspected(lines []string, log *slog.Logger) {
	for _, line := range lines {
		if !slices.Contains(d.suspects, line) {
			log.Warn("a public table looks like people's", "suspect", line)
		}
	}
	d.suspects = lines
}

// drifted takes over what a look has found; nil: the databases are what the policy says.
func (s *Server) drifted(err error) {
	now := ""
	if err != nil {
		now = err.Error()
	}
	s.metrics.Stale(err != nil)
	if before := s.drift.Swap(&now); before != nil && *before == now || before == nil && now == "" {
		return
	}
	if err == nil {
		s.log.Info("the databases are what the policy says again")
	}
	for line := range strings.Lines(now) {
		s.log.Error(
			"the databases have changed: what rests on this is refused, free of charge, until it is mended; then run dpproxy setup, and send SIGHUP", "problem", strings.TrimSpace(line))
	}
}

// stale says that the last look found changes; nil: it did not.
func (s *Server) stale() error {
	if now := s.drift.Load(); now != nil && *now != "" {
		return fmt.Errorf("the databases are not what the policy says: %s", strings.ReplaceAll(*now, "\n", "; "))
	}
	return nil
}

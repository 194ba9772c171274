package server

import (
	"log/slog"
	"time"

	"github.com/dpproxy/dpproxy/internal/engine"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// statement counts one statement, writes its line to the log and sends its trace, as far as the policy in force asks
// for it.
func (s *Server) statement(e session.Event) {
	st := s.state.Load()
	if st == nil {
		return
	}
	if st.policy.AnalystMetrics {
		s.metrics.AnalystStatement(e.Analyst, e.Verdict)
	}
	if st.tracer != nil && e.Trace != nil { // a reload may have come in between
		st.tracer.Statement(e)
	}
	if !st.policy.Log.Statements {
		return
	}
	attributes := []any{
		slog.String("analyst", e.Analyst), slog.String("database", e.Database), slog.String("verdict", e.Verdict),
		slog.String("sqlstate", e.SQLSTATE),
		slog.Float64("epsilon", e.Epsilon), slog.Float64("le_seconds", durationBucket(st.policy.Timing, e.Took).Seconds()),
	}
	if e.Fingerprint != "" {
		attributes = append(attributes, slog.String("fingerprint", e.Fingerprint))
	}
	s.log.Info("statement", attributes...)
}

// traces reports whether the policy in force asks for traces.
func (s *Server) traces() bool {
	st := s.state.Load()
	return st != nil && st.tracer != nil
}

// durationBucket is the upper bound of a duration: 1 ms, 3 ms, 10 ms, 30 ms and so on. It starts from a public moment
// of the policy's timing, so that it is a function of what the analyst may see and says nothing more, also of a
// statement whose client did not wait for that moment.
func durationBucket(t policy.Timing, took time.Duration) time.Duration {
	took = engine.Moment(t, took)
	for decade := time.Millisecond; ; decade *= 10 {
		switch {
		case took <= decade:
			return decade
		case took <= 3*decade:
			return 3 * decade
		}
	}
}

package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
)

// TestDurationBuckets: all durations that an analyst sees as one are in one bucket.
func TestDurationBuckets(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		timing policy.Timing
		took   time.Duration
		want   time.Duration
	}{
		{policy.Timing{Steps: 1.25}, 0, ms},
		{policy.Timing{Steps: 1.25}, ms + 1, 3 * ms},
		{policy.Timing{Steps: 1.25}, 9 * ms, 10 * ms},
		{policy.Timing{Steps: 10}, 11 * ms, 100 * ms}, // their next moment, not 30 ms
		{policy.Timing{Steps: 1.25, Quantum: time.Second}, 2 * ms, time.Second},
		{policy.Timing{}, 25 * ms, 30 * ms},
		{policy.Timing{}, 2 * time.Hour, 10000 * time.Second},
	} {
		if got := durationBucket(c.timing, c.took); got != c.want {
			t.Errorf("%+v after %v: %v, want %v", c.timing, c.took, got, c.want)
		}
	}
}

// TestStatementLine: what a line holds, and that there is none unless the policy asks for it.
func TestStatementLine(t *testing.T) {
	var out bytes.Buffer
	s := &Server{log: slog.New(slog.NewJSONHandler(&out, nil))}
	e := session.Event{Analyst: "alice", Database: "clinic", Account: session.Account{
		Verdict: "private", Epsilon: 0.5,
		Fingerprint: "f",
	}, SQLSTATE: "00000", Took: 20 * time.Millisecond}
	s.statement(e) // the server has stopped
	p := &policy.Policy{Timing: policy.Timing{Steps: 1.25}}
	s.state.Store(&state{policy: p})
	s.statement(e)
	if out.Len() > 0 {
		t.Errorf("a line that nobody asked for: %s", &out)
	}
	p.Log.Statements = true
	s.statement(e)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "time")
	want := map[string]any{
		"level": "INFO", "msg": "statement", "analyst": "alice", "database": "clinic",
		"verdict": "private", "sqlstate": "00000", "epsilon": 0.5, "le_seconds": 0.03, "fingerprint": "f",
	}
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
}

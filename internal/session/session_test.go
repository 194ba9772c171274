package session

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/wire"
	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot  %q\nwant %q", what, got, want)
	}
}

// TestAClientThatGoesAwayVoidsItsCharge: nothing waits for a statement that was charged and will not run.
func TestAClientThatGoesAwayVoidsItsCharge(t *testing.T) {
	s := open(t, nil)
	s.gone = true
	if err := s.Query(context.Background(), "SELECT rows(1, 1)", s); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want the client's error", err)
	}
	expect(t, "engine", s.engine.log, "charge SELECT rows(1, 1)", "void SELECT rows(1, 1)")
}

// limited gives a session so many bytes.
func limited(s *conversation, bytes int64) *memory.Budget {
	budget := memory.New(4 * bytes)
	s.startup.Memory = budget.Open("alice")
	s.state.memory = s.startup.Memory
	return budget
}

// TestStoredRowsAreBounded opens cursors until the session may hold no more; closing one makes room.
func TestStoredRowsAreBounded(t *testing.T) {
	s := open(t, nil)
	budget := limited(s, 10<<20)
	const rows = "6001" // of a kB: one cursor fits, two do not
	declare := func(name string) { s.ask(t, "SAVEPOINT s; DECLARE "+name+" CURSOR FOR SELECT rows("+rows+", 1000)") }
	moves := func(name string) {
		t.Helper()
		if got := s.ask(t, "MOVE ALL FROM "+name); got[len(got)-2] != "CommandComplete MOVE "+rows {
			t.Fatalf("cursor %s: %q", name, got)
		}
	}
	s.ask(t, "BEGIN")
	declare("a")
	declare("b")
	moves("a")
	got := s.ask(t, "MOVE ALL FROM b")
	if !strings.Contains(got[len(got)-2], "53200") || got[len(got)-1] != "ReadyForQuery E" {
		t.Fatalf("second cursor: %q", got)
	}
	s.ask(t, "ROLLBACK")
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are held for nothing", used)
	}
	s.ask(t, "BEGIN")
	declare("c")
	moves("c")
}

// fill sends messages, in which # is the number of the turn, until an error ends a turn, or all of them.
func (c *conversation) fill(t *testing.T, turns int, messages string) (turn int, refused *pgconn.PgError) {
	t.Helper()
	for turn = range turns {
		for _, m := range wiretest.Messages(t, strings.ReplaceAll(messages, "#", itoa(turn))) {
			if err := c.handle(context.Background(), m); err != nil {
				c.fail(err)
				errors.As(err, &refused)
				return turn, refused
			}
		}
	}
	return turns, nil
}

// TestWhatAClientNamesIsCounted: every way to have the session keep something ends with 53200, and what is dropped is
// given back.
func TestWhatAClientNamesIsCounted(t *testing.T) {
	long, text := strings.Repeat("x", 100_000), "/*"+strings.Repeat("x", 5000)+"*/"
	for name, c := range map[string]struct{ before, each string }{
		"names of statements": {"", "P " + long + "# | SELECT 1"},
		"empty statements":    {"", "P " + long + "# |"},
		"texts":               {"", "P # | SELECT 1 " + text},
		"commands":            {"", "P # | SHOW timezone " + text},
		"PREPARE":             {"", "Q PREPARE p# AS SELECT 1 " + text},
		"parameters":          {"P q | SELECT $1", "B p# | q | " + long},
		"names of portals":    {"P q | SELECT 1", "B " + long + "# | q"},
		"plans":               {"", "Q BEGIN; DECLARE c# CURSOR FOR SELECT holds(100000)"},
		"rows":                {"", "Q BEGIN; DECLARE c# CURSOR FOR SELECT rows(100, 1000); MOVE 1 c#"},
		"workloads": {
			"", "Q BEGIN; SET LOCAL dpproxy.workload = 'SELECT $$" + strings.Repeat("x", 8000) + "#$$'; SAVEPOINT s",
		},
		"savepoints": {"", "Q BEGIN; SAVEPOINT s; SAVEPOINT s; SAVEPOINT s; SAVEPOINT s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			s.engine.budget = 10000
			budget := limited(s, 2<<20)
			s.fill(t, 1, c.before)
			if _, err := s.fill(t, 1000, c.each); err == nil || err.Code != pgerr.OutOfMemory || err.Hint == "" {
				t.Fatalf("%v", err)
			}
			if used := budget.Used(); used < 1<<20 || used > 2<<20 {
				t.Errorf("%d bytes are held where it ends", used)
			}
			if got := s.say(t, "S\nQ ROLLBACK\nQ DISCARD ALL"); strings.Contains(strings.Join(got, "\n"), "ErrorResponse") {
				t.Fatalf("%q", got)
			}
			if used := budget.Used(); used > 2*columnBytes { // dpproxy.last
				t.Errorf("%d bytes are held for nothing", used)
			}
		})
	}
}

// TestARefusedCursorHoldsNothing: what was planned for it is given back.
func TestARefusedCursorHoldsNothing(t *testing.T) {
	s := open(t, nil)
	budget := limited(s, 64<<20)
	s.ask(t, "BEGIN")
	if _, err := s.fill(t, maxPortals, "Q DECLARE c# CURSOR FOR SELECT 1"); err != nil {
		t.Fatal(err)
	}
	before := budget.Used()
	_, err := s.fill(t, 1, "Q DECLARE more CURSOR FOR SELECT holds(100000)")
	if err == nil || !strings.Contains(err.Message, "too many open cursors") {
		t.Fatalf("%v", err)
	}
	if used := budget.Used(); used != before {
		t.Errorf("%d bytes are held for a cursor that is not there", used-before)
	}
}

// TestHeldThingsAreBounded in their number; what is dropped makes room.
func TestHeldThingsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		before, each string
		most         int
		drop         string
	}{
		"statements":      {"", "P s# | SELECT 1", maxStatements, "Q DEALLOCATE ALL"},
		"portals":         {"Q BEGIN\nP | SELECT 1", "B p# |", maxPortals, "Q ROLLBACK"},
		"savepoints":      {"Q BEGIN", "Q SAVEPOINT a", maxSavepoints, "Q ROLLBACK"},
		"custom settings": {"", "Q SET my.p# = 1", maxPlaceholders, "Q DISCARD ALL"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, nil)
			s.fill(t, 1, c.before)
			n, err := s.fill(t, c.most+1, c.each)
			if n != c.most || err == nil || err.Code != pgerr.ProgramLimitExceeded {
				t.Errorf("%d, then %v", n, err)
			}
			s.say(t, "S\n"+c.drop)
			if _, err := s.fill(t, 1, c.before+"\n"+c.each); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestPlansAreBounded: two of half of what a session may hold fit, as often as there is room for them.
func TestPlansAreBounded(t *testing.T) {
	s := open(t, nil)
	limited(s, 20<<20)
	s.say(t, "P half | SELECT holds("+itoa(9<<20)+")")
	for range 2 {
		if n, err := s.fill(t, 3, "B p# | half"); n != 2 || err == nil || err.Code != pgerr.OutOfMemory {
			t.Errorf("%d plans, then %v", n, err)
		}
		s.skip = false
		s.say(t, "C P p0\nC P p1")
	}
}

func TestOpen(t *testing.T) {
	s := open(t, map[string]string{"TimeZone": "Europe/Paris", "work_mem": "1MB", "statement_timeout": "3s"})
	if s.state.layers.current.TimeZone() != "Europe/Paris" || s.duration("statement_timeout") != 3*time.Second {
		t.Errorf("settings %v", s.state.layers.current.values)
	}
	expect(t, "the backend is asked", s.engine.log, "check Europe/Paris")
	expect(t, "and not again", s.ask(t, "SET TimeZone = 'Europe/Paris'"), "CommandComplete SET", "ReadyForQuery I")
	for code, startup := range map[string]wire.Startup{
		pgerr.InvalidParameterValue: {Database: "clinic", Parameters: map[string]string{"DateStyle": "nonsense"}},
		pgerr.InvalidCatalogName:    {Database: "other"},
	} {
		_, err := NewHandler(&fakeEngine{}).Open(context.Background(), startup)
		var pe *pgconn.PgError
		if !errors.As(err, &pe) || pe.Severity != "FATAL" || pe.Code != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	s.Close()
}

func TestIdleTimeouts(t *testing.T) {
	s := open(t, nil)
	for _, c := range []struct {
		after string
		limit time.Duration
		code  string
	}{
		{"SHOW TimeZone", 0, "57P05"},
		{"SET idle_session_timeout = '1min'; SET idle_in_transaction_session_timeout = '2s'", time.Minute, "57P05"},
		{"BEGIN", 2 * time.Second, "25P03"},
	} {
		s.ask(t, c.after)
		if d, e := s.IdleTimeout(); d != c.limit || e.Code != c.code {
			t.Errorf("after %s: %v, %v", c.after, d, e)
		}
	}
}

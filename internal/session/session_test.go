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
)

func mustOpen(t *testing.T, parameters map[string]string) (*Session, *fakeEngine) {
	t.Helper()
	s, e, err := open(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return s, e
}

func expect(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s\ngot  %q\nwant %q", what, got, want)
	}
}

// TestTheFirstErrorEndsTheText: what stands before it has run, has been sent and stays charged; what is behind it has not run.
func TestTheFirstErrorEndsTheText(t *testing.T) {
	s, e := mustOpen(t, nil)
	got := ask(s, "SET application_name = 'x'; SELECT rows(1, 1); PREPARE p AS SELECT 1; SELECT refused(); SELECT rows(2, 1)")
	expect(t, "client", got, "SET", "columns 1", "row x", "NOTICE epsilon spent", "SELECT 1", "PREPARE", "error ERROR: refused (SQLSTATE 42501)", "I")
	expect(t, "engine", e.log, "charge SELECT rows(1, 1)", "run SELECT rows(1, 1)")
	expect(t, "the implicit transaction has taken the setting back", ask(s, "SHOW application_name"), "columns 1", "row ", "SHOW", "I")
	e.budget = 1
	got = ask(s, "SELECT rows(1, 1); SELECT rows(1, 1); SELECT rows(1, 1)")
	expect(t, "over budget", got, "columns 1", "row x", "NOTICE epsilon spent", "SELECT 1", "error ERROR: over budget (SQLSTATE 53400)", "I")
	e.log = nil
	expect(t, "a syntax error comes first", ask(s, "SELECT rows(1, 1); SELEC")[1:], "I")
	expect(t, "engine", e.log)
}

// TestAReloadBeforeTheCharge: the statement is bound anew, with its values and under the settings that it was bound under.
func TestAReloadBeforeTheCharge(t *testing.T) {
	s, e := mustOpen(t, nil)
	e.reload = 2
	expect(t, "client", ask(s, "SELECT rows(1, 1)"), "columns 1", "row x", "NOTICE epsilon spent", "SELECT 1", "I")
	expect(t, "engine", e.log, "charge SELECT rows(1, 1)", "run SELECT rows(1, 1)")
	if len(e.scopes) != 3 {
		t.Errorf("bound %d times, not 3", len(e.scopes))
	}
	ask(s, "BEGIN; SET LOCAL TimeZone = 'Asia/Tokyo'; DECLARE c CURSOR FOR SELECT rows(1, 1); SET LOCAL TimeZone = 'UTC'")
	e.reload = 1
	ask(s, "FETCH c")
	if zone := e.scopes[len(e.scopes)-1].Settings.TimeZone(); zone != "Asia/Tokyo" {
		t.Errorf("a cursor is bound anew under the time zone %s", zone)
	}
	e.reload = mostBinds + 1
	expect(t, "reloads without end", ask(s, "ROLLBACK; SELECT rows(1, 1)"), "ROLLBACK", "error ERROR: cached plan must not change result type (SQLSTATE 0A000)", "I")
}

// TestAClientThatGoesAwayVoidsItsCharge: nothing waits for a statement that was charged and will not run.
func TestAClientThatGoesAwayVoidsItsCharge(t *testing.T) {
	s, e := mustOpen(t, nil)
	if err := s.Query(context.Background(), "SELECT rows(1, 1)", goneClient{&recorder{}}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v, want the client's error", err)
	}
	expect(t, "engine", e.log, "charge SELECT rows(1, 1)", "void SELECT rows(1, 1)")
}

// goneClient has closed the connection when the first message comes.
type goneClient struct{ *recorder }

func (goneClient) RowDescription([]pgconn.FieldDescription) error { return net.ErrClosed }

// TestStatementsSeeTheSettingsBeforeThem in one text.
func TestStatementsSeeTheSettingsBeforeThem(t *testing.T) {
	s, e := mustOpen(t, nil)
	ask(s, "SET dpproxy.epsilon = 0.2; SELECT rows(1, 1); SET dpproxy.epsilon = 0.3; SELECT rows(1, 1); RESET dpproxy.epsilon; SELECT rows(1, 1)")
	var seen []float64
	for _, scope := range e.scopes {
		seen = append(seen, scope.Settings.Epsilon())
		if scope.Analyst != "alice" || scope.User != "al" || scope.Database != "clinic" || scope.ProcessID != 7 {
			t.Errorf("scope %+v", scope)
		}
	}
	if len(seen) != 3 || seen[0] != 0.2 || seen[1] != 0.3 || seen[2] != 0 {
		t.Errorf("epsilon seen by the statements: %v", seen)
	}
}

func TestRollbackRefundsNothing(t *testing.T) {
	s, e := mustOpen(t, nil)
	ask(s, "BEGIN")
	ask(s, "SELECT rows(1, 1)")
	ask(s, "ROLLBACK")
	if e.budget != 9 {
		t.Errorf("budget %d, want 9", e.budget)
	}
}

func TestNoticesCanBeTurnedOff(t *testing.T) {
	for _, setting := range []string{"SET dpproxy.notices = off", "SET client_min_messages = warning"} {
		s, _ := mustOpen(t, nil)
		ask(s, setting)
		expect(t, setting, ask(s, "SELECT rows(1, 1)"), "columns 1", "row x", "SELECT 1", "I")
	}
	s, _ := mustOpen(t, nil)
	ask(s, "SET dpproxy.notices = off")
	expect(t, "warnings stay", ask(s, "COMMIT"), "WARNING there is no transaction in progress", "COMMIT", "I")
}

func TestStatementTimeout(t *testing.T) {
	s, e := mustOpen(t, nil)
	ask(s, "SET statement_timeout = 10")
	expect(t, "timeout", ask(s, "SELECT sleeps()"), "columns 1", "error ERROR: canceling statement due to statement timeout (SQLSTATE 57014)", "I")
	if e.budget != 9 {
		t.Errorf("budget %d: the charge must stay", e.budget)
	}
}

// TestStoredRowsAreBounded opens cursors until the session may hold no more; closing one makes room.
func TestStoredRowsAreBounded(t *testing.T) {
	s, _ := mustOpen(t, nil)
	budget := limited(s, 10<<20)
	ask(s, "BEGIN")
	const half = 6000 // kB: one fits, two do not
	for _, name := range []string{"a", "b"} {
		ask(s, "SAVEPOINT s; DECLARE "+name+" CURSOR FOR SELECT rows("+itoa(half+1)+", 1000)")
	}
	if got := ask(s, "MOVE ALL FROM a"); got[len(got)-2] != "MOVE "+itoa(half+1) {
		t.Fatalf("first cursor: %q", got)
	}
	if got := ask(s, "MOVE ALL FROM b"); !strings.Contains(got[0], "53200") || got[1] != "E" {
		t.Fatalf("second cursor: %q", got)
	}
	ask(s, "ROLLBACK")
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are held for nothing", used)
	}
	ask(s, "BEGIN; DECLARE c CURSOR FOR SELECT rows("+itoa(half+1)+", 1000)")
	if got := ask(s, "MOVE ALL FROM c"); got[len(got)-2] != "MOVE "+itoa(half+1) {
		t.Errorf("after closing: %q", got)
	}
}

// limited gives a session so many bytes.
func limited(s *Session, bytes int64) *memory.Budget {
	budget := memory.New(4 * bytes)
	s.startup.Memory = budget.Open("alice")
	s.state.memory = s.startup.Memory
	return budget
}

// TestWhatAClientNamesIsCounted: every way to have the session keep something ends with 53200, and what is dropped is given back.
func TestWhatAClientNamesIsCounted(t *testing.T) {
	ctx, long, text, large := context.Background(), strings.Repeat("x", 100_000), strings.Repeat("x", 5000), make([]byte, 100_000)
	query := func(sql string) func(*Session, int) error {
		return func(s *Session, i int) error {
			return s.Query(ctx, strings.ReplaceAll(sql, "#", itoa(i)), &recorder{})
		}
	}
	parameter := func(s *Session, i int) error {
		if i == 0 {
			if err := s.Parse(ctx, "q", "SELECT $1", nil); err != nil {
				return err
			}
		}
		return s.Bind(ctx, wire.Bind{Portal: "p" + itoa(i), Statement: "q", Parameters: [][]byte{large}})
	}
	for name, keep := range map[string]func(*Session, int) error{
		"names of statements": func(s *Session, i int) error { return s.Parse(ctx, long+itoa(i), "SELECT 1", nil) },
		"empty statements":    func(s *Session, i int) error { return s.Parse(ctx, long+itoa(i), "", nil) },
		"texts":               func(s *Session, i int) error { return s.Parse(ctx, itoa(i), "SELECT 1 /*"+text+"*/", nil) },
		"commands":            func(s *Session, i int) error { return s.Parse(ctx, itoa(i), "SHOW timezone /*"+text+"*/", nil) },
		"PREPARE":             query("PREPARE p# AS SELECT 1 /*" + text + "*/"),
		"parameters":          parameter,
		"names of portals": func(s *Session, i int) error {
			if i == 0 {
				return s.Parse(ctx, "q", "SELECT 1", nil)
			}
			return s.Bind(ctx, wire.Bind{Portal: long + itoa(i), Statement: "q"})
		},
		"plans":      query("BEGIN; DECLARE c# CURSOR FOR SELECT holds(100000)"),
		"rows":       query("BEGIN; DECLARE c# CURSOR FOR SELECT rows(100, 1000); MOVE 1 c#"),
		"savepoints": query("BEGIN; SAVEPOINT s; SAVEPOINT s; SAVEPOINT s; SAVEPOINT s"),
	} {
		t.Run(name, func(t *testing.T) {
			s, e := mustOpen(t, nil)
			e.budget = 10000
			budget := limited(s, 2<<20)
			var err error
			for i := 0; i < 1000 && err == nil; i++ {
				err = keep(s, i)
			}
			var e2 *pgconn.PgError
			if !errors.As(err, &e2) || e2.Code != pgerr.OutOfMemory || e2.Hint == "" {
				t.Fatalf("%v", err)
			}
			if used := budget.Used(); used < 1<<20 || used > 2<<20 {
				t.Errorf("%d bytes are held where it ends", used)
			}
			s.Sync(true)
			for _, sql := range []string{"ROLLBACK", "DISCARD ALL"} {
				if err := s.Query(ctx, sql, &recorder{}); err != nil {
					t.Fatal(err)
				}
				s.Sync(false)
			}
			if used := budget.Used(); used > 2*columnBytes { // dpproxy.last
				t.Errorf("%d bytes are held for nothing", used)
			}
		})
	}
}

// TestARefusedCursorHoldsNothing: what was planned for it is given back.
func TestARefusedCursorHoldsNothing(t *testing.T) {
	ctx, full := context.Background(), `too many open cursors`
	s, _ := mustOpen(t, nil)
	budget := limited(s, 64<<20)
	if err := s.Query(ctx, "BEGIN", &recorder{}); err != nil {
		t.Fatal(err)
	}
	for i := range maxPortals {
		if err := s.Query(ctx, "DECLARE c"+itoa(i)+" CURSOR FOR SELECT 1", &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	before := budget.Used()
	if err := s.Query(ctx, "DECLARE more CURSOR FOR SELECT holds(100000)", &recorder{}); err == nil || !strings.Contains(err.Error(), full) {
		t.Fatalf("%v", err)
	}
	if used := budget.Used(); used != before {
		t.Errorf("%d bytes are held for a cursor that is not there", used-before)
	}
}

func TestHeldThingsAreBounded(t *testing.T) {
	s, _ := mustOpen(t, nil)
	code := func(err error) string {
		var e *pgconn.PgError
		if errors.As(err, &e) {
			return e.Code
		}
		return ""
	}
	ctx := context.Background()
	var err error
	for i := 0; i <= maxStatements && err == nil; i++ {
		err = s.Parse(ctx, "s"+itoa(i), "SELECT 1", nil)
	}
	if code(err) != pgerr.ProgramLimitExceeded || len(s.state.statements) != maxStatements {
		t.Errorf("%d statements, then %v", len(s.state.statements), err)
	}
	ask(s, "DEALLOCATE ALL")
	ask(s, "DEALLOCATE ALL; BEGIN")
	if err = s.Parse(ctx, "s0", "SELECT 1", nil); err != nil {
		t.Fatal(err)
	}
	err = nil
	for i := 0; i <= maxPortals && err == nil; i++ {
		err = s.Bind(ctx, wire.Bind{Portal: "p" + itoa(i), Statement: "s0"})
	}
	if code(err) != pgerr.ProgramLimitExceeded || len(s.state.portals) != maxPortals {
		t.Errorf("%d portals, then %v", len(s.state.portals), err)
	}
	var last []string
	for range maxSavepoints + 1 {
		last = ask(s, "SAVEPOINT a")
	}
	if !strings.Contains(last[0], "54000") {
		t.Errorf("savepoints: %q", last)
	}
	s, _ = mustOpen(t, nil)
	limited(s, 20<<20)
	if err = s.Parse(ctx, "half", "SELECT holds("+itoa(9<<20)+")", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, portal := range []string{"first", "second"} {
			if err := s.Bind(ctx, wire.Bind{Portal: portal, Statement: "half"}); err != nil {
				t.Errorf("%s plan of half of what a session may hold: %v", portal, err)
			}
		}
		if err := s.Bind(ctx, wire.Bind{Portal: "third", Statement: "half"}); code(err) != pgerr.OutOfMemory {
			t.Errorf("third plan: %v", err)
		}
		for _, portal := range []string{"first", "second"} {
			s.ClosePortal(portal)
		}
	}
	for i := range maxPlaceholders + 1 {
		last = ask(s, "SET my.p"+itoa(i)+" = 1")
	}
	if !strings.Contains(last[0], "54000") {
		t.Errorf("custom settings: %q", last)
	}
}

func TestOpen(t *testing.T) {
	s, e := mustOpen(t, map[string]string{"TimeZone": "Europe/Paris", "work_mem": "1MB", "statement_timeout": "3s"})
	if s.state.layers.current.TimeZone() != "Europe/Paris" || s.duration("statement_timeout") != 3*time.Second {
		t.Errorf("settings %v", s.state.layers.current.values)
	}
	ask(s, "SET TimeZone = 'Europe/Paris'")
	expect(t, "the backend is asked once", e.log, "check Europe/Paris")
	_, _, err := open(map[string]string{"DateStyle": "nonsense"})
	var pe *pgconn.PgError
	if !errors.As(err, &pe) || pe.Severity != "FATAL" || pe.Code != pgerr.InvalidParameterValue {
		t.Errorf("bad startup parameter: %v", err)
	}
	_, err = NewHandler(&fakeEngine{}).Open(context.Background(), wire.Startup{Database: "other"})
	if !errors.As(err, &pe) || pe.Severity != "FATAL" || pe.Code != pgerr.InvalidCatalogName {
		t.Errorf("wrong database: %v", err)
	}
	s.Close()
}

func TestIdleTimeouts(t *testing.T) {
	s, _ := mustOpen(t, nil)
	if d, _ := s.IdleTimeout(); d != 0 {
		t.Errorf("default %v", d)
	}
	ask(s, "SET idle_session_timeout = '1min'; SET idle_in_transaction_session_timeout = '2s'")
	if d, e := s.IdleTimeout(); d != time.Minute || e.Code != "57P05" {
		t.Errorf("outside: %v, %v", d, e)
	}
	ask(s, "BEGIN")
	if d, e := s.IdleTimeout(); d != 2*time.Second || e.Code != "25P03" {
		t.Errorf("inside: %v, %v", d, e)
	}
}

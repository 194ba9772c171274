package wire

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/memory"
)

func TestSplitOptions(t *testing.T) {
	for in, want := range map[string][]string{
		"":                    nil,
		"  ":                  nil,
		"-c a=b":              {"-c", "a=b"},
		`-c a=b\ c  --d=e`:    {"-c", "a=b c", "--d=e"},
		`a\\b`:                {`a\b`},
		"a\tb\nc":             {"a", "b", "c"},
		`trailing\`:           {"trailing"},
		`-c search_path=ä\ ö`: {"-c", "search_path=ä ö"},
	} {
		if got := splitOptions(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestParametersOfThePacketOverrideOptions(t *testing.T) {
	body := "user\x00u\x00jit\x00on\x00options\x00-c jit=off --work-mem=1MB\x00\x00"
	m, err := parseStartup(packet{code: protocol30, body: []byte(body)})
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"jit": "on", "work_mem": "1MB"}; !reflect.DeepEqual(m.parameters, want) {
		t.Errorf("%v, want %v", m.parameters, want)
	}
	if m.database != "u" {
		t.Errorf("database %q, want the user's name", m.database)
	}
}

func TestThrottle(t *testing.T) {
	th := newThrottle()
	now := time.Unix(1000, 0)
	th.now = func() time.Time { return now }
	for range freeFailures {
		th.failed("alice", "a")
	}
	if d := th.delay("alice", "a"); d != 0 {
		t.Errorf("delay %v after %d failures", d, freeFailures)
	}
	for range 2 {
		th.failed("alice", "a")
		th.succeeded("mallory", "a") // who logs in between two guesses
	}
	if d := th.delay("alice", "a"); d != 2*failureDelay {
		t.Errorf("delay %v, want %v", d, 2*failureDelay)
	}
	for _, other := range [][2]string{{"bob", "a"}, {"alice", "b"}} {
		if d := th.delay(other[0], other[1]); d != 0 {
			t.Errorf("%s at %s waits %v", other[0], other[1], d)
		}
	}
	for range 100 {
		th.failed("alice", "a")
	}
	if d := th.delay("alice", "a"); d != maxFailureDelay {
		t.Errorf("delay %v, want %v", d, maxFailureDelay)
	}
	for i := range 3 {
		if d, ok := th.turn("alice", "a"); !ok || d != time.Duration(i+1)*maxFailureDelay {
			t.Errorf("attempt %d beside others waits %v, %v", i+1, d, ok)
		}
	}
	if _, ok := th.turn("alice", "a"); ok {
		t.Error("an attempt waits however many are under way")
	}
	now = now.Add(maxFailureDelay)
	th.failed("alice", "a")
	if d, ok := th.turn("alice", "a"); !ok || d != 3*maxFailureDelay {
		t.Errorf("behind two that wait, an attempt waits %v, %v", d, ok)
	}
	th.succeeded("alice", "a")
	if d := th.delay("bob", "a"); d == 0 || d > 10*failureDelay {
		t.Errorf("after more than %d failures of an address, another user of it waits %v", freeOfAddress, d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := th.wait(ctx, "alice", "a"); err == nil {
		t.Error("wait outlived its context")
	}
	now = now.Add(failureMemory + time.Second)
	if d := th.delay("alice", "a"); d != 0 {
		t.Errorf("delay %v long after", d)
	}
	for i := range 2 * maxThrottled {
		th.failed("alice", string(rune(i)))
	}
	if n := len(th.counts); n > maxThrottled {
		t.Errorf("%d counts remembered", n)
	}
	for i := range 2 * maxThrottled {
		th.failed(string(rune(i)), "a")
	}
	if d := th.delay("bob", "a"); d != maxFailureDelay {
		t.Errorf("failures of many users make those of their address forgotten: %v", d)
	}
}

// TestHalfOpenConnectionsMakeRoomForEachOther: the oldest of the address that has most ends for the next one, and no
// session does.
func TestHalfOpenConnectionsMakeRoomForEachOther(t *testing.T) {
	s := newSlots(Limits{Connections: 10, PerAddress: 2}, func(string) {})
	alice := &conn{host: "alice's"}
	s.enter(alice)
	if s.authenticated(alice) != nil || s.take(alice) != nil {
		t.Fatal("no session")
	}
	late := &conn{host: "late"}
	evictions := map[*conn]int{}
	for i := range 5000 {
		if i == 4000 {
			s.enter(late)
		}
		if c := s.enter(&conn{host: string(rune('0' + i%60))}); c != nil {
			evictions[c]++
		}
	}
	if evictions[alice] > 0 || evictions[late] > 0 || s.waiting != maxHalfOpen {
		t.Errorf("session evicted: %d, another address evicted: %d, %d half open", evictions[alice], evictions[late],
			s.waiting)
	}
	if len(evictions) != 5000-maxHalfOpen { // and the one for late
		t.Errorf("%d evictions, want %d", len(evictions), 5000-maxHalfOpen)
	}
	for c, n := range evictions {
		if n != 1 || s.authenticated(c) == nil {
			t.Fatalf("evicted %d times, or let in afterwards", n)
		}
	}
	if err := s.authenticated(late); err != nil {
		t.Error(err)
	}
	s.leave(alice)
	s.leave(late)
	if s.total != 0 || len(s.sessions) != 0 || len(s.halfOpen) != 60 {
		t.Errorf("%d sessions of %d addresses, %d addresses half open", s.total, len(s.sessions), len(s.halfOpen))
	}
}

// TestOneNetworkMakesRoomForOthers: a connection stays beside those of a network whose addresses have one each, however
// many come.
func TestOneNetworkMakesRoomForOthers(t *testing.T) {
	s := newSlots(Limits{Connections: 10, PerAddress: 2}, func(string) {})
	late := &conn{host: "192.0.2.1"}
	s.enter(late)
	for i := range 4 * maxHalfOpen {
		s.enter(&conn{host: fmt.Sprintf("2001:db8:0:%x::", i)})
	}
	if err := s.authenticated(late); err != nil {
		t.Error(err)
	}
	s = newSlots(Limits{Connections: 10, PerAddress: 2}, func(string) {})
	for i := range 3 * maxHalfOpen { // of as many networks: the oldest goes
		host := fmt.Sprintf("10.%d.%d.1", i/256, i%256)
		if c := s.enter(&conn{host: host}); c != nil && c.entered != i+1-maxHalfOpen {
			t.Fatalf("connection %d makes room for connection %d", c.entered, i+1)
		}
	}
}

func TestInboxIsBounded(t *testing.T) {
	b := newInbox(1000, nil)
	done := make(chan struct{})
	reserve := func(n int) bool {
		_, ok, full := b.reserve(n, done)
		return ok && full == nil
	}
	if !reserve(5000) {
		t.Fatal("an empty inbox refused a large message")
	}
	b.put(frame{body: make([]byte, 5000)})
	blocked := make(chan bool)
	go func() { blocked <- reserve(10) }()
	select {
	case <-blocked:
		t.Fatal("a full inbox took a message")
	case <-time.After(20 * time.Millisecond):
	}
	f, ok, _, err := b.take()
	if !ok || err != nil || len(f.body) != 5000 {
		t.Fatalf("took %d bytes, %v, %v", len(f.body), ok, err)
	}
	b.release(f)
	if !<-blocked {
		t.Error("reserve gave up")
	}
	go func() { blocked <- reserve(5000) }()
	close(done)
	if <-blocked {
		t.Error("reserve outlived the connection")
	}
}

// TestInboxWaitsForMemory while it holds messages, whose end makes room; an empty one has nothing to wait for, and
// refuses.
func TestInboxWaitsForMemory(t *testing.T) {
	budget := memory.New(16 * messageCopies * 1000)
	other, account := budget.Open("alice"), budget.Open("alice")
	b, done := newInbox(1<<20, account), make(chan struct{})
	hold, ok, full := b.reserve(3000, done)
	if full != nil || !ok {
		t.Fatal(full, ok)
	}
	first := frame{body: make([]byte, 3000), hold: hold}
	b.put(first)
	waited := make(chan error)
	go func() {
		_, _, full := b.reserve(2000, done)
		waited <- full
	}()
	select {
	case <-waited:
		t.Fatal("a message was taken for which there is no memory")
	case <-time.After(20 * time.Millisecond):
	}
	f, _, _, _ := b.take()
	b.release(f)
	if full := <-waited; full != nil {
		t.Errorf("once there is room: %v", full)
	}
	if _, err := other.Take(messageCopies * 4000); err != nil {
		t.Fatal(err)
	}
	empty := newInbox(1<<20, account)
	if _, ok, full := empty.reserve(4000, done); full == nil || !ok {
		t.Error("a message was taken beyond the analyst's share")
	}
}

// TestEmptyMessagesAreCounted: there is no end to them but that of memory, whatever the inbox may hold.
func TestEmptyMessagesAreCounted(t *testing.T) {
	budget := memory.New(1 << 20)
	b, done := newInbox(4<<20, budget.Open("alice")), make(chan struct{})
	close(done)
	taken := 0
	for {
		hold, ok, full := b.reserve(0, done)
		if full != nil {
			t.Fatal(full)
		}
		if !ok {
			break
		}
		b.put(frame{kind: 'S', hold: hold})
		taken++
	}
	if most := 1 + 1<<18/(2*frameOverhead); taken != most {
		t.Errorf("%d empty messages were taken, want %d", taken, most)
	}
	for range taken {
		f, _, _, _ := b.take()
		b.release(f)
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes are counted of nothing", used)
	}
}

// TestErrorFields holds that no field but S V C M D H P leaves, and that S V C M always do.
func TestErrorFields(t *testing.T) {
	full := &pgconn.PgError{
		Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "22012", Message: "m\x00", Detail: "d", Hint: "h",
		Position:         3,
		InternalPosition: 4, InternalQuery: "q", Where: "w", SchemaName: "s", TableName: "t", ColumnName: "c",
		DataTypeName: "y", ConstraintName: "n", File: "f", Line: 5, Routine: "r",
	}
	want := pgproto3.ErrorResponse{
		Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "22012", Message: "m",
		Detail: "d", Hint: "h", Position: 3,
	}
	if got := response(full); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want = pgproto3.ErrorResponse{
		Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "XX000",
		Message: "unspecified error",
	}
	if got := response(&pgconn.PgError{}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPeers: who may do without TLS, and which connections count as one peer's.
func TestPeers(t *testing.T) {
	for address, want := range map[net.Addr]struct {
		host string
		near bool
	}{
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}:                       {"127.0.0.1", true},
		&net.TCPAddr{IP: net.IPv6loopback}:                             {"::1", true},
		&net.UnixAddr{Name: "/tmp/s", Net: "unix"}:                     {"unix", true},
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}:               {"10.0.0.1", false},
		&net.TCPAddr{IP: net.ParseIP("::ffff:10.0.0.1")}:               {"10.0.0.1", false},
		&net.TCPAddr{IP: net.ParseIP("2001:db8::1")}:                   {"2001:db8::", false},
		&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:3:4:5:6")}:          {"2001:db8:1:2::", false},
		&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:ffff::1"), Port: 2}: {"2001:db8:1:2::", false},
	} {
		if host, near := hostOf(address), local(address); host != want.host || near != want.near {
			t.Errorf("%v counts as %s, near %v; want %v", address, host, near, want)
		}
	}
	if host := hostOf(Inside{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9}}); host != "10.0.0.1" {
		t.Errorf("a connection of this process counts as %s", host)
	}
}

func TestAcceptErrors(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EMFILE: true, &net.OpError{Op: "accept", Err: syscall.ENFILE}: true,
		net.ErrClosed: false, syscall.EBADF: false,
	} {
		if passing(err) != want {
			t.Errorf("%v passes: %v", err, !want)
		}
	}
}

func TestConfigNeedsItsParts(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a server without a handler")
	}
}

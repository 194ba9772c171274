package wire_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// code is the SQLSTATE of an error, its text where it is none of PostgreSQL's, and "" without one.
func code(err error) string {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return err.Error()
}

func TestConnectionLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits wire.Limits
		want   string
	}{
		"total":   {wire.Limits{Connections: 2}, "sorry, too many clients already"},
		"address": {wire.Limits{PerAddress: 2}, "too many connections from this address"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startServer(t, func(config *wire.Config) { config.Limits = c.limits })
			login(t, server.addr, "alice", "db", "secret")
			second := login(t, server.addr, "alice", "db", "secret").conn
			waitFor(t, "53300", func() bool {
				_, err := connectPgx(t, server.addr, "alice", nil, nil)
				return code(err) == "53300" && strings.Contains(err.Error(), "FATAL: "+c.want+" (SQLSTATE")
			})
			second.Close()
			waitFor(t, "a free place", func() bool {
				_, err := connectPgx(t, server.addr, "alice", nil, nil)
				return err == nil
			})
		})
	}
}

// waitFor polls: connections end a moment after their client has closed them.
func waitFor(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 500 {
		if f() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

// refusals counts connections that were refused, by reason.
type refusals struct{ total, address, startup, failures, errors atomic.Int32 }

func (*refusals) ConnectionOpened()             {}
func (*refusals) ConnectionClosed()             {}
func (*refusals) Message(string, time.Duration) {}
func (r *refusals) LoginFailed()                { r.failures.Add(1) }
func (r *refusals) ErrorSent(string)            { r.errors.Add(1) }
func (r *refusals) ConnectionRefused(reason string) {
	map[string]*atomic.Int32{"total": &r.total, "address": &r.address, "startup": &r.startup}[reason].Add(1)
}

// TestHalfOpenConnectionsTakeNoSlot: connections that say nothing, far more than there may be sessions, end each other
// and nobody's session; whoever has a password gets in beside them.
func TestHalfOpenConnectionsTakeNoSlot(t *testing.T) {
	var count refusals
	server := startServer(t, func(c *wire.Config) { c.Limits.Connections, c.Metrics = 2, &count })
	open := login(t, server.addr, "alice", "db", "secret")
	for range 400 {
		dial(t, server.addr)
	}
	waitFor(t, "the end of the oldest", func() bool { return count.startup.Load() == 400-256 })
	open.works(t, "the open session")
	login(t, server.addr, "alice", "db", "secret").works(t, "a session that begins beside them")
}

// TestMetrics counts what a careless client causes.
func TestMetrics(t *testing.T) {
	var count refusals
	server := startServer(t, func(c *wire.Config) { c.Metrics = &count })
	c := login(t, server.addr, "alice", "db", "secret")
	c.ask(t, "SELECT nosuch")
	c.ask(t, "SELECT 1 AS one")
	if err := newClient(dial(t, server.addr)).start("alice", "db", "wrong"); err == nil {
		t.Fatal("logged in with a wrong password")
	}
	// An error counts once the client has it, which comes after the refusal.
	waitFor(t, "the refusal and its error", func() bool { return count.startup.Load() == 1 && count.errors.Load() >= 2 })
	if count.failures.Load() != 1 || count.errors.Load() != 2 || count.total.Load() != 0 {
		t.Errorf("%d failed logins, %d errors, %d over the limit; want 1, 2, 0", count.failures.Load(), count.errors.Load(),
			count.total.Load())
	}
}

func TestLargeMessages(t *testing.T) {
	server := startServer(t, func(c *wire.Config) { c.Limits.Message = 1000 })
	c := login(t, server.addr, "alice", "db", "secret")
	long := "SELECT '" + strings.Repeat("x", 2000) + "'"
	if got := strings.Join(c.ask(t, long), "\n"); got !=
		"ErrorResponse ERROR 54000 message of 2010 bytes exceeds the limit of 1000\nReadyForQuery I" {
		t.Errorf("long query: %s", got)
	}
	c.send(t, &pgproto3.Parse{Query: long}, &pgproto3.Bind{}, &pgproto3.Sync{})
	if got := strings.Join(c.until(t, "ReadyForQuery", 1), "\n"); got != "ErrorResponse ERROR 54000 message of 2013 bytes exceeds the limit of 1000\nReadyForQuery I" {
		t.Errorf("long Parse: %s", got)
	}
	c.works(t, "afterwards")
	c.conn.Write([]byte{'Q', 0x7f, 0xff, 0xff, 0xff})
	if got := c.until(t, "ErrorResponse", 1); got[0] != "ErrorResponse FATAL 08P01 invalid message length" {
		t.Errorf("2 GiB: %q", got)
	}
}

// TestImpossibleLengths ends the connection: nobody knows where the next message begins.
func TestImpossibleLengths(t *testing.T) {
	server := startServer(t, nil)
	for _, header := range []string{"Q\x00\x00\x00\x00", "Q\x00\x00\x00\x03", "S\xff\xff\xff\xff"} {
		c := login(t, server.addr, "alice", "db", "secret")
		c.conn.Write([]byte(header))
		if got := c.until(t, "ErrorResponse", 1); got[0] != "ErrorResponse FATAL 08P01 invalid message length" {
			t.Errorf("%q: %q", header, got)
		}
		if _, err := c.frontend.Receive(); err == nil {
			t.Errorf("%q: the connection goes on", header)
		}
	}
}

// TestWritingWithoutReading sends some megabytes of statements before it reads one reply; the replies are larger than
// any socket buffer.
func TestWritingWithoutReading(t *testing.T) {
	server := startServer(t, func(c *wire.Config) { c.Limits.Pipeline = 64 << 20 })
	c := login(t, server.addr, "alice", "db", "secret")
	const statements = 20
	comment := "/*" + strings.Repeat(" ", 100_000) + "*/"
	for range statements {
		c.send(t, &pgproto3.Parse{Query: comment}, &pgproto3.Bind{}, &pgproto3.Execute{})
		c.send(t, &pgproto3.Parse{Query: "SELECT n FROM generate_series(1, 200000) AS n"}, &pgproto3.Bind{},
			&pgproto3.Execute{}, &pgproto3.Sync{})
	}
	rows := 0
	for ready := 0; ready < statements; {
		message, err := c.frontend.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := message.(type) {
		case *pgproto3.DataRow:
			rows++
		case *pgproto3.ErrorResponse:
			t.Fatal(m.Message)
		case *pgproto3.ReadyForQuery:
			ready++
		}
	}
	if rows != statements*200000 {
		t.Errorf("%d rows, want %d", rows, statements*200000)
	}
}

// TestClientThatNeverReads is disconnected by the write timeout.
func TestClientThatNeverReads(t *testing.T) {
	server := startServer(t, func(c *wire.Config) {
		c.Timeouts.Write = 200 * time.Millisecond
		c.Limits.Pipeline = 1 << 10
	})
	c := login(t, server.addr, "alice", "db", "secret")
	c.conn.(*net.TCPConn).SetReadBuffer(4096)
	query := &pgproto3.Query{String: "SELECT n FROM generate_series(1, 200000) AS n"}
	for range 1000 {
		c.frontend.Send(query)
		if c.frontend.Flush() != nil {
			return // the server has closed the connection
		}
	}
	_, err := io.Copy(io.Discard, c.conn)
	if err != nil && strings.Contains(err.Error(), "timeout") {
		t.Error("the connection is still open")
	}
}

func TestGoneClientCancels(t *testing.T) {
	server := startServer(t, nil)
	c := login(t, server.addr, "alice", "db", "secret")
	c.send(t, &pgproto3.Query{String: "SELECT pg_sleep(60)"})
	waitFor(t, "the statement", func() bool { return server.engine.sleeping.Load() == 1 })
	c.conn.Close()
	waitFor(t, "its end", func() bool { return server.engine.sleeping.Load() == 0 })
}

func TestCancelNeedsTheSecret(t *testing.T) {
	server := startServer(t, nil)
	c := login(t, server.addr, "alice", "db", "secret")
	c.send(t, &pgproto3.Query{String: "SELECT pg_sleep(60)"})
	waitFor(t, "the statement", func() bool { return server.engine.sleeping.Load() == 1 })
	guess := *c
	guess.secret = append([]byte(nil), c.secret...)
	guess.secret[0] ^= 1
	guess.cancel(t)
	guess.pid, guess.secret = c.pid+1, c.secret
	guess.cancel(t)
	if server.engine.sleeping.Load() != 1 {
		t.Fatal("a wrong key canceled the statement")
	}
	c.cancel(t)
	if got := c.until(t, "ReadyForQuery", 1); got[1] !=
		"ErrorResponse ERROR 57014 canceling statement due to user request" {
		t.Errorf("%q", got)
	}
}

func TestCancelOverTLS(t *testing.T) {
	ca := newAuthority(t)
	server := startTLSServer(t, ca, nil)
	conn, err := connectPgx(t, server.addr, "alice", clientTLS(ca), nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT pg_sleep(60)").ReadAll()
		done <- err
	}()
	waitFor(t, "the statement", func() bool { return server.engine.sleeping.Load() == 1 })
	if err := conn.CancelRequest(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; code(err) != "57014" {
		t.Errorf("got %v", err)
	}
}

func TestShutdown(t *testing.T) {
	server := startServer(t, nil)
	idle := login(t, server.addr, "alice", "db", "secret")
	busy := login(t, server.addr, "alice", "db", "secret")
	busy.send(t, &pgproto3.Query{String: "SELECT pg_sleep(60)"})
	waitFor(t, "the statement", func() bool { return server.engine.sleeping.Load() == 1 })
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(ctx) }()
	const want = "ErrorResponse FATAL 57P01 terminating connection due to administrator command"
	if got := idle.until(t, "ErrorResponse", 1); got[0] != want {
		t.Errorf("idle: %q", got)
	}
	if server.engine.sleeping.Load() != 1 && ctx.Err() == nil {
		t.Error("the running statement was not given its time")
	}
	if got := busy.until(t, "ErrorResponse", 1); got[len(got)-1] != want {
		t.Errorf("busy: %q", got)
	}
	if err := <-stopped; err != context.DeadlineExceeded {
		t.Errorf("Shutdown returned %v", err)
	}
	if conn, err := net.Dial("tcp", server.addr); err == nil {
		conn.Close()
		t.Error("the listener is still open")
	}
}

// TestShutdownWaits lets a batch that has begun come to its Sync.
func TestShutdownWaits(t *testing.T) {
	server := startServer(t, nil)
	c := login(t, server.addr, "alice", "db", "secret")
	c.send(t, &pgproto3.Parse{Query: "SELECT 1 AS one"}, &pgproto3.Flush{})
	c.until(t, "ParseComplete", 1)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	waitFor(t, "the end of accepting", func() bool {
		conn, err := net.Dial("tcp", server.addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	c.send(t, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	got := c.until(t, "ErrorResponse", 1)
	if len(got) != 5 || got[1] != `DataRow "1"` || !strings.Contains(got[4], "57P01") {
		t.Errorf("%q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Shutdown returned %v", err)
	}
}

// TestLoginBesideAFlood: thousands of connections that say nothing, of sixty addresses, and more all the time. A
// session that is open goes on, and whoever has a password and an address of their own gets in at the first attempt.
func TestLoginBesideAFlood(t *testing.T) {
	const many, addresses = 2000, 60
	files := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if files.Cur = files.Max; files.Cur < 3*many {
		t.Skipf("%d files may be open", files.Cur)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	server := startServer(t, nil)
	open := login(t, server.addr, "alice", "db", "secret")
	flood := func(i int) (net.Conn, error) {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%addresses))}
		return (&net.Dialer{LocalAddr: from}).Dial("tcp", server.addr)
	}
	for i := range many {
		conn, err := flood(i)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	done, end := context.WithCancel(context.Background())
	var more atomic.Int64
	var flooding sync.WaitGroup
	flooding.Go(func() {
		for i := 0; done.Err() == nil; i++ {
			conn, err := flood(i)
			if err != nil {
				continue // as many as the system lets
			}
			more.Add(1)
			defer conn.Close()
			if more.Load() == many {
				return
			}
		}
	})
	for range 10 {
		if before := more.Load(); before < many {
			waitFor(t, "more of the flood", func() bool { return more.Load() > before })
		}
		login(t, server.addr, "alice", "db", "secret").works(t, "a session beside the flood")
		open.works(t, "the session that was open")
	}
	end()
	flooding.Wait()
	t.Logf("%d connections that say nothing", many+more.Load())
}

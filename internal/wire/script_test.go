package wire_test

import (
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

// TestScripts runs testdata/script against this package, the session and the fake engine. -rewrite updates them: look
// at TestScriptsOnPostgreSQL before you commit.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		server := startServer(t, nil)
		s := &script{target: "dpproxy", engine: server.engine, connect: func() *client {
			return login(t, server.addr, "alice", "alice", "secret")
		}}
		datadriven.RunTest(t, path, s.run)
	})
}

// TestScriptsOnPostgreSQL runs the same scripts against PostgreSQL itself. Blocks with only=dpproxy are the known
// differences; each is followed by one with only=postgres.
func TestScriptsOnPostgreSQL(t *testing.T) {
	connect := postgres(t)
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{target: "postgres", connect: connect}
		datadriven.RunTest(t, path, s.run)
	})
}

// postgres returns a function that connects to a database of PostgreSQL itself.
func postgres(t *testing.T) func() *client {
	t.Helper()
	server, database := pgservertest.Database(t)
	config, err := pgconn.ParseConfig(server.DSN(database, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	network, addr := pgconn.NetworkAddress(config.Host, config.Port)
	return func() *client {
		conn, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		c := newClient(conn)
		if err := c.start(config.User, config.Database, config.Password, "TimeZone", "UTC"); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// script holds the connections of one file.
type script struct {
	target  string
	engine  *fakeEngine
	connect func() *client
	clients map[string]*client
}

// run is one block. The commands:
//
//	exchange   sends the messages in the input, then reads up to as many ReadyForQuery as they ask for
//	send       sends and reads nothing; recv reads
//	cancel     sends CancelRequests until the connection answers, then reads up to ReadyForQuery, without row descriptions
//	charges    prints what the engine has charged since the last time
//
// and their arguments: conn=NAME, until=MESSAGE, n=COUNT, only=dpproxy or only=postgres. wiretest.Messages says how
// messages are written.
func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	if only, ok := arg(d, "only"); ok && only != s.target {
		if os.Getenv("WIRE_SCRIPT_DEBUG") != "" {
			t.Logf("%s: skipped on %s", d.Pos, s.target)
		}
		return d.Expected
	}
	if d.Cmd == "charges" {
		if s.engine == nil {
			return d.Expected
		}
		return s.charges()
	}
	c := s.client(d)
	messages := wiretest.Messages(t, d.Input)
	if len(messages) > 0 {
		c.send(t, messages...)
	}
	if d.Cmd == "send" {
		return ""
	}
	until, ready := "ReadyForQuery", 0
	for _, m := range messages {
		switch m.(type) {
		case *pgproto3.Query, *pgproto3.Sync:
			ready++
		}
	}
	if d.Cmd == "cancel" {
		c.cancelUntilAnswered(t)
		ready = 1
	}
	if u, ok := arg(d, "until"); ok {
		until, ready = u, 1
	}
	if n, ok := arg(d, "n"); ok {
		ready, _ = strconv.Atoi(n)
	}
	lines := c.until(t, until, ready)
	if d.Cmd == "cancel" { // it comes before or after the row description, as it happens
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "RowDescription") })
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *script) client(d *datadriven.TestData) *client {
	name, _ := arg(d, "conn")
	if s.clients == nil {
		s.clients = map[string]*client{}
	}
	if s.clients[name] == nil {
		s.clients[name] = s.connect()
	}
	return s.clients[name]
}

func (s *script) charges() string {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	out := strings.Join(append([]string{strconv.Itoa(len(s.engine.charged))}, s.engine.charged...), "\n") + "\n"
	s.engine.charged = nil
	return out
}

func arg(d *datadriven.TestData, key string) (string, bool) {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) == 1 {
			return a.Vals[0], true
		}
	}
	return "", false
}

// cancelUntilAnswered repeats the request: one that comes before the statement runs does nothing, by design.
func (c *client) cancelUntilAnswered(t *testing.T) {
	t.Helper()
	for range 200 {
		c.cancel(t)
		c.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := c.peek()
		c.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if err == nil {
			return
		}
	}
	t.Fatal("no answer to a cancel request")
}

// cancel sends one CancelRequest on a connection of its own and waits until the server has closed it.
func (c *client) cancel(t testing.TB) {
	t.Helper()
	conn, err := net.Dial(c.conn.RemoteAddr().Network(), c.conn.RemoteAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	request, err := (&pgproto3.CancelRequest{ProcessID: c.pid, SecretKey: c.secret}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(request); err != nil {
		t.Fatal(err)
	}
	if n, _ := conn.Read(make([]byte, 1)); n != 0 {
		t.Error("a CancelRequest was answered")
	}
}

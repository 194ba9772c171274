package wire_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/xdg-go/scram"

	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

// client speaks the protocol message by message, through pgx's codec, which is independent of the server's.
type client struct {
	conn     net.Conn
	in       *peekable
	frontend *pgproto3.Frontend
	pid      uint32
	secret   []byte
	params   map[string]string
	notices  []string
}

// login opens a session and reads up to the first ReadyForQuery.
func login(t testing.TB, addr, user, database, password string, parameters ...string) *client {
	t.Helper()
	c := newClient(dial(t, addr))
	if err := c.start(user, database, password, parameters...); err != nil {
		t.Fatalf("log in as %s: %v", user, err)
	}
	return c
}

func newClient(conn net.Conn) *client { return &client{conn: conn, params: map[string]string{}} }

// works asks for 1.
func (c *client) works(t testing.TB, when string) {
	t.Helper()
	if got := c.ask(t, "SELECT 1 AS one"); got[1] != `DataRow "1"` {
		t.Errorf("%s: %q", when, got)
	}
}

// peek waits for the next byte without taking it from the codec.
func (c *client) peek() (byte, error) {
	return c.in.peek()
}

// peekable is a reader that can look one byte ahead.
type peekable struct {
	conn net.Conn
	next []byte
}

func (p *peekable) peek() (byte, error) {
	if len(p.next) == 0 {
		var b [1]byte
		if _, err := p.conn.Read(b[:]); err != nil {
			return 0, err
		}
		p.next = b[:]
	}
	return p.next[0], nil
}

func (p *peekable) Read(b []byte) (int, error) {
	if len(p.next) > 0 {
		n := copy(b, p.next)
		p.next = p.next[n:]
		return n, nil
	}
	return p.conn.Read(b)
}

func (c *client) start(user, database, password string, parameters ...string) error {
	c.in = &peekable{conn: c.conn}
	c.frontend = pgproto3.NewFrontend(c.in, c.conn)
	startup := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{
		"user": user, "database": database,
	}}
	for i := 0; i < len(parameters); i += 2 {
		startup.Parameters[parameters[i]] = parameters[i+1]
	}
	c.frontend.Send(startup)
	if err := c.frontend.Flush(); err != nil {
		return err
	}
	return c.authenticate(password)
}

func (c *client) authenticate(password string) error {
	var conversation *scram.ClientConversation
	for {
		message, err := c.frontend.Receive()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.AuthenticationSASL:
			account, err := scram.SHA256.NewClient("", password, "")
			if err != nil {
				return err
			}
			conversation = account.NewConversation()
			first, err := conversation.Step("")
			if err != nil {
				return err
			}
			c.frontend.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte(first)})
		case *pgproto3.AuthenticationSASLContinue:
			final, err := conversation.Step(string(m.Data))
			if err != nil {
				return err
			}
			c.frontend.Send(&pgproto3.SASLResponse{Data: []byte(final)})
		case *pgproto3.AuthenticationSASLFinal:
			if _, err := conversation.Step(string(m.Data)); err != nil {
				return err
			}
		case *pgproto3.ParameterStatus:
			c.params[m.Name] = m.Value
		case *pgproto3.BackendKeyData:
			c.pid, c.secret = m.ProcessID, append([]byte(nil), m.SecretKey...)
		case *pgproto3.NoticeResponse:
			c.notices = append(c.notices, m.Message)
		case *pgproto3.ErrorResponse:
			return fmt.Errorf("%s %s: %s", m.Severity, m.Code, m.Message)
		case *pgproto3.ReadyForQuery:
			return nil
		}
		if err := c.frontend.Flush(); err != nil {
			return err
		}
	}
}

func (c *client) send(t testing.TB, messages ...pgproto3.FrontendMessage) {
	t.Helper()
	for _, m := range messages {
		c.frontend.Send(m)
	}
	if err := c.frontend.Flush(); err != nil {
		t.Fatal(err)
	}
}

// until reads messages, rendered, up to and including the count-th of one kind.
func (c *client) until(t testing.TB, kind string, count int) []string {
	t.Helper()
	var lines []string
	for count > 0 {
		message, err := c.frontend.Receive()
		if err != nil {
			t.Fatalf("after %q: %v", lines, err)
		}
		line := wiretest.Render(message)
		lines = append(lines, line)
		if name, _, _ := strings.Cut(line, " "); name == kind {
			count--
		}
	}
	return lines
}

// ask runs one simple query and returns everything up to ReadyForQuery.
func (c *client) ask(t testing.TB, sql string) []string {
	t.Helper()
	c.send(t, &pgproto3.Query{String: sql})
	return c.until(t, "ReadyForQuery", 1)
}

package wire_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/wire"
	"github.com/dpproxy/dpproxy/internal/wire/wiretest"
)

// packetOf builds a packet without a type byte.
func packetOf(code uint32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	return append(binary.BigEndian.AppendUint32(b, code), body...)
}

const (
	sslRequest = 80877103
	gssRequest = 80877104
	version30  = 196608
)

// alice is her startup message.
var alice = packetOf(version30, "user\x00alice\x00\x00")

// answer sends bytes and reads a message, again and again on one connection, and returns the last message, or nil if
// the server has closed the connection instead.
func answer(t *testing.T, addr string, sent ...[]byte) (message pgproto3.BackendMessage) {
	t.Helper()
	conn := dial(t, addr)
	frontend := pgproto3.NewFrontend(conn, conn)
	for i, bytes := range sent {
		_, err := conn.Write(bytes)
		if err == nil {
			message, err = frontend.Receive()
		}
		if i == len(sent)-1 && err != nil {
			return nil
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return message
}

// reply is an answer as scripts have it.
func reply(t *testing.T, addr string, sent ...[]byte) string {
	t.Helper()
	if message := answer(t, addr, sent...); message != nil {
		return wiretest.Render(message)
	}
	return "closed"
}

func TestStartupRefusals(t *testing.T) {
	server := startServer(t, nil)
	for name, c := range map[string]struct {
		sent []byte
		want string
	}{
		"length 4 GiB": {
			[]byte{0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0},
			"ErrorResponse FATAL 08P01 invalid length of startup packet",
		},
		"length 7": {[]byte{0, 0, 0, 7, 0, 3, 0, 0}, "ErrorResponse FATAL 08P01 invalid length of startup packet"},
		"length over 10000": {
			[]byte{0, 0, 0x27, 0x11, 0, 3, 0, 0},
			"ErrorResponse FATAL 08P01 invalid length of startup packet",
		},
		"HTTP": {
			[]byte("GET / HTTP/1.1\r\n\r\n"),
			"ErrorResponse FATAL 08P01 invalid length of startup packet",
		},
		"protocol 2": {
			packetOf(2<<16, "user\x00a\x00\x00"),
			"ErrorResponse FATAL 0A000 unsupported frontend protocol 2.0: server supports 3.0 to 3.0",
		},
		"no user": {
			packetOf(version30, "database\x00a\x00\x00"),
			"ErrorResponse FATAL 28000 no PostgreSQL user name specified in startup packet",
		},
		"no terminator": {
			packetOf(version30, "user\x00a\x00"),
			"ErrorResponse FATAL 08P01 invalid startup packet layout: expected terminator as last byte",
		},
		"bytes behind it": {
			packetOf(version30, "user\x00a\x00\x00x"),
			"ErrorResponse FATAL 08P01 invalid startup packet layout: expected terminator as last byte",
		},
		"value cut off": {
			packetOf(version30, "user\x00a"),
			"ErrorResponse FATAL 08P01 invalid startup packet layout: expected terminator as last byte",
		},
		"replication": {
			packetOf(version30, "user\x00a\x00replication\x00database\x00\x00"),
			"ErrorResponse FATAL 0A000 replication connections are not supported",
		},
		"-c without value": {
			packetOf(version30, "user\x00a\x00options\x00-c\x00\x00"),
			"ErrorResponse FATAL 42601 option requires an argument: -c",
		},
		"unknown switch": {
			packetOf(version30, "user\x00a\x00options\x00-Z\x00\x00"),
			"ErrorResponse FATAL 42601 invalid command-line argument for server process: -Z",
		},
		"setting without =": {
			packetOf(version30, "user\x00a\x00options\x00--jit\x00\x00"),
			"ErrorResponse FATAL 42601 --jit requires a value",
		},
		"cut off": {[]byte{0, 0, 0, 20, 0, 3}, "closed"},
		"second SSLRequest": {
			append([]byte{}, packetOf(sslRequest, "x")...),
			"ErrorResponse FATAL 0A000 unsupported frontend protocol 1234.5679: server supports 3.0 to 3.0",
		},
		"direct TLS, no TLS":  {[]byte{0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5}, "closed"},
		"replication off":     {packetOf(version30, "user\x00a\x00replication\x00off\x00\x00"), "AuthenticationSASL"},
		"mechanisms":          {alice, "AuthenticationSASL"},
		"user without policy": {packetOf(version30, "user\x00nobody\x00\x00"), "AuthenticationSASL"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off" {
				conn := dial(t, server.addr)
				conn.Write(c.sent)
				conn.(*net.TCPConn).CloseWrite()
				if b, err := io.ReadAll(conn); err != nil || len(b) > 0 {
					t.Errorf("got %q, %v; want a closed connection", b, err)
				}
				return
			}
			if got := reply(t, server.addr, c.sent); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestNegotiationRequests sends the requests that come before the startup message, in both orders.
func TestNegotiationRequests(t *testing.T) {
	server := startServer(t, nil)
	for _, order := range [][]uint32{{sslRequest, gssRequest}, {gssRequest, sslRequest}, {gssRequest}, {sslRequest}} {
		conn := dial(t, server.addr)
		for _, code := range order {
			conn.Write(packetOf(code, ""))
			var answer [1]byte
			if _, err := io.ReadFull(conn, answer[:]); err != nil || answer[0] != 'N' {
				t.Fatalf("request %d: %q, %v", code, answer, err)
			}
		}
		if err := newClient(conn).start("alice", "db", "secret"); err != nil {
			t.Errorf("after %v: %v", order, err)
		}
	}
}

// TestVersionNegotiation asks for newer minor versions and protocol extensions, and gets 3.0.
func TestVersionNegotiation(t *testing.T) {
	server := startServer(t, nil)
	for _, c := range []struct {
		version    uint32
		parameters string
		unknown    []string
	}{
		{version30 + 2, "", nil},
		{version30 + 9999, "_pq_.test_protocol_negotiation\x00\x00", []string{"_pq_.test_protocol_negotiation"}},
		{version30, "_pq_.a\x001\x00_pq_.b\x002\x00", []string{"_pq_.a", "_pq_.b"}},
	} {
		sent := packetOf(c.version, "user\x00alice\x00"+c.parameters+"\x00")
		message := answer(t, server.addr, sent)
		v, ok := message.(*pgproto3.NegotiateProtocolVersion)
		if !ok || v.NewestMinorProtocol != version30 || strings.Join(v.UnrecognizedOptions, " ") != strings.Join(
			c.unknown, " ") {
			t.Errorf("version %x: got %#v", c.version, message)
		}
		if then := reply(t, server.addr, sent, nil); then != "AuthenticationSASL" {
			t.Errorf("version %x: then %s", c.version, then)
		}
	}
}

func TestStartupParameters(t *testing.T) {
	server := startServer(t, nil)
	c := login(t, server.addr, "alice", "db", "secret",
		"application_name", "test", "DateStyle", "ISO, DMY", "TimeZone", "Europe/Paris", "nosuch", "x", "client_encoding",
		"UTF8",
		"options", `-c extra_float_digits=2 --search-path=a\ b -cwork_mem=1MB`, "extra_float_digits", "3")
	for name, want := range map[string]string{
		"application_name": "test", "DateStyle": "ISO, DMY", "TimeZone": "Europe/Paris", "client_encoding": "UTF8",
		"is_superuser":          "off",
		"session_authorization": "alice", "standard_conforming_strings": "on", "integer_datetimes": "on",
		"server_encoding": "UTF8",
		"server_version":  "15.18", "IntervalStyle": "postgres", "default_transaction_read_only": "off",
		"in_hot_standby": "off",
	} {
		if got := c.params[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(c.params) != 13 {
		t.Errorf("%d parameters reported: %v", len(c.params), c.params)
	}
	if len(c.notices) != 1 || c.notices[0] != `ignored startup parameter "nosuch"` {
		t.Errorf("notices %q", c.notices)
	}
	for sql, want := range map[string]string{
		"SHOW extra_float_digits": `DataRow "3"`, "SHOW search_path": `DataRow "a b"`,
		"SHOW work_mem": `DataRow "1MB"`,
	} {
		if got := c.ask(t, sql); got[1] != want {
			t.Errorf("%s: %s, want %s", sql, got[1], want)
		}
	}
	// RESET goes back to what the client asked for.
	c.ask(t, "SET TimeZone = 'UTC'")
	if got := c.ask(t, "RESET ALL"); got[1] != "ParameterStatus TimeZone=Europe/Paris" {
		t.Errorf("RESET ALL: %q", got)
	}
	if err := newClient(dial(t, server.addr)).start("alice", "db", "secret", "client_encoding", "BIG5"); err == nil ||
		!strings.HasPrefix(err.Error(), "FATAL 22023") {
		t.Errorf("client_encoding=LATIN1: %v", err)
	}
}

// TestSilentPeers holds that nobody stays in the startup phase longer than its deadline.
func TestSilentPeers(t *testing.T) {
	server := startServer(t, func(c *wire.Config) { c.Timeouts.Startup = 200 * time.Millisecond })
	for name, sent := range map[string][]byte{
		"nothing": nil, "half a packet": {0, 0, 0}, "no password": alice, "after SSLRequest": packetOf(sslRequest, ""),
	} {
		conn := dial(t, server.addr)
		conn.Write(sent)
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: %v; want a closed connection", name, err)
		}
	}
}

// TestPasswordMessages sends what is not a password in its place.
func TestPasswordMessages(t *testing.T) {
	server := startServer(t, nil)
	for name, c := range map[string]struct {
		sent []byte
		want string
	}{
		"4 GiB": {[]byte{'p', 0xff, 0xff, 0xff, 0xff}, "ErrorResponse FATAL 08P01 invalid message length"},
		"over the limit": {
			[]byte{'p', 0, 1, 0, 0},
			"ErrorResponse FATAL 08P01 invalid message length: 65532 bytes during authentication",
		},
		"another type": {
			[]byte("Q\x00\x00\x00\x0dSELECT 1\x00"),
			"ErrorResponse FATAL 08P01 expected SASL response, got message type 81",
		},
		"bind": {
			[]byte("B\x00\x00\x00\x06\x00\x00"),
			"ErrorResponse FATAL 08P01 expected SASL response, got message type 66",
		},
		"one NUL":        {[]byte("p\x00\x00\x00\x05\x00"), "ErrorResponse FATAL 08P01 insufficient data left in message"},
		"mechanism only": {[]byte("p\x00\x00\x00\x06a\x00"), "ErrorResponse FATAL 08P01 insufficient data left in message"},
		"short length": {
			[]byte("p\x00\x00\x00\x09a\x00\x00\x00\x00"),
			"ErrorResponse FATAL 08P01 insufficient data left in message",
		},
		"wrong length": {
			[]byte("p\x00\x00\x00\x0aa\x00\x00\x00\x00\x09"),
			"ErrorResponse FATAL 08P01 invalid message format",
		},
		"other mechanism": {
			sasl("SCRAM-SHA-1", "n,,n=,r=x"),
			"ErrorResponse FATAL 08P01 client selected an invalid SASL authentication mechanism",
		},
		"PLUS without TLS": {
			sasl("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=x"),
			"ErrorResponse FATAL 08P01 client selected an invalid SASL authentication mechanism",
		},
		"nonsense":         {sasl("SCRAM-SHA-256", "nonsense"), "ErrorResponse FATAL 08P01 malformed SCRAM message"},
		"another identity": {sasl("SCRAM-SHA-256", "n,a=bob,n=,r=x"), "ErrorResponse FATAL 08P01 malformed SCRAM message"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reply(t, server.addr, alice, c.sent); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func sasl(mechanism, data string) []byte {
	body := append([]byte(mechanism), 0)
	body = append(binary.BigEndian.AppendUint32(body, uint32(len(data))), data...)
	return append(binary.BigEndian.AppendUint32([]byte{'p'}, uint32(len(body)+4)), body...)
}

// TestUnknownUsers holds that a user who does not exist cannot be told from one with another password.
func TestUnknownUsers(t *testing.T) {
	server := startServer(t, func(c *wire.Config) { c.MockSecret = bytes.Repeat([]byte{7}, 32) })
	challenge := func(user string) string {
		startup := packetOf(version30, "user\x00"+user+"\x00\x00")
		message := answer(t, server.addr, startup, sasl("SCRAM-SHA-256", "n,,n=*,r=nonce"))
		_, after, _ := strings.Cut(string(message.(*pgproto3.AuthenticationSASLContinue).Data), ",")
		return after
	}
	if a, b := challenge("nobody"), challenge("nobody"); a != b {
		t.Errorf("two salts for one unknown user: %s, %s", a, b)
	}
	if a, b := challenge("nobody"), challenge("someone"); a == b {
		t.Errorf("one salt for two unknown users: %s", a)
	}
	if a, b := challenge("nobody"), challenge("alice"); len(a) != len(b) || a[len(a)-7:] != b[len(b)-7:] {
		t.Errorf("an unknown user's challenge %q does not look like alice's %q", a, b)
	}
	for _, user := range []string{"alice", "nobody", "broken"} {
		err := newClient(dial(t, server.addr)).start(user, "db", "wrong")
		if want := `FATAL 28P01: password authentication failed for user "` + user + `"`; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", user, err, want)
		}
	}
	if err := newClient(dial(t, server.addr)).start("unreachable", "db", "x"); err == nil ||
		err.Error() != "FATAL XX000: internal error in dpproxy" {
		t.Errorf("verifier lookup failed: %v", err)
	}
}

package wire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// directory proves passwords itself, and knows one user.
type directory struct {
	testAuth
	asked *[]string
}

func (directory) ChecksPasswords() bool { return true }

func (d directory) CheckPassword(_ context.Context, user, password string) (string, bool, error) {
	*d.asked = append(*d.asked, user+":"+password)
	if user == "unreachable" {
		return "", false, errors.New("no directory at 10.0.0.7")
	}
	return user, user == "alice" && password == "secret", nil
}

// TestPasswordsInCleartext: only a client behind TLS is asked for one, and an empty one reaches no directory.
func TestPasswordsInCleartext(t *testing.T) {
	ca := newAuthority(t)
	var asked []string
	server := startTLSServer(t, ca, func(c *wire.Config) { c.Authenticator = directory{newAuth(), &asked} })
	for _, c := range []struct {
		name, user, password string
		tls                  *tls.Config
		code                 string
		asked                int
	}{
		{"right", "alice", "secret", clientTLS(ca), "", 1},
		{"wrong", "alice", "Secret", clientTLS(ca), "28P01", 1},
		{"nobody", "eve", "secret", clientTLS(ca), "28P01", 1},
		{"the directory is away", "unreachable", "secret", clientTLS(ca), "XX000", 1},
		{"empty", "alice", "", clientTLS(ca), "28P01", 0},
		{"without TLS", "alice", "secret", nil, "28000", 0},
	} {
		asked = nil
		_, err := connectPgx(t, server.addr, c.user, c.tls, func(config *pgconn.Config) { config.Password = c.password })
		if code(err) != c.code {
			t.Errorf("%s: %v, want SQLSTATE %q", c.name, err, c.code)
		}
		if len(asked) != c.asked {
			t.Errorf("%s: the directory was asked %q", c.name, asked)
		}
	}
}

// within is a listener of this process: its connections say whose bytes they bring, and whether those were private on
// their way.
type within struct {
	net.Listener
	private bool
}

func (l within) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return brought{conn, l.private}, nil
}

type brought struct {
	net.Conn
	private bool
}

func (c brought) RemoteAddr() net.Addr {
	return wire.Inside{Addr: c.Conn.RemoteAddr(), Private: c.private}
}

// TestPasswordsFromWithin: a listener of this process that says that nobody read along is as good as TLS, and another
// one is not.
func TestPasswordsFromWithin(t *testing.T) {
	ca := newAuthority(t)
	var asked []string
	server := startTLSServer(t, ca, func(c *wire.Config) { c.Authenticator = directory{newAuth(), &asked} })
	for private, want := range map[bool]string{true: "", false: "28000"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = server.Serve(within{l, private}) }()
		asked = nil
		_, err = connectPgx(t, l.Addr().String(), "alice", nil, nil)
		if code(err) != want {
			t.Errorf("private %v: %v, want SQLSTATE %q", private, err, want)
		}
		if private != (len(asked) == 1) {
			t.Errorf("private %v: the directory was asked %q", private, asked)
		}
	}
}

package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/wire"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{cert: cert, key: key, pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

func (a *authority) issue(t testing.TB, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(
			-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth,
		},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func startTLSServer(t testing.TB, ca *authority, change func(*wire.Config)) *testServer {
	cert := ca.issue(t, "server")
	return startServer(t, func(c *wire.Config) {
		c.TLS = func() *tls.Config {
			return &tls.Config{
				Certificates: []tls.Certificate{cert}, ClientCAs: ca.pool,
				ClientAuth: tls.VerifyClientCertIfGiven,
			}
		}
		if change != nil {
			change(c)
		}
	})
}

func clientTLS(ca *authority) *tls.Config {
	return &tls.Config{RootCAs: ca.pool, ServerName: "127.0.0.1"}
}

// connectPgx logs in with pgx, whose SCRAM implementation is not ours.
func connectPgx(t testing.TB, addr, user string, config *tls.Config, change func(*pgconn.Config)) (
	*pgconn.PgConn, error,
) {
	t.Helper()
	c, err := pgconn.ParseConfig(fmt.Sprintf("postgres://%s:secret@%s/db?sslmode=disable", user, addr))
	if err != nil {
		t.Fatal(err)
	}
	c.TLSConfig = config
	if change != nil {
		change(c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func TestTLSWithChannelBinding(t *testing.T) {
	ca := newAuthority(t)
	server := startTLSServer(t, ca, nil)
	for name, change := range map[string]func(*pgconn.Config){
		"after SSLRequest": func(c *pgconn.Config) { c.ChannelBinding = "require" },
		"direct": func(c *pgconn.Config) {
			c.SSLNegotiation = "direct"
			c.TLSConfig.NextProtos = []string{"postgresql"}
			c.ChannelBinding = "require"
		},
		"without binding": func(c *pgconn.Config) { c.ChannelBinding = "disable" },
	} {
		conn, err := connectPgx(t, server.addr, "alice", clientTLS(ca), change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := conn.Exec(context.Background(), "SELECT 1 AS one").ReadAll(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTLSVersionsAndALPN(t *testing.T) {
	ca := newAuthority(t)
	server := startTLSServer(t, ca, nil)
	for name, c := range map[string]struct {
		config *tls.Config
		direct bool
		ok     bool
	}{
		"1.2":                 {&tls.Config{MaxVersion: tls.VersionTLS12}, false, true},
		"1.1":                 {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false, false},
		"direct":              {&tls.Config{NextProtos: []string{"postgresql"}}, true, true},
		"direct without ALPN": {&tls.Config{}, true, false},
		"direct, other ALPN":  {&tls.Config{NextProtos: []string{"h2"}}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.RootCAs, c.config.ServerName = ca.pool, "127.0.0.1"
			raw := dial(t, server.addr)
			if !c.direct {
				raw.Write(packetOf(sslRequest, ""))
				io.ReadFull(raw, make([]byte, 1))
			}
			conn := tls.Client(raw, c.config)
			err := conn.Handshake()
			if err == nil {
				err = newClient(conn).start("alice", "db", "secret")
			}
			if (err == nil) != c.ok {
				t.Errorf("got %v, want success %v", err, c.ok)
			}
		})
	}
}

// TestBytesBeforeTLS puts a whole startup message behind SSLRequest, as a man in the middle would (CVE-2021-23214).
func TestBytesBeforeTLS(t *testing.T) {
	ca := newAuthority(t)
	server := startTLSServer(t, ca, nil)
	conn := dial(t, server.addr)
	conn.Write(append(packetOf(sslRequest, ""), alice...))
	rest, err := io.ReadAll(conn)
	if err != nil || len(rest) == 0 || rest[0] != 'S' {
		t.Fatalf("%q, %v", rest, err)
	}
	for _, b := range rest[1:] {
		if b == 'R' {
			t.Errorf("an authentication request came in the clear: %q", rest)
		}
	}
}

func TestClientCertificates(t *testing.T) {
	ca := newAuthority(t)
	app := ca.issue(t, "app.example")
	other := ca.issue(t, "other.example")
	stranger := newAuthority(t).issue(t, "app.example")
	for name, c := range map[string]struct {
		passwords bool
		user      string
		cert      *tls.Certificate
		want      string // "" is success
	}{
		"mapped":                         {false, "app", &app, ""},
		"mapped, other user name":        {false, "whoever", &app, ""},
		"not mapped":                     {false, "app", &other, "28000"},
		"none":                           {false, "app", nil, "28000"},
		"passwords too: mapped":          {true, "app", &app, ""},
		"passwords too: password":        {true, "alice", nil, ""},
		"passwords too: both":            {true, "alice", &app, ""},
		"passwords too: none for app":    {true, "app", nil, "28P01"},
		"signed by somebody else's hand": {true, "app", &stranger, "handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startTLSServer(t, ca, func(config *wire.Config) {
				auth := newAuth()
				auth.passwords = c.passwords
				config.Authenticator = auth
			})
			config := clientTLS(ca)
			if c.cert != nil {
				config.Certificates = []tls.Certificate{*c.cert}
			}
			_, err := connectPgx(t, server.addr, c.user, config, nil)
			if code(err) != c.want && (c.want != "handshake" || err == nil) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestRequireTLSSparesLoopback(t *testing.T) {
	server := startServer(t, func(c *wire.Config) { c.RequireTLS = true })
	login(t, server.addr, "alice", "db", "secret")
}

// TestCertificateReload changes the certificate between two connections.
func TestCertificateReload(t *testing.T) {
	ca := newAuthority(t)
	var current atomic.Pointer[tls.Certificate]
	first := ca.issue(t, "first")
	current.Store(&first)
	server := startServer(t, func(c *wire.Config) {
		c.TLS = func() *tls.Config { return &tls.Config{Certificates: []tls.Certificate{*current.Load()}} }
	})
	shown := func() string {
		conn, err := connectPgx(t, server.addr, "alice", clientTLS(ca), nil)
		if err != nil {
			t.Fatal(err)
		}
		return conn.Conn().(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if name := shown(); name != "first" {
		t.Errorf("shown %q", name)
	}
	second := ca.issue(t, "second")
	current.Store(&second)
	if name := shown(); name != "second" {
		t.Errorf("after the reload: %q", name)
	}
}

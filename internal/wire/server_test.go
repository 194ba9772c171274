package wire_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/xdg-go/scram"

	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// testAuth knows the analyst alice, whose password is "secret", and the certificate of app.example.
type testAuth struct {
	verifier  string
	passwords bool
}

func newAuth() testAuth { return testAuth{verifier: verifierOf("secret"), passwords: true} }

// verifierOf makes a verifier with few iterations: tests log in often.
func verifierOf(password string) string {
	client, err := scram.SHA256.NewClient("", password, "")
	if err != nil {
		panic(err)
	}
	salt := sha256.Sum256([]byte("salt"))
	keys, err := client.WithMinIterations(1).GetStoredCredentialsWithError(
		scram.KeyFactors{Salt: string(salt[:16]), Iters: 4096})
	if err != nil {
		panic(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$4096:%s$%s:%s", b64(salt[:16]), b64(keys.StoredKey), b64(keys.ServerKey))
}

func (a testAuth) Verifier(_ context.Context, user string) (wire.Credential, bool, error) {
	switch user {
	case "alice":
		return wire.Credential{Analyst: "alice", Verifier: a.verifier}, true, nil
	case "broken":
		return wire.Credential{Analyst: "broken", Verifier: "nonsense"}, true, nil
	case "unreachable":
		return wire.Credential{}, false, fmt.Errorf("no database")
	}
	return wire.Credential{}, false, nil
}

func (a testAuth) Certificate(cert *x509.Certificate) (string, bool) {
	return "app", cert.Subject.CommonName == "app.example"
}

func (a testAuth) Passwords() bool { return a.passwords }

func (a testAuth) Shapes() []verifier.Shape {
	shape, _ := verifier.ShapeOf("alice", a.verifier)
	return []verifier.Shape{shape}
}

// testServer is a server over the fake engine.
type testServer struct {
	*wire.Server
	engine *fakeEngine
	addr   string
}

func startServer(t testing.TB, change func(*wire.Config)) *testServer {
	t.Helper()
	engine := &fakeEngine{}
	config := wire.Config{Handler: session.NewHandler(engine), Authenticator: newAuth()}
	if change != nil {
		change(&config)
	}
	server, err := wire.New(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; err != wire.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
	})
	return &testServer{Server: server, engine: engine, addr: listener.Addr().String()}
}

// dial connects without saying anything.
func dial(t testing.TB, addr string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	return conn
}

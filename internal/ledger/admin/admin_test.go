package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// open opens a ledger for the time of a test.
func open(t *testing.T, dsn string, c ledger.Config) ledger.Store {
	t.Helper()
	s, err := stores.Open(context.Background(), dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// served opens a file ledger and serves its socket, in a folder whose path is too long for a socket's address.
func served(t *testing.T, c ledger.Config) (dsn string, s ledger.Store) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dsn = "file:" + filepath.Join(folder, "ledger")
	s = open(t, dsn, c)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	listener, err := listen(SocketPath(dsn)) // what a dead proxy leaves behind
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	go func() { ended <- Serve(ctx, SocketPath(dsn), s, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(SocketPath(dsn)); err == nil {
			t.Error("the socket is still there")
		}
	})
	return dsn, s
}

// connect connects as `dpproxy budget` does, once the socket is there.
func connect(t *testing.T, dsn string) *Client {
	t.Helper()
	for range 500 {
		if a, err := Dial(context.Background(), SocketPath(dsn)); err == nil {
			t.Cleanup(func() { a.Close() })
			return a
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("nobody listens on the ledger's socket")
	return nil
}

func TestAdministratorBesideARunningProxy(t *testing.T) {
	c, ctx := ledgertest.PureConfig(1), context.Background()
	dsn, s := served(t, c)
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.5)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Fail(ctx, "alice", "g"); err != nil {
		t.Fatal(err)
	}
	a := connect(t, dsn)
	accounts, err := a.Show(ctx)
	if err != nil || len(accounts) != 1 || *accounts[0].EpsilonSpent != 0.5 || accounts[0].Refused != 1 {
		t.Errorf("show: %+v, %v", accounts, err)
	}
	if n, err := a.Clear(ctx, "alice"); n != 1 || err != nil {
		t.Errorf("clear: %d, %v", n, err)
	}
	if _, err := a.Clear(ctx, "nobody"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("clear of nobody: %v", err)
	}
	if got, err := a.Reset(ctx, "alice"); err != nil || got.EpsilonLeft != 1 {
		t.Errorf("reset: %+v, %v", got, err)
	}
	if r, err := a.Verify(ctx); err != nil || r.Records != 6 || r.Accounts != 2 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if info, err := os.Stat(SocketPath(dsn)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v, %v, want 0600", info.Mode(), err)
	}
	if _, err := a.call(ctx, "POST", "/drop", ""); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("an unknown call: %v", err)
	}
}

func TestExportIsOneLineOfJSONForEachRecord(t *testing.T) {
	c, ctx := ledgertest.PureConfig(1e6), context.Background()
	c.Analysts["bob"] = policy.Budget{Epsilon: 1e6}
	dsn, s := served(t, c)
	const charges = 300 // more than one transaction reads
	for range charges {
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.5)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(0.25)}); err != nil {
		t.Fatal(err)
	}
	var direct, remote bytes.Buffer
	if err := s.Export(ctx, &direct); err != nil {
		t.Fatal(err)
	}
	a := connect(t, dsn)
	if err := a.Export(ctx, &remote); err != nil {
		t.Fatal(err)
	}
	if direct.String() != remote.String() {
		t.Error("an export by socket differs from a direct one")
	}
	sum := map[string]float64{}
	lines := 0
	for line := range bytes.Lines(direct.Bytes()) {
		var e struct {
			Analyst string
			Epsilon float64
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("line %d: %v", lines+1, err)
		}
		lines++
		sum[e.Analyst] += e.Epsilon
	}
	const others, checkpoints = 4, 2
	if lines != charges+others+checkpoints || sum["alice"] != charges*0.5 || sum["bob"] != 0.25 {
		t.Errorf("%d lines, sums %v", lines, sum)
	}
}

func TestOpenAdminWithoutAProxy(t *testing.T) {
	c, ctx := ledgertest.PureConfig(1), context.Background()
	dsn := "file:" + filepath.Join(t.TempDir(), "ledger")
	before, err := Open(ctx, dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	if accounts, err := before.Show(ctx); err != nil || len(accounts) != 1 || accounts[0].EpsilonLeft != 1 {
		t.Errorf("show: %+v, %v", accounts, err)
	}
	if _, err := before.Reset(ctx, "alice"); err == nil {
		t.Error("reset a ledger that does not exist")
	}
	if _, err := os.Stat(ledger.FilePath(dsn)); err == nil {
		t.Error("looking at a ledger has made it")
	}
	s := open(t, dsn, c)
	if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.5)}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, dsn, c); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a locked ledger without a socket: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := Open(ctx, dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	if accounts, err := after.Show(ctx); err != nil || *accounts[0].EpsilonSpent != 0.5 {
		t.Errorf("show: %+v, %v", accounts, err)
	}
}

// TestTokens: a token comes from the running proxy alone, is good once, and the ledger knows its hash alone.
func TestTokens(t *testing.T) {
	c, ctx := ledgertest.PureConfig(1), context.Background()
	dsn, s := served(t, c)
	connect(t, dsn)
	token, err := Token(ctx, dsn, c)
	if err != nil || len(token) < 26 {
		t.Fatalf("%q, %v", token, err)
	}
	if _, found, _ := s.Answer(ctx, token); found || strings.Contains(tokenKey(token), token) {
		t.Error("the ledger holds the token itself")
	}
	for _, c := range []struct {
		token string
		want  bool
	}{{"", false}, {token + "x", false}, {token, true}, {token, false}} {
		if ok, err := Redeem(ctx, s, c.token); ok != c.want || err != nil {
			t.Errorf("%q lets in: %v, %v", c.token, ok, err)
		}
	}
	if again, err := Token(ctx, dsn, c); err != nil || again == token {
		t.Errorf("%q, %v", again, err)
	}
	if _, err := Token(ctx, "file:"+filepath.Join(t.TempDir(), "ledger"), c); err == nil ||
		!strings.Contains(err.Error(), "no running dpproxy") {
		t.Errorf("a token without a proxy: %v", err)
	}
}

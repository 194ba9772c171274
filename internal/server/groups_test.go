package server

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

// TestUnlistedUsersAsk leads two users whom the policy does not list through a default group: each has a budget of
// their own, which outlives reloads, and their sessions end with the group.
func TestUnlistedUsersAsk(t *testing.T) {
	ctx := context.Background()
	s, main, alice, _ := watched(t)
	v, err := verifier.New("secret")
	if err != nil {
		t.Fatal(err)
	}
	pgservertest.Exec(
		t, main,
		fmt.Sprintf(
			"CREATE TABLE logins (name text PRIMARY KEY, verifier text); INSERT INTO logins VALUES ('bob', '%s'), ('carol', '%s')", v, v))
	file := s.state.Load().policy.File
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	reload := func(more string) {
		t.Helper()
		if err := os.WriteFile(file, append(text, more...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Reload(ctx); err != nil {
			t.Fatal(err)
		}
	}
	login := func(user string) (*pgx.Conn, error) {
		conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:secret@%s/%s?sslmode=disable", user, s.Addr(),
			alice.Config().Database))
		if err == nil {
			t.Cleanup(func() { _ = conn.Close(ctx) })
		}
		return conn, err
	}
	count := func(conn *pgx.Conn) error {
		var n int
		return conn.QueryRow(ctx, "SELECT count(*) FROM patients").Scan(&n)
	}
	auth := fmt.Sprintf(`auth: {method: query, dsn: %q, query: "SELECT name, verifier FROM logins WHERE name = $1"`, main)
	group := "groups: {visitors: {budget: {epsilon: 0.6}}}\n"

	reload(auth + "}\n" + group)
	if _, err := login("bob"); err == nil {
		t.Fatal("bob is in without a default group")
	}
	reload(auth + ", default_group: visitors}\n" + group)
	bob, err := login("bob")
	if err != nil {
		t.Fatal(err)
	}
	if err := count(bob); err != nil {
		t.Fatal(err)
	}
	_, err = bob.Exec(ctx, "SELECT count(*) FROM patients WHERE age < 50")
	ledgertest.WantCode(t, err, "53400")
	carol, err := login("carol")
	if err != nil {
		t.Fatal(err)
	}
	if err := count(carol); err != nil {
		t.Errorf("carol has what bob has spent: %v", err)
	}
	accounts, err := s.ledger.Show(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, a := range accounts {
		shown = append(shown, fmt.Sprintf("%s %g %t", a.Analyst, a.EpsilonTotal, a.Listed))
	}
	if got := strings.Join(shown, ", "); got != "alice 100 true, bob 0.6 true, carol 0.6 true" {
		t.Errorf("accounts: %s", got)
	}
	reload(auth + "}\n" + group)
	ledgertest.WantCode(t, count(bob), "28000")
	if _, err := login("carol"); err == nil {
		t.Error("carol is in after the default group has gone")
	}
}

package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestTwoProxiesShareALedger: setup makes a ledger in PostgreSQL, and what one proxy charges the other one knows.
func TestTwoProxiesShareALedger(t *testing.T) {
	one := newSite(t)
	server := pgservertest.Start(t)
	books := one.database + "_ledger"
	t.Cleanup(func() {
		pgservertest.Exec(t, server.DSN("postgres", pgserver.Superuser), "DROP DATABASE IF EXISTS "+books+" WITH (FORCE)")
	})
	one.text = strings.Replace(one.text, "accounting:", "answers: {ttl: 0}\nledger: "+server.DSN(books, "cmd_ledger")+
		"\naccounting:", 1)
	one.text = strings.Replace(one.text, "epsilon: 10", "epsilon: 1", 1)
	one.write(one.text)
	one.run("setup")
	two := *one
	one.start()
	two.start()
	ask := func(s *site) error {
		conn, err := s.connect("alice")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.count(conn)
		return err
	}
	if err := errors.Join(ask(one), ask(&two)); err != nil {
		t.Fatal(err)
	}
	var over *pgconn.PgError
	if err := ask(one); !errors.As(err, &over) || over.Code != "53400" {
		t.Errorf("the third question at 0.5 of 1: %v", err)
	}
	var accounts []ledger.AccountSummary
	if err := json.Unmarshal([]byte(one.run("budget", "show", "--json")), &accounts); err != nil {
		t.Fatal(err)
	}
	if len(accounts) != 1 || *accounts[0].EpsilonSpent != 1 || accounts[0].EpsilonLeft != 0 {
		t.Errorf("accounts %+v", accounts)
	}
	one.run("budget", "reset", "alice")
	if err := ask(&two); err != nil {
		t.Errorf("after the reset: %v", err)
	}
}

package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// TestStop: who stops a question, by the button or by leaving, stops it on main as well, and keeps the session.
func TestStop(t *testing.T) {
	w := newWorld(t)
	v := w.visitor().login("alice")
	admin, err := pgx.Connect(context.Background(), w.policy.Databases.AdminMain)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	sql := func(text string) (n int) {
		if err := admin.QueryRow(context.Background(), text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	waiting := func() bool {
		return sql("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'patients'::regclass") > 0
	}
	if _, err := admin.Exec(context.Background(), "BEGIN; LOCK TABLE patients"); err != nil {
		t.Fatal(err)
	}
	form := url.Values{"csrf": {v.csrf}, "sql": {"SELECT count(*) FROM patients"}, "do": {"run"}}
	leaving, leave := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(leaving, http.MethodPost, w.url+"/ask", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", w.url)
	gone := make(chan error, 1)
	go func() {
		_, err := v.client.Do(r)
		gone <- err
	}()
	within(t, "the question waits on main", waiting)
	leave()
	if err := <-gone; err == nil {
		t.Error("the question was answered")
	}
	within(t, "main is asked no more", func() bool { return !waiting() })
	if _, err := admin.Exec(context.Background(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	wants(t, "the next question", v.ask("SELECT count(*) FROM patients WHERE smoker").body, "spent")
}

// within waits until something is so.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 1000 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not so: %s", what)
}

// TestVerifiersAndLedgersElsewhere: passwords that a database keeps, and tokens in a ledger that proxies share.
func TestVerifiersAndLedgersElsewhere(t *testing.T) {
	const verifier = "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc="
	s, db := pgservertest.Database(
		t, "CREATE TABLE logins (name text, verifier text); INSERT INTO logins VALUES ('alice', '"+verifier+
			"'), ('unlisted', '"+verifier+"')")
	w := newWorld(t, "ledger: file:dpproxy.ledger", `ledger: "`+s.DSN(db, pgserver.Superuser)+`"
auth: {method: query, dsn: "`+s.DSN(db, pgserver.Superuser)+
		`", query: "SELECT name, verifier FROM logins WHERE name = $1"}`,
		aliceLogin, "",
		bobLogin, "")
	wants(t, "alice's question", w.visitor().login("alice").ask("SELECT count(*) FROM patients").body, "spent")
	for _, user := range []string{"bob", "unlisted"} {
		if r := w.visitor().do("/login", url.Values{"user": {user}, "password": {"demo"}}); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", user, r.Status)
		}
	}
	token := w.token()
	for _, want := range []int{http.StatusSeeOther, http.StatusUnauthorized} {
		if r := w.visitor().do("/dba/login", url.Values{"token": {token}}); r.StatusCode != want {
			t.Errorf("%s, want %d", r.Status, want)
		}
	}
}

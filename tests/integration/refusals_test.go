package integration_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestRefusals sends what must not be answered. Each gets its SQLSTATE and a text, costs nothing, and leaves the
// session usable.
func TestRefusals(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	conn := p.connect()
	ctx := context.Background()
	spent := func() string {
		r, err := conn.PgConn().Exec(ctx, "SELECT epsilon_spent FROM dpproxy.budget").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return string(r[0].Rows[0][0])
	}
	before := spent()
	for _, c := range []struct{ sql, code string }{
		{"SELECT * FROM patients", "42501"},
		{"SELECT id, age FROM patients WHERE id = 1", "42501"},
		{"SELECT patients FROM patients", "42501"},
		{"SELECT max(name) FROM patients", "42501"},
		{"SELECT string_agg(name, ',') FROM patients", "42501"},
		{"SELECT array_agg(age) FROM patients", "42501"},
		{"SELECT json_agg(p) FROM patients p", "42501"},
		{"SELECT id, count(*) FROM patients GROUP BY id", "42501"},
		{"SELECT sum(1.0/(weight-80)) FROM patients", "0A000"},
		{"SELECT count(*) FROM patients WHERE 1/(age-30) > 0 AND pg_sleep(1) IS NULL", "0A000"},
		{"SELECT count(*) FROM patients WHERE pg_sleep(10) IS NOT NULL", "0A000"},
		{"SELECT (SELECT age FROM patients WHERE id = 5)", "42501"},
		{"SELECT count(*) FROM wards w, LATERAL (SELECT age FROM patients p WHERE p.ward = w.ward LIMIT 1) x", ""},
		{"EXPLAIN ANALYZE SELECT count(*) FROM patients", "0A000"},
		{"COPY patients TO STDOUT", "42501"},
		{"COPY (SELECT name FROM patients) TO STDOUT", "42501"},
		{"COPY (SELECT count(*) FROM patients) TO '/tmp/patients'", "42501"},
		{"COPY (DELETE FROM wards RETURNING ward) TO STDOUT", "42501"},
		{"INSERT INTO patients (id) VALUES (1)", "42501"},
		{"UPDATE patients SET age = 1", "42501"},
		{"DELETE FROM patients", "42501"},
		{"CREATE TABLE x (a int)", "42501"},
		{"CREATE TEMP TABLE x AS SELECT * FROM patients", "42501"},
		{"SELECT * INTO x FROM patients", "42501"},
		{"DROP TABLE patients", "42501"},
		{"SELECT count(*) FROM patients FOR UPDATE", ""},
		{"DO $$ BEGIN PERFORM 1; END $$", "0A000"},
		{"CALL x()", "0A000"},
		{"SELECT * FROM secrets", "42P01"},
		{"SELECT * FROM no_such_table", "42P01"},
		{"SELECT no_such_column FROM patients", "42703"},
		{"SELEC 1", "42601"},
		{"SELECT count(*) FROM pg_stat_activity WHERE pg_sleep(1) IS NULL", "42501"},
		{"SELECT pg_sleep(1)", "42501"},
		{"SELECT query_to_xml('select * from patients', true, true, '')", "42501"},
		{"SELECT pg_read_file('/etc/passwd')", "42501"},
		{"SELECT lo_import('/etc/passwd')", "42501"},
		{"SELECT rolpassword FROM pg_authid", "42501"},
		{"SELECT pg_relation_size('patients')", ""},
		{"SET dpproxy.epsilon = -1", "22023"},
		{"SET dpproxy.epsilon = 'NaN'", "22023"},
		{"SET dpproxy.epsilon = 50", "22023"},
		{"SET dpproxy.no_such = 1", "42704"},
		{"SET client_encoding = 'BIG5'", "22023"},
		{"SELECT * FROM patients; SELECT count(*) FROM patients", "42501"},
		{"SET dpproxy.epsilon = 2; SELECT name FROM patients; SELECT count(*) FROM patients", "42501"},
		{strings.Repeat("SELECT 1 + 1; ", 4000), "54000"},
		{"SELECT count(*) FROM patients WHERE age = 1" + strings.Repeat("+1", 25000), "54000"},
		{"SELECT " + strings.Repeat("a+", 12000) + "a", "54001"},
		{strings.Repeat("SELECT (", 1500) + "1" + strings.Repeat(")", 1500), "54001"},
	} {
		_, err := conn.PgConn().Exec(ctx, c.sql).ReadAll()
		var e *pgconn.PgError
		if c.code == "" { // either way, as long as no row gets out: checked by the session going on and by cost below
			if err != nil && !errors.As(err, &e) {
				t.Fatalf("%.80s: %v", c.sql, err)
			}
			continue
		}
		if !errors.As(err, &e) {
			t.Errorf("%.80s: error is %v, want %s", c.sql, err, c.code)
			continue
		}
		if e.Code != c.code {
			t.Errorf("%.80s: %s %s, want %s", c.sql, e.Code, e.Message, c.code)
		}
		if (e.Code == "42501" || e.Code == "0A000") && e.Hint == "" {
			t.Errorf("%.80s: %s %s: no hint", c.sql, e.Code, e.Message)
		}
	}
	if after := spent(); after != before {
		t.Errorf("refusals cost: spent %s before, %s after", before, after)
	}
	if _, err := conn.PgConn().Exec(ctx, "SELECT count(*) FROM patients").ReadAll(); err != nil {
		t.Errorf("session after refusals: %v", err)
	}
}

// TestMalformedMessages throws what no driver sends at the port. The process lives and answers others.
func TestMalformedMessages(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	startup := func(parameters string) []byte {
		body := append(binary.BigEndian.AppendUint32(nil, 196608), parameters...)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
	}
	alice := startup("user\x00alice\x00database\x00" + p.db + "\x00\x00")
	for name, bytes := range map[string][]byte{
		"length of 4 GiB before authentication": append(alice[:len(alice):len(alice)], 'p', 0xff, 0xff, 0xff, 0xff),
		"startup of 4 GiB":                      {0xff, 0xff, 0xff, 0xff, 0, 3, 0, 0},
		"startup of 3 bytes":                    {0, 0, 0, 3},
		"bind before authentication":            append(alice[:len(alice):len(alice)], 'B', 0, 0, 0, 4),
		"query without NUL":                     append(alice[:len(alice):len(alice)], 'Q', 0, 0, 0, 5, 'x'),
		"empty":                                 {},
		"noise":                                 []byte("GET / HTTP/1.1\r\n\r\n"),
	} {
		conn, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(bytes); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = conn.(*net.TCPConn).CloseWrite() // fails where the proxy has hung up first, as it may
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the proxy did not hang up: %v", name, err)
		}
		conn.Close()
	}
	authenticated := p.connect()
	raw := authenticated.PgConn().Conn()
	// Bind with a parameter of length −2, then Sync: 08P01, and the session goes on.
	bind := []byte("B\x00\x00\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00")
	bind[4] = byte(len(bind) - 1)
	if _, err := raw.Write(append(bind, 'S', 0, 0, 0, 4)); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 4096)
	_ = raw.SetReadDeadline(time.Now().Add(20 * time.Second))
	n, err := raw.Read(reply)
	if err != nil || !strings.Contains(string(reply[:n]), "08P01") {
		t.Errorf("Bind with length −2: %q, %v", reply[:n], err)
	}
	if _, err := p.connect().PgConn().Exec(context.Background(), "SELECT count(*) FROM patients").ReadAll(); err != nil {
		t.Errorf("the proxy after malformed messages: %v", err)
	}
}

// TestWrongLogins are refused alike, whether the analyst exists or not.
func TestWrongLogins(t *testing.T) {
	p := start(t, clinicPolicy(), clinic)
	texts := map[string]bool{}
	for _, user := range []string{"alice", "nobody"} {
		dsn := strings.Replace(p.dsn(user), password, "wrong", 1)
		_, err := pgconn.Connect(context.Background(), dsn)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "28P01" {
			t.Errorf("%s with a wrong password: %v", user, err)
			continue
		}
		texts[strings.ReplaceAll(e.Message, user, "USER")] = true
	}
	if len(texts) != 1 {
		t.Errorf("texts differ: %v", texts)
	}
	_, err := pgconn.Connect(context.Background(), strings.Replace(p.dsn("alice"), "/"+p.db, "/other", 1))
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "3D000" {
		t.Errorf("another database: %v", err)
	}
}

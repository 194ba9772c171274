package clients

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestEncodings: a client with another client_encoding gets the same bytes from dpproxy as from PostgreSQL, in both
// protocols and both formats, whatever the text is part of. A statement is UTF-8 here, and is sent in the encoding.
func TestEncodings(t *testing.T) {
	server, db, dsn := start(t)
	const texts = "'Käse', 'naïve ÷ Ångström', U&'\\00e9', E'\\u00fc'"
	statements := []string{
		"SELECT 'Käse' AS \"Größe\", length('Käse')",
		"SELECT " + texts,
		"SELECT ARRAY[" + texts +
			"], ROW('ä', 1), to_jsonb('é'::text), '{\"ö\": 1}'::json, 'ü'::varchar, 'ñ'::bpchar, 'ß'::name",
		"SELECT 'no euro in it: ' || U&'\\20ac'",
		"SELECT nosuchÄ",
		"SELECT 'ä'::int",
		"SELECT count(*) AS \"Zähler\" FROM wards WHERE ward <> 'Ä'",
		"SELECT ward || 'é' FROM wards ORDER BY 1",
		"DECLARE ç CURSOR WITH HOLD FOR SELECT 'ç' AS ç; FETCH ç; CLOSE ç",
		"PREPARE é AS SELECT $1 || 'é'; EXECUTE é('ü'); DEALLOCATE é",
		"SET application_name = 'Größe'; SHOW application_name",
		"SELECT current_setting('client_encoding')",
		"SET client_encoding = UTF8; SELECT 'plain'",
	}
	for _, encoding := range []string{"LATIN1", "WIN1252", "SQL_ASCII", "UTF8"} {
		for _, format := range []int16{0, 1} {
			want, got := encoded(t, server.DSN(db, "clients_plain"), encoding), encoded(t, dsn, encoding)
			for _, v := range []string{"ä", "plain", "€"} {
				const sql = "SELECT $1::text AS é, length($1)"
				if w, g := want(sql, &v, format), got(sql, &v, format); w != g {
					t.Errorf("%s, format %d: %s of %q\n%q\nPostgreSQL:\n%q", encoding, format, sql, v, g, w)
				}
			}
			for _, sql := range statements {
				if w, g := want(sql, nil, format), got(sql, nil, format); w != g {
					t.Errorf("%s, format %d: %s\n%q\nPostgreSQL:\n%q", encoding, format, sql, g, w)
				}
			}
		}
	}
}

// encoded connects with a client_encoding and returns what sends a statement and prints all that comes back. One with a
// value, or with binary results, goes by the extended protocol.
func encoded(t *testing.T, dsn, encoding string) func(sql string, value *string, format int16) string {
	t.Helper()
	ctx := context.Background()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["client_encoding"] = encoding
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	bytes := func(s string) string { // all that is sent is in LATIN1's part of WIN1252, but for the euro
		if encoding == "UTF8" || encoding == "SQL_ASCII" {
			return s
		}
		var b strings.Builder
		for _, r := range s {
			if r == '€' {
				r = 0x80
			}
			b.WriteByte(byte(r))
		}
		return b.String()
	}
	return func(sql string, value *string, format int16) string {
		var out strings.Builder
		read := func(r *pgconn.ResultReader) {
			for _, f := range r.FieldDescriptions() {
				fmt.Fprintf(&out, "%s|", f.Name)
			}
			for r.NextRow() {
				for _, v := range r.Values() {
					fmt.Fprintf(&out, "%s;", v)
				}
			}
			_, err := r.Close()
			fmt.Fprintf(&out, "%v\n", err)
		}
		if value != nil || format == 1 && !strings.Contains(sql, ";") {
			var values [][]byte
			var formats []int16
			if value != nil {
				values, formats = [][]byte{[]byte(bytes(*value))}, []int16{format}
			}
			read(conn.ExecParams(ctx, bytes(sql), values, nil, formats, []int16{format}))
			return out.String()
		}
		results := conn.Exec(ctx, bytes(sql))
		for results.NextResult() {
			read(results.ResultReader())
		}
		fmt.Fprintln(&out, results.Close())
		return out.String()
	}
}

package clientencoding_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/clientencoding"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

var (
	singleByte = strings.Fields(
		`LATIN1 LATIN2 LATIN3 LATIN4 LATIN5 LATIN6 LATIN7 LATIN8 LATIN9 LATIN10 ISO_8859_5 ISO_8859_6 ISO_8859_7
		ISO_8859_8 KOI8R KOI8U WIN866 WIN874 WIN1250 WIN1251 WIN1252 WIN1253 WIN1254 WIN1255 WIN1256 WIN1257 WIN1258`)
	multiByte = strings.Fields("SJIS EUC_JP EUC_KR UHC GBK GB18030")
)

// postgres converts texts as convert_from and convert_to do; nil: not convertible.
func postgres(t *testing.T) (from func(name string, texts [][]byte) []*string,
	to func(name string, texts []string) [][]byte,
) {
	t.Helper()
	server, db := pgservertest.Database(t,
		`CREATE FUNCTION pg_from(b bytea, e text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN convert_from(b, e); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$`,
		`CREATE FUNCTION pg_to(c text, e text) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN RETURN convert_to(c, e); EXCEPTION WHEN OTHERS THEN RETURN NULL; END $$`)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	from = func(name string, texts [][]byte) []*string {
		rows, err := conn.Query(ctx, "SELECT pg_from(b, $1) FROM unnest($2::bytea[]) WITH ORDINALITY x (b, i) ORDER BY i",
			name, texts)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pgx.CollectRows(rows, pgx.RowTo[*string])
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	to = func(name string, texts []string) [][]byte {
		rows, err := conn.Query(ctx, "SELECT pg_to(c, $1) FROM unnest($2::text[]) WITH ORDINALITY x (c, i) ORDER BY i", name,
			texts)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	return from, to
}

// characters are those of the basic plane that are not ASCII, without the surrogates.
func characters() []string {
	var list []string
	for r := rune(0x80); r <= 0xffff; r++ {
		if r < 0xd800 || r > 0xdfff {
			list = append(list, string(r))
		}
	}
	return list
}

// TestSingleBytes: every byte and every character are converted as PostgreSQL does, or refused as PostgreSQL does.
func TestSingleBytes(t *testing.T) {
	from, to := postgres(t)
	var bytes [][]byte
	for b := 0x80; b < 0x100; b++ {
		bytes = append(bytes, []byte{byte(b)})
	}
	// All characters that one of the encodings has, and some that none has.
	known := map[string]bool{"€": true, "日": true, "😀": true, "\u0081": true}
	for _, name := range singleByte {
		e := clientencoding.For(name)
		for i, want := range from(name, bytes) {
			got, err := e.Decode(bytes[i])
			if (err == nil) != (want != nil) || want != nil && string(got) != *want {
				t.Errorf("%s: byte %x is %q (%v), PostgreSQL says %v", name, bytes[i], got, err, want)
			}
			if want != nil {
				known[*want] = true
			}
		}
	}
	chars := slices.Sorted(maps.Keys(known))
	for _, name := range singleByte {
		e := clientencoding.For(name)
		for i, want := range to(name, chars) {
			got, err := e.Encode([]byte(chars[i]))
			if (err == nil) != (want != nil) || string(got) != string(want) {
				t.Errorf("%s: %q is %x (%v), PostgreSQL says %x", name, chars[i], got, err, want)
			}
		}
	}
}

// TestMultiBytes: PostgreSQL reads what we send as the same character or not at all, and so do we what it sends.
func TestMultiBytes(t *testing.T) {
	from, _ := postgres(t)
	for _, name := range multiByte {
		e := clientencoding.For(name)
		var sent [][]byte
		var meant []string
		for _, c := range characters() {
			if b, err := e.Encode([]byte(c)); err == nil {
				sent, meant = append(sent, b), append(meant, c)
			}
		}
		same := 0
		for i, read := range from(name, sent) {
			switch {
			case read != nil && *read != meant[i]:
				t.Errorf("%s: %q is sent as %x, which is %q", name, meant[i], sent[i], *read)
			case read != nil:
				same++
			}
		}
		if same < 7000 {
			t.Errorf("%s: only %d characters", name, same)
		}
		t.Logf("%s: %d of %d characters", name, same, len(sent))
		var pairs [][]byte
		for lead := 0x80; lead < 0x100; lead++ {
			for trail := 0x40; trail < 0x100; trail++ {
				pairs = append(pairs, []byte{byte(lead), byte(trail)})
			}
		}
		different := 0
		for i, want := range from(name, pairs) {
			got, err := e.Decode(pairs[i])
			if want == nil || err != nil || string(got) == *want {
				continue
			}
			if different++; different < 5 {
				t.Logf("%s: %x is %q, PostgreSQL says %q", name, pairs[i], got, *want)
			}
		}
		if different > 20 {
			t.Errorf("%s: %d pairs of bytes are read otherwise", name, different)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		decode     bool
		code, want string
	}{
		{
			"WIN1252", "a\x81", true, "22P05",
			`character with byte sequence 0x81 in encoding "WIN1252" has no equivalent in encoding "UTF8"`,
		},
		{
			"LATIN1", "a€", false, "22P05",
			`character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"`,
		},
		{"SJIS", "a\x81", true, "22P05", ""},
	} {
		f := clientencoding.For(c.name).Encode
		if c.decode {
			f = clientencoding.For(c.name).Decode
		}
		_, err := f([]byte(c.text))
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != c.code || c.want != "" && e.Message != c.want {
			t.Errorf("%s %q: %v, want %s %s", c.name, c.text, err, c.code, c.want)
		}
	}
	if got := clientencoding.For("LATIN1").Lossy("é€x"); got != "\xe9?x" {
		t.Errorf("%q", got)
	}
}

// TestNames holds PostgreSQL's own table of names against ours.
func TestNames(t *testing.T) {
	for given, want := range map[string]string{
		"UTF8": "UTF8", "utf-8": "UTF8", "'UTF8'": "UTF8", "unicode": "UTF8", "sql_ascii": "SQL_ASCII", "latin1": "LATIN1",
		"ISO-8859-1": "LATIN1", "iso_8859_15": "LATIN9",
		"WIN1252": "WIN1252", "Windows-1252": "WIN1252", "win": "WIN1251", "koi8": "KOI8R", "Shift_JIS": "SJIS",
		"ISO_8859_5": "ISO_8859_5",
		"BIG5":       "", "MULE_INTERNAL": "", "nosuch": "", "": "",
	} {
		if got, ok := clientencoding.Name(given); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
	server, db := pgservertest.Database(t)
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server.DSN(db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, name := range slices.Concat(singleByte, multiByte) {
		var said string
		if err := conn.QueryRow(ctx, "SELECT set_config('client_encoding', $1, true)", name).Scan(&said); err != nil ||
			said != name {
			t.Errorf("%s: PostgreSQL says %q, %v", name, said, err)
		}
	}
}

func FuzzConversion(f *testing.F) {
	f.Add("SJIS", []byte("a\x81\x40\x81"))
	f.Add("WIN1252", []byte("\x80\x81"))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		canonical, ok := clientencoding.Name(name)
		if !ok {
			return
		}
		e := clientencoding.For(canonical)
		decoded, err := e.Decode(text)
		if err != nil {
			return
		}
		if again, err := e.Encode(decoded); err == nil {
			if back, err := e.Decode(again); err != nil || string(back) != string(decoded) {
				t.Errorf("%s: %x is %q is %x is %q", canonical, text, decoded, again, back)
			}
		}
	})
}

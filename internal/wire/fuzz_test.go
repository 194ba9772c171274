package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgproto3/v2"
	"github.com/jackc/pgx/v5/pgconn"
	pgxproto3 "github.com/jackc/pgx/v5/pgproto3"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// FuzzFrame reads frames from any bytes: no panic, no allocation beyond the limit, and what was read is what was sent.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		"Q\x00\x00\x00\x0dSELECT 1\x00", "S\x00\x00\x00\x04", "Q\x00\x00\x00\x03", "p\xff\xff\xff\xff", "B\x7f\xff\xff\xff",
		"X", "Q\x00\x00", "",
		"Q\x00\x00\x27\x10" + strings.Repeat("x", 100),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1000
		r := bytes.NewReader(in)
		for {
			before := r.Len()
			kind, size, err := readHeader(r)
			var got frame
			if err == nil {
				got, err = readBody(r, kind, size, tooLarge(size, limit))
			}
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errLength) {
					t.Fatalf("unexpected error %v", err)
				}
				return
			}
			consumed := before - r.Len()
			if got.refused != nil {
				if got.body != nil || size <= limit || consumed != headerSize+size {
					t.Fatalf("oversized frame %d bytes, consumed %d", size, consumed)
				}
				continue
			}
			if len(got.body) > limit || consumed != headerSize+len(got.body) {
				t.Fatalf("frame of %d bytes, consumed %d", len(got.body), consumed)
			}
			if message, err := decode(got.kind, got.body); err == nil {
				checkRoundTrip(t, got, message)
			}
		}
	})
}

// checkRoundTrip encodes what was decoded: an accepted message has exactly one spelling.
func checkRoundTrip(t *testing.T, f frame, message pgproto3.FrontendMessage) {
	t.Helper()
	again, err := message.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again[headerSize:], f.body) {
		t.Fatalf("%q: %q decodes to %q", f.kind, f.body, again[headerSize:])
	}
}

// FuzzBind compares the strict reader with pgx's codec: what ours accepts, pgx's reads in the same way.
func FuzzBind(f *testing.F) {
	seed := func(b *pgproto3.Bind) {
		encoded, err := b.Encode(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded[headerSize:])
	}
	seed(&pgproto3.Bind{})
	seed(&pgproto3.Bind{
		DestinationPortal: "p", PreparedStatement: "s", ParameterFormatCodes: []int16{1},
		Parameters: [][]byte{nil, {}, []byte("x")}, ResultFormatCodes: []int16{0, 1},
	})
	f.Add([]byte("\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"))
	f.Add([]byte("\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		message, err := decode('B', body)
		if err != nil {
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Code != pgerr.ProtocolViolation && e.Code != pgerr.InvalidParameterValue {
				t.Fatalf("error %v", err)
			}
			return
		}
		ours := message.(*pgproto3.Bind)
		var theirs pgxproto3.Bind
		if err := theirs.Decode(body); err != nil {
			t.Fatalf("pgx refuses %q: %v", body, err)
		}
		if ours.DestinationPortal != theirs.DestinationPortal || ours.PreparedStatement != theirs.PreparedStatement ||
			len(ours.Parameters) != len(theirs.Parameters) {
			t.Fatalf("%q: %+v, pgx %+v", body, ours, theirs)
		}
		for i := range ours.Parameters {
			if (ours.Parameters[i] == nil) != (theirs.Parameters[i] == nil) ||
				!bytes.Equal(ours.Parameters[i], theirs.Parameters[i]) {
				t.Fatalf("parameter %d: %q, pgx %q", i, ours.Parameters[i], theirs.Parameters[i])
			}
		}
		checkRoundTrip(t, frame{kind: 'B', body: body}, message)
	})
}

// FuzzStartup parses any packet; an accepted one is what it says.
func FuzzStartup(f *testing.F) {
	f.Add(uint32(protocol30), []byte("user\x00a\x00database\x00b\x00options\x00-c x=1 --y-z=\\ 2\x00\x00"))
	f.Add(uint32(protocol30+2), []byte("user\x00a\x00_pq_.x\x001\x00\x00"))
	f.Add(uint32(2<<16), []byte("user\x00a\x00\x00"))
	f.Add(uint32(protocol30), []byte("user\x00a\x00options\x00-c\x00\x00"))
	f.Add(uint32(protocol30), []byte("\x00"))
	f.Fuzz(func(t *testing.T, code uint32, body []byte) {
		m, err := parseStartup(packet{code: code, body: body})
		if err != nil {
			var e *pgconn.PgError
			if !errors.As(err, &e) || e.Severity != "FATAL" {
				t.Fatalf("error %v", err)
			}
			return
		}
		if m.user == "" || m.database == "" || code>>16 != 3 || !bytes.HasSuffix(body, []byte{0}) {
			t.Fatalf("accepted %x %q as %+v", code, body, m)
		}
		for name := range m.parameters {
			if name == "user" || name == "database" || name == "replication" || name == "options" ||
				strings.HasPrefix(name, "_pq_.") {
				t.Fatalf("%q became a setting", name)
			}
		}
	})
}

// FuzzSASL reads any first and second message of a SCRAM exchange: no panic, and nobody gets in.
func FuzzSASL(f *testing.F) {
	f.Add([]byte("SCRAM-SHA-256\x00\x00\x00\x00\x0cn,,n=,r=abcd"), []byte("c=biws,r=abcd,p=AAAA"))
	f.Add([]byte("SCRAM-SHA-256\x00\xff\xff\xff\xff"), []byte(""))
	f.Add([]byte("\x00"), []byte("c=,r=,p="))
	server, err := New(Config{Handler: noHandler{}, Authenticator: noAuthenticator{}, MockSecret: []byte("x")})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, initial, final []byte) {
		server.throttle = newThrottle() // it would slow the fuzzing down
		in := frameBytes('p', initial)
		in = append(in, frameBytes('p', final)...)
		c := scriptedConn(server, in)
		analyst, err := c.scram(t.Context(), "alice")
		if err == nil || analyst != "" {
			t.Fatalf("%q, %q let in as %q", initial, final, analyst)
		}
	})
}

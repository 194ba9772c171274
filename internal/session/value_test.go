package session

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/command"
)

func TestParseBool(t *testing.T) {
	for in, want := range map[string]string{
		"on": "on", "true": "on", "t": "on", "yes": "on", "y": "on", "1": "on", "ON": "on", "tr": "on",
		"off": "off", "of": "off", "false": "off", "f": "off", "no": "off", "n": "off", "0": "off",
		"": "", "o": "", "2": "", "onn": "", "maybe": "",
	} {
		v, ok := parseBool(in)
		if got := onOff(v); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %v %v, want %q", in, v, ok, want)
		}
	}
}

func TestNumbersWithUnits(t *testing.T) {
	for _, c := range []struct{ name, in, value, shown string }{
		{"statement_timeout", "5s", "5000", "5s"},
		{"statement_timeout", "1500", "1500", "1500ms"},
		{"statement_timeout", "1.5 s", "1500", "1500ms"},
		{"statement_timeout", "2h", "7200000", "2h"},
		{"statement_timeout", "1d", "86400000", "1d"},
		{"statement_timeout", "500us", "0", "0"},
		{"work_mem", "64MB", "65536", "64MB"},
		{"work_mem", "1GB", "1048576", "1GB"},
		{"work_mem", "100", "100", "100kB"},
		{"work_mem", "131072B", "128", "128kB"},
		{"temp_buffers", "8MB", "1024", "8MB"},
		{"temp_buffers", "800kB", "100", "800kB"},
		{"extra_float_digits", "-15", "-15", "-15"},
		{"extra_float_digits", "1e0", "1", "1"},
		{"statement_timeout", "5 parsecs", "", ""},
		{"statement_timeout", "1MB", "", ""},
		{"extra_float_digits", "1s", "", ""},
		{"extra_float_digits", "4", "", ""},
		{"extra_float_digits", "", "", ""},
		{"extra_float_digits", "NaN", "", ""},
		{"work_mem", "1", "", ""},
	} {
		p := lookup(c.name)
		v, err := p.number(c.name, c.in)
		if (err == nil) != (c.value != "") {
			t.Errorf("%s = %q: %v", c.name, c.in, err)
			continue
		}
		if err == nil && (itoa(int(v)) != c.value || p.show(itoa(int(v))) != c.shown) {
			t.Errorf("%s = %q: %d shown as %q, want %s, %s", c.name, c.in, v, p.show(itoa(int(v))), c.value, c.shown)
		}
	}
}

func TestEpsilonAndMargin(t *testing.T) {
	for in, want := range map[string]string{
		"0.2": "0.2", " 1 ": "1", "1e-3": "0.001", "0": "", "-1": "", "1.1": "",
		"NaN": "", "Inf": "", "-Inf": "", "x": "", "": "",
	} {
		if got, err := checkEpsilon(in, 1); got != want || (err == nil) != (want != "") {
			t.Errorf("epsilon %q: %q, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"20": "20", "2%": "2%", " 2.50 % ": "2.5%", "": ""} {
		if got, err := checkMargin(in); got != want || err != nil {
			t.Errorf("margin %q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"0", "-1", "NaN", "Inf", "%", "2%%", "two"} {
		if got, err := checkMargin(in); err == nil {
			t.Errorf("margin %q accepted as %q", in, got)
		}
	}
}

// TestCursorsMoveLikePositions compares move with a walk of single steps.
func TestCursorsMoveLikePositions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(0, 5).Draw(t, "rows")
		p := &portal{
			at:    rapid.IntRange(0, rows+1).Draw(t, "at"),
			query: &query{rows: packedRows{starts: make([]place, rows)}},
		}
		c := command.Fetch{
			Direction: rapid.SampledFrom([]command.Direction{command.Forward, command.Backward}).Draw(t, "direction"),
			Count:     int64(rapid.IntRange(-7, 7).Filter(func(n int) bool { return n != 0 }).Draw(t, "count")),
		}
		step, n := 1, int(c.Count)
		if (c.Direction == command.Backward) != (n < 0) {
			step = -1
		}
		if n < 0 {
			n = -n
		}
		at := p.at
		var want []int
		for range n {
			if at += step; at < 1 || at > rows {
				at = max(0, min(at, rows+1))
				break
			}
			want = append(want, at-1)
		}
		from, to, backward, err := p.move(c)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for i := range to - from {
			if backward {
				got = append(got, to-1-i)
			} else {
				got = append(got, from+i)
			}
		}
		if len(got) != len(want) || p.at != at {
			t.Fatalf("rows %v and position %d, want %v and %d", got, p.at, want, at)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("rows %v, want %v", got, want)
			}
		}
	})
}

// TestTranscode makes binary from a cursor's text and back, for the types that results have.
func TestTranscode(t *testing.T) {
	codecs := pgtype.NewMap()
	for oid, text := range map[uint32]string{
		pgtype.Int2OID: "-3", pgtype.Int4OID: "7", pgtype.Int8OID: "9007199254740993", pgtype.Float8OID: "0.1",
		pgtype.Float4OID:  "1.5",
		pgtype.NumericOID: "123.450", pgtype.BoolOID: "t", pgtype.TextOID: "é", pgtype.VarcharOID: "v",
		pgtype.DateOID:      "2024-02-29",
		pgtype.TimestampOID: "2024-02-29 12:30:00.123456", pgtype.ByteaOID: `\x00ff`,
		pgtype.UUIDOID:      "123e4567-e89b-12d3-a456-426614174000",
		pgtype.Int4ArrayOID: "{1,NULL,3}", pgtype.TextArrayOID: `{a,"b c"}`,
	} {
		r := &result{
			columns: []pgconn.FieldDescription{{Name: "c", DataTypeOID: oid}},
			rows:    [][][]byte{{[]byte(text)}, {nil}},
		}
		if err := r.transcode([]int16{1}); err != nil {
			t.Errorf("type %d: %v", oid, err)
			continue
		}
		if r.columns[0].Format != 1 || r.rows[1][0] != nil {
			t.Errorf("type %d: %+v", oid, r)
		}
		back, err := convert(codecs, oid, 1, 0, r.rows[0][0])
		if err != nil || string(back) != text {
			t.Errorf("type %d: %q came back as %q, %v", oid, text, back, err)
		}
	}
	r := &result{columns: []pgconn.FieldDescription{{Name: "c", DataTypeOID: 999999}}, rows: [][][]byte{{[]byte("x")}}}
	if err := r.transcode([]int16{1}); err == nil {
		t.Error("an unknown type was sent in binary")
	}
	if err := r.transcode([]int16{0}); err != nil {
		t.Errorf("text stays text: %v", err)
	}
}

func TestLayers(t *testing.T) {
	base := newLayers(Settings{values: map[string]string{"a": "0", "b": "0"}})
	l := base.set("a", "1", false).set("a", "2", true).set("b", "3", true)
	if l.current.Get("a") != "2" || l.current.Get("b") != "3" || l.session.Get("a") != "1" {
		t.Errorf("%+v", l)
	}
	if c := l.set("a", "4", false); c.current.Get("a") != "4" || c.withoutLocal().current.Get("a") != "4" {
		t.Errorf("SET after SET LOCAL: %+v", c)
	}
	if c := l.withoutLocal(); c.current.Get("a") != "1" || c.current.Get("b") != "0" {
		t.Errorf("commit: %+v", c)
	}
	if c := l.resetAll(); c.current.Get("a") != "0" {
		t.Errorf("RESET ALL: %+v", c)
	}
	if base.current.Get("a") != "0" {
		t.Error("a copy changed its original")
	}
}

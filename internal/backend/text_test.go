package backend

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestIntegral(t *testing.T) {
	for in, want := range map[string]string{"12": "12", "12.00": "12", "-3.0": "-3", "1.5": "1.5", "0.000": "0", "NaN": "NaN"} {
		if got := integral(in); got != want {
			t.Errorf("integral(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMeasureRowRefusesWhatIsNoInteger(t *testing.T) {
	for _, v := range []string{"1.5", "NaN", "9223372036854775808", "Ms Canary", ""} {
		if row, err := measureRow(0, nil, [][]byte{[]byte(v)}); err == nil {
			t.Errorf("%q became %v", v, row.Integers)
		}
	}
	if _, err := measureRow(0, []uint32{textOID, textOID}, [][]byte{nil}); err == nil {
		t.Error("a missing column was accepted")
	}
	row, err := measureRow(1, []uint32{textOID}, [][]byte{nil, []byte("-7"), nil})
	if err != nil || row.Keys[0] != nil || row.Integers[0] != -7 || row.Integers[1] != 0 {
		t.Errorf("row = %+v, %v", row, err)
	}
}

// TestTextArray has PostgreSQL read the arrays that we print.
func TestTextArray(t *testing.T) {
	b := connected(t)
	values := []string{"plain", `quo"te`, `back\slash`, "comma,brace}{", "", "NULL", " blank ", "ünï\ncode"}
	rows, err := b.Public(context.Background(), Request{SQL: "SELECT unnest($1::text[])", Parameters: [][]byte{[]byte(textArray(values))}, Types: []uint32{pgtype.TextArrayOID}})
	got := collect(t, rows, err)
	if len(got) != len(values) {
		t.Fatalf("%d values, want %d", len(got), len(values))
	}
	for i, v := range values {
		if got[i][0] != v {
			t.Errorf("value %d is %q, want %q", i, got[i][0], v)
		}
	}
}

// TestSettingsAsSQL: a value is one constant, whatever a client wrote, and a list of schemas stays one.
func TestSettingsAsSQL(t *testing.T) {
	for _, c := range []struct {
		of   pin
		want string
	}{
		{pin{"TimeZone", `x'; DROP TABLE t; --\'`}, `SET LOCAL TimeZone = E'x''; DROP TABLE t; --\\'''`},
		{pin{"TimeZone", "<+1345>-13:45"}, `SET LOCAL TimeZone = '<+1345>-13:45'`},
		{pin{"search_path", `public, "a ""b", pg_temp`}, `SET LOCAL search_path = public, "a ""b", pg_temp`},
	} {
		if got := c.of.setSQL(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

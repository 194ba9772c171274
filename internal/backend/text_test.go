package backend

import (
	"context"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestIntegral(t *testing.T) {
	for in, want := range map[string]string{
		"12": "12", "12.00": "12", "-3.0": "-3", "1.5": "1.5", "0.000": "0",
		"NaN": "NaN",
	} {
		if got := integral(in); got != want {
			t.Errorf("integral(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMeasureRowRefusesWhatIsNoInteger(t *testing.T) {
	read := func(keys []uint32, columns int, values ...[]byte) (MeasureRow, error) {
		row := measureRows(1, 1, keys, columns)[:1][0]
		return row, row.read(keys, values)
	}
	for _, v := range []string{"1.5", "NaN", "9223372036854775808", "Ms Canary", ""} {
		if row, err := read(nil, 1, []byte(v)); err == nil {
			t.Errorf("%q became %v", v, row.Integers)
		}
	}
	for _, columns := range []int{1, 3} {
		if _, err := read([]uint32{textOID, textOID}, columns, nil); err == nil {
			t.Errorf("a row of 1 column instead of %d was accepted", columns)
		}
	}
	row, err := read([]uint32{textOID}, 3, nil, []byte("-7"), nil)
	if err != nil || row.Query != 1 || row.Keys[0] != nil || row.Integers[0] != -7 || row.Integers[1] != 0 {
		t.Errorf("row = %+v, %v", row, err)
	}
}

// TestMeasureRowsAreApart: a row of a batch has no other's values.
func TestMeasureRowsAreApart(t *testing.T) {
	keys := []uint32{textOID}
	rows := measureRows(2, 0, keys, 2)[:2]
	for i, text := range []string{"1", "2"} {
		if err := rows[i].read(keys, [][]byte{[]byte(text), []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{1, 2} {
		if row := rows[i]; row.Integers[0] != want || string(*row.Keys[0]) != strconv.FormatInt(want, 10) ||
			cap(row.Integers) != 1 || cap(row.Keys) != 1 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
}

// TestTextArray has PostgreSQL read the arrays that we print.
func TestTextArray(t *testing.T) {
	b := connected(t)
	values := []string{"plain", `quo"te`, `back\slash`, "comma,brace}{", "", "NULL", " blank ", "ünï\ncode"}
	rows, err := b.Public(context.Background(), Request{SQL: "SELECT unnest($1::text[])", Parameters: [][]byte{
		[]byte(textArray(values)),
	}, Types: []uint32{pgtype.TextArrayOID}})
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

package rewrite_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Numbers that are not integers are equal up to the grid: up to half a step per row, which is this for every column of
// the test's policy.
const (
	relativeGrid = 1e-4
	absoluteGrid = 1e-3
)

// wanted is one value of PostgreSQL's answer and between which two every answer is as right: they differ where a
// percentile lies between two rows.
type wanted struct{ want, low, high *string }

// sameColumns compares what the client is told, what the finish query returns, and what PostgreSQL returns. The shadow
// has its own numbers for the types of main.
func sameColumns(told, got, want []pgconn.FieldDescription) string {
	if len(told) != len(want) || len(got) != len(want) {
		return fmt.Sprintf("%d columns are described and %d returned, want %d", len(told), len(got), len(want))
	}
	for i, w := range want {
		own := w.DataTypeOID >= 16384 && told[i].DataTypeOID >= 16384
		if told[i].Name != w.Name || told[i].DataTypeOID != w.DataTypeOID && !own || told[i].TypeModifier != w.TypeModifier {
			return fmt.Sprintf("column %d is described as %s, want %s", i+1, columnText(told[i]), columnText(w))
		}
		if got[i].Name != w.Name || got[i].DataTypeOID != w.DataTypeOID {
			return fmt.Sprintf("column %d is %s, want %s", i+1, columnText(got[i]), columnText(w))
		}
	}
	return ""
}

func columnText(f pgconn.FieldDescription) string {
	return fmt.Sprintf("%s of type %d (%d)", f.Name, f.DataTypeOID, f.TypeModifier)
}

// span joins PostgreSQL's answer with the two that bound its percentiles.
func span(want, low, high [][]*string) ([][]wanted, error) {
	if len(low) != len(want) || len(high) != len(want) {
		return nil, fmt.Errorf("%d, %d and %d rows, depending on percentile_cont", len(want), len(low), len(high))
	}
	rows := make([][]wanted, len(want))
	for i := range want {
		for j := range want[i] {
			rows[i] = append(rows[i], wanted{want[i][j], low[i][j], high[i][j]})
		}
	}
	return rows, nil
}

// difference compares two bags of rows, and their order in the sorted columns; it is "" for equal ones.
func difference(got [][]*string, want [][]wanted, sorted []int) string {
	tell := func(problem string) string {
		return fmt.Sprintf("%s\ngot  %s\nwant %s", problem, rowsText(got), wantedText(want))
	}
	if len(got) != len(want) {
		return tell(fmt.Sprintf("%d rows, want %d", len(got), len(want)))
	}
	taken := make([]bool, len(got))
	for i, row := range want {
		for _, c := range sorted {
			if !near(got[i][c], row[c]) {
				return tell(fmt.Sprintf("row %d is in another order", i+1))
			}
		}
		at := -1
		for _, like := range []func(*string, wanted) bool{equal, near} {
			for j := 0; j < len(got) && at < 0; j++ {
				if !taken[j] && likeRow(got[j], row, like) {
					at = j
				}
			}
		}
		if at < 0 {
			return tell("there is no row" + wantedText(want[i:i+1]))
		}
		taken[at] = true
	}
	return ""
}

func likeRow(got []*string, want []wanted, like func(*string, wanted) bool) bool {
	for i := range want {
		if !like(got[i], want[i]) {
			return false
		}
	}
	return true
}

func equal(got *string, want wanted) bool {
	return got == want.want || got != nil && want.want != nil && *got == *want.want
}

// near reports whether a value is PostgreSQL's up to the grid, or lies between the two that bound it.
func near(got *string, want wanted) bool {
	if equal(got, want) {
		return true
	}
	if got == nil || want.want == nil || want.low == nil || want.high == nil {
		return false
	}
	x, low, high := numbers(*got), numbers(*want.low), numbers(*want.high)
	if x == nil || len(low) != len(x) || len(high) != len(x) || *want.low == *want.high && whole(*got) &&
		whole(*want.want) {
		return false
	}
	for i := range x {
		slack := absoluteGrid + relativeGrid*math.Max(math.Abs(low[i]), math.Abs(high[i]))
		if x[i] < math.Min(low[i], high[i])-slack || x[i] > math.Max(low[i], high[i])+slack {
			return false
		}
	}
	return true
}

// whole reports whether a text is an integer, which is on every grid.
func whole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// numbers reads a number, a time in seconds, or an array of either; nil for other texts.
func numbers(s string) []float64 {
	if list, ok := strings.CutPrefix(s, "{"); ok {
		var all []float64
		for _, part := range strings.Split(strings.TrimSuffix(list, "}"), ",") {
			x := numbers(part)
			if len(x) != 1 {
				return nil
			}
			all = append(all, x[0])
		}
		return all
	}
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return []float64{x}
	}
	for _, layout := range []string{"2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return []float64{float64(t.UnixMicro()) / 1e6}
		}
	}
	var i pgtype.Interval
	if i.Scan(s) == nil {
		return []float64{float64(i.Microseconds)/1e6 + 86400*(float64(i.Days)+30*float64(i.Months))}
	}
	return nil
}

func wantedText(rows [][]wanted) string {
	var plain [][]*string
	for _, row := range rows {
		var values []*string
		for _, c := range row {
			values = append(values, c.want)
		}
		plain = append(plain, values)
	}
	return rowsText(plain)
}

func rowsText(rows [][]*string) string {
	var b strings.Builder
	for i, row := range rows {
		if i == 12 {
			b.WriteString(" …")
			break
		}
		b.WriteString(" (")
		for j, v := range row {
			if j > 0 {
				b.WriteString(", ")
			}
			if v == nil {
				b.WriteString("NULL")
			} else {
				b.WriteString(*v)
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

package integration_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/mechanism/stattest"
	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// levelsQuestion asks for three levels, whose keys have every value that there can be: nothing but noise sets a total
// apart from its groups.
const levelsQuestion = `SELECT grouping(floor, smoker), floor, smoker, count(*), sum(age), sum(income), count(*) FILTER (WHERE diagnosis = 'flu')%s
	FROM patients p JOIN wards w ON w.ward = p.ward WHERE income >= %d GROUP BY ROLLUP (floor, smoker)`

// TestLevelsAddUp asks at the default ε: counts and sums of all levels add up to the last digit, whether empty groups
// are shown or not. A total of so few rows that none of its groups is shown stands by itself.
func TestLevelsAddUp(t *testing.T) {
	for name, policy := range map[string]string{"rdp": clinicPolicy(), "pure": purePolicy()} {
		p := start(t, policy, clinic)
		conn := p.connect()
		for i := range 30 {
			set := map[bool]string{true: "drop", false: "keep"}[i%2 == 0]
			if _, err := conn.Exec(context.Background(), "SET dpproxy.empty_groups = "+set); err != nil {
				t.Fatal(err)
			}
			rows := levelRows(t, conn, fmt.Sprintf(levelsQuestion, "", (i/2)*6000)) // the later ones of few rows
			if diff := apart(rows, set == "drop"); diff != "" {
				t.Errorf("%s, empty groups: %s: %s", name, set, diff)
			}
		}
	}
}

// TestGroupingSetsAddUp: the groups of two grouping sets are both parts of one total.
func TestGroupingSetsAddUp(t *testing.T) {
	conn := start(t, purePolicy(), clinic).connect()
	for i := range 10 {
		sums := map[int32]int64{}
		rows, err := conn.Query(context.Background(), fmt.Sprintf(`SELECT grouping(floor, smoker), count(*)
			FROM patients p JOIN wards w ON w.ward = p.ward WHERE income >= %d GROUP BY GROUPING SETS ((floor), (smoker), ())`,
			i*8000))
		if err != nil {
			t.Fatal(err)
		}
		var set int32
		var n int64
		if _, err := pgx.ForEachRow(rows, []any{&set, &n}, func() error { sums[set] += n; return nil }); err != nil {
			t.Fatal(err)
		}
		if sums[1] != sums[3] || sums[2] != sums[3] {
			t.Errorf("%d by floor, %d by smoker, %d in all", sums[1], sums[2], sums[3])
		}
	}
}

// levelRow is a row of levelsQuestion: its level, its key in the next one, and its numbers.
type levelRow struct {
	level   int32
	key, of string
	numbers []float64 // sums of cents are exact
}

func levelRows(t *testing.T, conn *pgx.Conn, sql string) (out []levelRow) {
	t.Helper()
	rows, err := conn.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		r := levelRow{level: values[0].(int32), of: fmt.Sprint(values[1])}
		if r.key = r.of + fmt.Sprint(values[2]); r.level == 1 {
			r.key, r.of = r.of, ""
		}
		for _, v := range values[3:] {
			r.numbers = append(r.numbers, number(v))
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// number reads a count or a sum; NULL is NaN.
func number(v any) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case pgtype.Numeric:
		if f, err := x.Float64Value(); err == nil && f.Valid {
			return f.Float64
		}
	}
	return math.NaN()
}

// apart says where rows do not add up to those of the next level, or a count is below 0; empty: nowhere. alone: a total
// may have no groups.
func apart(rows []levelRow, alone bool) string {
	next := map[int32]int32{0: 1, 1: 3}
	for _, total := range rows {
		sums, parts := make([]float64, len(total.numbers)), 0
		for _, r := range rows {
			if next[r.level] == total.level && r.level != total.level && (total.level == 3 || r.of == total.key) {
				parts++
				for i, x := range r.numbers {
					if !math.IsNaN(x) {
						sums[i] += x
					}
				}
			}
		}
		for i, x := range total.numbers {
			if math.IsNaN(x) {
				total.numbers[i] = 0
			}
		}
		adds := total.level > 0 && (parts > 0 || !alone)
		if adds && fmt.Sprintf("%.2f", sums) != fmt.Sprintf("%.2f", total.numbers) || total.numbers[0] < 0 {
			return fmt.Sprintf("level %d, %q: %.2f, and its groups are %.2f", total.level, total.key, total.numbers, sums)
		}
	}
	return ""
}

// TestIntervalsOfLevels: the announced intervals hold the truth as often as they should.
func TestIntervalsOfLevels(t *testing.T) {
	p := start(t, everyKey(clinicPolicy()), clinic)
	conn := p.connect()
	main, err := pgx.Connect(context.Background(), p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer main.Close(context.Background())
	const variance, intervals = ", var_pop(age)",
		", var_pop(age), dpproxy.interval_low(count(*)), dpproxy.interval_high(count(*)), " +
			"dpproxy.interval_low(sum(age)), dpproxy.interval_high(sum(age)), dpproxy.interval_low(var_pop(age)), dpproxy.interval_high(var_pop(age))"
	var hits, all [3]int
	for i := range 40 {
		truth := map[string][]float64{}
		for _, r := range levelRows(t, main, fmt.Sprintf(levelsQuestion, variance, i*500)) {
			truth[fmt.Sprint(r.level, r.key)] = r.numbers
		}
		for _, r := range levelRows(t, conn, fmt.Sprintf(levelsQuestion, intervals, i*500)) {
			want := truth[fmt.Sprint(r.level, r.key)]
			if want == nil { // a group without rows
				want = []float64{0, 0, 0, 0, math.NaN()}
			}
			for j := range hits {
				low, high, at := r.numbers[5+2*j], r.numbers[6+2*j], []int{0, 1, 4}[j]
				if math.IsNaN(low) || math.IsNaN(high) || math.IsNaN(want[at]) {
					continue // a sum over no rows
				}
				if all[j]++; low <= want[at] && want[at] <= high {
					hits[j]++
				}
				if slack := 1e-9 * math.Abs(high); r.numbers[at] < low-slack || high+slack < r.numbers[at] {
					t.Errorf("%v is not in its interval %v to %v", r.numbers[at], low, high)
				}
			}
		}
	}
	for j, name := range []string{"count(*)", "sum(age)", "var_pop(age)"} {
		t.Logf("%s: %d of %d intervals hold the truth", name, hits[j], all[j])
		if !stattest.AtLeast(hits[j], all[j], .94) {
			t.Errorf("%s: %d of %d intervals hold the truth", name, hits[j], all[j])
		}
	}
}

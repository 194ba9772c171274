package backend

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// repeated runs a statement that repeats on public, whose pool has one connection.
func repeated(b *Backend, sql string, s Settings) string {
	return ask(b.Public, Request{SQL: sql, Settings: s, Repeats: true})
}

// preparedTexts lists what is prepared on public's connection, but for the commands around statements.
func preparedTexts(b *Backend) string {
	return ask(
		b.Public,
		Request{SQL: `SELECT statement FROM pg_prepared_statements WHERE name ~ '^dpproxy_\d+$' ORDER BY prepare_time`})
}

// TestTextsThatRepeatArePrepared: the second time that they come, and not where a text may mean something else later.
func TestTextsThatRepeatArePrepared(t *testing.T) {
	b := connected(t)
	for i, want := range []string{"", "SELECT 'a' AS x", "SELECT 'a' AS x"} {
		if got := repeated(b, "SELECT 'a' AS x", Settings{}); got != "a" {
			t.Errorf("time %d: %q", i+1, got)
		}
		if got := preparedTexts(b); got != want {
			t.Errorf("after %d times %q is prepared, want %q", i+1, got, want)
		}
	}
	for range 3 {
		if got := ask(b.Public, Request{SQL: "SELECT timestamp 'now'"}); len(got) < len("2026-01-01 00:00:00") {
			t.Errorf("no time: %q", got)
		}
	}
	if got := preparedTexts(b); got != "SELECT 'a' AS x" {
		t.Errorf("%q is prepared", got)
	}
}

// TestPreparedTextsAnswerAlike: formats, parameters and errors are those of each execution, however often the text has
// come.
func TestPreparedTextsAnswerAlike(t *testing.T) {
	b, ctx := connected(t), context.Background()
	for i := range 4 {
		for _, format := range []int16{0, 1} {
			rows, err := b.Public(ctx, Request{
				SQL: "SELECT $1::int4 + 1 AS a, $2 AS b", Types: []uint32{23, textOID}, Parameters: [][]byte{
					{0, 0, 0, byte(i)}, []byte("x"),
				}, Formats: []int16{1, 0},
				ResultFormats: []int16{format, 0}, Repeats: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if c := rows.Columns(); len(c) != 2 || c[0].Name != "a" || c[0].DataTypeOID != 23 || c[0].Format != format ||
				c[1].Format != 0 || c[1].DataTypeOID != textOID {
				t.Errorf("columns = %+v", c)
			}
			want := fmt.Sprint(i + 1)
			if format == 1 {
				want = string([]byte{0, 0, 0, byte(i + 1)})
			}
			if got := collect(t, rows, nil); got[0][0] != want || got[0][1] != "x" {
				t.Errorf("time %d: %q, want %q", i, got, want)
			}
			if tag := rows.Tag(); tag != "SELECT 1" {
				t.Errorf("tag %q", tag)
			}
		}
		zero := Request{SQL: "SELECT 1 / $1", Types: []uint32{23}, Parameters: [][]byte{[]byte("0")}, Repeats: true}
		if got := ask(b.Public, zero); got != "refused 22012" {
			t.Errorf("time %d: %s", i, got)
		}
		if got := repeated(b, "SELECT nope", Settings{}); got != "refused 42703" {
			t.Errorf("time %d: %s", i, got)
		}
	}
}

// TestPreparedTextsBelongToTheirSettings: constants are read when a text is parsed.
func TestPreparedTextsBelongToTheirSettings(t *testing.T) {
	b := connected(t)
	for range 4 {
		for _, c := range []struct {
			settings Settings
			want     string
		}{
			{Settings{}, "2026-01-02 2026-01-02 12:00:00+00 1 day"},
			{Settings{DateStyle: "German, DMY"}, "01.02.2026 02.01.2026 12:00:00 UTC 1 day"},
			{Settings{TimeZone: "Asia/Tokyo", IntervalStyle: "sql_standard"}, "2026-01-02 2026-01-02 12:00:00+09 1 0:00:00"},
		} {
			if got := repeated(b, "SELECT '01/02/2026'::date, '2026-01-02 12:00'::timestamptz, '1 day'::interval", c.settings); got != c.want {
				t.Errorf("under %+v: %q, want %q", c.settings, got, c.want)
			}
		}
	}
}

// TestPreparedTextsFollowTheDatabase: what has changed since a text was prepared is seen by the next execution.
func TestPreparedTextsFollowTheDatabase(t *testing.T) {
	b := connected(t, "CREATE TABLE p (a int)", "INSERT INTO p VALUES (7)",
		"CREATE FUNCTION forget() RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$")
	change := func(sql string) func() {
		return func() {
			t.Helper()
			if _, err := b.main.pool.Exec(context.Background(), sql); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		want   string
	}{
		{"nothing", func() {}, "7"},
		{"a row", change("INSERT INTO p VALUES (8)"), "7 | 8"},
		{"a type", change("ALTER TABLE p ALTER a TYPE text USING 'x' || a"), "x7 | x8"},
		{"a column", change("ALTER TABLE p ADD b int DEFAULT 1"), "x7 1 | x8 1"},
		{"no statement is left", func() { ask(b.Public, Request{SQL: "SELECT forget()"}) }, "x7 1 | x8 1"},
	} {
		c.change()
		for i := range 3 {
			if got := repeated(b, "SELECT * FROM p ORDER BY 1", Settings{}); got != c.want {
				t.Errorf("%s, time %d: %q, want %q", c.name, i, got, c.want)
			}
		}
	}
	change("DROP TABLE p")()
	if got := repeated(b, "SELECT * FROM p ORDER BY 1", Settings{}); got != "refused 42P01" {
		t.Errorf("without the table: %s", got)
	}
}

// TestFewTextsStayPrepared: a connection keeps keptStatements of them.
func TestFewTextsStayPrepared(t *testing.T) {
	b := connected(t)
	for i := range 2 * keptStatements {
		for range 2 {
			repeated(b, fmt.Sprintf("SELECT %d", i), Settings{})
		}
	}
	if got := len(strings.Split(preparedTexts(b), " | ")); got != keptStatements {
		t.Errorf("%d texts are prepared, want %d", got, keptStatements)
	}
}

// TestPreparedMeasuresAreCheckedAnew: a measure query that main has parsed before is refused where main would not take
// it now, and a proof that was borne out before is made again.
func TestPreparedMeasuresAreCheckedAnew(t *testing.T) {
	b, ctx := connected(t, "CREATE TABLE t (id int PRIMARY KEY, x int, y int)", "INSERT INTO t VALUES (1, 2, 3)"),
		context.Background()
	m := Measurement{
		Admit: anything,
		Queries: []MeasureQuery{
			{SQL: rewrite.SQL{Text: "SELECT sum(x) FROM public.t WHERE id > $1", Parameters: []rewrite.Parameter{
				{Type: 23, Value: text("0")},
			}}, Integers: 1},
			{SQL: rewrite.SQL{Text: "SELECT sum(y) FROM public.t"}, Integers: 1},
			{SQL: rewrite.SQL{Text: "SELECT sum(y) FROM public.t"}, Integers: 1},
		},
		Proofs: []rewrite.Proof{
			{Relation: policy.Name{Schema: "public", Relation: "t"}, Columns: []string{"id"}},
			{
				Values: rewrite.SQL{Text: "SELECT $1 = 'a'", Parameters: []rewrite.Parameter{{Type: textOID, Value: text("a")}}},
				Of:     "letters",
			},
		},
	}
	measure := func() (sum int64, _ error) {
		err := b.Measure(ctx, m, func(r MeasureRow) error { sum += r.Integers[0]; return nil })
		return sum, err
	}
	change := func(sql string) {
		t.Helper()
		if _, err := b.shadow.pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(times int, change string, want int64) {
		t.Helper()
		for range times {
			if err := b.CheckMeasure(ctx, m); err != nil {
				t.Errorf("%s: %v", change, err)
			}
			if sum, err := measure(); err != nil || sum != want {
				t.Errorf("%s: %d, %v; want %d", change, sum, err, want)
			}
		}
	}
	ask(8, "as it was", 8) // on every connection of the pools
	change("UPDATE t SET y = 4")
	ask(4, "a row", 10)
	change("ALTER TABLE t DROP CONSTRAINT t_pkey")
	var unproven *ProofError
	for range 4 {
		if err := b.CheckMeasure(ctx, m); !errors.As(err, &unproven) {
			t.Errorf("without the index: %v", err)
		}
		if _, err := measure(); !errors.As(err, &unproven) {
			t.Errorf("without the index, measured: %v", err)
		}
	}
	change("ALTER TABLE t ADD PRIMARY KEY (id)")
	ask(4, "with the index again", 10)
	change("ALTER TABLE t DROP y")
	var refused *RefusedError
	for range 4 {
		if err := b.CheckMeasure(ctx, m); !errors.As(err, &refused) {
			t.Errorf("without the column: %v", err)
		}
	}
	m.Proofs[1].Values.Parameters[0].Value = text("b")
	if err := b.CheckMeasure(ctx, m); !errors.As(err, &unproven) || unproven.Proof.Of != "letters" {
		t.Errorf("with another value: %v", err)
	}
}

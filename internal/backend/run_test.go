package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// connected is a Backend whose three connections go to one fresh database as superuser: for what is about running
// statements, not about roles.
func connected(t testing.TB, sql ...string) *Backend {
	t.Helper()
	s, db := pgservertest.Database(t, sql...)
	return connectedTo(t, s.DSN(db, pgserver.Superuser))
}

func connectedTo(t testing.TB, dsn string) *Backend {
	t.Helper()
	p := &policy.Policy{
		Pool: policy.Pool{Main: 2, Shadow: 2, Public: 1, Wait: 2 * time.Second},
		Tables: []*policy.Table{
			{Name: policy.Name{Schema: "public", Relation: "t"}},
			{Name: policy.Name{Schema: "public", Relation: "p"}, Public: true},
		},
	}
	p.Databases.Main, p.Databases.Shadow, p.Databases.Public = dsn, dsn, dsn
	b, err := Open(context.Background(), p, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func collect(t *testing.T, rows *Rows, err error) [][]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	if err := rows.Each(func(values [][]byte) {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		all = append(all, row)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// ask runs a statement and returns its values, a blank between them and " | " between rows. It says the SQLSTATE of one
// that is refused before its first row, or fails behind the rows.
func ask(run func(context.Context, Request) (*Rows, error), r Request) string {
	rows, err := run(context.Background(), r)
	if err != nil {
		return "refused " + code(err)
	}
	var lines []string
	err = rows.Each(func(values [][]byte) { lines = append(lines, string(bytes.Join(values, []byte(" ")))) })
	if err != nil {
		lines = append(lines, "failed "+code(err))
	}
	return strings.Join(lines, " | ")
}

// code is the SQLSTATE of an error, and "" of one that is none of PostgreSQL's.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// measurement measures with queries that everybody admits.
func measurement(queries ...string) Measurement {
	m := Measurement{Admit: anything}
	for _, sql := range queries {
		m.Queries = append(m.Queries, MeasureQuery{SQL: rewrite.SQL{Text: sql}})
	}
	return m
}

// measured measures, and drops what comes.
func measured(b *Backend, m Measurement) error {
	return b.Measure(context.Background(), m, func(MeasureRow) error { return nil })
}

func TestRowsRunPinnedAndReadOnly(t *testing.T) {
	b := connected(t, "CREATE TABLE t (a int)")
	for _, c := range []struct {
		sql, want string
		settings  Settings
	}{
		{"SHOW transaction_read_only", "on", Settings{}},
		{"SHOW TimeZone", "UTC", Settings{}},
		{"SHOW DateStyle", "ISO, MDY", Settings{}},
		{"SHOW IntervalStyle", "postgres", Settings{}},
		{"SHOW search_path", `"public", pg_temp`, Settings{}},
		{"SHOW standard_conforming_strings", "on", Settings{}},
		{"SHOW client_encoding", "UTF8", Settings{}},
		{"SHOW statement_timeout", "1min", Settings{}},
		{
			"SELECT timestamptz '2026-01-01 00:00Z'", "01.01.2026 09:00:00 JST",
			Settings{TimeZone: "Asia/Tokyo", DateStyle: "German"},
		},
		{"SHOW TimeZone", "UTC", Settings{}}, // the next transaction on the same connection starts afresh
		{"INSERT INTO t VALUES (1)", "refused 25006", Settings{}},
		{"SELECT 1", "refused 22023", Settings{TimeZone: "Mars"}},
	} {
		if got := ask(b.Shadow, Request{SQL: c.sql, Settings: c.settings}); got != c.want {
			t.Errorf("%s under %+v: %q, want %q", c.sql, c.settings, got, c.want)
		}
	}
	if got, err := b.CheckSetting(context.Background(), "DateStyle", "german"); err != nil || got != "German, DMY" {
		t.Errorf("CheckSetting = %q, %v", got, err)
	}
}

// TestNothingIsLeftOnAConnection: a function that sets something for its session, a setting that is refused and a
// statement that fails, each before a statement that has to find its own pins and the server's own settings for the
// rest.
func TestNothingIsLeftOnAConnection(t *testing.T) {
	b := connected(t, `CREATE FUNCTION leave() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		PERFORM set_config('TimeZone', 'Asia/Tokyo', false); PERFORM set_config('work_mem', '77kB', false); PERFORM set_config('search_path', 'pg_catalog', false);
		PERFORM set_config('standard_conforming_strings', 'off', false); PERFORM set_config('default_transaction_read_only', 'off', false);
		PERFORM set_config('session_replication_role', 'replica', false); RETURN current_setting('TimeZone'); END $$`,
		"CREATE VIEW leaves AS SELECT leave() AS zone",
		"CREATE FUNCTION fail() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM leave(); RETURN 1 / 0; END $$")
	const settings = `SELECT current_setting('TimeZone'), current_setting('work_mem'), current_setting('search_path'), current_setting('standard_conforming_strings'),
		current_setting('session_replication_role'), current_setting('transaction_read_only')`
	state := func(s Settings) string { return ask(b.Public, Request{SQL: settings, Settings: s}) } // a pool of one
	runs := func(sql, want string) func(Settings) {
		return func(s Settings) {
			if got := ask(b.Public, Request{SQL: sql, Settings: s}); got != want {
				t.Errorf("%s: %q, want %q", sql, got, want)
			}
		}
	}
	before, berlin := state(Settings{}), state(Settings{TimeZone: "Europe/Berlin"})
	if !strings.HasPrefix(before, "UTC ") || !strings.HasPrefix(berlin, "Europe/Berlin ") {
		t.Fatalf("%q, %q", before, berlin)
	}
	for name, leave := range map[string]func(Settings){
		"a view":   runs("SELECT zone FROM leaves", "Asia/Tokyo"),
		"an error": runs("SELECT fail()", "failed 22012"),
		"a zone that there is not": func(s Settings) {
			s.TimeZone = "Mars"
			runs("SELECT leave()", "refused 22023")(s)
		},
		"rows that nobody reads": func(s Settings) {
			rows, err := b.Public(context.Background(), Request{SQL: "SELECT leave() FROM generate_series(1, 10)", Settings: s})
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
		},
		"a description": func(s Settings) {
			if _, err := b.DescribeOn(context.Background(), rewrite.RoutePublic, "SELECT leave()", nil, s); err != nil {
				t.Error(err)
			}
		},
	} {
		for _, s := range []Settings{{}, {TimeZone: "Europe/Berlin"}} {
			leave(s)
			if got := state(Settings{}); got != before {
				t.Errorf("after %s under %q: %s, want %s", name, s.TimeZone, got, before)
			}
			leave(s)
			if got := state(Settings{TimeZone: "Europe/Berlin"}); got != berlin {
				t.Errorf("after %s under %q: %s, want %s", name, s.TimeZone, got, berlin)
			}
		}
	}
}

// TestPreparedCommandsAreWhatTheyWere: a function that takes away what a connection has prepared, or puts something
// else in its place, costs that connection, and nobody's settings.
func TestPreparedCommandsAreWhatTheyWere(t *testing.T) {
	const function = `CREATE FUNCTION %s() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('work_mem', '77kB', false); %s RETURN 1; END $$`
	var functions []string
	for _, c := range guardCommands {
		take := "EXECUTE 'DEALLOCATE " + c.name + "';"
		functions = append(functions, fmt.Sprintf(function, "take_"+c.name, take),
			fmt.Sprintf(function, "replace_"+c.name, take+" EXECUTE 'PREPARE "+c.name+" AS SELECT 1';"))
	}
	b := connected(t, functions...)
	const settings = `SELECT current_setting('work_mem'), current_setting('TimeZone'), current_setting('transaction_read_only')`
	state := func() string { return ask(b.Public, Request{SQL: settings}) } // a pool of one
	before := state()
	if !strings.HasSuffix(before, " UTC on") {
		t.Fatal(before)
	}
	for _, c := range guardCommands {
		for _, f := range []string{"take_", "replace_"} {
			ask(b.Public, Request{SQL: "SELECT " + f + c.name + "()"}) // it may fail at its end
			if got := state(); got != before {
				t.Errorf("after %s%s: %s, want %s", f, c.name, got, before)
			}
		}
	}
}

// TestCatalogsAreReadUnpinned: who was on a connection before decides nothing that is read of the catalogs.
func TestCatalogsAreReadUnpinned(t *testing.T) {
	b := connected(t)
	ctx := context.Background()
	if got := ask(b.Public, Request{SQL: "SELECT 1", Settings: Settings{TimeZone: "Asia/Tokyo"}}); got != "1" {
		t.Error(got)
	}
	conn, err := b.public.acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := unpin(ctx, conn.Conn()); err != nil {
		t.Fatal(err)
	}
	changed := 0
	if err := conn.QueryRow(
		ctx, "SELECT count(*) FROM pg_settings WHERE setting IS DISTINCT FROM reset_val AND source = 'session'").Scan(
		&changed); err != nil || changed > 0 {
		t.Errorf("%d settings are a session's, %v", changed, err)
	}
}

func TestRowsKeepFormatsAndStopAnywhere(t *testing.T) {
	b := connected(t)
	ctx := context.Background()
	rows, err := b.Public(ctx, Request{
		SQL:        "SELECT $1::int4 AS a, $2::text AS b",
		Parameters: [][]byte{{0, 0, 0, 7}, nil}, Formats: []int16{1}, ResultFormats: []int16{1, 0},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := rows.Columns(); len(c) != 2 || c[0].Name != "a" || c[0].DataTypeOID != 23 || c[0].Format != 1 ||
		c[1].Format != 0 {
		t.Errorf("columns = %+v", c)
	}
	values, err := rows.Next()
	if err != nil || string(values[0]) != "\x00\x00\x00\x07" || values[1] != nil {
		t.Errorf("values = %q, %v", values, err)
	}
	if _, err := rows.Next(); !errors.Is(err, io.EOF) || rows.Tag() != "SELECT 1" {
		t.Errorf("end: %v, tag %q", err, rows.Tag())
	}
	rows.Close()
	// Closed in the middle of ten million rows, ten times over a pool of one: the connection comes back each time.
	for range 10 {
		rows, err := b.Public(ctx, Request{SQL: "SELECT generate_series(1, 10000000), repeat('x', 100)"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rows.Next(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	for _, c := range [][2]string{
		{"SELECT 1/(3-g) FROM generate_series(1, 5) g", "0 | 1 | failed 22012"},
		{"SELECT 'still'", "still"},
	} {
		if got := ask(b.Public, Request{SQL: c[0]}); got != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestDescribeGivesTypesOrTheNativeError(t *testing.T) {
	b := connected(t, "CREATE TABLE t (a int, n numeric(10,2))")
	ctx := context.Background()
	d, err := b.Describe(ctx, "SELECT a, n FROM t WHERE a > $1 AND n < $2", []uint32{20}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.ParamOIDs) != 2 || d.ParamOIDs[0] != 20 || d.ParamOIDs[1] != 1700 || len(d.Fields) != 2 ||
		d.Fields[1].TypeModifier != 10<<16|2+4 {
		t.Errorf("description = %+v", d)
	}
	_, err = b.Describe(ctx, "SELECT nope FROM t", nil, Settings{})
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "42703" || e.Position != 8 {
		t.Errorf("error = %#v", err)
	}
	if d, err := b.Describe(ctx, "SELECT 1", nil, Settings{}); err != nil || len(d.Fields) != 1 {
		t.Errorf("after an error: %+v, %v", d, err)
	}
}

func text(s string) *rewrite.Canonical { return (*rewrite.Canonical)(&s) }

func TestMeasureReadsOneSnapshotOfIntegers(t *testing.T) {
	b := connected(t, "CREATE TABLE t (id int PRIMARY KEY, ward text, x numeric)",
		"INSERT INTO t SELECT g, CASE WHEN g % 3 > 0 THEN 'w' || g % 3 END, g FROM generate_series(1, 1000) g")
	m := Measurement{
		Admit: anything,
		Queries: []MeasureQuery{
			{
				SQL: rewrite.SQL{
					Text:       "SELECT ward, count(*), sum(x)::numeric(20,2) FROM public.t WHERE id <= $1 GROUP BY 1 ORDER BY 1 NULLS LAST",
					Parameters: []rewrite.Parameter{{Type: 23, Value: text("9")}},
				}, Keys: []uint32{textOID}, Integers: 2,
			},
			{SQL: rewrite.SQL{Text: "SELECT count(*), sum(x) FROM public.t WHERE id < 0"}},
			{SQL: rewrite.SQL{Text: "SELECT id FROM public.t"}},
		},
		Proofs: []rewrite.Proof{{Relation: policy.Name{Schema: "public", Relation: "t"}, Columns: []string{"ward", "id"}}},
	}
	var rows []MeasureRow
	if err := b.Measure(context.Background(), m, func(r MeasureRow) error { rows = append(rows, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3+1+1000 {
		t.Fatalf("%d rows", len(rows))
	}
	if *rows[0].Keys[0] != "w1" || rows[0].Integers[0] != 3 || rows[0].Integers[1] != 12 || rows[2].Keys[0] != nil ||
		rows[2].Integers[1] != 18 {
		t.Errorf("groups = %+v", rows[:3])
	}
	if rows[3].Query != 1 || rows[3].Integers[0] != 0 || rows[3].Integers[1] != 0 {
		t.Errorf("sum over nothing = %+v", rows[3])
	}
	if rows[1003].Query != 2 || rows[1003].Integers[0] != 1000 {
		t.Errorf("last = %+v", rows[1003])
	}
}

func TestMeasureErrorsSayNothing(t *testing.T) {
	b := connected(t, "CREATE TABLE t (id int, secret text)", "INSERT INTO t VALUES (1, 'Ms Canary')")
	for name, sql := range map[string]string{
		"cast":   "SELECT secret::int FROM public.t",
		"no int": "SELECT secret FROM public.t",
		"name":   "SELECT id FROM t", // search_path holds no schema of users
		"write":  "DELETE FROM public.t RETURNING id",
	} {
		err := measured(b, measurement(sql))
		var e *MeasureError
		if !errors.As(err, &e) || err.Error() != "the main database failed while measuring" || errors.Unwrap(err) != nil ||
			code(err) != "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if e.Lost() {
			t.Errorf("%s: main is said to be away", name)
		}
	}
	again := measurement("SELECT id FROM public.t")
	if err := measured(b, again); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	again.Proofs = []rewrite.Proof{{Relation: policy.Name{Schema: "public", Relation: "t"}, Columns: []string{"id"}}}
	var unproven *ProofError
	if err := measured(b, again); !errors.As(err, &unproven) {
		t.Errorf("without the index of a proof: %v", err)
	}
}

func TestMeasureCancelledReturnsAtOnceAndTheConnectionComesBack(t *testing.T) {
	b := connected(t)
	gone := errors.New("client gone")
	for range 4 { // a pool of two
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
		err := b.Measure(ctx, measurement("SELECT 1 FROM pg_sleep(3600)"), func(MeasureRow) error { return nil })
		if !errors.Is(err, gone) {
			t.Fatalf("error = %v", err)
		}
	}
	refused := errors.New("refused")
	err := b.Measure(context.Background(), measurement("SELECT generate_series(1, 100000000)"), func(MeasureRow) error {
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error = %v", err)
	}
}

func TestPoolWaitEndsWith53300(t *testing.T) {
	b := connected(t)
	b.public.wait = 30 * time.Millisecond
	held, err := b.Public(context.Background(), Request{SQL: "SELECT 1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Public(context.Background(), Request{SQL: "SELECT 1"}); code(err) != "53300" ||
		!strings.Contains(err.Error(), "public") {
		t.Errorf("error = %v", err)
	}
	held.Close()
	for range 2 { // all of main's connections
		conn, err := b.main.acquire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
	}
	b.main.wait = 30 * time.Millisecond
	if err := measured(b, measurement()); code(err) != "53300" {
		t.Errorf("measure: %v", err)
	}
	// What is free must not tell that main is busy.
	if err := b.CheckMeasure(context.Background(), Measurement{}); err != nil {
		t.Errorf("check: %v", err)
	}
	if _, err := b.check.catalogs(context.Background(), nil); err != nil {
		t.Errorf("catalogs: %v", err)
	}
	if got := ask(b.Public, Request{SQL: "SELECT 'free'"}); got != "free" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestBadParameterIsTheClientsOwnError: PostgreSQL calls it a protocol violation, and the connection lives on.
func TestBadParameterIsTheClientsOwnError(t *testing.T) {
	b := connected(t)
	opened := b.Stats()["shadow"].NewConnsCount()
	r := Request{SQL: "SELECT $1::int", Parameters: [][]byte{{1}}, Formats: []int16{1}}
	rows, err := b.Shadow(context.Background(), r)
	if err == nil {
		err = rows.Each(func([][]byte) {})
	}
	if code(err) != "08P01" || !strings.Contains(err.Error(), "insufficient data left in message") {
		t.Errorf("error = %v", err)
	}
	if n := b.Stats()["shadow"].NewConnsCount(); n != opened {
		t.Errorf("%d connections were opened for it", n-opened)
	}
}

func TestServerParameters(t *testing.T) {
	b := connected(t)
	got, err := b.ServerParameters(context.Background())
	if err != nil || got["server_encoding"] != "UTF8" || got["integer_datetimes"] != "on" ||
		!strings.HasPrefix(got["server_version_num"], got["server_version"][:2]) || got["TimeZone"] == "" {
		t.Errorf("parameters = %v, %v", got, err)
	}
}

func TestBackendRestartIsNotNoticedBetweenStatements(t *testing.T) {
	s, err := pgserver.Start(context.Background(), pgserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	dsn := s.DSN("postgres", pgserver.Superuser)
	p := &policy.Policy{Pool: policy.Pool{Main: 1, Shadow: 1, Public: 1, Wait: 10 * time.Second}, Tables: []*policy.Table{
		{Public: true},
	}}
	p.Databases.Main, p.Databases.Shadow, p.Databases.Public = dsn, dsn, dsn
	ctx := context.Background()
	var log bytes.Buffer
	b, err := Open(ctx, p, slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sleep := measurement("SELECT 1 FROM pg_sleep(60)")
	inFlight := make(chan error, 1)
	go func() { inFlight <- measured(b, sleep) }()
	admin, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	for sleeps := false; !sleeps; {
		if err := admin.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(
			&sleeps); err != nil {
			t.Fatal(err)
		}
	}
	_ = admin.Close(ctx)
	if err := s.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	var failure *MeasureError
	if err := <-inFlight; !errors.As(err, &failure) || !failure.Lost() {
		t.Errorf("in flight: %v", err)
	}
	for _, again := range []string{"first", "second"} {
		if _, err := b.Describe(ctx, "SELECT 1", nil, Settings{}); err != nil {
			t.Errorf("describe, %s: %v", again, err)
		}
		if got := ask(b.Public, Request{SQL: "SELECT 'up'"}); got != "up" {
			t.Errorf("public, %s: %q", again, got)
		}
		if err := measured(b, measurement("SELECT 1")); err != nil {
			t.Errorf("measure, %s: %v", again, err)
		}
		if err := s.Restart(ctx); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop()
	if _, err := b.Describe(ctx, "SELECT 1", nil, Settings{}); code(err) != CannotConnectNow {
		t.Errorf("while down: %v", err)
	}
	if !strings.Contains(log.String(), `"msg":"database unreachable","database":"shadow"`) {
		t.Errorf("the log: %s", &log)
	}
	if err := measured(b, sleep); !errors.As(err, &failure) || !failure.Lost() {
		t.Errorf("measure while down: %v", err)
	}
}

// TestARowOverTheLimit: the client learns that its row is too large, and the next statement has a connection.
func TestARowOverTheLimit(t *testing.T) {
	b := connected(t)
	ctx := context.Background()
	for _, sql := range []string{
		"SELECT repeat('x', 70000000)",
		"SELECT repeat('x', n) FROM (VALUES (1), (70000000)) v(n)",
	} {
		rows, err := b.Shadow(ctx, Request{SQL: sql})
		for err == nil {
			_, err = rows.Next()
		}
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "54000" || !strings.Contains(e.Message, "more than 67108864") {
			t.Errorf("%s: %v, want 54000", sql, err)
		}
	}
	if got := ask(b.Shadow, Request{SQL: "SELECT 1"}); got != "1" {
		t.Error(got)
	}
}

// anything admits every query.
func anything(int, rewrite.SQL) error { return nil }

// TestNothingRunsThatIsNotAdmitted: main does not see a query without somebody who admits it, nor one that is not
// admitted.
func TestNothingRunsThatIsNotAdmitted(t *testing.T) {
	b := connected(t, "CREATE TABLE t (id int)")
	m := measurement("SELECT count(*) FROM public.t")
	m.Queries[0].Integers = 1
	var kept *NotAdmitted
	for name, admit := range map[string]func(int, rewrite.SQL) error{
		"nobody": nil,
		"not":    func(int, rewrite.SQL) error { return errors.New("not certified") },
	} {
		m.Admit = admit
		err := b.Measure(context.Background(), m, func(MeasureRow) error { t.Error("a row came"); return nil })
		if !errors.As(err, &kept) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m.Admit = anything
	if err := measured(b, m); err != nil {
		t.Error("the connection is of no use any more:", err)
	}
}

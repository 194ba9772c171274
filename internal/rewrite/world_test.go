package rewrite_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"google.golang.org/protobuf/proto"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// world is a PostgreSQL server with the test's tables, a shadow made by setup, and the schema that rewrite sees.
type world struct {
	policy  *policy.Policy
	backend *backend.Backend
	schema  *rewrite.Schema
	main    *pgx.Conn         // superuser
	clock   map[string]string // what "today" and "now" are read as; nil: as they are
	session backend.Settings  // of the analyst
	maxRows int               // SET dpproxy.max_rows
	wide    bool              // SET dpproxy.intervals
	pinned  *backend.Settings // what main has now
}

var (
	theServer *pgserver.Server
	theWorld  *world
)

func TestMain(m *testing.M) {
	code, err := runWorld(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runWorld(m *testing.M) (int, error) {
	ctx := context.Background()
	server, err := pgserver.Start(ctx, pgserver.Options{})
	if err != nil {
		return 1, err
	}
	defer server.Stop()
	theServer = server
	release.MostSent = 3 // main joins the wards of patients, of which NULL is one, and is sent those of others
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		return 1, err
	}
	rules, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		return 1, err
	}
	theWorld, err = newWorld(ctx, server, "clinic", "REWRITE_TEST_", string(rules), string(schema))
	if err != nil {
		return 1, err
	}
	defer theWorld.backend.Close()
	return m.Run(), nil
}

// newWorld makes a database from a schema, a shadow by setup, and reads what rewrite sees of them. The policy's DSNs
// are ${PREFIX_MAIN} and so on.
func newWorld(ctx context.Context, server *pgserver.Server, name, prefix, policyText string, schema ...string) (
	*world, error,
) {
	admin, err := pgx.Connect(ctx, server.DSN("postgres", pgserver.Superuser))
	if err != nil {
		return nil, err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	if err := admin.Close(ctx); err != nil {
		return nil, err
	}
	w := &world{session: plain, pinned: &backend.Settings{}}
	if w.main, err = pgx.Connect(ctx, server.DSN(name, pgserver.Superuser)); err != nil {
		return nil, err
	}
	for _, sql := range schema {
		if _, err := w.main.Exec(ctx, sql); err != nil {
			return nil, fmt.Errorf("%w in %.200s", err, sql)
		}
	}
	for suffix, dsn := range map[string]string{
		"MAIN": server.DSN(name, "dp_main"), "SHADOW": server.DSN(name+"_shadow", "dp_shadow"),
		"PUBLIC": server.DSN(name, "dp_public"), "ADMIN": server.DSN(name, pgserver.Superuser),
	} {
		if err := os.Setenv(prefix+suffix, dsn); err != nil {
			return nil, err
		}
	}
	if w.policy, err = policy.Parse("testdata/policy.yaml", []byte(policyText)); err != nil {
		return nil, err
	}
	if err := provision.Setup(ctx, w.policy, io.Discard); err != nil {
		return nil, err
	}
	if w.backend, err = backend.Open(ctx, w.policy, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	w.schema, err = w.backend.Schema(ctx)
	return w, err
}

// plain is a session that has set nothing; settings are what rewrite sees of it.
var (
	plain = backend.Settings{
		TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres", ExtraFloatDigits: "1",
		ByteaOutput: "hex",
	}
	settings = (&world{session: plain}).settings()
)

// sessions are those under which every test of privacy and of meaning runs: text that PostgreSQL prints there is not
// the text that it reads back, instants fall into gaps and overlaps of daylight saving, and a day may be skipped.
var sessions = map[string]backend.Settings{
	"plain": plain,
	"few": {
		TimeZone: "Asia/Kolkata", DateStyle: "SQL, DMY", IntervalStyle: "sql_standard", ExtraFloatDigits: "-15",
		ByteaOutput: "escape",
	},
	"posix": {
		TimeZone: "EST5CST-20,M3.2.0,M11.1.0", DateStyle: "SQL, MDY", IntervalStyle: "postgres",
		ExtraFloatDigits: "0", ByteaOutput: "hex",
	},
	"german": {
		TimeZone: "<+1345>-13:45", DateStyle: "German, DMY", IntervalStyle: "iso_8601", ExtraFloatDigits: "3",
		ByteaOutput: "escape",
	},
	"half": {
		TimeZone: "Australia/Lord_Howe", DateStyle: "Postgres, MDY", IntervalStyle: "postgres_verbose",
		ExtraFloatDigits: "1", ByteaOutput: "hex",
	},
	"new york": {
		TimeZone: "America/New_York", DateStyle: "ISO, YMD", IntervalStyle: "postgres", ExtraFloatDigits: "-3",
		ByteaOutput: "hex",
	},
}

// tried are the sessions that tests of the whole corpus run under: in `make test`, the plain one and one hostile one.
func tried() map[string]backend.Settings {
	if testing.Short() {
		return map[string]backend.Settings{"plain": plain, "few": sessions["few"]}
	}
	return sessions
}

func (w *world) settings() rewrite.Settings {
	return rewrite.Settings{
		TimeZone: w.session.TimeZone, DateStyle: w.session.DateStyle, IntervalStyle: w.session.IntervalStyle, User: "alice",
		Database: "clinic",
		MaxRows:  w.maxRows, Intervals: w.wide,
	}
}

// pin gives main these settings.
func (w *world) pin(s backend.Settings) {
	if *w.pinned == s {
		return
	}
	const set = "SELECT set_config('TimeZone', $1, false), set_config('DateStyle', $2, false), set_config('IntervalStyle', $3, false), " +
		"set_config('extra_float_digits', $4, false), set_config('bytea_output', $5, false)"
	values := [][]byte{
		[]byte(s.TimeZone), []byte(s.DateStyle), []byte(s.IntervalStyle), []byte(s.ExtraFloatDigits),
		[]byte(s.ByteaOutput),
	}
	// Not through pgx, which would prepare it: other tests drop whatever is prepared.
	if _, err := w.main.PgConn().ExecParams(context.Background(), set, values, nil, nil, nil).Close(); err != nil {
		panic(err)
	}
	*w.pinned = s
}

// measuring pins what dpproxy pins on main; client what the analyst set.
func (w *world) measuring() {
	s := plain
	s.TimeZone, s.ExtraFloatDigits = w.session.TimeZone, "3"
	w.pin(s)
}

func (w *world) client() { w.pin(w.session) }

// as is the world in another session.
func (w *world) as(session backend.Settings) *world {
	out := *w
	out.session = session
	return &out
}

// lookup answers a plan's questions from the shadow and the public tables.
type lookup struct {
	w *world
	q *question // whose plan asks; nil: it has no parameters that a query over public tables reads
}

func (l lookup) Distinct(c policy.ColumnOf, oid uint32) ([]rewrite.Canonical, error) {
	return l.w.backend.Distinct(context.Background(), c, oid, l.w.session)
}

func (l lookup) Rows(q rewrite.Query) (*rewrite.Table, error) {
	return l.w.backend.Evaluate(context.Background(), q, l.w.session)
}

func (lookup) Expression(int) (value *rewrite.Canonical, known bool) { return nil, false }
func (l lookup) PublicRows(q rewrite.Query) (*rewrite.Table, error) {
	return l.w.backend.PublicRows(context.Background(), q, l.w.session)
}

func (l lookup) Listed(q rewrite.ClientQuery) ([][]*rewrite.Canonical, error) {
	r := backend.Request{SQL: q.SQL, Settings: l.w.session}
	for _, n := range q.Parameters {
		r.Parameters, r.Types = append(r.Parameters, l.q.values[n-1]), append(r.Types, l.q.described.ParamOIDs[n-1])
	}
	return l.w.backend.StageRows(context.Background(), q.On, r, q.Columns, q.List)
}

func (l lookup) Literal(oid uint32, text string) (rewrite.Canonical, error) {
	if pinned := l.w.clock[text]; pinned != "" {
		text = pinned
	}
	one := rewrite.Constants{Literals: []rewrite.Literal{{Type: oid, Text: text}}}
	read, err := l.w.backend.Constants(context.Background(), backend.Parameters{}, one, l.w.session)
	if err != nil {
		return "", err
	}
	return *read.Literals[0], nil
}

// then is the world with its clock stopped.
func (w *world) then() *world {
	stopped := *w
	stopped.clock = map[string]string{"today": "2021-06-15", "now": "2021-06-15 12:00:00+00"}
	return &stopped
}

// question is a statement on its way through the package.
type question struct {
	sql       string // of an EXPLAIN, the statement inside
	values    [][]byte
	described *pgconn.StatementDescription
	analysis  *rewrite.Analysis
	plan      *rewrite.Plan // nil unless private
}

// ask takes a statement as far as its plan.
func (w *world) ask(sql string, values [][]byte) (*question, error) {
	return w.askUntil(context.Background(), sql, values)
}

// askUntil is ask until a context ends.
func (w *world) askUntil(ctx context.Context, sql string, values [][]byte) (*question, error) {
	q := &question{values: values}
	statements, err := rewrite.Parse(sql, 32768)
	if err != nil {
		return nil, err
	}
	if len(statements) != 1 {
		return nil, fmt.Errorf("%d statements", len(statements))
	}
	q.sql = statements[0].SQL
	// The engine gives the same tree to all who send the same text.
	tree := sqltree.Clone(statements[0].Node)
	defer func() {
		if !proto.Equal(tree, statements[0].Node) {
			panic("the analysis changed the tree of " + sql)
		}
	}()
	if x := statements[0].Explain(); x != nil {
		q.sql = x.Inner.SQL
	}
	if q.described, err = w.backend.Describe(context.Background(), q.sql, nil, w.session); err != nil {
		return nil, err
	}
	d := rewrite.Description{ParameterTypes: q.described.ParamOIDs}
	for _, f := range q.described.Fields {
		d.Columns = append(d.Columns, rewrite.ColumnDescription{Name: f.Name, Type: f.DataTypeOID, Typmod: f.TypeModifier})
	}
	d.Describe = func(sql string) ([]rewrite.ColumnDescription, error) {
		other, err := w.backend.Describe(context.Background(), sql, d.ParameterTypes, w.session)
		if err != nil {
			return nil, err
		}
		var columns []rewrite.ColumnDescription
		for _, f := range other.Fields {
			columns = append(columns, rewrite.ColumnDescription{Name: f.Name, Type: f.DataTypeOID, Typmod: f.TypeModifier})
		}
		return columns, nil
	}
	if q.analysis, err = rewrite.Analyze(ctx, w.schema, statements[0], d, w.settings()); err != nil {
		return nil, err
	}
	if q.analysis.Route != rewrite.RoutePrivate {
		return q, nil
	}
	read, err := w.read(q)
	if err != nil {
		return nil, err
	}
	q.plan, err = q.analysis.Plan(ctx, read, lookup{w, q}, planOptions)
	return q, err
}

// read returns the values of a question's parameters.
func (w *world) read(q *question) (rewrite.Values, error) {
	read, err := w.backend.Constants(context.Background(), backend.Parameters{
		Values: q.values, Types: q.described.ParamOIDs,
	}, rewrite.Constants{}, w.session)
	if err != nil {
		return nil, err
	}
	return read.Parameters, nil
}

// planOptions are those of every plan of the tests.
var planOptions = rewrite.Options{HashKey: "test"}

// trees are the queries of a question's blocks, as trees.
func (w *world) trees(q *question) ([][]query.Query, error) {
	read, err := w.read(q)
	if err != nil {
		return nil, err
	}
	return q.analysis.Trees(read, lookup{w, q}, planOptions)
}

// verdict is what a corpus file records of a statement, asked at a fixed time; with printed also its SQL for main and
// for the shadow.
func (w *world) verdict(sql string, values [][]byte, printed bool) string {
	q, err := w.then().ask(sql, values)
	if err != nil {
		return refusalText(err)
	}
	switch q.analysis.Route {
	case rewrite.RouteShadow:
		return "shadow\n"
	case rewrite.RoutePublic:
		return "public\n"
	}
	var b strings.Builder
	p := q.plan
	releases := 0
	for _, k := range p.Blocks {
		releases += len(k.Releases)
	}
	fmt.Fprintf(&b, "answered: epsilon %g over %d releases\n", p.Epsilon, releases)
	for _, l := range p.Explain {
		fmt.Fprintln(&b, l)
	}
	if !printed {
		return b.String()
	}
	for _, k := range p.Blocks {
		if k.Measure.Text != "" {
			fmt.Fprintf(&b, "measure: %s\n", k.Measure.Text)
		}
		for _, h := range k.Histograms {
			fmt.Fprintf(&b, "histogram: %s\n", h.Measure.Text)
		}
	}
	on := map[rewrite.Route]string{rewrite.RouteShadow: "shadow", rewrite.RoutePublic: "public"}
	for i, s := range p.Stages {
		fmt.Fprintf(&b, "stage %d on %s: %s\n", i+1, on[s.Query.On], s.Query.SQL)
	}
	fmt.Fprintf(&b, "finish on %s: %s\n", on[p.Finish.On], p.Finish.SQL)
	return b.String()
}

// refusalText prints an error as a client sees it.
func refusalText(err error) string {
	pe, ok := err.(*pgconn.PgError)
	if !ok {
		return fmt.Sprintf("NOT A CLIENT ERROR: %v\n", err)
	}
	text := fmt.Sprintf("refused %s", pe.Code)
	if pe.Position > 0 {
		text += fmt.Sprintf(" at %d", pe.Position)
	}
	text += ": " + pe.Message + "\n"
	if pe.Hint != "" {
		text += "hint: " + pe.Hint + "\n"
	}
	return text
}

// parameters reads "a|b|NULL" as text values.
func parameters(text string) [][]byte {
	if text == "" {
		return nil
	}
	var values [][]byte
	for _, v := range strings.Split(text, "|") {
		if v == "NULL" {
			values = append(values, nil)
			continue
		}
		values = append(values, []byte(v))
	}
	return values
}

// cachedLookup asks each question once, as the engine does.
type cachedLookup struct {
	lookup
	rows     map[string]*rewrite.Table
	distinct map[string][]rewrite.Canonical
}

func (l cachedLookup) Rows(q rewrite.Query) (*rewrite.Table, error) {
	if r, ok := l.rows[q.SQL]; ok {
		return r, nil
	}
	r, err := l.lookup.Rows(q)
	l.rows[q.SQL] = r
	return r, err
}

func (l cachedLookup) Distinct(c policy.ColumnOf, oid uint32) ([]rewrite.Canonical, error) {
	if r, ok := l.distinct[c.Column]; ok {
		return r, nil
	}
	r, err := l.lookup.Distinct(c, oid)
	l.distinct[c.Column] = r
	return r, err
}

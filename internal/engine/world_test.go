package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/engine/estimate"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/wire"
)

// rules are the policy of the tests. With ε 50 a count's noise is 0 in all but one of 10²¹ draws, so answers are exact.
// The budget pays two statements and a half.
const rules = `
version: 1
listen: 127.0.0.1:0
insecure: true
databases:
  main: "host=localhost dbname=clinic user=dp_main"
  shadow: "host=localhost dbname=shadow user=dp_shadow"
  public: "host=localhost dbname=clinic user=dp_public"
certify: require
ledger: file:test.ledger
accounting: {method: pure}
timing: {steps: 1.25}
answers: {ttl: 1h}
defaults: {epsilon: 50, epsilon_max: 60}
analysts:
  alice: {password: "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc=", budget: {epsilon: 125}}
  bob: {password: "SCRAM-SHA-256$4096:0Hgp0DUP9zdWDNNc0OInIw==$ohxdOJ2SS2VSCywhxKyGM6ZJhLyvI+s/UtB+STXwJk0=:NNmL6gplFdt//qbFoG+Kq8nVDfV/E+k29zOR8e8c1uc=", budget: {epsilon: 125}}
tables:
  patients:
    privacy_unit: {name: patient, column: id}
    max_rows_per_unit: 1
    max_rows: 100000
    columns:
      id: {}
      age: {bounds: [0, 120]}
      ward: {values: [north, south]}
  wards: {public: true, max_rows: 100, columns: {ward: {}}}
`

// parsePolicy reads rules with some texts replaced: old, new, old, new.
func parsePolicy(t testing.TB, replace ...string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(strings.NewReplacer(replace...).Replace(rules)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// clinicSchema is what main's catalogs say of the tables in rules.
func clinicSchema(p *policy.Policy) *rewrite.Schema {
	column := func(name string, attnum int16, oid uint32, typeName string) rewrite.RelationColumn {
		return rewrite.RelationColumn{
			Name: name, Attnum: attnum, Type: oid, Typmod: -1, TypeName: typeName,
			DeterministicCollation: true,
		}
	}
	s := &rewrite.Schema{Policy: p, Relations: map[policy.Name]*rewrite.Relation{}}
	for i, table := range p.Tables {
		r := &rewrite.Relation{Name: table.Name, Kind: 'r', OID: uint32(1000 + i), Shape: "shape", Rows: 5}
		switch table.Name.Relation {
		case "patients":
			r.Unique, r.PrimaryKey = [][]string{{"id"}}, []string{"id"}
			r.Columns = []rewrite.RelationColumn{
				column("id", 1, pgtype.Int4OID, "integer"),
				column("age", 2, pgtype.Int4OID, "integer"), column("ward", 3, pgtype.TextOID, "text"),
			}
			if table.Column("admitted") != nil { // of a test's own
				r.Columns = append(r.Columns, column("admitted", 4, pgtype.DateOID, "date"))
			}
		case "wards":
			r.Columns = []rewrite.RelationColumn{column("ward", 1, pgtype.TextOID, "text")}
		}
		s.Relations[table.Name] = r
	}
	if err := s.ReadBounds(); err != nil {
		panic(err) // the policy is the test's own
	}
	return s
}

// journal writes down what the engine asks of databases and ledger, in order, and makes calls fail. It is safe for
// concurrent use.
type journal struct {
	mu     sync.Mutex
	lines  []string
	faults map[string][]func() error // by call, used up one after another
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// on has the next call of that name do f, and fail if f returns an error.
func (j *journal) on(call string, f func() error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.faults == nil {
		j.faults = map[string][]func() error{}
	}
	j.faults[call] = append(j.faults[call], f)
}

// fault is the fault of this call, if one is set.
func (j *journal) fault(call string) error {
	j.mu.Lock()
	var f func() error
	if list := j.faults[call]; len(list) > 0 {
		f, j.faults[call] = list[0], list[1:]
	}
	j.mu.Unlock()
	if f == nil {
		return nil
	}
	return f()
}

// take returns the lines since the last call of it.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// count counts the lines that begin with a word, and leaves them.
func (j *journal) count(word string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := 0
	for _, line := range j.lines {
		if line == word || strings.HasPrefix(line, word+" ") {
			n++
		}
	}
	return n
}

// fakeDatabases implements databases: main has 41 rows, all in the first group, and the shadow echoes what it is bound.
type fakeDatabases struct {
	*journal
	schema *rewrite.Schema
	types  uint32               // of the statement's column where it is not a count; 0: int8
	shift  uint32               // what a fault adds to a finish query's type
	rows   []backend.MeasureRow // of main; nil: 41 in the first group
	result [][]byte             // the row of the shadow; nil: its parameters
	asked  atomic.Int32         // for constants
	clock  map[string]string    // what the shadow reads of its clock; nil: the first of 2026
	used   sync.RWMutex

	results *int // how many such rows; nil: one
}

func (d *fakeDatabases) Use() bool { return d.used.TryRLock() }
func (d *fakeDatabases) Leave()    { d.used.RUnlock() }

func (d *fakeDatabases) Schema(context.Context) (*rewrite.Schema, error) {
	return d.schema, d.fault("schema")
}

func (d *fakeDatabases) Fits(_ context.Context, s *rewrite.Schema) (bool, error) {
	return s == d.schema, d.fault("fits")
}

func (d *fakeDatabases) ServerParameters(context.Context) (map[string]string, error) {
	return map[string]string{"server_version": "15.18"}, d.fault("parameters")
}

func (d *fakeDatabases) description(sql string) *pgconn.StatementDescription {
	out := &pgconn.StatementDescription{}
	for range strings.Count(sql, "$1") {
		out.ParamOIDs = []uint32{pgtype.Int4OID}
	}
	for _, name := range outputs(sql) {
		oid := uint32(pgtype.Int8OID)
		if name == "ward" {
			oid = pgtype.TextOID
		}
		name, _, _ = strings.Cut(name, "(")
		out.Fields = append(out.Fields, pgconn.FieldDescription{Name: name, DataTypeOID: oid + d.types, TableOID: 77})
	}
	return out
}

// outputs splits the list of a SELECT at the commas outside of parentheses.
func outputs(sql string) []string {
	list, _, _ := strings.Cut(strings.TrimPrefix(sql, "SELECT "), " FROM ")
	var out []string
	for _, part := range strings.Split(list, ", ") {
		if last := len(out) - 1; last >= 0 && strings.Count(out[last], "(") > strings.Count(out[last], ")") {
			out[last] += ", " + part
			continue
		}
		out = append(out, part)
	}
	return out
}

func (d *fakeDatabases) Describe(_ context.Context, sql string, _ []uint32, _ backend.Settings) (
	*pgconn.StatementDescription, error,
) {
	d.add("describe")
	return d.description(sql), d.fault("describe")
}

func (d *fakeDatabases) DescribeOn(_ context.Context, _ rewrite.Route, sql string, types []uint32, _ backend.Settings) (
	*pgconn.StatementDescription, error,
) {
	out := &pgconn.StatementDescription{ParamOIDs: types}
	for _, output := range outputs(sql) {
		oid := uint32(pgtype.Int8OID)
		switch {
		case strings.HasSuffix(output, "ward"):
			oid = pgtype.TextOID
		case strings.Contains(sql, "array_agg"): // of a stage
			oid = pgtype.Int8ArrayOID
		}
		out.Fields = append(out.Fields, pgconn.FieldDescription{DataTypeOID: oid + d.shift})
	}
	return out, d.fault("finish")
}

func (d *fakeDatabases) CheckSetting(_ context.Context, _, value string) (string, error) {
	return value, d.fault("setting")
}

// Constants gives values and literals as they are written; for the clock, what it is set to.
func (d *fakeDatabases) Constants(_ context.Context, p backend.Parameters, c rewrite.Constants, _ backend.Settings) (
	*backend.Constants, error,
) {
	d.asked.Add(1)
	out := &backend.Constants{Parameters: canonicals(p.Values)}
	for _, l := range c.Literals {
		text := rewrite.Canonical(l.Text)
		out.Literals = append(out.Literals, &text)
	}
	clock := d.clock
	if clock == nil {
		clock = map[string]string{"now": "2026-01-01 00:00:00+00", "today": "2026-01-01"}
	}
	for _, v := range slices.Concat(out.Parameters, out.Literals) {
		if v == nil {
			continue
		}
		if read, ok := clock[string(*v)]; ok {
			*v = rewrite.Canonical(read)
		}
	}
	return out, d.fault("read")
}

func canonicals(values [][]byte) rewrite.Values {
	out := make(rewrite.Values, len(values))
	for i, v := range values {
		if v != nil {
			text := rewrite.Canonical(v)
			out[i] = &text
		}
	}
	return out
}

// Evaluate answers TRUE to every condition, and gives the wards where texts are asked for.
func (d *fakeDatabases) Evaluate(_ context.Context, q rewrite.Query, _ backend.Settings) (*rewrite.Table, error) {
	d.add("evaluate")
	values := []rewrite.Canonical{"t"}
	if q.Types[0] == pgtype.TextOID {
		values = []rewrite.Canonical{"north", "south"}
	}
	rows := rewrite.NewTable(len(q.Types))
	_, condition, conditional := strings.Cut(q.SQL, ") AS u(v) WHERE ") // of values of a key
	for i := range values {
		if conditional && !strings.Contains(condition, string(values[i])) {
			continue
		}
		row := make([]*rewrite.Canonical, len(q.Types))
		for at := range row {
			row[at] = &values[i]
		}
		rows.Add(row)
	}
	return rows, d.fault("evaluate")
}

func (d *fakeDatabases) PublicRows(context.Context, rewrite.Query, backend.Settings) (*rewrite.Table, error) {
	return nil, d.fault("public")
}

func (d *fakeDatabases) Distinct(context.Context, policy.ColumnOf, uint32, backend.Settings) ([]rewrite.Canonical,
	error,
) {
	d.add("distinct")
	return []rewrite.Canonical{"north", "south"}, d.fault("distinct")
}

func (d *fakeDatabases) CheckMeasure(context.Context, backend.Measurement) error {
	d.add("check")
	return d.fault("check")
}

func (d *fakeDatabases) Measure(ctx context.Context, m backend.Measurement, each func(backend.MeasureRow) error) error {
	d.add("measure")
	if err := d.fault("measure"); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, row := range d.rows {
		if err := each(row); err != nil {
			return err
		}
	}
	if d.rows != nil {
		return nil
	}
	answered := 0
	for q, query := range m.Queries {
		for answered < len(m.Stages) && m.Stages[answered] == q {
			if _, err := m.Answer(ctx, answered); err != nil {
				return err
			}
			answered++
			if err := d.fault("later"); err != nil {
				return err
			}
		}
		row := backend.MeasureRow{Query: q, Integers: []int64{1}}
		for len(row.Integers) < query.Integers {
			row.Integers = append(row.Integers, 41)
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (d *fakeDatabases) StageRows(_ context.Context, on rewrite.Route, r backend.Request, _ int, list rewrite.Query) (
	[][]*rewrite.Canonical, error,
) {
	d.add("stage%s", map[bool]string{true: fmt.Sprintf(" on public with %q", r.Parameters)}[on == rewrite.RoutePublic])
	value := rewrite.Canonical("7")
	row := make([]*rewrite.Canonical, len(list.Types))
	for i := range row {
		row[i] = &value
	}
	return [][]*rewrite.Canonical{row}, d.fault("stage")
}

// Drawn says that the twin has rows, unless a fault says otherwise.
func (d *fakeDatabases) Drawn(context.Context) (bool, error) {
	err := d.fault("drawn")
	if errors.Is(err, errEmpty) {
		return false, nil
	}
	return true, err
}

var errEmpty = errors.New("the twin is empty")

func (d *fakeDatabases) Run(ctx context.Context, route rewrite.Route, r backend.Request) (backendRows, error) {
	d.add("run on %s", verdicts[route])
	if route == rewrite.RouteSynthetic {
		d.add("%s", r.SQL)
	}
	if err := d.fault("run"); err != nil {
		return nil, err
	}
	row := r.Parameters
	if d.result != nil {
		row = d.result
	}
	rows := &fakeRows{journal: d.journal, ctx: ctx, row: row, left: 1}
	if d.results != nil {
		rows.left = *d.results
	}
	rows.all = rows.left
	return rows, nil
}

// fakeRows is one row, or several times the same: the parameters of its statement.
type fakeRows struct {
	*journal
	ctx       context.Context
	row       [][]byte
	all, left int
	closed    bool
}

func (r *fakeRows) Next() ([][]byte, error) {
	if err := r.fault("row"); err != nil {
		return nil, err
	}
	if r.ctx.Err() != nil {
		return nil, context.Cause(r.ctx)
	}
	if r.left == 0 {
		return nil, io.EOF
	}
	r.left--
	return r.row, nil
}
func (r *fakeRows) Tag() string { return "SELECT " + strconv.Itoa(r.all) }
func (r *fakeRows) Close() {
	if !r.closed {
		r.add("close")
	}
	r.closed = true
}

// watchedLedger is a real ledger whose calls are written down and may be made to fail.
type watchedLedger struct {
	ledger.Store
	*journal
}

func (l watchedLedger) Spend(ctx context.Context, analyst string, charges []ledger.Charge) (ledger.Balance, error) {
	total := []string{}
	for _, c := range charges {
		total = append(total, estimate.Number(c.Epsilon))
	}
	if err := l.fault("spend"); err != nil {
		return ledger.Balance{}, err
	}
	b, err := l.Store.Spend(ctx, analyst, charges)
	if err == nil {
		l.add("spend %s", strings.Join(total, ", "))
	}
	return b, err
}

func (l watchedLedger) Balance(ctx context.Context, analyst string) (ledger.Balance, error) {
	if err := l.fault("balance"); err != nil {
		return ledger.Balance{}, err
	}
	return l.Store.Balance(ctx, analyst)
}

func (l watchedLedger) Answer(ctx context.Context, key string) ([]byte, bool, error) {
	if err := l.fault("answer"); err != nil {
		return nil, false, err
	}
	return l.Store.Answer(ctx, key)
}

func (l watchedLedger) PutAnswer(ctx context.Context, key string, answer []byte, ttl time.Duration) ([]byte, error) {
	if key != secretKey {
		l.add("keep")
	}
	if err := l.fault("keep"); err != nil {
		return nil, err
	}
	return l.Store.PutAnswer(ctx, key, answer, ttl)
}

func (l watchedLedger) Fail(ctx context.Context, analyst, fingerprint string) error {
	if err := l.fault("fail"); err != nil {
		return err
	}
	l.add("fail")
	return l.Store.Fail(ctx, analyst, fingerprint)
}

func (l watchedLedger) Releasable(ctx context.Context, analyst string) error {
	if err := l.fault("releasable"); err != nil {
		return err
	}
	return l.Store.Releasable(ctx, analyst)
}

// counted is Metrics: verdicts by name.
type counted struct {
	mu       sync.Mutex
	verdicts map[string]int
	epsilon  float64
	share    float64
}

func (m *counted) Statement(verdict string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.verdicts[verdict]++
}
func (*counted) Stage(string, time.Duration) {}

// Uncertified counts as a verdict.
func (m *counted) Uncertified() { m.Statement("uncertified") }

func (m *counted) Charged(epsilon, share float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epsilon, m.share = m.epsilon+epsilon, m.share+share
}

// client writes what a session sends into the journal.
type client struct{ *journal }

func (c client) RowDescription([]pgconn.FieldDescription) error { return nil }
func (c client) DataRow(values [][]byte) error                  { c.add("row %s", bytes.Join(values, nil)); return nil }
func (c client) CommandComplete(tag string) error               { c.add("%s", tag); return nil }
func (c client) EmptyQuery() error                              { return nil }
func (c client) PortalSuspended() error                         { return nil }
func (c client) Notice(n *pgconn.Notice) error                  { c.add("%s %s", n.Severity, n.Message); return nil }
func (c client) CopyOut(byte, int) error                        { return nil }
func (c client) CopyData([]byte) error                          { return nil }
func (c client) CopyDone() error                                { return nil }

// question is what most tests ask.
const question = "SELECT count(*) FROM patients"

// world is an engine over fakes.
type world struct {
	*journal
	t       testing.TB
	engine  *Engine
	fake    *fakeDatabases
	before  *fakeDatabases // of the policy before the first reload; nil: there was none
	ledger  ledger.Store
	metrics *counted
	scope   session.Scope
	bound   map[string]session.Bound
	known   map[string]session.Prepared
	session wire.Session // of send
	beside  *another     // a connection that waits
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

func newWorld(t testing.TB, replace ...string) *world {
	t.Helper()
	p := parsePolicy(t, replace...)
	j, store := &journal{}, openLedger(t, p)
	w := &world{
		journal: j, t: t, ledger: store, metrics: &counted{verdicts: map[string]int{}},
		bound: map[string]session.Bound{}, known: map[string]session.Prepared{},
	}
	w.engine = newEngine(watchedLedger{store, j}, w.metrics, slog.New(slog.DiscardHandler))
	w.fake = &fakeDatabases{journal: j, schema: clinicSchema(p)}
	if err := w.engine.load(context.Background(), p, w.fake); err != nil {
		t.Fatal(err)
	}
	settings := session.Settings{}.With("timezone", "UTC").With("datestyle", "ISO, MDY").With("intervalstyle", "postgres")
	w.scope = session.Scope{Analyst: "alice", User: "alice", Database: "clinic", Settings: settings}
	w.fresh()
	return w
}

// openLedger opens a ledger until the test ends.
func openLedger(t testing.TB, p *policy.Policy) ledger.Store {
	t.Helper()
	config := ledger.ConfigOf(p)
	config.Log = slog.New(slog.DiscardHandler)
	store, err := stores.Open(context.Background(), "file:"+filepath.Join(t.TempDir(), "ledger"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// patience ends a statement that waits for what does not come: sooner than a question in flight ends by itself.
const patience = inFlightLimit * 2 / 3

// fresh begins a statement: its context is not cancelled.
func (w *world) fresh() {
	limited, stop := context.WithTimeout(context.Background(), patience)
	w.t.Cleanup(stop)
	w.ctx, w.cancel = context.WithCancelCause(limited)
}

// reload loads the policy again, over new connections.
func (w *world) reload(replace ...string) {
	w.t.Helper()
	p := parsePolicy(w.t, replace...)
	w.fake = &fakeDatabases{journal: w.journal, schema: clinicSchema(p)}
	if err := w.engine.load(context.Background(), p, w.fake); err != nil {
		w.t.Fatal(err)
	}
}

// open opens a session of alice's.
func (w *world) open(t *testing.T, h *session.Handler) wire.Session {
	t.Helper()
	s, err := h.Open(context.Background(), wire.Startup{
		Analyst: "alice", User: "alice", Database: "clinic",
		Notice: func(*pgconn.Notice) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) prepare(sql string) (session.Prepared, error) {
	list, err := w.engine.Parse(sql)
	if err != nil {
		return nil, err
	}
	return list[0].Parsed.Prepare(w.ctx, w.scope, nil)
}

func (w *world) bind(sql string, values ...string) (session.Bound, error) {
	p, err := w.prepare(sql)
	if err != nil {
		return nil, err
	}
	var raw [][]byte
	for _, v := range values {
		raw = append(raw, []byte(v))
	}
	return p.Bind(w.ctx, w.scope, nil, raw, nil)
}

// mustBind binds a private statement.
func (w *world) mustBind(t testing.TB, sql string, values ...string) *private {
	t.Helper()
	b, err := w.bind(sql, values...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return b.(*private)
}

// mustCharge binds and charges a private statement.
func (w *world) mustCharge(t testing.TB, sql string) *private {
	t.Helper()
	p := w.mustBind(t, sql)
	if err := w.engine.Charge(w.ctx, w.scope, p); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p
}

// left is what the ledger says that alice has left.
func (w *world) left() string {
	b, err := w.ledger.Balance(context.Background(), w.scope.Analyst)
	if err != nil {
		w.t.Fatal(err)
	}
	return strconv.FormatFloat(b.EpsilonLeft, 'g', 6, 64)
}

// codeOf is the SQLSTATE of a refusal; empty: it is none.
func codeOf(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// errorText is an error as the client would see it.
func errorText(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Severity + " " + e.Code + " " + e.Message
	}
	return "internal: " + err.Error()
}

var errCanceled = pgerr.New(pgerr.QueryCanceled, "canceling statement due to user request")

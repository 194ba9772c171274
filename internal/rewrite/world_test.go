package rewrite_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// world is a PostgreSQL server with the test's tables, a shadow made by setup, and the schema that rewrite sees.
type world struct {
	policy  *policy.Policy
	backend *backend.Backend
	schema  *rewrite.Schema
	main    *pgx.Conn         // superuser
	clock   map[string]string // what "today" and "now" are read as; nil: as they are
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
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		return 1, err
	}
	rules, err := os.ReadFile("testdata/policy.yaml")
	if err != nil {
		return 1, err
	}
	theWorld, err = newWorld(ctx, server, "clinic", "REWRITE_TEST_", string(schema), string(rules))
	if err != nil {
		return 1, err
	}
	defer theWorld.backend.Close()
	return m.Run(), nil
}

// newWorld makes a database from a schema, a shadow by setup, and reads what rewrite sees of them. The policy's DSNs are
// ${PREFIX_MAIN} and so on.
func newWorld(ctx context.Context, server *pgserver.Server, name, prefix, schema, policyText string) (*world, error) {
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
	w := &world{}
	if w.main, err = pgx.Connect(ctx, server.DSN(name, pgserver.Superuser)); err != nil {
		return nil, err
	}
	if _, err := w.main.Exec(ctx, schema); err != nil {
		return nil, err
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
	if err := backend.Setup(ctx, w.policy, io.Discard); err != nil {
		return nil, err
	}
	if w.backend, err = backend.Open(ctx, w.policy); err != nil {
		return nil, err
	}
	w.schema, err = w.backend.Schema(ctx)
	return w, err
}

var (
	settings        = rewrite.Settings{TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres", User: "alice", Database: "clinic"}
	backendSettings = backend.Settings{TimeZone: "UTC", DateStyle: "ISO, MDY", IntervalStyle: "postgres", ExtraFloatDigits: "1"}
)

// lookup answers a plan's questions from the shadow and the public tables.
type lookup struct{ w *world }

func (l lookup) Distinct(c policy.ColumnOf) ([]string, error) {
	return l.w.backend.Distinct(context.Background(), c, backendSettings)
}

func (l lookup) Rows(q rewrite.SQL) ([][]*string, error) {
	return l.w.backend.Text(context.Background(), q, backendSettings)
}

func (l lookup) Literal(oid uint32, text string) (string, error) {
	if pinned := l.w.clock[text]; pinned != "" {
		text = pinned
	}
	rows, err := l.Rows(rewrite.SQL{Text: "SELECT $1::pg_catalog.text", Parameters: []rewrite.Parameter{{Type: oid, Value: &text}}})
	if err != nil {
		return "", err
	}
	return *rows[0][0], nil
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
	values    rewrite.Values
	described *pgconn.StatementDescription
	analysis  *rewrite.Analysis
	plan      *rewrite.Plan // nil unless private
}

// ask takes a statement as far as its plan.
func (w *world) ask(sql string, values rewrite.Values) (*question, error) {
	q := &question{values: values}
	statements, err := rewrite.Parse(sql, 32768)
	if err != nil {
		return nil, err
	}
	if len(statements) != 1 {
		return nil, fmt.Errorf("%d statements", len(statements))
	}
	q.sql = statements[0].SQL
	if x := statements[0].Explain(); x != nil {
		q.sql = x.Inner.SQL
	}
	if q.described, err = w.backend.Describe(context.Background(), q.sql, nil, backendSettings); err != nil {
		return nil, err
	}
	d := rewrite.Description{ParameterTypes: q.described.ParamOIDs}
	for _, f := range q.described.Fields {
		d.Columns = append(d.Columns, rewrite.ColumnDescription{Name: f.Name, Type: f.DataTypeOID, Typmod: f.TypeModifier})
	}
	if q.analysis, err = rewrite.Analyze(w.schema, statements[0], d, settings); err != nil {
		return nil, err
	}
	if q.analysis.Route != rewrite.RoutePrivate {
		return q, nil
	}
	q.plan, err = q.analysis.Plan(values, lookup{w}, rewrite.Options{HashKey: "test", Version: 150000})
	return q, err
}

// verdict is what a corpus file records of a statement, asked at a fixed time.
func (w *world) verdict(sql string, values rewrite.Values) string {
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
	weights := 0
	for _, k := range p.Blocks {
		for _, r := range k.Releases {
			weights += r.Weight
		}
	}
	fmt.Fprintf(&b, "answered: epsilon %g over %d releases\n", p.Epsilon, weights)
	for _, l := range p.Explain {
		fmt.Fprintln(&b, l)
	}
	for _, k := range p.Blocks {
		if k.Measure.Text != "" {
			fmt.Fprintf(&b, "measure: %s\n", k.Measure.Text)
		}
		for _, h := range k.Histograms {
			fmt.Fprintf(&b, "histogram: %s\n", h.Measure.Text)
		}
	}
	on := "shadow"
	if p.Finish.On == rewrite.RoutePublic {
		on = "public"
	}
	fmt.Fprintf(&b, "finish on %s: %s\n", on, p.Finish.SQL)
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
func parameters(text string) rewrite.Values {
	if text == "" {
		return nil
	}
	var values rewrite.Values
	for _, v := range strings.Split(text, "|") {
		if v == "NULL" {
			values = append(values, nil)
			continue
		}
		values = append(values, &v)
	}
	return slices.Clip(values)
}

// cachedLookup asks each question once, as the engine does.
type cachedLookup struct {
	lookup
	rows     map[string][][]*string
	distinct map[string][]string
}

func (l cachedLookup) Rows(q rewrite.SQL) ([][]*string, error) {
	if r, ok := l.rows[q.Text]; ok {
		return r, nil
	}
	r, err := l.lookup.Rows(q)
	l.rows[q.Text] = r
	return r, err
}

func (l cachedLookup) Distinct(c policy.ColumnOf) ([]string, error) {
	if r, ok := l.distinct[c.Column]; ok {
		return r, nil
	}
	r, err := l.lookup.Distinct(c)
	l.distinct[c.Column] = r
	return r, err
}

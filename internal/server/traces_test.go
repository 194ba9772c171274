package server

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/dpproxy/dpproxy/internal/tracing/tracingtest"
)

// instant is when a span began or ended, as its text has it.
var instant = regexp.MustCompile(`_time_unix_nano:\d+`)

// TestTraces asks through the wire and holds what a collector gets against what it may: names, parents, a list of
// attributes, and nothing of a text, a value or a name of the schema. A reload turns traces on.
func TestTraces(t *testing.T) {
	ctx := context.Background()
	s, _, conn, log := watched(t)
	c := tracingtest.New(t)
	file := s.state.Load().policy.File
	policy, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// of which there is no trace
	if _, err := conn.Exec(ctx, "SELECT count(*) FROM patients WHERE age < 54320"); err != nil {
		t.Fatal(err)
	}
	text := string(policy) + fmt.Sprintf("tracing: {endpoint: %q}\ntiming: {steps: 2}\n", c.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []struct {
		sql  string
		args []any
	}{
		{sql: "SELECT count(*) FROM patients WHERE age < 54321"},
		{sql: "SELECT count(*) FROM patients WHERE age < 54321"},
		{sql: "SELECT avg(age) AS secretname FROM patients WHERE age < $1", args: []any{54321}},
		{sql: "SELECT id FROM patients WHERE age < 54321"},
		{sql: "SELECT ward FROM wards WHERE beds < 54321"},
		{sql: "SELECT relname FROM pg_class WHERE relname = 'secretname'"},
		{sql: "SELEC secretname"},
		{sql: "SET application_name = 'secretname'"},
	} {
		if len(statement.args) == 0 {
			statement.args = []any{pgx.QueryExecModeSimpleProtocol}
		}
		rows, err := conn.Query(ctx, statement.sql, statement.args...)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
		}
		if err != nil && !strings.Contains(err.Error(), "42501") && !strings.Contains(err.Error(), "42601") {
			t.Errorf("%s: %v", statement.sql, err)
		}
	}
	if err := s.Close(); err != nil { // which sends what is left
		t.Error(err)
	}
	if said := log.since(); strings.Contains(said, "collector") {
		t.Errorf("the log says: %s", said)
	}
	requests, _ := c.Requests()
	for _, r := range requests {
		sent := instant.ReplaceAllString(r.String(), "") // an instant has any digits
		for _, hidden := range []string{
			"5432", "secretname", "patients", "wards", "age", "select ", "SELECT ", "pg_class",
			"error",
		} {
			if strings.Contains(sent, hidden) {
				t.Errorf("%q is in what the collector gets: %s", hidden, sent)
			}
		}
	}
	const first = "SELECT alice private 00000 %s fingerprint: parse analyse plan charge measure draw finish"
	want := []string{
		fmt.Sprintf(first, "0.5"), "SELECT alice cached 00000 0 fingerprint: parse plan finish", fmt.Sprintf(first, "0.5"),
		"SELECT alice refused 42501 0: parse analyse", "SELECT alice public 00000 0: parse analyse",
		"SELECT alice shadow 00000 0: parse analyse",
		"statement alice refused 42601 0: parse", "SET alice session 00000 0: parse",
	}
	if diff := cmp.Diff(want, told(t, c.Spans())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// told writes statements as «name analyst verdict SQLSTATE ε [fingerprint]: stages», in their order. Whatever else is
// in a span is an error.
func told(t *testing.T, spans []*trace.Span) []string {
	t.Helper()
	slices.SortStableFunc(spans, func(a, b *trace.Span) int {
		return int(int64(a.StartTimeUnixNano) - int64(b.StartTimeUnixNano))
	})
	var lines []string
	for _, root := range spans {
		if len(root.ParentSpanId) > 0 {
			continue
		}
		is := map[string]string{}
		for _, a := range root.Attributes {
			is[a.Key] = a.Value.GetStringValue()
			if a.Key == "dpproxy.epsilon" {
				is[a.Key] = fmt.Sprint(a.Value.GetDoubleValue())
			}
		}
		line := strings.Join([]string{
			root.Name, is["dpproxy.analyst"], is["dpproxy.verdict"], is["db.response.status_code"],
			is["dpproxy.epsilon"],
		}, " ")
		if word := is["db.operation.name"]; is["db.system.name"] != "postgresql" || word != root.Name &&
			root.Name != "statement" {
			t.Errorf("%s: %v", root.Name, is)
		}
		if f, ok := is["dpproxy.fingerprint"]; ok {
			line += " fingerprint"
			if len(f) != 64 || strings.Trim(f, "0123456789abcdef") != "" {
				t.Errorf("a fingerprint is %q", f)
			}
		}
		for _, known := range []string{
			"db.system.name", "db.namespace", "db.response.status_code", "db.operation.name",
			"dpproxy.analyst", "dpproxy.verdict", "dpproxy.epsilon", "dpproxy.fingerprint",
		} {
			delete(is, known)
		}
		bare(t, root, len(is))
		lines = append(lines, line+":"+stages(t, root, spans))
	}
	return lines
}

// stages lists the children of a statement's span, which lie in it.
func stages(t *testing.T, root *trace.Span, spans []*trace.Span) (line string) {
	t.Helper()
	for _, s := range spans {
		if !bytes.Equal(s.ParentSpanId, root.SpanId) {
			continue
		}
		line += " " + s.Name
		if !bytes.Equal(s.TraceId, root.TraceId) || s.StartTimeUnixNano < root.StartTimeUnixNano ||
			s.EndTimeUnixNano > root.EndTimeUnixNano || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is not in its statement: %v, %v", s.Name, s, root)
		}
		took := s.EndTimeUnixNano - s.StartTimeUnixNano
		if ms := took / 1e6; s.Name == "measure" && (took%1e6 != 0 || ms&(ms-1) != 0) {
			t.Errorf("a measure took %d ns, which is no public moment", took)
		}
		bare(t, s, len(s.Attributes))
	}
	return line
}

// bare says that a span has nothing but its name, its times and this number of attributes that nobody knows.
func bare(t *testing.T, s *trace.Span, unknown int) {
	t.Helper()
	if unknown > 0 || len(s.Events) > 0 || len(s.Links) > 0 || s.TraceState != "" || s.Status.GetMessage() != "" {
		t.Errorf("%v has more than it may", s)
	}
}

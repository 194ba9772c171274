package tracing

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/tracing/tracingtest"
)

var began = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// statement is one that was measured: it has every stage.
func statement(sqlstate string) session.Event {
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	return session.Event{
		Analyst: "alice", Database: "clinic", SQLSTATE: sqlstate, Account: session.Account{
			Verdict: "private", Epsilon: 0.5,
			Fingerprint: "b64cf0",
		},
		Trace: &session.Trace{Operation: "SELECT", Began: began, Ended: at(12), Stages: []session.Stage{
			{Name: "parse", Began: began, Ended: at(1)},
			{Name: "measure", Began: at(1), Ended: at(10)},
			{Name: "draw", Began: at(10), Ended: at(10)},
		}},
	}
}

func open(t *testing.T, p *policy.Tracing) (*Tracer, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	tracer, err := Open(p, nil, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return tracer, log
}

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

// TestSpans: all that a collector gets of two statements, and with which headers.
func TestSpans(t *testing.T) {
	c := tracingtest.New(t)
	tracer, log := open(t, &policy.Tracing{Endpoint: c.URL, Share: 1, Headers: map[string]string{
		"authorization": "Bearer t0ken",
	}})
	tracer.Statement(statement("00000"))
	tracer.Statement(session.Event{Analyst: "bob", Database: "trials", SQLSTATE: "42601", Account: session.Account{
		Verdict: "refused",
	}, Trace: &session.Trace{Began: began, Ended: began}})
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
	requests, headers := c.Requests()
	for _, h := range headers {
		if h.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("headers %v", h)
		}
	}
	for _, r := range requests[0].ResourceSpans {
		if len(r.Resource.Attributes) != 2 || r.Resource.Attributes[0].Value.GetStringValue() != "dpproxy" {
			t.Errorf("resource %v", r.Resource)
		}
	}
	spans := c.Spans()
	if len(spans) != 5 {
		t.Fatalf("%d spans", len(spans))
	}
	root, refused := spans[3], spans[4] // after its children
	for _, child := range spans[:3] {
		if !bytes.Equal(child.ParentSpanId, root.SpanId) || !bytes.Equal(child.TraceId, root.TraceId) {
			t.Errorf("%s is no child of the statement", child.Name)
		}
	}
	if bytes.Equal(root.TraceId, refused.TraceId) {
		t.Error("two statements are one trace")
	}
	at := func(ms int) uint64 { return uint64(began.UnixNano()) + uint64(ms)*1e6 }
	epsilon := func(v float64) *common.KeyValue {
		return &common.KeyValue{Key: "dpproxy.epsilon", Value: &common.AnyValue{
			Value: &common.AnyValue_DoubleValue{DoubleValue: v},
		}}
	}
	child := func(name string, from, to int) *trace.Span {
		return &trace.Span{
			Name: name, Kind: trace.Span_SPAN_KIND_INTERNAL, StartTimeUnixNano: at(from),
			EndTimeUnixNano: at(to), Status: &trace.Status{},
		}
	}
	want := []*trace.Span{
		child("parse", 0, 1), child("measure", 1, 10), child("draw", 10, 10),
		{
			Name: "SELECT", Kind: trace.Span_SPAN_KIND_SERVER, StartTimeUnixNano: at(0), EndTimeUnixNano: at(12),
			Status: &trace.Status{}, Attributes: []*common.KeyValue{
				text("db.system.name", "postgresql"), text("db.namespace", "clinic"), text("db.response.status_code", "00000"),
				text("dpproxy.analyst", "alice"), text("dpproxy.verdict", "private"),
				epsilon(0.5), text("db.operation.name", "SELECT"), text("dpproxy.fingerprint", "b64cf0"),
			},
		},
		{
			Name: "statement", Kind: trace.Span_SPAN_KIND_SERVER, StartTimeUnixNano: at(0), EndTimeUnixNano: at(0),
			Status: &trace.Status{Code: trace.Status_STATUS_CODE_ERROR}, Attributes: []*common.KeyValue{
				text("db.system.name", "postgresql"), text("db.namespace", "trials"), text("db.response.status_code", "42601"),
				text("dpproxy.analyst", "bob"), text("dpproxy.verdict", "refused"), epsilon(0),
			},
		},
	}
	for i, span := range spans {
		span.TraceId, span.SpanId, span.ParentSpanId, span.Flags = nil, nil, nil, 0
		if !proto.Equal(want[i], span) {
			t.Errorf("span %d: %v, want %v", i, span, want[i])
		}
	}
}

// TestAShareIsDrawn: of 2000 statements a tenth is traced, 200 with a deviation of 13.4, and of each of these all
// stages. It is wrong once in 10¹⁶ runs.
func TestAShareIsDrawn(t *testing.T) {
	c := tracingtest.New(t)
	tracer, _ := open(t, &policy.Tracing{Endpoint: c.URL, Share: 0.1})
	for range 2000 {
		tracer.Statement(statement("00000"))
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
	stages := map[string]int{}
	for _, span := range c.Spans() {
		stages[span.Name]++
	}
	if n := stages["SELECT"]; n < 85 || n > 315 {
		t.Errorf("%d of 2000 are traced, want a tenth", n)
	}
	if stages["parse"] != stages["SELECT"] || stages["draw"] != stages["SELECT"] {
		t.Errorf("stages are missing: %v", stages)
	}
}

// TestACollectorThatFails is logged when it begins to and when it ends, without a secret.
func TestACollectorThatFails(t *testing.T) {
	c := tracingtest.New(t)
	tracer, log := open(t, &policy.Tracing{Endpoint: c.URL, Share: 1, Headers: map[string]string{
		"authorization": "Bearer t0ken",
	}})
	send := func(status int) {
		c.Answer(status)
		tracer.Statement(statement("00000"))
		if err := tracer.provider.ForceFlush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, status := range []int{
		http.StatusForbidden, http.StatusForbidden, http.StatusTemporaryRedirect, http.StatusOK,
		http.StatusOK, http.StatusForbidden,
	} {
		send(status)
	}
	if err := tracer.Close(); err != nil {
		t.Error(err)
	}
	var got []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, "level=")
		line, _, _ = strings.Cut(line, " error=")
		got = append(got, strings.TrimSpace(line))
	}
	const fails, works = `WARN msg="the collector does not take traces; they are lost until it does"`,
		`INFO msg="the collector takes traces again"`
	if diff := cmp.Diff([]string{fails, works, fails}, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.String(), "403 Forbidden") || strings.Contains(log.String(), "t0ken") {
		t.Errorf("the log says: %s", log)
	}
	if _, headers := c.Requests(); len(headers) != 6 {
		t.Errorf("%d requests, want 6: a redirect is not followed", len(headers))
	}
}

// TestACollectorThatHangs holds neither a statement nor the end. More statements are sent than are kept for it.
func TestACollectorThatHangs(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	tracer, err := Open(&policy.Tracing{Endpoint: "http://" + silent.Addr().String(), Share: 1}, nil,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		tracer.Statement(statement("00000"))
	}
	if err := tracer.Close(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what ended it is no limit: %v", err)
	}
}

// BenchmarkStatement is what a traced statement pays for its spans.
func BenchmarkStatement(b *testing.B) {
	c := tracingtest.New(b)
	for name, share := range map[string]float64{"traced": 1, "left out": 1e-12} {
		b.Run(name, func(b *testing.B) {
			tracer, err := Open(&policy.Tracing{Endpoint: c.URL, Share: share}, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			e := statement("00000")
			b.ReportAllocs()
			for b.Loop() {
				tracer.Statement(e)
			}
			if err := tracer.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

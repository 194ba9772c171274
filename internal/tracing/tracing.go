// Package tracing sends traces of statements to a collector: a span for each statement, with one for each of its stages
// below it.
//
// Who reads a collector may not see a private row. A span holds what the list in attributes names, and times that
// session.Trace may tell: no text, no value, no number of rows and no text of an error (docs/privacy.md P32). Which
// statements are traced is a draw that sees nothing of them.
package tracing

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/session"
	"github.com/dpproxy/dpproxy/internal/version"
)

const (
	// requestTimeout bounds one request to the collector.
	requestTimeout = 10 * time.Second
	// flushTimeout bounds how long Close waits for the collector.
	flushTimeout = 3 * time.Second
)

// Tracer sends traces. A statement never waits for the collector: what it does not take in time is dropped.
type Tracer struct {
	tracer   trace.Tracer
	provider *sdk.TracerProvider
	exporter sdk.SpanExporter
	client   *http.Client
}

// Open begins to send to the policy's collector, which need not answer. roots are who signs its certificate; nil: those
// of the system.
func Open(p *policy.Tracing, roots *x509.CertPool, log *slog.Logger) (*Tracer, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	client := &http.Client{
		Transport: transport, Timeout: requestTimeout,
		// headers are for this collector alone
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpointURL(p.Endpoint+"/v1/traces"),
		otlptracehttp.WithHeaders(p.Headers), otlptracehttp.WithHTTPClient(client), otlptracehttp.WithCompression(
			otlptracehttp.GzipCompression))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(&watched{SpanExporter: exporter, log: log, headers: p.Headers}),
		sdk.WithSampler(sdk.TraceIDRatioBased(p.Share)), // IDs are random
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", "dpproxy"),
			attribute.String("service.version", version.Of().Version))),
	)
	return &Tracer{tracer: provider.Tracer("dpproxy"), provider: provider, exporter: exporter, client: client}, nil
}

// Statement sends the spans of a statement, unless the draw leaves it out. It returns at once.
func (t *Tracer) Statement(e session.Event) {
	name := e.Trace.Operation
	if name == "" {
		name = "statement"
	}
	ctx, root := t.tracer.Start(context.Background(), name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithTimestamp(e.Trace.Began))
	if !root.IsRecording() {
		return
	}
	root.SetAttributes(attributes(e)...)
	if e.SQLSTATE != "00000" {
		root.SetStatus(codes.Error, "")
	}
	for _, stage := range e.Trace.Stages {
		_, span := t.tracer.Start(ctx, stage.Name, trace.WithTimestamp(stage.Began))
		span.End(trace.WithTimestamp(stage.Ended))
	}
	root.End(trace.WithTimestamp(e.Trace.Ended))
}

// attributes are all that is said of a statement, beside its times.
func attributes(e session.Event) []attribute.KeyValue {
	list := []attribute.KeyValue{
		attribute.String("db.system.name", "postgresql"),
		attribute.String("db.namespace", e.Database),
		attribute.String("db.response.status_code", e.SQLSTATE),
		attribute.String("dpproxy.analyst", e.Analyst),
		attribute.String("dpproxy.verdict", e.Verdict),
		attribute.Float64("dpproxy.epsilon", e.Epsilon),
	}
	if e.Trace.Operation != "" {
		list = append(list, attribute.String("db.operation.name", e.Trace.Operation))
	}
	if e.Fingerprint != "" {
		list = append(list, attribute.String("dpproxy.fingerprint", e.Fingerprint))
	}
	return list
}

// Close sends what is left, as far as the collector takes it in flushTimeout. The error says that it did not.
func (t *Tracer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	defer t.client.CloseIdleConnections()
	// the second ends a request that is still under way
	return errors.Join(t.provider.Shutdown(ctx), t.exporter.Shutdown(ctx))
}

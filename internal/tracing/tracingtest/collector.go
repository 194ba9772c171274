// Package tracingtest is a collector of traces for the tests of several packages.
package tracingtest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector takes OTLP over HTTP.
type Collector struct {
	URL string // the endpoint

	mu       sync.Mutex
	status   int // of the next answers
	requests []*collector.ExportTraceServiceRequest
	headers  []http.Header
}

// New starts a collector that ends with the test.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{status: http.StatusOK}
	s := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(s.Close)
	c.URL = s.URL
	return c
}

// Answer has the collector answer with a status. It keeps what it answers 200.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header)
	if c.status != http.StatusOK {
		http.Error(w, "not now, "+r.Header.Get("Authorization"), c.status)
		return
	}
	request := &collector.ExportTraceServiceRequest{}
	unzipped, err := gzip.NewReader(r.Body)
	if err == nil {
		var body []byte
		if body, err = io.ReadAll(unzipped); err == nil {
			err = proto.Unmarshal(body, request)
		}
	}
	if err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no traces", http.StatusBadRequest)
		return
	}
	c.requests = append(c.requests, request)
}

// Requests is what was taken so far, and the headers of all requests.
func (c *Collector) Requests() ([]*collector.ExportTraceServiceRequest, []http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests), slices.Clone(c.headers)
}

// Spans are those that were taken so far.
func (c *Collector) Spans() []*trace.Span {
	var spans []*trace.Span
	requests, _ := c.Requests()
	for _, request := range requests {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}
	return spans
}

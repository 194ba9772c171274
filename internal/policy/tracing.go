package policy

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Tracing says where traces of statements go.
type Tracing struct {
	Endpoint string            // URL of a collector that takes OTLP over HTTP, without /v1/traces
	Share    float64           // of the statements, above 0
	Headers  map[string]string // of each request, with their secrets
	CA       string            // PEM file of who signs the collector's certificate; empty: those that the system trusts
}

// headerName is a token of RFC 9110, without the signs that nobody uses in one.
var headerName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func readTracing(v value, p *Policy) {
	if !v.given() {
		return
	}
	o := v.object("endpoint", "share", "headers", "ca")
	t := &Tracing{Share: 1, Headers: map[string]string{}}
	endpoint := o.get("endpoint")
	text, ok := endpoint.text()
	u, err := url.Parse(text)
	switch {
	case !endpoint.given():
		endpoint.fail("missing: a collector, such as http://127.0.0.1:4318")
	case ok && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != ""):
		endpoint.fail("must be http://HOST:PORT or https://HOST:PORT; what proves who sends goes into headers") // it is not quoted: it may hold a password
	case ok:
		t.Endpoint = strings.TrimSuffix(text, "/")
		if u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")) {
			endpoint.note("http: names of analysts cross the network in the clear, and so do headers")
		}
	}
	if share := o.get("share"); share.given() {
		if f, ok := share.positive(); ok && f > 1 {
			share.fail("must be at most 1, not %s", share.node.Value)
		} else if ok {
			t.Share = f
		}
	}
	headers := o.get("headers").object()
	for _, name := range headers.names {
		if header, ok := headers.get(name).header(name); ok {
			t.Headers[name] = header
		}
	}
	ca := o.get("ca")
	switch file, ok := ca.text(); {
	case ok && t.Endpoint != "" && u.Scheme != "https":
		ca.fail("needs an endpoint that is https")
	case ok && file == "":
		ca.fail("must name a PEM file")
	case ok:
		t.CA = v.w.resolve(file)
	}
	p.Tracing = t
}

// header reads the value of a header. It is never quoted in a message: it may be a token.
func (v value) header(name string) (string, bool) {
	text, ok := v.text()
	if !ok {
		return "", false
	}
	if !headerName.MatchString(name) {
		v.fail("is not the name of a header")
		return "", false
	}
	text, err := v.w.expand(text)
	if err != nil {
		v.fail("%s", err)
		return "", false
	}
	if strings.ContainsAny(text, "\r\n") {
		v.fail("must be one line")
		return "", false
	}
	return text, true
}

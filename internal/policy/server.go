package policy

import (
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"time"
)

// Defaults of the keys that no policy has to give.
const (
	defaultListen      = "127.0.0.1:6432"
	defaultLedger      = "file:dpproxy.ledger"
	defaultTTL         = 24 * time.Hour
	defaultFailures    = 5
	defaultConnections = 500
	defaultPerAddress  = 100
	defaultMemory      = 256 << 20
	defaultPool        = 8
	defaultPublicPool  = 4
	defaultPoolWait    = 10 * time.Second
	defaultSteps       = 1.25

	// maxSQLBytes is also the default. Longer texts of left recursion (a+a+a…) end the process inside PostgreSQL's
	// parser, which no recover() sees; 32 KiB is below the shortest one found.
	maxSQLBytes = 32 << 10

	// A connection may have a quarter of the memory of all: the longest statement that a client may send fits into that.
	leastMemory = 16 << 20
	mostMemory  = 1 << 40

	maxFailures    = 1_000_000
	maxConnections = 100_000
	maxPool        = 1_000
	maxQuantum     = time.Minute

	// Ratios of timing.steps: closer steps hide nothing, wider ones make an answer wait ten times as long as it took.
	leastRatio    = 1.01
	greatestRatio = 10
)

// readServer reads where the proxy listens and what protects it.
func readServer(o object, p *Policy) {
	p.Listen = defaultListen
	listen := o.get("listen")
	if address, ok := listen.address(); ok {
		p.Listen = address
	}
	p.Insecure, _ = o.get("insecure").boolean()
	readTLS(o.get("tls"), p)
	if p.TLS == nil && !o.has("tls") && !p.Insecure && !loopback(p.Listen) {
		listen.fail("%s is reachable from other machines, so tls is needed (or insecure: true)", p.Listen)
	}

	p.AnswersTTL = defaultTTL
	answers := o.get("answers").object("ttl")
	if d, ok := answers.get("ttl").duration(0, maxDuration); ok {
		p.AnswersTTL = d
	}
	p.Certify = Require
	if word, ok := o.get("certify").oneOf(Require, Warn); ok {
		p.Certify = word
	}
	readTiming(o.get("timing").object("steps", "quantum"), p)
	p.Failures = o.get("failures").object("per_period").get("per_period").count(defaultFailures, maxFailures)
	readConsole(o.get("console"), p)
	metrics := o.get("metrics").object("listen", "analysts")
	p.AnalystMetrics, _ = metrics.get("analysts").boolean()
	if address, ok := metrics.get("listen").address(); ok {
		p.Metrics = address
	} else if metrics.given() && !metrics.has("listen") {
		metrics.get("listen").fail("missing: the address of the metrics listener, such as 127.0.0.1:9187")
	}
	p.Log.Statements, _ = o.get("log").object("statements").get("statements").boolean()
	readTracing(o.get("tracing"), p)

	limits := o.get("limits").object("connections", "per_address", "sql_bytes", "memory")
	p.Limits = Limits{
		Connections: limits.get("connections").count(defaultConnections, maxConnections),
		PerAddress:  limits.get("per_address").count(defaultPerAddress, maxConnections),
		SQLBytes:    limits.get("sql_bytes").count(maxSQLBytes, maxSQLBytes),
		Memory:      defaultMemory,
	}
	if n, ok := limits.get("memory").bytes(leastMemory, mostMemory); ok {
		p.Limits.Memory = n
	}
	pool := o.get("pool").object("main", "shadow", "public", "wait")
	p.Pool = Pool{
		Main:   pool.get("main").count(defaultPool, maxPool),
		Shadow: pool.get("shadow").count(defaultPool, maxPool),
		Public: pool.get("public").count(defaultPublicPool, maxPool),
		Wait:   defaultPoolWait,
	}
	if d, ok := pool.get("wait").duration(time.Millisecond, time.Hour); ok {
		p.Pool.Wait = d
	}
}

// readTiming reads when answers may leave.
func readTiming(o object, p *Policy) {
	p.Timing.Steps = defaultSteps
	if steps := o.get("steps"); steps.given() {
		p.Timing.Steps = steps.steps()
	}
	if d, ok := o.get("quantum").duration(0, maxQuantum); ok {
		p.Timing.Quantum = d
	}
}

// steps reads a ratio between moments, or off, which is 0.
func (v value) steps() float64 {
	if v.node.Value == "off" {
		v.note("off: the duration of an answer shows how long main worked on private rows; the default is %g", defaultSteps)
		return 0
	}
	if f, err := strconv.ParseFloat(v.node.Value, 64); err != nil || !(f >= leastRatio && f <= greatestRatio) {
		v.fail("must be off, or a number from %g to %d, not %s", leastRatio, greatestRatio, v.kind())
		return 0
	}
	f, _ := v.float()
	return f
}

func readTLS(v value, p *Policy) {
	if !v.given() {
		return
	}
	o := v.object("cert", "key", "client_ca")
	t := &TLS{}
	for _, f := range []struct {
		key      string
		into     *string
		required bool
	}{{"cert", &t.Cert, true}, {"key", &t.Key, true}, {"client_ca", &t.ClientCA, false}} {
		field := o.get(f.key)
		s, ok := field.text()
		switch {
		case ok && s == "":
			field.fail("must name a PEM file")
		case ok:
			*f.into = v.w.resolve(s)
		case !field.given() && f.required:
			field.fail("missing: the name of a PEM file")
		}
	}
	p.TLS = t
}

// resolve makes a path absolute: relative ones start in the policy's folder.
func (w *walker) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(w.folder, path)
}

// count reads a whole number from 1 to most.
func (v value) count(absent int, most int64) int {
	if n, ok := v.integer(1, most); ok {
		return int(n)
	}
	return absent
}

// address reads host:port; port 0 asks for a free one.
func (v value) address() (string, bool) {
	s, ok := v.text()
	if !ok {
		return "", false
	}
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		v.fail("%s is not host:port", quoted(s))
		return "", false
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		v.fail("the port of %s is not a number from 0 to 65535", quoted(s))
		return "", false
	}
	return s, true
}

// loopback reports whether only this machine can reach an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

package policy

import (
	"cmp"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Defaults of the keys that no policy has to give.
const (
	defaultLedger  = "file:dpproxy.ledger"
	defaultConsole = "127.0.0.1:6480"
	defaultSteps   = 1.25

	// maxSQLBytes is what policy.schema.json allows, and the default. Longer texts of left recursion (a+a+a…) end the
	// process inside PostgreSQL's parser, which no recover() sees; 32 KiB is below the shortest one found.
	maxSQLBytes = 32 << 10
)

// file is what a policy file says otherwise than Policy does.
type file struct {
	*Policy   `yaml:",inline"`
	Databases yaml.Node
	Tables    yaml.Node
	Views     yaml.Node
	Groups    yaml.Node
	Analysts  yaml.Node
	Defaults  struct {
		settings    `yaml:",inline"`
		Margin      margin
		EmptyGroups string `yaml:"empty_groups"`
		Intervals   string
	}
	Answers struct{ TTL duration }
	Timing  struct {
		Steps   string
		Quantum duration
	}
	Failures struct {
		PerPeriod int `yaml:"per_period"`
	}
	Metrics struct {
		Listen   string
		Analysts bool
	}
	Limits struct {
		*Limits `yaml:",inline"`
		Memory  memory
	}
	Pool struct {
		*Pool `yaml:",inline"`
		Wait  duration
	}
}

// defaults fills in what no policy has to give.
func (f *file) defaults() {
	f.Listen, f.Ledger, f.Certify, f.Rows = "127.0.0.1:6432", defaultLedger, Require, RefuseRows
	f.Accounting = Accounting{Method: RDP, SelectionDeltaShare: 0.5}
	f.Policy.Limits = Limits{Connections: 500, PerAddress: 100, SQLBytes: maxSQLBytes}
	f.Policy.Pool = Pool{Main: 8, Shadow: 8, Public: 4}
	f.Limits.Limits, f.Limits.Memory = &f.Policy.Limits, 256<<20
	f.Pool.Pool, f.Pool.Wait = &f.Policy.Pool, duration(10*time.Second)
	f.Defaults.settings = settings{Epsilon: 0.5, EpsilonMax: 1}
	f.Defaults.EmptyGroups = DropEmptyGroups
	f.Answers.TTL = duration(24 * time.Hour)
	f.Failures.PerPeriod = 5
}

// policy reads the whole file, and checks what its parts say of each other. Parts that others refer to come first.
func (d *document) policy(root *yaml.Node, p *Policy) {
	f := file{Policy: p}
	f.defaults()
	if err := root.Decode(&f); err != nil {
		d.fail("", "%s", err)
		return
	}
	p.AnswersTTL, p.Failures = time.Duration(f.Answers.TTL), f.Failures.PerPeriod
	p.Metrics, p.AnalystMetrics = f.Metrics.Listen, f.Metrics.Analysts
	p.Limits.Memory, p.Pool.Wait = int64(f.Limits.Memory), time.Duration(f.Pool.Wait)
	d.timing(f, p)
	d.listeners(p)
	d.tracing(p)
	d.accounting(p)
	own := &f.Defaults
	d.settings("defaults", &own.settings, p.Accounting.Method, true)
	p.Defaults = Defaults{
		Epsilon: own.Epsilon, EpsilonMax: own.EpsilonMax, Margin: float64(own.Margin), Mechanism: own.choice(),
		MaxGroupsPerUnit: own.MaxGroupsPerUnit, EmptyGroups: own.EmptyGroups, Intervals: own.Intervals == "on",
	}
	d.groups(&f.Groups, p)
	d.auth(p)
	d.analysts(&f.Analysts, p)
	d.rows(p)
	d.ledger(p)
	d.databases(f, p)
}

func (d *document) timing(f file, p *Policy) {
	p.Timing = Timing{defaultSteps, time.Duration(f.Timing.Quantum)}
	switch f.Timing.Steps {
	case "":
	case "off":
		d.note("timing.steps", "off: the duration of an answer shows how long main worked on private rows; the default is %g",
			defaultSteps)
		p.Timing.Steps = 0
	default:
		p.Timing.Steps, _ = strconv.ParseFloat(f.Timing.Steps, 64) // the schema has checked it
	}
}

// listeners checks what listens, and what protects it. What the console needs of TLS is what the wire needs.
func (d *document) listeners(p *Policy) {
	if t := p.TLS; t != nil {
		for _, file := range []*string{&t.Cert, &t.Key, &t.ClientCA} {
			*file = d.resolve(*file)
		}
	}
	open := func(path, address string) {
		if !d.has("tls") && !p.Insecure && !loopback(address) {
			d.fail(path, "%s is reachable from other machines, so tls is needed (or insecure: true)", address)
		}
	}
	open("listen", p.Listen)
	if !d.has("console") {
		return
	}
	if p.Console == nil {
		p.Console = &Console{}
	}
	p.Console.Listen = cmp.Or(p.Console.Listen, defaultConsole)
	open("console.listen", p.Console.Listen)
	for i, name := range p.Console.Names {
		p.Console.Names[i] = strings.ToLower(name)
	}
}

func (d *document) tracing(p *Policy) {
	t := p.Tracing
	if t == nil {
		return
	}
	t.Endpoint, t.Share, t.CA = strings.TrimSuffix(t.Endpoint, "/"), cmp.Or(t.Share, 1), d.resolve(t.CA)
	u, err := url.Parse(t.Endpoint)
	if err == nil && u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")) {
		d.note("tracing.endpoint", "http: names of analysts cross the network in the clear, and so do headers")
	}
	if t.Headers == nil {
		t.Headers = map[string]string{}
	}
	for name, text := range t.Headers { // none is quoted: it may be a token
		text, err := d.expand(text)
		if path := child("tracing.headers", name); err != nil {
			d.fail(path, "%s", err)
		} else if strings.ContainsAny(text, "\r\n") {
			d.fail(path, "must be one line")
		}
		t.Headers[name] = text
	}
}

func (d *document) accounting(p *Policy) {
	if p.Accounting.Method != Pure {
		return
	}
	if d.has("accounting.delta") {
		d.note("accounting.delta", "has no effect with method: pure")
	}
	p.Accounting = Accounting{Method: Pure}
}

// resolve makes a path absolute: relative ones start in the policy's folder. No path stays none.
func (d *document) resolve(path string) string {
	if path == "" {
		return ""
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(d.folder, path)
}

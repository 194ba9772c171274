package policy

import (
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/dpproxy/dpproxy/internal/verifier"
)

// Methods of authentication.
const (
	AuthSCRAM       = "scram"
	AuthCertificate = "certificate"
	AuthQuery       = "query"
	AuthLDAP        = "ldap"
)

// namesTheLogin finds queries whose first column is what the client has sent.
var namesTheLogin = regexp.MustCompile(`(?i)^\s*SELECT\s+\$1`)

func (d *document) auth(p *Policy) {
	a := &p.Auth
	switch {
	case a.Method == "" && d.has("auth.query"):
		a.Method = AuthQuery
	case a.Method == "":
		a.Method = AuthSCRAM
	}
	a.LDAP.CA = d.resolve(a.LDAP.CA)
	switch {
	case a.Method == AuthLDAP && p.TLS == nil: // the proxy sees passwords, so both of its sides are behind TLS
		d.fail("auth", "method: ldap needs tls: clients send their passwords, and are asked for them behind TLS alone")
	case a.Method == AuthCertificate && (p.TLS == nil || p.TLS.ClientCA == ""):
		d.fail("auth", "method: certificate needs tls.client_ca, against which certificates are checked")
	case a.Method == AuthQuery:
		a.DSN = d.dsn(p, "auth.dsn", "auth.dsn", a.DSN)
	}
	if a.DefaultGroup == "" {
		return
	}
	d.group("auth.default_group", a.DefaultGroup, p)
	if namesTheLogin.MatchString(a.Query) {
		d.note(
			"auth.query",
			"returns $1 as the name, so that every spelling of a login that it finds is an analyst with a budget; return the column")
	}
}

func (d *document) analysts(n *yaml.Node, p *Policy) {
	p.Analysts = map[string]*Analyst{}
	certificates := map[string]string{}
	for name, node := range entries(n) {
		path, a := child("analysts", name), &Analyst{Name: name}
		if err := node.Decode(a); err != nil {
			d.fail(path, "%s", err)
		}
		d.analyst(path, a, p)
		if other, twice := certificates[a.Certificate]; twice && a.Certificate != "" {
			d.fail(path, "has the same certificate as %s", other)
		}
		certificates[a.Certificate] = name
		p.Analysts[name] = a
	}
	switch {
	case p.Budget != nil:
		d.budget("budget", p.Budget, p)
	case p.Auth.DefaultGroup != "":
		d.note(
			"auth",
			"whoever can add users to auth.dsn makes budgets: nothing bounds what these learn together; write budget: {epsilon: …}, for all analysts together")
	case len(p.Analysts) > 1:
		d.note(
			"analysts",
			"no budget for all analysts together: what %d colluding analysts learn is bounded by the sum of their budgets",
			len(p.Analysts))
	}
	if p.Profile != nil {
		d.budget("profile", p.Profile, p)
	}
	if p.Synthetic != nil {
		d.budget("synthetic", p.Synthetic, p)
	}
	p.statementDelta()
}

func (d *document) analyst(path string, a *Analyst, p *Policy) {
	password, certificate := d.has(path+".password"), d.has(path+".certificate")
	if password {
		text, err := d.expand(a.Verifier)
		message := verifierProblem(text)
		if a.Verifier = text; err != nil {
			message = err.Error()
		}
		if message != "" {
			d.fail(path+".password", "%s", message)
		}
	}
	if certificate && (p.TLS == nil || p.TLS.ClientCA == "") {
		d.fail(path+".certificate", "needs tls.client_ca, against which it is checked")
	}
	switch {
	case p.Auth.Method == AuthSCRAM && !password && !certificate:
		d.fail(path+".password", "missing: a verifier from dpproxy passwd (or certificate)")
	case p.Auth.Method == AuthCertificate && !certificate:
		d.fail(path+".certificate", "missing, and auth.method is certificate")
	}
	group := d.has(path + ".group")
	if group {
		d.group(path+".group", a.Group, p)
	}
	if group && !d.has(path+".budget") {
		a.Budget = p.Groups[a.Group]
		return
	}
	d.budget(path+".budget", &a.Budget, p)
}

// UnmarshalYAML reads a budget without the δ that it takes from accounting.
func (b *Budget) UnmarshalYAML(n *yaml.Node) error {
	var file struct {
		Epsilon, Delta float64
		Every          duration
	}
	err := n.Decode(&file)
	*b = Budget{file.Epsilon, file.Delta, time.Duration(file.Every)}
	return err
}

// budget gives a budget its δ, and checks it.
func (d *document) budget(path string, b *Budget, p *Policy) {
	if 0 < b.Epsilon && b.Epsilon < p.Defaults.Epsilon {
		d.note(path+".epsilon", "%v is below defaults.epsilon %v: nothing can be asked without SET dpproxy.epsilon",
			b.Epsilon, p.Defaults.Epsilon)
	}
	switch {
	case p.Accounting.Method == Pure:
		b.Delta = 0
	case b.Delta == 0 && p.Accounting.Delta == 0 && !d.has(path+".delta"):
		d.fail(path, "no δ here and none in accounting: method rdp needs one, say delta: 1e-6")
	case b.Delta == 0:
		b.Delta = p.Accounting.Delta
	}
}

// statementDelta gives accounting.delta its default: the least δ of any budget.
func (p *Policy) statementDelta() {
	if p.Accounting.Method == Pure || p.Accounting.Delta != 0 {
		return
	}
	least := 1.0
	for _, a := range p.Analysts {
		if a.Budget.Delta > 0 {
			least = min(least, a.Budget.Delta)
		}
	}
	for _, b := range p.Groups {
		if b.Delta > 0 {
			least = min(least, b.Delta)
		}
	}
	for _, b := range []*Budget{p.Budget, p.Profile, p.Synthetic} {
		if b != nil && b.Delta > 0 {
			least = min(least, b.Delta)
		}
	}
	p.Accounting.Delta = least
}

// minIterations is RFC 7677's least; clients of xdg-go/scram and others refuse fewer.
const minIterations = 4096

// verifierProblem says what is wrong with a stored password; it never quotes it.
func verifierProblem(s string) string {
	const advice = "make one with dpproxy passwd"
	stored, err := verifier.Parse(s)
	switch {
	case err != nil:
		return err.Error() + "; " + advice
	case stored.Iters < minIterations:
		return "has fewer than 4096 iterations; " + advice
	}
	return ""
}

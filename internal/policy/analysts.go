package policy

import (
	"regexp"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/verifier"
)

// maxBudget is the largest ε that the ledger's exact sums hold.
const maxBudget = 1e18

// Methods of authentication.
const (
	AuthSCRAM       = "scram"
	AuthCertificate = "certificate"
	AuthQuery       = "query"
	AuthLDAP        = "ldap"
)

func readAuth(v value, p *Policy) {
	o := v.object("method", "dsn", "query", "default_group", "url", "dn", "ca")
	p.Auth.Method = AuthSCRAM
	if o.has("query") && !o.has("method") {
		p.Auth.Method = AuthQuery
	}
	if s, ok := o.get("method").oneOf(AuthSCRAM, AuthCertificate, AuthQuery, AuthLDAP); ok {
		p.Auth.Method = s
	}
	readLDAP(o, p)
	query := o.get("query")
	if p.Auth.Method != AuthQuery {
		for _, key := range []string{"dsn", "query", "default_group"} {
			if o.has(key) {
				o.get(key).fail("needs method: query")
			}
		}
		if p.Auth.Method == AuthCertificate && (p.TLS == nil || p.TLS.ClientCA == "") {
			v.fail("method: certificate needs tls.client_ca, against which certificates are checked")
		}
		return
	}
	p.Auth.DSN = p.dsn(o.get("dsn"), "auth.dsn")
	if !o.has("dsn") {
		o.get("dsn").fail("missing: the connection on which the query runs")
	}
	p.Auth.DefaultGroup = o.get("default_group").group(p)
	text, ok := query.text()
	switch {
	case !query.given():
		query.fail("missing: a query such as SELECT usename, passwd FROM pg_shadow WHERE usename = $1")
	case ok && !strings.Contains(text, "$1"):
		query.fail("must use $1, the user who logs in")
	case ok:
		p.Auth.Query = text
		if p.Auth.DefaultGroup != "" && namesTheLogin.MatchString(text) {
			query.note("returns $1 as the name, so that every spelling of a login that it finds is an analyst with a budget; return the column")
		}
	}
}

// namesTheLogin finds queries whose first column is what the client has sent.
var namesTheLogin = regexp.MustCompile(`(?i)^\s*SELECT\s+\$1`)

func readAnalysts(o object, p *Policy) {
	v := o.get("analysts")
	all := v.object()
	p.Analysts = map[string]*Analyst{}
	if v.empty() && p.Auth.DefaultGroup == "" {
		v.fail("missing: at least one analyst, with a budget")
	}
	certificates := map[string]string{}
	for _, name := range all.names {
		at := all.get(name)
		if !validName(name) {
			at.fail("a login is 1 to %d bytes without control characters", maxName)
		}
		switch name {
		case "*":
			at.fail("dpproxy budget calls all analysts together so")
		case ProfileAccount:
			at.fail("dpproxy budget calls what dpproxy profile spends so")
		}
		a := readAnalyst(at, name, p)
		if other, twice := certificates[a.Certificate]; twice && a.Certificate != "" {
			at.fail("has the same certificate as %s", other)
		}
		certificates[a.Certificate] = name
		p.Analysts[name] = a
	}
	if top := o.get("budget"); top.given() {
		p.Budget = readBudget(top, p)
	} else if p.Auth.DefaultGroup != "" {
		o.get("auth").note("whoever can add users to auth.dsn makes budgets: nothing bounds what these learn together; write budget: {epsilon: …}, for all analysts together")
	} else if len(p.Analysts) > 1 {
		all.note("no budget for all analysts together: what %d colluding analysts learn is bounded by the sum of their budgets", len(p.Analysts))
	}
	if own := o.get("profile"); own.given() {
		p.Profile = readBudget(own, p)
	}
	p.statementDelta()
}

func readAnalyst(v value, name string, p *Policy) *Analyst {
	a := &Analyst{Name: name}
	o := v.object("password", "certificate", "group", "budget")
	password := o.get("password")
	if s, ok := password.text(); ok {
		s, err := v.w.expand(s)
		if err != nil {
			password.fail("%s", err)
			return a
		}
		if message := verifierProblem(s); message != "" {
			password.fail("%s", message)
		}
		a.Verifier = s
	}
	certificate := o.get("certificate")
	if s, ok := certificate.text(); ok {
		switch {
		case s == "":
			certificate.fail("must be the common name or a DNS name of the client's certificate")
		case p.TLS == nil || p.TLS.ClientCA == "":
			certificate.fail("needs tls.client_ca, against which it is checked")
		}
		a.Certificate = s
	}
	switch p.Auth.Method {
	case AuthSCRAM:
		if !password.given() && !certificate.given() {
			password.fail("missing: a verifier from dpproxy passwd (or certificate)")
		}
	case AuthCertificate:
		if !certificate.given() {
			certificate.fail("missing, and auth.method is certificate")
		}
	}
	budget, group := o.get("budget"), o.get("group")
	a.Group = group.group(p)
	switch {
	case budget.given() && !budget.null():
		a.Budget = *readBudget(budget, p)
	case !group.given():
		v.fail("has no budget; write budget: {epsilon: 10}")
	default:
		a.Budget = p.Groups[a.Group]
	}
	return a
}

func readBudget(v value, p *Policy) *Budget {
	b := &Budget{Delta: p.Accounting.Delta}
	o := v.object("epsilon", "delta", "every")
	epsilon := o.get("epsilon")
	if f, ok := epsilon.positive(); ok && f > maxBudget {
		epsilon.fail("must be at most %g", maxBudget)
	} else if ok {
		b.Epsilon = f
		if f < p.Defaults.Epsilon {
			epsilon.note("%v is below defaults.epsilon %v: nothing can be asked without SET dpproxy.epsilon", f, p.Defaults.Epsilon)
		}
	} else if !epsilon.given() && v.isMapping() {
		epsilon.fail("missing: the total ε")
	}
	if f, ok := o.get("delta").delta(); ok {
		b.Delta = f
	}
	switch {
	case p.Accounting.Method == Pure:
		b.Delta = 0
	case b.Delta == 0 && !o.has("delta"):
		v.fail("no δ here and none in accounting: method rdp needs one, say delta: 1e-6")
	}
	if every := o.get("every"); every.given() {
		b.Every, _ = every.duration(time.Second, maxDuration)
	}
	return b
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
	for _, b := range []*Budget{p.Budget, p.Profile} {
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

package console

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/metrics"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// dbaPage is what runs, and what was spent. Its numbers are the ledger's and the proxy's own, none is of private rows.
type dbaPage struct {
	Accounts             []accountRow
	Statements, Refusals []trend
	Since                string
	Connections          float64
	LoginFailures        float64
	Pools                []poolRow
	Drift                bool
}

type accountRow struct {
	ledger.AccountSummary
	Name string
	Ends string
}

type poolRow struct {
	Name string
	metrics.Pool
	Used int32
}

// verdicts and codes say in words what metrics count.
var (
	verdicts = map[string]string{
		"private": "answered from private rows", "cached": "answered again, free", "public": "over public tables",
		"shadow": "over catalogs and settings", "synthetic": "over synthetic rows",
		"explain": "dry runs", "refused": "refused by analysis",
	}
	codes = map[string]string{
		"42501": "rows or values about a person, writing, a catalog that is not listed",
		"0A000": "SQL that the analysis does not support",
		"53400": "over budget", "42P01": "no such table", "42703": "no such column", "42601": "syntax",
		"XX000": "main failed while measuring",
		"57014": "cancelled, or took too long", "58030": "the ledger does not answer", "53300": "too many connections",
		"54000": "statement too large",
		"54001": "statement too deep", "3D000": "wrong database", "28P01": "wrong password", "28000": "not allowed to log in",
		"22023": "a setting's value",
		"55000": "failed before, or failures used up", "57P01": "the proxy stopped", "42883": "no such function",
		"42803": "grouping", "42704": "no such setting",
	}
)

func (c *Console) showDBA(w http.ResponseWriter, r *http.Request, _ *session) {
	accounts, err := c.config.Proxy.Accounts(r.Context())
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	counts, err := c.config.Proxy.Counts()
	if err != nil {
		c.refuse(w, r, err)
		return
	}
	p := dbaPage{
		Since: c.samples.since(), Connections: counts.Connections, LoginFailures: counts.LoginFailures, Drift: counts.Stale,
		Statements: c.samples.trends(counts, func(m metrics.Counts) map[string]float64 { return m.Statements }, verdicts),
		Refusals:   c.samples.trends(counts, func(m metrics.Counts) map[string]float64 { return m.Errors }, codes),
	}
	for _, a := range accounts {
		row := accountRow{AccountSummary: a, Name: a.Analyst}
		if a.Analyst == ledger.AllAnalysts {
			row.Name = "all together"
		}
		if a.PeriodEnds != nil {
			row.Ends = moment(*a.PeriodEnds)
		}
		p.Accounts = append(p.Accounts, row)
	}
	for _, name := range slices.Sorted(maps.Keys(counts.Pools)) {
		p.Pools = append(p.Pools, poolRow{name, counts.Pools[name], counts.Pools[name].Total - counts.Pools[name].Idle})
	}
	c.render(w, r, http.StatusOK, "dba", "Overview", p)
}

// policyPage is the policy that is in force. It has neither passwords nor connection strings: they are not put into it.
type policyPage struct {
	File, Version    string
	Remarks          []string
	Facts            [][2]string
	Analysts         []analystRow
	Groups           []groupRow
	Unlisted         bool // users whom the policy does not list may log in
	Tables           []tableRow
	Compared         bool
	Problems, Advice []string
	Failed           string
}

type analystRow struct{ Name, How, Group, Epsilon, Delta, Every string }

// groupRow is a group as the policy has it. Users whom it does not list have logged in, or have not; nobody's name is
// shown for that.
type groupRow struct {
	Name, Epsilon, Delta, Every string
	Default                     bool // of users whom the policy does not list
	Listed                      int  // analysts of the policy
}

type tableRow struct {
	Name, Unit, Rows string
	Columns          []string
}

func (c *Console) showPolicy(w http.ResponseWriter, r *http.Request, _ *session) {
	c.render(w, r, http.StatusOK, "policy", "Policy", c.policyPage())
}

// comparePolicy does what `dpproxy check --live` does.
func (c *Console) comparePolicy(w http.ResponseWriter, r *http.Request, _ *session) {
	p := c.policyPage()
	p.Compared = true
	var err error
	if p.Problems, p.Advice, err = c.config.Proxy.Compare(r.Context()); err != nil {
		p.Failed = err.Error()
	}
	c.render(w, r, http.StatusOK, "policy", "Policy", p)
}

func (c *Console) policyPage() policyPage {
	in := c.config.Proxy.Policy()
	p := policyPage{File: filepath.Base(in.File), Version: in.Version, Facts: [][2]string{
		{"Accounting", string(in.Accounting.Method)},
		{"ε of a statement", number(in.Defaults.Epsilon) + ", at most " + number(in.Defaults.EpsilonMax)},
		{"Answers are kept for", remaining(in.AnswersTTL)},
		{"Answers leave", leaving(in.Timing)},
		{"Failures per analyst and period", number(float64(in.Failures))},
		{"Log in", in.Auth.Method},
	}}
	for _, n := range in.Notes {
		p.Remarks = append(p.Remarks, n.String())
	}
	p.Unlisted = in.Auth.DefaultGroup != ""
	for _, name := range slices.Sorted(maps.Keys(in.Groups)) {
		p.Groups = append(p.Groups, groupOf(in, name))
	}
	for _, name := range slices.Sorted(maps.Keys(in.Analysts)) {
		a := in.Analysts[name]
		row := analystRow{Name: name, Group: a.Group, How: "password"}
		row.Epsilon, row.Delta, row.Every = budget(a.Budget)
		switch {
		case a.Certificate != "":
			row.How = "certificate of " + a.Certificate
		case in.Auth.Method == policy.AuthQuery:
			row.How = "password, by auth.query"
		case in.Auth.Method == policy.AuthLDAP:
			row.How = "password, by LDAP"
		}
		p.Analysts = append(p.Analysts, row)
	}
	for _, one := range in.Each() {
		for _, t := range one.Tables {
			row := tableOf(t)
			row.Name = one.Titled(row.Name)
			p.Tables = append(p.Tables, row)
		}
	}
	return p
}

// budget is one in words; every is empty where it has no period.
func budget(b policy.Budget) (epsilon, delta, every string) {
	if b.Every > 0 {
		every = remaining(b.Every)
	}
	return number(b.Epsilon), number(b.Delta), every
}

func groupOf(in *policy.Policy, name string) groupRow {
	row := groupRow{Name: name, Default: in.Auth.DefaultGroup == name}
	row.Epsilon, row.Delta, row.Every = budget(in.Groups[name])
	for _, a := range in.Analysts {
		if a.Group == name {
			row.Listed++
		}
	}
	return row
}

// leaving says when answers from private rows may leave.
func leaving(t policy.Timing) string {
	text := "as soon as they are there"
	if t.Steps > 0 {
		text = "at powers of " + number(t.Steps) + ", in milliseconds"
	}
	if t.Quantum > 0 {
		text += ", on multiples of " + t.Quantum.String()
	}
	return text
}

func tableOf(t *policy.Table) tableRow {
	row := tableRow{Name: t.Name.String(), Unit: "public"}
	if t.Unit != nil {
		row.Unit = t.Unit.Name + " by " + t.Unit.Column
		if t.Unit.Via != nil {
			row.Unit = t.Unit.Name + " through " + t.Unit.Via.Column + " to " + t.Unit.Via.References.String()
		}
		row.Rows = number(float64(t.MaxRowsPerUnit))
	}
	for _, k := range t.Columns {
		text := k.Name
		switch {
		case k.Bounds != nil:
			text += " [" + k.Bounds.Lo + ", " + k.Bounds.Hi + "]"
		case k.Values != nil:
			text += " {" + strings.Join(k.Values, ", ") + "}"
		case k.ValuesFrom != nil:
			text += " values of " + k.ValuesFrom.Table.String() + "." + k.ValuesFrom.Column
		}
		row.Columns = append(row.Columns, text)
	}
	return row
}

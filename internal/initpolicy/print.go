package initpolicy

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// document holds everything that the printer needs.
type document struct {
	*plan
	Options
	database string
	main     string // DSN without user and password
	shadow   string
}

// Roles are the connections of a policy, each with a role and a password of its own.
var Roles = []string{"main", "shadow", "public"}

// mostRole is how much of a database's name goes into those of its roles, bytes: PostgreSQL cuts names at 63.
const mostRole = 40

var notInRole = regexp.MustCompile(`[^a-z0-9_]+`)

// dsn gives an address one of the roles. They carry the database's name: policies for several databases of one cluster
// must not share roles.
func (d *document) dsn(role, address string) string {
	name := notInRole.ReplaceAllString(strings.ToLower(d.database), "_")
	login := "dpproxy_" + name[:min(len(name), mostRole)] + "_" + role
	if d.Secrets != "" {
		login += ":${file:" + path.Join(d.Secrets, role) + "}"
	}
	return strconv.Quote(strings.Replace(address, "//", "//"+login+"@", 1))
}

type writer = func(format string, args ...any)

// print writes the policy.
func (d *document) print() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("# A first policy, from the schema alone: no row was read. Look at every line that says REVIEW.")
	w(
		"# Rows per unit, bounds and values are yours to write, or `dpproxy profile --write` releases them from the rows, once setup has run.")
	w(
		"# Beside bounds, `outside: 0.01` is the share of the rows beyond them, at most: intervals of sums count with it. profile finds that too.")
	w("# docs/policy.md explains every key; `dpproxy check --policy FILE` checks this file, --live against the databases.")
	w("version: 1")
	w("listen: 127.0.0.1:6432")
	w("")
	if d.Secrets == "" {
		w(
			"# Roles without rights of their own; `dpproxy setup` makes them. Passwords are ${NAME}, from the environment, or ${file:PATH}.")
	} else {
		w("# Roles without rights of their own, with passwords in files; `dpproxy setup` makes them.")
	}
	w("databases:")
	w("  main:   %s", d.dsn("main", d.main))
	w("  shadow: %s", d.dsn("shadow", d.shadow))
	public := "public: " + d.dsn("public", d.main)
	if len(d.public) > 0 {
		w("  %s", public)
	} else {
		w("  # %s    # as soon as a table is public", public)
	}
	w("  admin:  ${DPPROXY_ADMIN_DSN}")
	w("")
	if d.Ledger != "" {
		w("ledger: %s", d.Ledger)
	}
	w("accounting: {method: rdp, delta: 1e-6}")
	w("defaults: {epsilon: 0.5, epsilon_max: 1}          # margin: 10%% charges less where numbers are large")
	w("budget: {epsilon: 40, delta: 1e-6}                # all analysts together")
	w("# For applications that list rows: rows that are nobody's, which `dpproxy synthesize` draws for this price (docs/synthetic.md).")
	w("# rows: synthetic                                   # or for one analyst")
	w("# synthetic: {epsilon: 3, delta: 1e-6, every: 30d}")
	w("")
	w("analysts:")
	if d.Analyst == "" {
		d.Analyst = "analyst"
		w("  # REVIEW: nobody knows this password. Put what `dpproxy passwd` prints in its place.")
	}
	w("  %s: {password: %q, budget: {epsilon: 10, delta: 1e-6, every: 30d}}", quote(d.Analyst), d.Verifier)
	w("")
	w("# What is not listed does not exist for an analyst.")
	w("tables:")
	d.units(w)
	for _, t := range d.tables {
		if d.protects(t) {
			d.private(w, d.root.reach.tables[t])
		}
	}
	for _, t := range d.public {
		w("")
		d.comment(w, t)
		if why, _ := d.suspicion(t); why != "" {
			w("  # REVIEW: %s.", why)
		}
		w("  %s: {public: true}", quote(t.title()))
	}
	d.undecided(w)
	return b.String()
}

// mostOthers is how many other candidates are named.
const mostOthers = 6

// units says what is protected, and what could be in its place.
func (d *document) units(w writer) {
	if d.root == nil {
		w("  # REVIEW: no table of persons was found; name one with --unit TABLE.")
		return
	}
	w("  # REVIEW: %s is what is protected, because of %s.", policy.Indefinite(d.unit), d.reason)
	if len(d.others) > 0 {
		var flags []string
		for _, u := range d.others[:min(len(d.others), mostOthers)] {
			flags = append(flags, fmt.Sprintf("--unit %s (%s)", u.title(), tables(len(u.reach.tables))))
		}
		w("  # Others, with the tables of which they protect the rows: %s", strings.Join(flags, ", "))
	}
}

func tables(n int) string {
	if n == 1 {
		return "1 table"
	}
	return fmt.Sprintf("%d tables", n)
}

// undecided names the tables that are not in the policy.
func (d *document) undecided(w writer) {
	if len(d.offered) > 0 {
		w("")
		w(
			"  # REVIEW: neither keys nor names lead from these tables to %s. If nobody's data is in them: dpproxy init … --public %s", d.someone(), shellList(d.offered))
	}
	if len(d.kept) > 0 {
		w("")
		w(
			"  # Not offered as public: %d of %s. If the rows of one are nobody's, list it with refers_to_people (docs/policy.md).", len(d.kept), tables(len(d.tables)))
		for _, k := range d.kept {
			w("  #   %s: %s", k.title(), k.why)
		}
	}
}

// someone names a unit, where there is one.
func (d *document) someone() string {
	if d.root == nil {
		return "people"
	}
	return policy.Indefinite(d.unit)
}

// shellList writes names as the value of one flag.
func shellList(all []*table) string {
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.title()
	}
	list := strings.Join(names, ",")
	if plainList.MatchString(list) {
		return list
	}
	return "'" + strings.ReplaceAll(list, "'", `'\''`) + "'"
}

var plainList = regexp.MustCompile(`^[A-Za-z0-9_.,]+$`)

func (d *document) comment(w writer, t *table) {
	for line := range strings.Lines(t.Comment) {
		w("  # %s", strings.TrimSpace(printed(line)))
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// yamlWords are plain words that YAML's readers take for something else.
var yamlWords = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true,
	"y": true, "n": true,
}

// quote writes a YAML scalar.
func quote(s string) string {
	if plainName.MatchString(s) && !yamlWords[strings.ToLower(s)] {
		return s
	}
	return strconv.Quote(s)
}

func quoteList(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quoteName writes one part of a dotted name.
func quoteName(s string) string {
	if strings.ContainsAny(s, `." `) {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

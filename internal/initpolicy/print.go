package initpolicy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

// document holds everything that the printer needs.
type document struct {
	tables   []*table
	plan     *plan
	main     string // DSN without user and password
	shadow   string
	verifier string
}

// print writes the policy.
func (d *document) print() string {
	var b strings.Builder
	w := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	w("# A first policy, from the schema alone: no row was read. Look at every line that says REVIEW.")
	w("# docs/policy.md explains every key; `dpproxy check --policy FILE` checks this file, --live against the databases.")
	w("version: 1")
	w("listen: 127.0.0.1:6432")
	w("")
	w("# Roles without rights of their own; `dpproxy setup` makes them. Put passwords into the environment: ${NAME}.")
	w("databases:")
	w("  main:   %s", quote(strings.Replace(d.main, "//", "//dpproxy_main@", 1)))
	w("  shadow: %s", quote(strings.Replace(d.shadow, "//", "//dpproxy_shadow@", 1)))
	w("  # for tables that are `{public: true}` below:")
	w("  # public: %s", quote(strings.Replace(d.main, "//", "//dpproxy_public@", 1)))
	w("  admin:  ${DPPROXY_ADMIN_DSN}")
	w("")
	w("accounting: {method: rdp, delta: 1e-6}")
	w("defaults: {epsilon: 0.5, epsilon_max: 1}")
	w("budget: {epsilon: 40, delta: 1e-6}                # all analysts together")
	w("")
	w("analysts:")
	w("  # REVIEW: nobody knows this password. Put what `dpproxy passwd` prints in its place.")
	w("  analyst: {password: %q, budget: {epsilon: 10, delta: 1e-6, every: 30d}}", d.verifier)
	w("")
	w("# What is not listed does not exist for an analyst.")
	w("tables:")
	if d.plan.root == nil {
		w("  # REVIEW: no table of persons was found; name one with --unit TABLE.")
	} else {
		w("  # REVIEW: a %s is what is protected, because of %s; --unit TABLE takes another table.", d.plan.unit, d.plan.reason)
	}
	for _, t := range d.tables {
		if p, ok := d.plan.protected[t]; ok {
			d.private(w, p)
		} else {
			d.undecided(w, t)
		}
	}
	return b.String()
}

type writer = func(format string, args ...any)

func (d *document) private(w writer, p protected) {
	w("")
	d.comment(w, p.table)
	w("  %s:", quote(p.title()))
	if p.via == nil {
		w("    privacy_unit: {name: %s, column: %s}", quote(d.plan.unit), quote(p.column))
	} else {
		target := table{Schema: p.via.Schema, Name: p.via.Table}
		w("    privacy_unit: {name: %s, via: {column: %s, references: %s}}", quote(d.plan.unit), quote(p.via.Column),
			quote(target.title()+"."+quoteName(p.via.Target)))
	}
	if len(p.also) > 0 {
		w("    # REVIEW: %s leads to a %s too; a row belongs to one of them only.", quoteList(p.also), d.plan.unit)
	}
	if p.column != "" && p.unique(p.column) {
		w("    max_rows_per_unit: 1")
	} else {
		w("    max_rows_per_unit: 100                        # REVIEW: a %s acts as at most so many rows in a whole answer", d.plan.unit)
		w("    # left_out: 0.01                              # REVIEW: at most this share of the rows is beyond that, if you know")
	}
	w("    # max_rows: 1000000                           # a public upper bound makes counts two-sided")
	w("    columns:")
	known := checked(p.table)
	for _, c := range p.Columns {
		if c.Class == "composite" {
			w("      # %s: {}  # %s: composite types are not supported", quote(c.Name), c.Type)
			continue
		}
		value, remark := d.column(p, c, known[c.Name])
		w("      %-30s # %s", quote(c.Name)+": "+value, strings.Join(strings.Fields(c.Type+remark), " "))
	}
}

// column says what the schema knows of a column.
func (d *document) column(p protected, c column, f facts) (value, remark string) {
	_, unbounded := bound.ForColumn(c.Base, f.lo, f.hi)
	switch {
	case c.Name == p.column:
		return "{}", ": the " + d.plan.unit + "'s key; never returned"
	case p.via != nil && c.Name == p.via.Column:
		return "{}", ": leads to the " + d.plan.unit + "; never returned"
	case d.outside(p, c.Name) != "":
		return "{}", " REVIEW: values_from: " + d.outside(p, c.Name) + " gives it a domain, if that table is public"
	case len(c.Labels) > 0:
		return "{values: " + quoteList(c.Labels) + "}", ""
	case len(f.values) > 0 && c.Class == "text":
		return "{values: " + quoteList(f.values) + "}", ", from a CHECK constraint"
	case unbounded == nil:
		return fmt.Sprintf("{bounds: [%s, %s]}", f.lo, f.hi), ", from a CHECK constraint"
	case c.Class == "number" && !p.unique(c.Name) && !d.isForeign(p, c.Name):
		return "{}", " REVIEW: bounds: [lower, upper] are needed for sums and averages"
	case c.Class == "date" || c.Class == "timestamp" || c.Class == "interval":
		return "{}", " REVIEW: bounds: [from, to] are needed for averages and groups"
	case c.Class == "range":
		return "{}", " REVIEW: bounds: [from, to] of its ends are needed for averages and groups of these"
	}
	return "{}", ""
}

func (d *document) isForeign(p protected, column string) bool {
	for _, k := range p.Keys {
		if k.Column == column {
			return true
		}
	}
	return false
}

// outside returns the column that a foreign key points to in a table that is not protected; empty: none.
func (d *document) outside(p protected, column string) string {
	for _, k := range p.Keys {
		if k.Column != column {
			continue
		}
		for _, t := range d.tables {
			if _, private := d.plan.protected[t]; !private && t.Schema == k.Schema && t.Name == k.Table {
				return t.title() + "." + quoteName(k.Target)
			}
		}
	}
	return ""
}

// undecided writes a table out of reach of the unit as a comment.
func (d *document) undecided(w writer, t *table) {
	w("")
	d.comment(w, t)
	w("  # REVIEW: no foreign key leads from here to the unit. If nobody's data is in it:")
	w("  # %s: {public: true}", quote(t.title()))
}

func (d *document) comment(w writer, t *table) {
	for line := range strings.Lines(t.Comment) {
		w("  # %s", strings.TrimSpace(line))
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

package initpolicy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/policy/bound"
)

func (d *document) private(w writer, p protected) {
	w("")
	d.comment(w, p.table)
	w("  %s:", quote(p.title()))
	if p.via == nil {
		w("    privacy_unit: {name: %s, column: %s}", quote(d.unit), quote(p.column))
	} else {
		w("    privacy_unit: {name: %s, via: {column: %s, references: %s}}", quote(d.unit), quote(p.via.column),
			quote(p.via.to.title()+"."+quoteName(p.via.target)))
	}
	if len(p.also) > 0 {
		w("    # REVIEW: %s leads to %s too; a row belongs to one of them only.", quoteList(p.also),
			policy.Indefinite(d.unit))
	}
	said, remark := d.said(p.table)
	switch {
	case said.MaxRowsPerUnit > 0:
		w("    max_rows_per_unit: %-26d # as its comment says", said.MaxRowsPerUnit)
	case p.column != "" && p.unique(p.column) && !d.graph.HasChildren(d.relation(p.table)):
		w("    max_rows_per_unit: 1")
	default:
		w("    max_rows_per_unit: 100                        # %s acts as at most so many rows in a whole answer",
			policy.Indefinite(d.unit))
		w("    # left_out: 0.01                              # at most this share of the rows is beyond that, if you know")
	}
	if said.MaxRows > 0 {
		w("    max_rows: %-35d # as its comment says", said.MaxRows)
	} else {
		w("    # max_rows: 1000000                           # a public upper bound makes counts two-sided")
	}
	if remark != "" {
		w("    # REVIEW: %s", remark)
	}
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

// said reads what a table's comment says of rows, or what is wrong with it.
func (d *document) said(t *table) (*policy.Table, string) {
	_, said, err := policy.TableComment(t.Comment)
	if err != nil {
		return &policy.Table{}, "its comment: " + oneLine(err)
	}
	return said, ""
}

// printed keeps what others have written inside a comment of the policy.
func printed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

// column says what the schema knows of a column.
func (d *document) column(p protected, c column, f facts) (value, remark string) {
	_, unbounded := bound.ForColumn(c.Base, f.lo, f.hi)
	said, _, unread := policy.ColumnComment(c.Comment)
	switch {
	case c.Name == p.column:
		return "{}", ": the " + d.unit + "'s key; never returned"
	case p.via != nil && c.Name == p.via.column:
		return "{}", ": leads to the " + d.unit + "; never returned"
	case said != "":
		return said, ", as its comment says"
	case unread != nil:
		return "{}", " REVIEW: its comment: " + oneLine(unread)
	case d.domain(p, c.Name) != "":
		return "{values_from: " + quote(d.domain(p, c.Name)) + "}", ""
	case d.outside(p, c.Name) != "":
		return "{}", " REVIEW: values_from: " + d.outside(p, c.Name) + " gives it a domain, if that table is public"
	case len(c.Labels) > 0:
		return "{values: " + quoteList(c.Labels) + "}", ""
	case len(f.values) > 0 && c.Class == "text":
		return "{values: " + quoteList(f.values) + "}", ", from a CHECK constraint"
	case unbounded == nil:
		return fmt.Sprintf("{bounds: [%s, %s]}", f.lo, f.hi), ", from a CHECK constraint"
	case c.Class == "number" && !p.unique(c.Name) && !d.isForeign(p, c.Name):
		return "{}", ": sums and averages need bounds: [lower, upper]"
	case c.Class == "date" || c.Class == "timestamp" || c.Class == "interval":
		return "{}", ": averages and groups need bounds: [from, to]"
	case c.Class == "range":
		return "{}", ": averages and groups of its ends need bounds: [from, to]"
	}
	return "{}", ""
}

// target returns the table and column that a foreign key of one column points to; nil: there is none, or it leads to
// people.
func (d *document) target(p protected, column string) (*table, string) {
	for _, k := range d.graph.Keys(d.relation(p.table)) {
		if t := d.table(k.To); len(k.Columns) == 1 && k.Columns[0] == column && t != nil && !d.people(k.To) {
			return t, k.Targets[0]
		}
	}
	return nil, ""
}

func (d *document) isForeign(p protected, column string) bool {
	return slices.ContainsFunc(d.graph.Keys(d.relation(p.table)), func(k lineage.Key) bool {
		return slices.Contains(k.Columns, column)
	})
}

// domain returns the column of a public table that has the values of a column; empty: none.
func (d *document) domain(p protected, column string) string {
	if t, target := d.target(p, column); slices.Contains(d.public, t) {
		return t.title() + "." + quoteName(target)
	}
	return ""
}

// outside returns the column that has the values of a column if its table is public; empty: none.
func (d *document) outside(p protected, column string) string {
	if t, target := d.target(p, column); slices.Contains(d.offered, t) {
		return t.title() + "." + quoteName(target)
	}
	return ""
}

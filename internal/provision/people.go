package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// checkPeople makes sure that no public table shows people's rows (docs/privacy.md P30): none leads to a table with a
// privacy unit, by its own keys or those of a partition, a child or a parent, or through other tables, unless the
// policy says that the columns by which it does make no row a person's.
func (c *liveCheck) checkPeople(ctx context.Context) error {
	g, err := lineage.Read(ctx, c.main.conn)
	if err != nil {
		return fmt.Errorf("databases.main: %w", err)
	}
	w := whose{policy: c.policy, graph: g, people: map[*lineage.Relation]*policy.Table{}}
	w.findPeople()
	w.findSigns()
	for _, t := range c.policy.Tables {
		if r := g.Named(t.Name); t.Public && r != nil {
			w.check(t, r, c.found)
		}
	}
	w.adviseUnlisted(c.found)
	return nil
}

// whose knows whose rows relations hold.
type whose struct {
	policy *policy.Policy
	graph  *lineage.Graph
	people map[*lineage.Relation]*policy.Table // a relation of people's rows → a table of the policy with that unit
	signs  *lineage.Signs
}

// findPeople finds the private tables, and the tables that their unit columns reference: these name the units.
func (w *whose) findPeople() {
	for _, t := range w.policy.Tables {
		if r := w.graph.Named(t.Name); t.Unit != nil && r != nil {
			w.people[r] = t
		}
	}
	for _, t := range w.policy.Tables {
		r := w.graph.Named(t.Name)
		if t.Unit == nil || t.Unit.Column == "" || r == nil {
			continue
		}
		for _, k := range w.graph.Keys(r) {
			if root := w.graph.Root(k.To); slices.Contains(k.Columns, t.Unit.Column) && w.people[root] == nil {
				w.people[root] = t
			}
		}
	}
}

func (w *whose) check(t *policy.Table, r *lineage.Relation, f *Findings) {
	path := fmt.Sprintf("tables.%s.public", t.Name)
	if of := w.people[r]; of != nil {
		w.checkNamed(t, r, of, f)
	}
	isPeople := func(x *lineage.Relation) bool { return w.people[x] != nil && x != r }
	leading := map[string]bool{}
	leads := w.graph.Leads(r, isPeople, w.isPublic)
	if i := slices.IndexFunc(leads, func(l lineage.Lead) bool { return l.Key == nil }); i >= 0 {
		l := leads[i]
		f.problem(
			"%s: it shows rows of %s%s, which are %s's: give it the privacy_unit of that table, or take it out of the policy",
			path, l.At.Name, more(l), policy.Indefinite(w.people[l.People].Unit.Name))
		return
	}
	for _, l := range leads {
		unit := w.people[l.People].Unit.Name
		for _, c := range l.Key.Columns {
			leading[c] = true
		}
		if !vouched(t, l.Key.Columns) {
			f.problem(
				"%s: %s, whose rows are %s's: %s; or, if the rows here are facts about the institution and not about that %s, write refers_to_people: [%s] beside public: true",
				path, w.describe(r, l), policy.Indefinite(unit), w.remedy(l), unit, strings.Join(l.Key.Columns, ", "))
		}
	}
	for _, c := range t.RefersToPeople {
		if !leading[c] && !r.HasColumn(c) {
			f.problem("tables.%s.refers_to_people: main has no such column as %s", t.Name, c)
		}
	}
	w.checkSigns(t, w.signs.Of(r), leading, f)
}

func (w *whose) isPublic(r *lineage.Relation) bool {
	listed := w.policy.Table(r.Name)
	return listed != nil && listed.Public
}

// checkNamed looks at a public table that a unit column references: who is in it is public then.
func (w *whose) checkNamed(t *policy.Table, r *lineage.Relation, of *policy.Table, f *Findings) {
	in := w.graph.Named(of.Name)
	for _, k := range w.graph.Keys(in) {
		if w.graph.Root(k.To) == r && slices.Contains(k.Columns, of.Unit.Column) && !vouched(t, k.Targets) {
			f.problem(
				"tables.%s.public: %s (%s) of %s references it, so each of its rows is %s: give it privacy_unit: {name: %s, column: %s}; or, if everybody may know who is in it, write refers_to_people: [%s] beside public: true",
				t.Name, k.Name, strings.Join(k.Columns, ", "), of.Name, policy.Indefinite(of.Unit.Name), of.Unit.Name,
				k.Targets[slices.Index(k.Columns, of.Unit.Column)], strings.Join(k.Targets, ", "))
			return
		}
	}
}

// vouched reports whether the policy says of every column of a key that it makes no row a person's.
func vouched(t *policy.Table, columns []string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(t.RefersToPeople, c) })
}

// describe says by which key a table leads to people.
func (w *whose) describe(r *lineage.Relation, l lineage.Lead) string {
	var b strings.Builder
	fmt.Fprintf(&b, "its foreign key %s (%s)", l.Key.Name, strings.Join(l.Key.Columns, ", "))
	if l.At != r {
		fmt.Fprintf(&b, ", that of %s%s, with which it shares rows,", l.At.Name, more(l))
	}
	b.WriteString(" leads ")
	for _, over := range l.Over {
		fmt.Fprintf(&b, "by %s ", over.Name)
	}
	return b.String() + "to " + w.graph.Root(l.People).Name.String()
}

func more(l lineage.Lead) string {
	if l.More == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", l.More)
}

// remedy says how the policy protects a table that leads to people.
func (w *whose) remedy(l lineage.Lead) string {
	to := w.graph.Root(l.Key.To)
	t := w.people[to]
	switch {
	case t == nil:
		return fmt.Sprintf("list %s with a privacy_unit, and this table with one via it", to.Name)
	case len(l.Key.Columns) > 1:
		return "give it a privacy_unit too"
	case t.Name != to.Name || t.Unit.Column == l.Key.Targets[0]:
		return fmt.Sprintf("write privacy_unit: {name: %s, column: %s} in its place", t.Unit.Name, l.Key.Columns[0])
	}
	return fmt.Sprintf("write privacy_unit: {name: %s, via: {column: %s, references: %s.%s}} in its place", t.Unit.Name,
		l.Key.Columns[0], t.Name, l.Key.Targets[0])
}

// findSigns looks for what names and types tell where no constraint does.
func (w *whose) findSigns() {
	known := lineage.Known{People: func(r *lineage.Relation) bool { return w.people[r] != nil }, Public: w.isPublic}
	for _, t := range w.policy.Tables {
		if t.Unit != nil && t.Unit.Column != "" {
			known.Units = append(known.Units, lineage.UnitKey{Unit: t.Unit.Name, Table: t.Name, Column: t.Unit.Column})
		}
	}
	w.signs = w.graph.Signs(known)
}

// checkSigns refuses a public table with the name and type of the key of people's rows, and says what else looks like
// people, unless the policy says that it is not.
func (w *whose) checkSigns(t *policy.Table, signs []lineage.Sign, leading map[string]bool, f *Findings) {
	if t.RefersToNobody {
		return
	}
	var keys, columns, rest []string
	for _, s := range signs {
		switch {
		case len(s.Columns) > 0 && (vouched(t, s.Columns) || leading[s.Columns[0]]):
		case s.Content && !shows(t, s.Columns):
		case s.Key:
			keys, columns = append(keys, s.Text), append(columns, s.Columns...)
		default:
			rest = append(rest, s.Text)
		}
	}
	if len(keys) > 0 {
		word := "false"
		if len(columns) > 0 {
			word = fmt.Sprintf("[%s], or false for the whole table,", strings.Join(columns, ", "))
		}
		f.problem(
			"tables.%s.public: %s: if the rows are theirs, give the table a privacy_unit or take it out of the policy; if not, write refers_to_people: %s beside public: true",
			t.Name, strings.Join(keys, "; "), word)
	}
	if len(rest) > 0 {
		f.suspect(
			"tables.%s.public: it is public, but %s: say refers_to_people: false beside public: true if its rows are nobody's",
			t.Name, strings.Join(rest, "; "))
	}
}

// shows reports whether analysts see one of the columns.
func shows(t *policy.Table, columns []string) bool {
	return len(t.Columns) == 0 || slices.ContainsFunc(t.Columns, func(c *policy.Column) bool {
		return slices.Contains(columns, c.Name)
	})
}

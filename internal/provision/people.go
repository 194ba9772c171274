package provision

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// checkPeople makes sure that no public table shows people's rows (docs/privacy.md P30): none leads to a table with a privacy
// unit, by its own keys or those of a partition, a child or a parent, or through other tables, unless the policy says that the
// columns by which it does make no row a person's.
func (c *liveCheck) checkPeople(ctx context.Context) error {
	g, err := lineage.Read(ctx, c.main.conn)
	if err != nil {
		return fmt.Errorf("databases.main: %w", err)
	}
	w := whose{policy: c.policy, graph: g, people: map[*lineage.Relation]*policy.Table{}}
	w.findPeople()
	for _, t := range c.policy.Tables {
		if r := g.Named(t.Name); t.Public && r != nil {
			w.check(t, r, c.found)
		}
	}
	return nil
}

// whose knows whose rows relations hold.
type whose struct {
	policy *policy.Policy
	graph  *lineage.Graph
	people map[*lineage.Relation]*policy.Table // a relation of people's rows → a table of the policy with that unit

	suspects lineage.Suspects
}

// findPeople finds the private tables, the tables that their unit columns reference, which name the units, and what the units' keys look like.
func (w *whose) findPeople() {
	for _, t := range w.policy.Tables {
		if r := w.graph.Named(t.Name); t.Unit != nil && r != nil {
			w.people[r] = t
		}
	}
	var keys []lineage.UnitKey
	for _, t := range w.policy.Tables {
		r := w.graph.Named(t.Name)
		if t.Unit == nil || t.Unit.Column == "" || r == nil {
			continue
		}
		keys = append(keys, lineage.UnitKey{Unit: t.Unit.Name, Table: t.Name, Column: t.Unit.Column})
		for _, k := range w.graph.Keys(r) {
			if root := w.graph.Root(k.To); slices.Contains(k.Columns, t.Unit.Column) && w.people[root] == nil {
				w.people[root] = t
			}
		}
	}
	w.suspects = w.graph.Suspects(keys...)
}

func (w *whose) check(t *policy.Table, r *lineage.Relation, f *Findings) {
	path := fmt.Sprintf("tables.%s.public", t.Name)
	if of := w.people[r]; of != nil {
		w.checkNamed(t, r, of, f)
	}
	isPeople := func(x *lineage.Relation) bool { return w.people[x] != nil && x != r }
	isPublic := func(x *lineage.Relation) bool {
		listed := w.policy.Table(x.Name)
		return listed != nil && listed.Public
	}
	leading := map[string]bool{}
	leads := w.graph.Leads(r, isPeople, isPublic)
	if i := slices.IndexFunc(leads, func(l lineage.Lead) bool { return l.Key == nil }); i >= 0 {
		l := leads[i]
		f.problem("%s: it shows rows of %s%s, which are %s's: give it the privacy_unit of that table, or take it out of the policy",
			path, l.At.Name, more(l), policy.Indefinite(w.people[l.People].Unit.Name))
		return
	}
	for _, l := range leads {
		unit := w.people[l.People].Unit.Name
		for _, c := range l.Key.Columns {
			leading[c] = true
		}
		if !vouched(t, l.Key.Columns) {
			f.problem("%s: %s, whose rows are %s's: %s; or, if the rows here are facts about the institution and not about that %s, write refers_to_people: [%s] beside public: true",
				path, w.describe(r, l), policy.Indefinite(unit), w.remedy(l), unit, strings.Join(l.Key.Columns, ", "))
		}
	}
	for _, c := range t.RefersToPeople {
		if !leading[c] && !r.HasColumn(c) {
			f.problem("tables.%s.refers_to_people: main has no such column as %s", t.Name, c)
		}
	}
	w.adviseSuspects(t, r, leading, f)
	if r.Kind == 'f' {
		f.advise("%s: it is a foreign table: main's catalogs do not say whose rows another server holds; make sure that they are nobody's", path)
	}
}

// checkNamed looks at a public table that a unit column references: who is in it is public then.
func (w *whose) checkNamed(t *policy.Table, r *lineage.Relation, of *policy.Table, f *Findings) {
	in := w.graph.Named(of.Name)
	for _, k := range w.graph.Keys(in) {
		if w.graph.Root(k.To) == r && slices.Contains(k.Columns, of.Unit.Column) && !vouched(t, k.Targets) {
			f.problem("tables.%s.public: %s (%s) of %s references it, so each of its rows is %s: give it privacy_unit: {name: %s, column: %s}; or, if everybody may know who is in it, write refers_to_people: [%s] beside public: true",
				t.Name, k.Name, strings.Join(k.Columns, ", "), of.Name, policy.Indefinite(of.Unit.Name), of.Unit.Name, k.Targets[slices.Index(k.Columns, of.Unit.Column)], strings.Join(k.Targets, ", "))
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
	return fmt.Sprintf("write privacy_unit: {name: %s, via: {column: %s, references: %s.%s}} in its place", t.Unit.Name, l.Key.Columns[0], t.Name, l.Key.Targets[0])
}

// adviseSuspects names columns of a public table that look like a unit's key, though no constraint says so.
func (w *whose) adviseSuspects(t *policy.Table, r *lineage.Relation, leading map[string]bool, f *Findings) {
	for _, s := range w.suspects.In(r) {
		if c := s.Column; !leading[c] && !slices.Contains(t.RefersToPeople, c) {
			f.advise("tables.%s.public: %s has the name and type of %s's key, as in %s: if the rows are theirs, give the table a privacy_unit; if not, refers_to_people: [%s] says so", t.Name, c, policy.Indefinite(s.Like.Unit), s.Like.Table, c)
		}
	}
}

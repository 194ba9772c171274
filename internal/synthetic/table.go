package synthetic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// table is a private table, or the units of one where no table lists them.
type table struct {
	name       policy.Name
	policy     *policy.Table     // of units: that of their table
	relation   *rewrite.Relation // nil: they are units
	parent     *table            // whose rows this table's rows hang on; nil: none's
	link, key  string            // with a parent: this table's column that refers to it, and the one there
	attributes []*attribute      // of its columns, then of the rows of the tables that hang on it
}

func quoted(names ...string) string { return pgx.Identifier(names).Sanitize() }

// from are the rows, which are called as.
func (t *table) from(as string) string {
	from := quoted(t.name.Schema, t.name.Relation)
	if t.relation == nil {
		unit := quoted("u", t.policy.Unit.Column)
		from = fmt.Sprintf("(SELECT %[1]s FROM %[2]s AS u GROUP BY %[1]s)", unit, from)
	}
	return from + " AS " + quoted(as)
}

// units are the rows of the table, with their parent's if it is wanted, and with the units that they belong to, along
// what it hangs on.
func (t *table) units(parents bool) (from, unit string) {
	from, as, at := t.from("t"), "t", t
	for n := 1; at.policy.Unit.Via != nil || parents && n == 1; n++ {
		next := "p" + strings.Repeat("p", n-1)
		from += fmt.Sprintf(" JOIN %s ON %s = %s", at.parent.from(next), quoted(as, at.link), quoted(next, at.key))
		if at.policy.Unit.Via == nil {
			break
		}
		at, as = at.parent, next
	}
	return from, quoted(as, at.policy.Unit.Column)
}

// one reports whether a unit has one row: a unique index says so.
func (t *table) one() bool {
	return t.relation == nil || t.policy.Unit.Via == nil && t.unique(t.policy.Unit.Column)
}

func (t *table) unique(column string) bool {
	return slices.ContainsFunc(t.relation.Unique, func(u []string) bool { return len(u) == 1 && u[0] == column })
}

// foreign is the private table that a column refers to by a foreign key, and its column there; nil: none.
func (p *plan) foreign(t *table, column string) (*table, string) {
	for _, k := range t.relation.Foreign {
		if other := p.byName[k.References]; other != nil && k.Column == column &&
			other.relation.Column(k.ReferencesColumn) != nil {
			return other, k.ReferencesColumn
		}
	}
	return nil, ""
}

// publicKey is the column of a public table that a column refers to by a foreign key, where the policy does not say
// which values it has.
func (p *plan) publicKey(t *table, column string) (policy.ColumnOf, bool) {
	declared := t.policy.Column(column)
	for _, k := range t.relation.Foreign {
		r := p.schema.Relations[k.References] // nil: it is not listed
		if k.Column == column && r != nil && r.Column(k.ReferencesColumn) != nil && p.byName[k.References] == nil &&
			declared.Values == nil && declared.ValuesFrom == nil {
			return policy.ColumnOf{Table: k.References, Column: k.ReferencesColumn}, true
		}
	}
	return policy.ColumnOf{}, false
}

// plan lists the tables of a twin, parents first.
type plan struct {
	tables []*table
	byName map[policy.Name]*table
	schema *rewrite.Schema
	keys   map[policy.ColumnOf][][]byte // of public tables; read once everything is asked
}

// newPlan lists the private tables of a policy; or those that are named, what they refer to, and what refers to any
// of these by the foreign keys that hold in the twin: no row is left that refers to one which is not there any more.
func newPlan(p *policy.Policy, s *rewrite.Schema, only []string, holding []Reference) (*plan, error) {
	all := &plan{byName: map[policy.Name]*table{}, schema: s}
	var list []*table
	for _, t := range p.Tables {
		if r := s.Relations[t.Name]; r != nil && !t.Public {
			all.byName[t.Name] = &table{name: t.Name, policy: t, relation: r}
			list = append(list, all.byName[t.Name])
		}
	}
	for _, t := range list {
		all.hang(t, list)
	}
	for _, name := range only {
		if !slices.ContainsFunc(list, func(t *table) bool { return named(t.name, name) }) {
			return nil, fmt.Errorf("table %q is not a private table of the policy", name)
		}
	}
	for _, t := range list {
		if len(only) == 0 || slices.ContainsFunc(only, func(name string) bool { return named(t.name, name) }) {
			all.add(t, nil)
		}
	}
	if err := all.complete(holding); err != nil {
		return nil, err
	}
	if len(all.tables) == 0 {
		return nil, fmt.Errorf("the policy has no private table")
	}
	for _, t := range all.tables {
		all.describe(t)
	}
	for _, t := range all.tables {
		if t.parent != nil {
			t.parent.attributes = append(t.parent.attributes, rowsOf(t))
		}
	}
	return all, nil
}

// complete adds what refers to a table that is listed.
func (p *plan) complete(holding []Reference) error {
	for listed := -1; listed < len(p.tables); {
		listed = len(p.tables)
		for _, r := range holding {
			if p.schema.Relations[r.From] == nil && p.schema.Relations[r.To] != nil {
				return fmt.Errorf("in the twin, rows of %s refer to %s, which would be replaced: empty %[1]s first", r.From, r.To)
			}
			if slices.Contains(p.tables, p.byName[r.To]) { // what is public has no such rows
				p.add(p.byName[r.From], nil)
			}
		}
	}
	return nil
}

func named(n policy.Name, text string) bool {
	return text == n.String() || n.Schema == "public" && text == n.Relation
}

// hang finds what a table hangs on: what it leads to its unit by, a table that its unit column refers to, the one
// table that has a row for each unit of the kind, or the units themselves.
func (p *plan) hang(t *table, list []*table) {
	if via := t.policy.Unit.Via; via != nil {
		t.parent, t.link, t.key = p.byName[via.References], via.Column, via.ReferencesColumn
		return
	}
	t.link = t.policy.Unit.Column
	if t.parent, t.key = p.foreign(t, t.link); t.parent != nil && t.parent != t && !t.parent.on(t) {
		return
	}
	t.parent = nil
	if t.one() {
		return
	}
	for _, other := range list {
		if u := other.policy.Unit; other != t && u.Name == t.policy.Unit.Name && u.Via == nil && other.one() && !other.on(t) {
			t.parent, t.key = other, u.Column
			return
		}
	}
	t.parent = &table{name: t.name, policy: t.policy}
	t.key = t.link
}

// on reports whether a table hangs on another one.
func (t *table) on(other *table) bool { return t != nil && (t == other || t.parent.on(other)) }

// add lists a table behind what it hangs on and, where that is no circle, what its foreign keys refer to.
func (p *plan) add(t *table, within []*table) {
	if t == nil || slices.Contains(p.tables, t) || slices.Contains(within, t) {
		return
	}
	within = append(within, t)
	p.add(t.parent, within)
	if t.relation != nil {
		for _, k := range t.relation.Foreign {
			p.add(p.byName[k.References], within)
		}
	}
	if !slices.Contains(p.tables, t) {
		p.tables = append(p.tables, t)
	}
}

// describe lists what counts of a table are asked by.
func (p *plan) describe(t *table) {
	if t.relation == nil {
		return
	}
	for i := range t.relation.Columns {
		c := &t.relation.Columns[i]
		refers, _ := p.foreign(t, c.Name)
		_, public := p.publicKey(t, c.Name)
		declared := t.policy.Column(c.Name)
		if declared == nil || c.Name == t.link || t.unique(c.Name) {
			continue
		}
		a := &attribute{column: c}
		g, ok := gridOf(p.schema, c)
		switch base := p.schema.BaseType(c.Type); {
		case refers != nil, public:
			a.nulls = true
		case declared.Values != nil, declared.ValuesFrom != nil, base == pgtype.BoolOID, p.schema.Enums[base] != nil:
		case ok:
			a.grid, a.starts = &g, g.cells()
		default:
			a.nulls = true
		}
		if !a.nulls || !c.NotNull {
			t.attributes = append(t.attributes, a)
		}
	}
}

// rowsOf is the number of rows of a table that hang on one row of its parent.
func rowsOf(t *table) *attribute {
	g := grid{low: 0, high: int64(t.policy.MaxRowsPerUnit), array: "int8[]", number: true}
	if t.parent.relation == nil {
		g.low = 1
	}
	g.text = func(n int64) string { return fmt.Sprint(n) }
	return &attribute{rows: t, grid: &g, starts: g.cells()}
}

// columns are the names of a table's columns.
func (t *table) columns() []string {
	var list []string
	for _, c := range t.relation.Columns {
		list = append(list, c.Name)
	}
	return list
}

// selected are the rows of a table, with its parent's where an attribute of that is not nil, and with what its own
// attributes read.
func (t *table) selected(parents *attribute, own ...*attribute) string {
	from := t.from("t")
	if parents != nil {
		from += fmt.Sprintf(" JOIN %s ON %s = %s", t.parent.from("p"), quoted("t", t.link), quoted("p", t.key))
	}
	for _, a := range own {
		from += a.from("t")
	}
	return from
}

package initpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Options say what a person knows better than the schema.
type Options struct {
	Unit     string   // the table of units; empty: the likeliest one
	Public   []string // tables that hold nobody's rows
	Analyst  string   // their name; empty: "analyst"
	Verifier string   // of their password; empty: of one that nobody knows
	Secrets  string   // the folder with the passwords of the roles, one file each (Roles); empty: they have none
	Ledger   string   // where budgets are kept; empty: beside the policy
}

// plan says of every table whose rows it holds.
type plan struct {
	*catalog
	unit    string     // "patient"
	root    *candidate // the table of units; nil: none was found
	reason  string     // why this root
	others  []candidate
	public  []*table // named on the command line
	offered []*table // nobody's rows, as far as the schema tells
	kept    []kept   // the others
	signs   *lineage.Signs
}

// kept is a table that may hold people's rows and that is not protected.
type kept struct {
	*table
	why string
}

func newPlan(c *catalog, o Options) (*plan, error) {
	p := &plan{catalog: c, others: c.candidates()}
	var err error
	if p.root, p.reason, err = root(p.others, c, o.Unit); err != nil {
		return nil, err
	}
	if p.root != nil {
		p.unit = strings.Join(strings.Fields(lineage.Singular(p.root.Name)), "_")
		if _, said, err := policy.TableComment(p.root.Comment); err == nil && said.Unit != nil && said.Unit.Name != "" {
			p.unit = said.Unit.Name
		}
		p.others = slices.DeleteFunc(p.others, func(u candidate) bool {
			return u.table == p.root.table ||
				u.rank < min(p.root.rank, lineage.OfServing)
		})
	}
	public := map[*table]bool{}
	for _, name := range o.Public {
		t := c.named(name)
		if t == nil {
			return nil, fmt.Errorf("there is no table %s, which --public names", name)
		}
		if why := p.leads(t); why != "" {
			return nil, fmt.Errorf("table %s is not public: %s", t.title(), why)
		}
		public[t] = true
	}
	p.findSigns(public)
	for _, t := range c.tables {
		if p.protects(t) {
			continue
		}
		why := p.leads(t)
		if why == "" {
			var key bool
			if why, key = p.suspicion(t); key && public[t] {
				return nil,
					fmt.Errorf(
						"table %s is not public: %s; if it is not that key, list the table in the policy as {public: true, refers_to_people: false}", t.title(), why)
			}
		}
		switch {
		case public[t]:
			p.public = append(p.public, t)
		case why != "":
			p.kept = append(p.kept, kept{t, why})
		default:
			p.offered = append(p.offered, t)
		}
	}
	return p, nil
}

func (p *plan) protects(t *table) bool {
	if p.root == nil {
		return false
	}
	_, ok := p.root.reach.tables[t]
	return ok
}

// people reports whether a relation's rows are the unit's.
func (p *plan) people(r *lineage.Relation) bool {
	t := p.table(r)
	return t != nil && (p.protects(t) || p.root != nil && p.root.reach.lost[t] != "" || p.names(t))
}

// names reports whether the units' key references a table, so that each of its rows is a unit.
func (p *plan) names(t *table) bool {
	return p.root != nil && slices.ContainsFunc(p.graph.Keys(p.relation(p.root.table)), func(k lineage.Key) bool {
		return slices.Contains(k.Columns, p.root.reach.tables[p.root.table].column) && p.table(k.To) == t
	})
}

// leads says why a table's rows are the unit's, by the constraints of the schema; empty: they are not.
func (p *plan) leads(t *table) string {
	switch {
	case p.root == nil:
		return ""
	case p.protects(t):
		return "its rows are those of " + policy.Indefinite(p.unit)
	case p.root.reach.lost[t] != "":
		return p.root.reach.lost[t]
	case p.names(t):
		return fmt.Sprintf("the key of %s references it, so each of its rows is %s", p.root.title(),
			policy.Indefinite(p.unit))
	}
	return p.way(t, p.people)
}

// way says how a table leads to some others.
func (p *plan) way(t *table, to func(*lineage.Relation) bool) string {
	never := func(*lineage.Relation) bool { return false }
	switch leads := p.graph.Leads(p.relation(t), to, never); {
	case len(leads) == 0:
		return ""
	case leads[0].Key == nil:
		return "it shows rows of " + p.called(leads[0].People)
	default:
		return fmt.Sprintf("%s leads to %s", strings.Join(leads[0].Key.Columns, ", "), p.called(leads[0].People))
	}
}

func (p *plan) called(r *lineage.Relation) string {
	return (&table{Schema: p.graph.Root(r).Name.Schema, Name: p.graph.Root(r).Name.Relation}).title()
}

// suspicion says why a table may hold people's rows although no constraint says so, and whether by names and types of
// keys, which serve refuses; empty: nothing tells.
func (p *plan) suspicion(t *table) (why string, key bool) {
	found := p.signs.Of(p.relation(t))
	if len(found) == 0 {
		return "", false
	}
	return found[0].Text, found[0].Key
}

// findSigns looks for what names and types tell. Tables that are named on the command line are as public as those of a
// policy.
func (p *plan) findSigns(public map[*table]bool) {
	known := lineage.Known{People: p.people, Public: func(r *lineage.Relation) bool { return public[p.table(r)] }}
	if p.root != nil {
		known.Units = []lineage.UnitKey{{
			Unit: p.unit, Table: policy.Name{Schema: p.root.Schema, Relation: p.root.Name},
			Column: p.root.PrimaryKey[0],
		}}
	}
	p.signs = p.graph.Signs(known)
}

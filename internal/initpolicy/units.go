package initpolicy

import (
	"fmt"
	"slices"
	"strings"
)

// people are words in names of tables whose rows are persons, or records of one.
var people = []string{
	"patient", "person", "people", "user", "customer", "client", "member", "employee", "student", "subject",
	"account", "household", "citizen", "resident", "driver", "passenger", "guest", "subscriber", "donor", "voter", "applicant",
	"worker", "teacher", "pupil", "participant", "respondent", "tenant", "player", "visitor",
}

// protected pairs a table with the way from its rows to a unit.
type protected struct {
	*table
	column string      // holds the unit's key; empty with via
	via    *foreignKey // leads to a table that is protected
	also   []string    // other columns that lead to a unit
}

// plan says for every table whose rows it holds.
type plan struct {
	unit      string // "patient"
	root      *table // the table of units; nil: none was found
	protected map[*table]protected
	reason    string // why this root
}

// newPlan finds the table of units, or takes the one that is named, and all tables with a foreign key to it, directly or
// through others.
func newPlan(tables []*table, named string) (*plan, error) {
	p := &plan{protected: map[*table]protected{}}
	best := 0
	for _, t := range tables {
		if len(t.PrimaryKey) != 1 {
			if named != "" && matches(t, named) {
				return nil, fmt.Errorf("table %s has no primary key of one column, which a unit needs", t.title())
			}
			continue
		}
		score, reason := 0, ""
		reached := len(reach(tables, t)) - 1
		switch {
		case named != "" && matches(t, named):
			score, reason = 1<<30, "named on the command line"
		case named != "":
		case slices.ContainsFunc(people, func(w string) bool { return strings.Contains(strings.ToLower(t.Name), w) }):
			score, reason = 1000+reached, "its name"
		case reached > 0:
			score, reason = reached, fmt.Sprintf("foreign keys of %d other tables lead to it", reached)
		}
		if score > best {
			best, p.root, p.reason = score, t, reason
		}
	}
	if named != "" && p.root == nil {
		return nil, fmt.Errorf("there is no table %s; tables with a primary key of one column: %s", named, strings.Join(candidates(tables), ", "))
	}
	if p.root != nil {
		p.unit = strings.Join(strings.Fields(singular(p.root.Name)), "_")
		p.protected = reach(tables, p.root)
	}
	return p, nil
}

// candidates returns the tables whose rows may be units.
func candidates(tables []*table) []string {
	var names []string
	for _, t := range tables {
		if len(t.PrimaryKey) == 1 {
			names = append(names, t.title())
		}
	}
	return names
}

func matches(t *table, name string) bool {
	return name == t.Name || name == t.Schema+"."+t.Name || name == t.title()
}

// reach walks foreign keys backwards from the units, nearest tables first.
func reach(tables []*table, root *table) map[*table]protected {
	found := map[*table]protected{root: {table: root, column: root.PrimaryKey[0]}}
	for grown := true; grown; {
		grown = false
		level := map[*table]protected{}
		for _, t := range tables {
			if _, done := found[t]; done {
				continue
			}
			if p, ok := step(t, root, found); ok {
				level[t] = p
				grown = true
			}
		}
		for t, p := range level {
			found[t] = p
		}
	}
	return found
}

// step finds a key of t into a table that is protected; a direct one to the unit is better than a chain.
func step(t, root *table, found map[*table]protected) (protected, bool) {
	p := protected{table: t}
	var chain *foreignKey
	for i, k := range t.Keys {
		for target := range found {
			if k.Schema != target.Schema || k.Table != target.Name || !target.unique(k.Target) {
				continue
			}
			if target == root && k.Target == root.PrimaryKey[0] {
				if p.column == "" {
					p.column = k.Column
				} else {
					p.also = append(p.also, k.Column)
				}
			} else if chain == nil {
				chain = &t.Keys[i]
			} else {
				p.also = append(p.also, k.Column)
			}
		}
	}
	if p.column == "" {
		p.via = chain
	} else if chain != nil {
		p.also = append(p.also, chain.Column)
	}
	return p, p.column != "" || p.via != nil
}

// singular makes "patient" of "patients"; good enough for a name that a person may change.
func singular(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "people":
		return "person"
	case strings.HasSuffix(name, "ies"):
		return strings.TrimSuffix(name, "ies") + "y"
	case strings.HasSuffix(name, "s") && !strings.HasSuffix(name, "ss"):
		return strings.TrimSuffix(name, "s")
	}
	return name
}

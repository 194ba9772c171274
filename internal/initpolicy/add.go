package initpolicy

import (
	"context"
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// Add returns what a policy would say of one more table, as lines of its tables: a foreign key leads from the table to
// one that the policy protects. What only a person knows is in comments, as in a first policy.
func Add(ctx context.Context, dsn string, p *policy.Policy, name string) (string, error) {
	conn, c, err := open(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	t := c.named(name)
	switch {
	case t == nil:
		return "", fmt.Errorf("there is no table %s that %s may see", name, conn.Config().User)
	case p.Table(t.name()) != nil:
		return "", fmt.Errorf("the policy lists %s", t.title())
	}
	var found, units []string
	why := "no foreign key leads from it to a table that the policy protects"
	for _, root := range c.roots(p) {
		d := &document{plan: root}
		added, ok := c.step(t, root.root.reach)
		if !ok {
			if lost := root.root.reach.lost[t]; lost != "" {
				why = lost
			}
			continue
		}
		var b strings.Builder
		d.private(func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }, added)
		found, units = append(found, b.String()), append(units, policy.Indefinite(root.unit))
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("table %s: %s; write it by hand, or {public: true} if its rows are nobody's", t.title(), why)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("table %s leads to %s: choose by hand whom it belongs to", t.title(), strings.Join(units, " and "))
}

// roots are plans of what a policy has, one for each kind of unit.
func (c *catalog) roots(p *policy.Policy) []*plan {
	var all []*plan
	var public []*table
	byUnit := map[string]*plan{}
	for _, listed := range p.Tables {
		t := c.of(listed.Name)
		switch {
		case t == nil:
		case listed.Public:
			public = append(public, t)
		case listed.Unit.Via == nil && byUnit[listed.Unit.Name] == nil:
			of := &plan{catalog: c, unit: listed.Unit.Name, root: &candidate{table: t, reach: c.listed(p, listed.Unit.Name)}}
			byUnit[of.unit], all = of, append(all, of)
		}
	}
	for _, of := range all {
		of.public = public
	}
	return all
}

// listed is what a policy protects of one kind of unit.
func (c *catalog) listed(p *policy.Policy, unit string) reached {
	f := reached{map[*table]protected{}, map[*table]string{}}
	for _, listed := range p.Tables {
		t := c.of(listed.Name)
		if t == nil || listed.Unit == nil || listed.Unit.Name != unit {
			continue
		}
		of := protected{table: t, column: listed.Unit.Column}
		if via := listed.Unit.Via; via != nil {
			of.via = &link{via.Column, c.of(via.References), via.ReferencesColumn}
		}
		f.tables[t] = of
	}
	return f
}

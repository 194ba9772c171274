package initpolicy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// candidate is a table whose rows may be units.
type candidate struct {
	*table
	rank  int
	reach reached
}

// candidates lists the tables whose rows may be units, the likeliest first.
func (c *catalog) candidates() []candidate {
	var all []candidate
	for _, t := range c.tables {
		if len(t.PrimaryKey) == 1 && t.Kind != "f" && !c.graph.HasChildren(c.relation(t)) {
			if u := (candidate{t, lineage.Rank(t.Name), c.reach(t)}); u.rank > lineage.NoPerson || len(u.reach.tables) > 1 {
				all = append(all, u)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(len(b.reach.tables), len(a.reach.tables)))
	})
	return all
}

// root takes the likeliest candidate, or the table that is named.
func root(all []candidate, c *catalog, named string) (*candidate, string, error) {
	if t := c.declared(); named == "" && t != nil {
		return &candidate{t, lineage.Rank(t.Name), c.reach(t)}, "its comment", nil
	}
	if named == "" {
		switch {
		case len(all) == 0:
			return nil, "", nil
		case all[0].rank > lineage.NoPerson:
			return new(all[0]), "its name", nil
		}
		return new(all[0]), fmt.Sprintf("foreign keys of %d other tables lead to it", len(all[0].reach.tables)-1), nil
	}
	t := c.named(named)
	if t == nil {
		var titles []string
		for _, u := range all {
			titles = append(titles, u.title())
		}
		return nil, "", fmt.Errorf("there is no table %s; the likeliest ones: %s", named, strings.Join(titles, ", "))
	}
	if len(t.PrimaryKey) != 1 {
		return nil, "", fmt.Errorf("table %s has no primary key of one column, which a unit needs", t.title())
	}
	return &candidate{t, lineage.Rank(t.Name), c.reach(t)}, "the command line", nil
}

// declared finds the table of which a comment says that its primary key is a unit; nil: there is none, or several.
func (c *catalog) declared() (found *table) {
	for _, t := range c.tables {
		_, said, err := policy.TableComment(t.Comment)
		if err != nil || said.Unit == nil || len(t.PrimaryKey) != 1 || said.Unit.Column != t.PrimaryKey[0] {
			continue
		}
		if found != nil {
			return nil
		}
		found = t
	}
	return found
}

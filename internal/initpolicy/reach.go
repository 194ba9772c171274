package initpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
)

// protected pairs a table with the way from its rows to a unit.
type protected struct {
	*table
	column string   // holds the unit's key; empty with via
	via    *link    // leads to a table that is protected
	also   []string // other columns that lead to a unit
}

// link is one step of a chain of foreign keys.
type link struct {
	column string // this table's
	to     *table
	target string // column there
}

// reached says how far foreign keys lead to a unit.
type reached struct {
	tables map[*table]protected
	lost   map[*table]string // a table that leads to the unit in a form that a policy cannot express → why
}

// reach walks foreign keys backwards from the units, nearest tables first.
func (c *catalog) reach(root *table) reached {
	f := reached{map[*table]protected{root: {table: root, column: root.PrimaryKey[0]}}, map[*table]string{}}
	for grown := true; grown; {
		level := map[*table]protected{}
		for _, t := range c.tables {
			if _, done := f.tables[t]; !done {
				if p, ok := c.step(t, f); ok {
					level[t] = p
					delete(f.lost, t)
				}
			}
		}
		for t, p := range level {
			f.tables[t] = p
		}
		grown = len(level) > 0
	}
	return f
}

// step finds a key of t into a table that is protected; one to the unit itself is better than a chain.
func (c *catalog) step(t *table, f reached) (protected, bool) {
	p := protected{table: t}
	var chain *link
	for _, k := range c.graph.Keys(c.relation(t)) {
		target := c.table(k.To)
		of, ok := f.tables[target]
		if !ok {
			continue
		}
		column, via := along(k, of)
		switch {
		case column == "" && via == nil:
			f.lost[t] = fmt.Sprintf("its foreign key (%s) leads to %s, and a policy follows keys of one column to a unique one",
				strings.Join(k.Columns, ", "), target.title())
		case !t.column(column) && (via == nil || !t.column(via.column)):
			f.lost[t] = fmt.Sprintf("a child or partition leads to %s by a column that it does not have", target.title())
		case column != "" && p.column == "":
			p.column = column
		case column == "" && chain == nil:
			chain = via
		default:
			p.also = append(p.also, k.Columns[0])
		}
	}
	if p.column == "" {
		p.via = chain
	} else if chain != nil {
		p.also = append(p.also, chain.column)
	}
	p.also = slices.Compact(slices.DeleteFunc(p.also, func(c string) bool {
		return c == p.column || p.via != nil &&
			c == p.via.column
	}))
	return p, p.column != "" || p.via != nil
}

// along follows a key into a protected table. What is equal to the unit's key there is one here, and what is equal to
// the column of a chain there begins the same chain here, also where the key has more columns.
func along(k lineage.Key, of protected) (column string, via *link) {
	for i, target := range k.Targets {
		switch {
		case of.column == target:
			return k.Columns[i], nil
		case of.via != nil && of.via.column == target:
			via = &link{k.Columns[i], of.via.to, of.via.target}
		}
	}
	if via == nil && len(k.Columns) == 1 && of.unique(k.Targets[0]) {
		via = &link{k.Columns[0], of.table, k.Targets[0]}
	}
	return "", via
}

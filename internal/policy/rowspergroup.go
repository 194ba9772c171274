package policy

import "go.yaml.in/yaml/v3"

// within lists the units of time that hold a whole one of each, itself first; of a value, which is "", all.
var within = map[string][]string{
	"":        {"", "hour", "day", "week", "month", "quarter", "year"},
	"hour":    {"hour", "day", "week", "month", "quarter", "year"},
	"day":     {"day", "week", "month", "quarter", "year"},
	"week":    {"week"},
	"month":   {"month", "quarter", "year"},
	"quarter": {"quarter", "year"},
	"year":    {"year"},
}

// RowsPerGroup bounds the rows of a unit in one group by the column's values (""), or by its times cut to a unit (day,
// month …): what is declared of these groups, or of larger ones that they are parts of; 0: nothing is.
func (c *Column) RowsPerGroup(unit string) int {
	least := 0
	for _, u := range within[unit] {
		if n := c.MaxRowsPerGroup[u]; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// rowsPerGroup reads how many rows of a unit count in one group by the column: a number, or one for each unit of time.
func (d *document) rowsPerGroup(path string, n *yaml.Node, t *Table, c *Column) {
	var every int
	switch {
	case n.IsZero():
	case t.Public:
		d.fail(path, "has no meaning for a public table")
	case n.Kind == yaml.MappingNode:
		if err := n.Decode(&c.MaxRowsPerGroup); err != nil {
			d.fail(path, "%s", err)
		}
	case n.Decode(&every) == nil:
		c.MaxRowsPerGroup = map[string]int{"": every}
	}
}

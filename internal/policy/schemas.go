package policy

import "slices"

// Schemas lists the schemas of the policy's tables and views in the order in which an unqualified name is looked up:
// public first, the others by name.
func (p *Policy) Schemas() []string {
	var names []string
	add := func(n Name) {
		if !slices.Contains(names, n.Schema) {
			names = append(names, n.Schema)
		}
	}
	for _, t := range p.Tables {
		add(t.Name)
	}
	for _, v := range p.Views {
		add(v)
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "public" || b != "public" && a < b:
			return -1
		}
		return 1
	})
	return names
}

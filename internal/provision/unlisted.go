package provision

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dpproxy/dpproxy/internal/lineage"
)

// adviseUnlisted names the tables whose foreign keys lead to people and that the policy does not list, as one that was
// made since: nobody can ask them.
func (w *whose) adviseUnlisted(f *Findings) {
	var found []string
	for _, r := range w.graph.Tables() {
		if r.Partition || w.policy.Table(r.Name) != nil {
			continue
		}
		leads := w.graph.Leads(r, func(x *lineage.Relation) bool { return w.people[x] != nil && x != r }, w.isPublic)
		// A child or a parent of a listed table has its rows, or some of them.
		if len(leads) > 0 && !slices.ContainsFunc(leads, func(l lineage.Lead) bool { return l.Key == nil }) {
			found = append(found, fmt.Sprintf("%s (%s leads to %s)", r.Name, strings.Join(leads[0].Key.Columns, ", "),
				w.graph.Root(leads[0].People).Name))
		}
	}
	if len(found) > 0 {
		f.advise("tables: not listed, so that nobody can ask them, though their rows are people's: %s; "+
			"dpproxy init --add TABLE writes one into the policy", strings.Join(found, ", "))
	}
}

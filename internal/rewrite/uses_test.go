package rewrite_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

func TestUses(t *testing.T) {
	const unit, frequent = "count(DISTINCT), join, group by inside a subquery",
		"filter, count, group by (frequent values only)"
	for _, c := range []struct{ relation, column, upper, uses string }{
		{"patients", "id", "", unit},
		{"patients", "name", "", frequent},
		{"patients", "age", "120", "filter, aggregate, group by"},
		{"patients", "income", "500000", "filter, aggregate, group by in buckets"},
		{"patients", "smoker", "", "filter, count, group by"},
		{"patients", "ward", "", "filter, count, group by"},
		{"lab_results", "visit_id", "", "join"},
		{"lab_results", "lab_id", "", frequent},
		{"calls", "session_id", "", unit},
		{"calls", "follows", "", unit},
		{"bookings", "stay", "2021-12-31", "filter, count, aggregate and group by lower() and upper()"},
		{"bookings", "serials", "", "filter, count"},
		{"bookings", "days", "", "filter, count"},
		{"wards", "beds", "", "anything"},
		{"visit_costs", "id", "", unit},
		{"visit_costs", "diagnosis", "", "filter, count, group by"},
		{"visit_costs", "cost", "2000", "filter, aggregate, group by in buckets"},
	} {
		found := false
		for _, u := range rewrite.Uses(theWorld.schema, policy.Name{Schema: "public", Relation: c.relation}) {
			if u.Column.Name != c.column {
				continue
			}
			found = true
			upper := ""
			if u.Policy != nil && u.Policy.Bounds != nil {
				upper = u.Policy.Bounds.Hi
			}
			if u.Uses != c.uses || upper != c.upper {
				t.Errorf("%s.%s: %q up to %q, want %q up to %q", c.relation, c.column, u.Uses, upper, c.uses, c.upper)
			}
		}
		if !found {
			t.Errorf("%s.%s is missing", c.relation, c.column)
		}
	}
}

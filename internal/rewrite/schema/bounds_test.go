package schema

import (
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestBoundsOfRanges: those of a range are those of its ends, and nothing that is said of sums and averages is said of
// it.
func TestBoundsOfRanges(t *testing.T) {
	days := &policy.Bounds{Lo: "2020-01-01", Hi: "2020-12-31"}
	for _, c := range []struct {
		column policy.Column
		want   string // empty: accepted
	}{
		{policy.Column{Bounds: days}, ""},
		{policy.Column{Bounds: &policy.Bounds{Lo: "0", Hi: "1"}}, "stay.bounds: 0 is a number"},
		{policy.Column{Valid: []policy.Bounds{*days}}, "stay.valid"},
		{policy.Column{Bounds: days, PerUnit: days}, "stay.per_unit"},
		{policy.Column{Bounds: days, Grid: &policy.Grid{}}, "stay.grid"},
	} {
		name := policy.Name{Schema: "public", Relation: "bookings"}
		c.column.Name = "stay"
		s := &Schema{
			Policy:    &policy.Policy{Tables: []*policy.Table{{Name: name, Columns: []*policy.Column{&c.column}}}},
			Relations: map[policy.Name]*Relation{name: {Columns: []Column{{Name: "stay", Type: 3912, TypeName: "daterange"}}}},
		}
		err := s.ReadBounds()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.column, err, c.want)
		}
	}
}

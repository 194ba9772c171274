package gate

import (
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TestTypesAreProven: of enums and domains nothing is a fact but what the shape of a column proves that is of them.
func TestTypesAreProven(t *testing.T) {
	const mood, state, moods = 20001, 20002, 20003
	name := policy.Name{Schema: "public", Relation: "days"}
	s := &schema.Schema{
		Policy: &policy.Policy{Tables: []*policy.Table{{Name: name, Public: true}}},
		Types: map[uint32]schema.Type{
			mood: {Schema: "public", Name: "mood", Kind: 'e'}, state: {Schema: "public", Name: "state", Kind: 'd', Base: mood},
			moods: {Schema: "public", Name: "_mood", Kind: 'b', Elem: mood},
		},
		Enums: map[uint32][]string{mood: {"bad", "good"}},
		Relations: map[policy.Name]*schema.Relation{name: {Name: name, Kind: 'r', Shape: "days", Columns: []schema.Column{
			{Name: "id", Type: pgtype.Int4OID, Shape: "id"},
			{Name: "mood", Type: mood, Shape: "mood"},
			{Name: "state", Type: state, Shape: "state"},
			{Name: "moods", Type: moods, Shape: "moods"},
		}}},
	}
	for column, want := range map[string][2]int{"id": {0, 0}, "mood": {1, 0}, "state": {1, 1}, "moods": {1, 0}} {
		proof := schema.Proof{Relation: name, Columns: []string{column}, Shape: "days" + column}
		f := Facts(s, []schema.Proof{proof})
		if got := [2]int{len(f.Enums), len(f.Bases)}; got != want {
			t.Errorf("of %s: %v, %v", column, f.Enums, f.Bases)
		}
		if proof.Shape = "days"; len(Facts(s, []schema.Proof{proof}).Enums) > 0 {
			t.Errorf("of %s unproven: %v", column, f.Enums)
		}
	}
}

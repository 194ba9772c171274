package rewrite_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestValidGaps holds averages to the policy's valid ranges: what falls into a gap moves to its nearer end.
func TestValidGaps(t *testing.T) {
	w := theWorld.withGroups(1)
	name := policy.Name{Schema: "public", Relation: "profiles"}
	relation := *w.schema.Relations[name]
	relation.Columns = slices.Clone(relation.Columns)
	w.schema.Relations = maps.Clone(w.schema.Relations)
	w.schema.Relations[name] = &relation
	for _, table := range w.policy.Tables {
		if table.Name != name {
			continue
		}
		for i, c := range table.Columns {
			if c.Name == "height" {
				valid := *c
				valid.Bounds, valid.Valid = nil, []policy.Bounds{{Lo: "100", Hi: "150"}, {Lo: "170", Hi: "220"}}
				columns := append([]*policy.Column{}, table.Columns...)
				columns[i], table.Columns = &valid, columns
			}
		}
	}
	if err := w.schema.ReadBounds(); err != nil {
		t.Fatal(err)
	}
	for average, want := range map[int]string{120: "120.0", 155: "150", 165: "170", 200: "200.0"} {
		if _, err := w.main.Exec(context.Background(), fmt.Sprintf(
			"TRUNCATE profiles; INSERT INTO profiles SELECT i, 'Rome', %d FROM generate_series(1, 9) i", average)); err != nil {
			t.Fatal(err)
		}
		q, err := w.ask("SELECT avg(height) FROM profiles", nil)
		if err != nil {
			t.Fatal(refusalText(err))
		}
		got, err := w.finish(q)
		if err != nil {
			t.Fatal(err)
		}
		if v := texts(got)[0][0]; !near(v, wanted{&want, &want, &want}) {
			t.Errorf("average %d is released as %s, want %s", average, *v, want)
		}
	}
}

package measure_test

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/measure"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TestVerifyHoldsQueriesToTheirPlan: a text is refused that is more, or reads more, than one SELECT over the tables of
// its plan.
func TestVerifyHoldsQueriesToTheirPlan(t *testing.T) {
	name := func(relation string) policy.Name { return policy.Name{Schema: "public", Relation: relation} }
	patients := &policy.Table{Name: name("patients"), Unit: &policy.Unit{Name: "patient", Column: "id"}}
	visits := &policy.Table{Name: name("visits"), Unit: &policy.Unit{
		Name: "patient", Via: &policy.Via{Column: "patient", References: name("patients"), ReferencesColumn: "id"},
	}}
	staff := &policy.Table{Name: name("staff")}
	b := relation.New(&schema.Schema{Policy: &policy.Policy{Tables: []*policy.Table{patients, visits, staff}}},
		schema.Settings{}, schema.Description{}, "", nil)
	for text, ok := range map[string]bool{
		"": true,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "public"."patients" AS t1 WHERE t1."id" IS NOT NULL`:       true,
		`SELECT pg_catalog.abs(t1.age) FROM "public"."patients" AS t1`:                                            true,
		`SELECT count(*) FROM "public"."visits" AS t1 INNER JOIN "public"."patients" AS t2 ON (t1."p" = t2."id")`: false,
		`SELECT count(*) FROM "public"."patients" AS t1; SELECT 1`:                                                false,
		`SELECT count(*) FROM "public"."staff" AS t1`:                                                             false,
		`SELECT count(*) FROM "patients" AS t1`:                                                                   false,
		`SELECT count(*) FROM "other"."patients" AS t1`:                                                           false,
		`SELECT count(*) FROM "public"."patients" AS t1 WHERE EXISTS (SELECT 1 FROM "public"."staff" AS t2)`:      false,
		`SELECT abs(t1.age) FROM "public"."patients" AS t1`:                                                       false,
		`SELECT public.abs(t1.age) FROM "public"."patients" AS t1`:                                                false,
		`SELECT count(*) INTO x FROM "public"."patients" AS t1`:                                                   false,
		`SELECT id FROM "public"."patients" AS t1 FOR UPDATE`:                                                     false,
		`WITH x AS (SELECT 1) SELECT count(*) FROM "public"."patients" AS t1`:                                     false,
		`DELETE FROM "public"."patients"`:                                                                         false,
		`SELECT '`:                                                                                                false,
	} {
		if err := measure.Verify(b, text, []*policy.Table{patients}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	chain := `SELECT count(*) FROM "public"."visits" AS t1 INNER JOIN "public"."patients" AS t2 ON (t1."p" = t2."id")`
	if err := measure.Verify(b, chain, []*policy.Table{visits}); err != nil {
		t.Errorf("the tables that lead to the unit belong to a plan: %v", err)
	}
}

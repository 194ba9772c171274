package gate

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/certify"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// TestOnlyQueriesOfAPlanAreCertified: no text is but one SELECT over tables that main proves for the plan, of functions
// of pg_catalog that certify has rules for, whatever it is charged for.
func TestOnlyQueriesOfAPlanAreCertified(t *testing.T) {
	name := func(relation string) policy.Name { return policy.Name{Schema: "public", Relation: relation} }
	s := &schema.Schema{
		Policy: &policy.Policy{Tables: []*policy.Table{
			{Name: name("patients"), Unit: &policy.Unit{Name: "patient", Column: "id"}},
			{Name: name("staff"), Public: true},
		}},
		Relations: map[policy.Name]*schema.Relation{},
	}
	for _, t := range s.Policy.Tables {
		s.Relations[t.Name] = &schema.Relation{Name: t.Name, Kind: 'r', Columns: []schema.Column{
			{Name: "id", TypeName: "integer", NotNull: true, Shape: "id"},
			{Name: "age", TypeName: "integer", Shape: "age"},
			{Name: "secret", TypeName: "integer", NotNull: true, Shape: "secret"},
		}, Shape: t.Name.Relation}
	}
	const from = ` FROM ONLY "public"."patients" AS t1 WHERE t1."id" IS NOT NULL`
	const units = `SELECT 1::pg_catalog.int8, count(*) FROM (SELECT t1."id" AS u`
	for text, ok := range map[string]bool{
		units + from + ` GROUP BY 1) AS u`: true,
		units + from + ` AND pg_catalog.date_part('year', t1."age"::pg_catalog.text::pg_catalog.date) > 1 GROUP BY 1) AS u`: false,
		units + from + ` AND pg_catalog.abs(pg_catalog.mod(t1."age", 7)) > 1 GROUP BY 1) AS u`:                              true,
		units + from + ` AND public.abs(pg_catalog.mod(t1."age", 7)) > 1 GROUP BY 1) AS u`:                                  false,
		units + from + ` AND pg_catalog.pg_sleep(t1."age") IS NULL GROUP BY 1) AS u`:                                        false,
		units + from + ` AND t1."age" OPERATOR(public.>) 1 GROUP BY 1) AS u`:                                                false,
		units + from + ` AND t1."age"::public.x IS NULL GROUP BY 1) AS u`:                                                   false,
		units + from + ` AND t1."secret" > 1 GROUP BY 1) AS u`:                                                              false,
		units + from + ` AND t1 IS NOT NULL GROUP BY 1) AS u`:                                                               false,
		units + from + ` AND (t1.*) IS NOT NULL GROUP BY 1) AS u`:                                                           false,
		units + from + ` GROUP BY 1) AS u; SELECT 1`:                                                                        false,
		units + from + ` GROUP BY 1) AS u FOR UPDATE`:                                                                       false,
		units + from + ` FOR UPDATE) AS u`:                                                                                  false,
		`SELECT 1::pg_catalog.int8, count(*) INTO x FROM (SELECT t1."id" AS u` + from + ` GROUP BY 1) AS u`:                 false,
		`WITH x AS (SELECT 1) ` + units + from + ` GROUP BY 1) AS u`:                                                        false,
		units + from + ` AND EXISTS (WITH x AS (SELECT 1) SELECT 1) GROUP BY 1) AS u`:                                       false,
		units + from + ` AND EXISTS (SELECT 1 FROM ONLY "public"."staff" AS t2) GROUP BY 1) AS u`:                           false,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "public"."staff" AS t1`:                                              false,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "patients" AS t1 WHERE t1."id" IS NOT NULL`:                          false,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "other"."patients" AS t1 WHERE t1."id" IS NOT NULL`:                  false,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "x"."public"."patients" AS t1 WHERE t1."id" IS NOT NULL`:             false,
		`SELECT 1::pg_catalog.int8, count(*) FROM pg_catalog.generate_series(1, 9) AS t1`:                                   false,
		`SELECT 1::pg_catalog.int8, count(*) FROM ONLY "public"."patients" AS t1 TABLESAMPLE SYSTEM (9)`:                    false,
		`DELETE FROM "public"."patients"`:                                                                                   false,
		`COPY "public"."patients" TO STDOUT`:                                                                                false,
		`SELECT '`:                                                                                                          false,
		``:                                                                                                                  false,
	} {
		plan := &rewrite.Plan{Proofs: []schema.Proof{
			{Relation: name("patients"), Columns: []string{"id", "age"}, Shape: "patientsidage"},
		}}
		c := &Certificate{plan: plan, facts: Facts(s, plan.Proofs)}
		_, err := c.check(schema.SQL{Text: text}, []certify.Claim{{Kind: certify.Public}, {Kind: certify.Integer}})
		if (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

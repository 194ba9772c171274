package measure

import (
	"testing"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/release"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

func public(relation string) policy.Name { return policy.Name{Schema: "public", Relation: relation} }

var (
	patients = &policy.Table{Name: public("patients"), Unit: &policy.Unit{Name: "patient", Column: "id"}}
	visits   = &policy.Table{Name: public("visits"), Unit: &policy.Unit{
		Name: "patient", Via: &policy.Via{Column: "patient", References: public("patients"), ReferencesColumn: "id"},
	}}
	staff = &policy.Table{Name: public("staff")}
)

// TestVerifyHoldsQueriesToTheirPlan: a text that may run without a certificate is refused if it is more, or reads more,
// than one SELECT over the tables of its plan.
func TestVerifyHoldsQueriesToTheirPlan(t *testing.T) {
	for text, ok := range map[string]bool{
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
		if err := verify(text, map[policy.Name]bool{patients.Name: true}); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestPrintHoldsQueriesToTheirPlan: a query reads tables of its block and those that lead to the unit, and its plan
// relies on what it reads of them.
func TestPrintHoldsQueriesToTheirPlan(t *testing.T) {
	for _, c := range []struct {
		of, reads *policy.Table
		certify   string
		x         query.Raw
		ok        bool
	}{
		{of: patients, reads: patients, x: "1", ok: true},
		{of: visits, reads: patients, x: "1", ok: true}, // leads to the unit
		{of: patients, reads: visits, x: "1"},
		{of: patients, reads: staff, x: "1"},
		{of: patients, reads: patients, x: "f()", ok: true}, // for the gate to refuse
		{of: patients, reads: patients, x: "f()", certify: policy.Warn},
	} {
		b := relation.New(&schema.Schema{Policy: &policy.Policy{
			Certify: c.certify, Tables: []*policy.Table{patients, visits, staff},
		}}, schema.Settings{}, schema.Description{}, "", nil)
		as := b.NewAlias()
		q := &query.Select{
			Outputs: []query.Output{{X: c.x}, {X: as.Column(`"a""b"`)}},
			From:    &query.Table{Name: c.reads.Name, As: as},
		}
		k := &release.Block{Source: &relation.Relation{Tables: []*policy.Table{c.of}}}
		func() {
			defer func() {
				if fault := recover(); (fault == nil) != c.ok {
					t.Errorf("%s read for %s: %v", c.reads.Name, c.of.Name, fault)
				}
			}()
			Print(b, k, q)
			if !b.Relied[policy.ColumnOf{Table: c.reads.Name, Column: `a"b`}] || len(b.Relied) != 1 {
				t.Errorf("%s: the plan relies on %v", c.reads.Name, b.Relied)
			}
		}()
	}
}

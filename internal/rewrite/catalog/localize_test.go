package catalog_test

import (
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/catalog"
)

func TestLocalize(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT 1":                                  "SELECT 1",
		"SELECT * FROM clinic.public.wards":         "SELECT * FROM public.wards",
		`SELECT * FROM "clinic" . "public"."wards"`: `SELECT * FROM "public"."wards"`,
		"SELECT clinic.public.wards.ward, clinic.public.wards.* FROM clinic . public /* x */ . wards": "SELECT public.wards.ward, public.wards.* FROM public /* x */ . wards",
		"SELECT * FROM clinic /* x */ . -- y\n public.wards":                                          "SELECT * FROM public.wards",
		"SELECT * FROM other.public.wards":                                                            "SELECT * FROM other.public.wards",
		"SELECT clinic.ward FROM wards AS clinic WHERE 'clinic.public.wards' = clinic.ward":           "SELECT clinic.ward FROM wards AS clinic WHERE 'clinic.public.wards' = clinic.ward",
		"EXPLAIN SELECT count(*) FROM clinic.public.patients":                                         "EXPLAIN SELECT count(*) FROM public.patients",
	} {
		tree, err := pg_query.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := catalog.Localize(tree.Stmts[0].Stmt, in, "clinic")
		if err != nil || got != want {
			t.Errorf("%s became %s, %v; want %s", in, got, err, want)
		}
	}
}

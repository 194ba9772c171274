package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// TestLimits: expressions that are deep, long, or multiply when they are written out are refused or stay small.
func TestLimits(t *testing.T) {
	scope := offlineScope(t)
	nest := func(n int, before, core, after string) string {
		return strings.Repeat(before, n) + core + strings.Repeat(after, n)
	}
	for name, c := range map[string]struct {
		text string
		code string // empty: accepted
	}{
		"between":           {nest(30, "(", "b", " BETWEEN b AND nb)"), pgerr.StatementTooComplex},
		"between symmetric": {nest(20, "(", "b", " BETWEEN SYMMETRIC b AND nb)"), pgerr.StatementTooComplex},
		"in":                {nest(30, "(", "b", " IN (nb, b))"), pgerr.StatementTooComplex},
		"deep":              {nest(1000, "abs(", "age", ")"), pgerr.StatementTooComplex},
		"long product":      {"n" + strings.Repeat(" * n", 380), pgerr.FeatureNotSupported}, // more than 1000 digits
		"long quotient":     {"n2" + strings.Repeat(" / 3", 380), ""},
		"long sum":          {"n2" + strings.Repeat(" + n2", 380), ""},
		"long list":         {"age IN (0" + strings.Repeat(", 1", 9000) + ")", ""},
		"long and":          {"b" + strings.Repeat(" AND nb", 3000), ""},
		"floats":            {"f8" + strings.Repeat(" + f8 / pf8", 150), ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := parseExpr(t, c.text)
			e, err := Build(node, scope)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				if n := len(sqlOf(e)); n > 4<<20 {
					t.Errorf("prints %d bytes", n)
				}
				return
			}
			var r *Refusal
			if !errors.As(err, &r) || r.Err.Code != c.code {
				t.Fatalf("%v", err)
			}
		})
	}
}

// TestLongProducts: a product of many columns has few digits within the bounds, and more than numeric holds outside of
// them.
func TestLongProducts(t *testing.T) {
	s := startServer(t)
	s.exec(t, "CREATE TABLE long (wide numeric(80,0)); INSERT INTO long VALUES (repeat('9', 80)::numeric)")
	s.scope.columns["wide"] = &Column{
		Ref: query.Named("r").Column("wide"), Name: "wide", Type: pgtype.NumericOID, Typmod: decimalTypmod(80, 0),
		TypeName: "pg_catalog.numeric(80,0)",
		Bounds:   bounds.Between(0, 1), Scale: -1, Nullable: true, DeterministicCollation: true,
	}
	for _, factors := range []int{2, 12, 13, 300, 2100} {
		chain := "(wide" + strings.Repeat("*wide", min(factors, 300)-1) + ")"
		e, err := Build(parseExpr(t, chain+strings.Repeat("*"+chain, (factors-1)/300)), s.scope)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Measured(e, GridRule{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.text("SELECT " + query.Text(m.SQL) + " FROM long AS r"); err != nil || *got[0][0] != "1" {
			t.Errorf("%d factors: %v", factors, err)
		}
		if sql, from := overConversions(m, "long"); factors <= 300 {
			if _, err := s.text("SELECT " + sql + " FROM " + from); err != nil {
				t.Errorf("%d factors from conversions: %v", factors, err)
			}
		}
	}
}

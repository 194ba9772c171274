package expr

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// TestGridSteps measures columns and expressions on grids that a policy may ask for: over hostile rows the integers
// stay within [Lo, Hi], over benign ones they are the nearest steps.
func TestGridSteps(t *testing.T) {
	s := startServer(t)
	s.exec(t, "SET TimeZone = 'America/New_York'")
	for _, c := range []struct{ text, steps string }{
		{"age", "1 10 1/2 3"},
		{"i8", "1000 1/4"},
		{"n", "1 1/100 1/3 7 1/1024"},
		{"n2", "1 1/100 1/1000 5"},
		{"n2 * (1 - disc)", "1/100 1 30"},
		{"dom", "1 5"},
		{"f8", "1 1/10 1/3 100 1/1048576 7/2"},
		{"pf8", "1/10 4"},
		{"f4", "1/10 2"},
		{"f8 * f8", "1 1000"},
		{"f8 / pf8", "1/100 32"},
		{"d", "1 7 30"},
		{"ts", "1000000 1000 60000000 86400000000 2000"},
		{"tz", "1000000 3600000000"},
		{"tm", "1000000 1000 60000000"},
		{"iv", "1000000 1000 86400000000"},
		{"ts - ts", "1000000 60000000"},
		{"exp(-pf8 * 10)", "1/1000 1"},
		{"age(ts, ts)", "86400000000"},
	} {
		e, err := Build(parseExpr(t, c.text), s.scope)
		if err != nil {
			t.Fatal(c.text, err)
		}
		for step := range strings.FieldsSeq(c.steps) {
			for _, foreign := range []bool{false, true} {
				t.Run(fmt.Sprint(c.text, " by ", step, foreign), func(t *testing.T) {
					r, _ := new(big.Rat).SetString(step)
					m, err := Measured(e, GridRule{Step: r, Foreign: foreign})
					if err != nil {
						t.Fatal(err)
					}
					s.checkSteps(t, e, m)
				})
			}
		}
	}
}

func (s *server) checkSteps(t *testing.T, e *Expr, m *Measure) {
	t.Helper()
	got, err := s.text("SELECT " + query.Text(m.SQL) + " FROM hostile AS r")
	if err != nil {
		t.Fatalf("%s\nSQL: %s", full(err), m.SQL)
	}
	lo, hi := new(big.Rat), new(big.Rat)
	for _, row := range got {
		if row[0] == nil {
			continue
		}
		z, _ := new(big.Rat).SetString(*row[0])
		if !bounds.Between(m.Lo, m.Hi).Contains(z) {
			t.Fatalf("%s steps, declared in [%d, %d]\nSQL: %s", *row[0], m.Lo, m.Hi, m.SQL)
		}
		lo, hi = bounds.Min(lo, z), bounds.Max(hi, z)
	}
	if e.Column() != nil && e.Column().Bounds.Finite() && (lo.Cmp(rat(m.Lo)) != 0 && m.Lo < 0 || hi.Cmp(rat(m.Hi)) != 0 &&
		m.Hi > 0) {
		t.Errorf("hostile rows reach [%s, %s] only, declared [%d, %d]", lo.RatString(), hi.RatString(), m.Lo, m.Hi)
	}
	got, err = s.text("SELECT " + query.Text(m.SQL) + ", " + canonicalSQL(e, sqlOf(e.Read())) + " FROM benign AS r")
	if err != nil {
		t.Fatal(full(err))
	}
	half := add(mul(m.Step, frac(1, 2)), mul(m.Step, bounds.Pow10(-3)))
	for _, row := range got {
		if row[0] == nil {
			continue
		}
		z, _ := new(big.Rat).SetString(*row[0])
		v, ok := rational(e, *row[1])
		if off := sub(mul(z, m.Step), v); !ok || off.Abs(off).Cmp(half) > 0 {
			t.Fatalf("%s steps of %s for %s\nSQL: %s", *row[0], m.Step.RatString(), *row[1], m.SQL)
		}
	}
}

// TestDefaultGrids: the grids by type (docs/policy.md, grid).
func TestDefaultGrids(t *testing.T) {
	scope := offlineScope(t)
	for _, c := range []struct {
		text, step string
		typ        uint32
	}{
		{"age", "1", pgtype.Int4OID},
		{"i8", "1", pgtype.Int8OID},
		{"n2", "1/100", pgtype.Int4OID},
		{"n2 * disc", "1/10000", pgtype.Int4OID},
		{"n2 * 3", "1/100", pgtype.Int4OID},
		{"n", "1/512", pgtype.Int4OID},     // the largest 2^k ≤ 2000.5e-6
		{"f8", "2", pgtype.Int4OID},        // ≤ 2e6e-6
		{"pf8", "1/32768", pgtype.Int4OID}, // ≤ 49.9e-6
		{"n2 / 3", "1/256", pgtype.Int4OID},
		{"d", "1", pgtype.Int4OID},
		{"ts", "1000000", pgtype.Int4OID},
		{"tm", "1000", pgtype.Int4OID},
		{"iv", "1000000", pgtype.Int4OID},
		{"round(n, 1)", "1/10", pgtype.Int4OID},
		{"b", "1", pgtype.Int4OID},
	} {
		e, err := Build(parseExpr(t, c.text), scope)
		if err != nil {
			t.Fatal(c.text, err)
		}
		m, err := Measured(e, GridRule{})
		if err != nil {
			t.Fatal(c.text, err)
		}
		if m.Step.RatString() != c.step || m.Type != c.typ {
			t.Errorf("%s: step %s, type %d", c.text, m.Step.RatString(), m.Type)
		}
	}
	for _, text := range []string{"u4", "un", "uf", "ud", "uts", "t", "m", "u", "j", "length(t) + 0", "un::text"} {
		e, err := Build(parseExpr(t, text), scope)
		if err != nil {
			continue
		}
		if m, err := Measured(e, GridRule{}); err == nil {
			t.Errorf("%s is measured by %s", text, m.SQL)
		}
	}
}

package engine

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// TestNotCertified: what certify cannot derive, as here where main proves nothing of a table's shape, is refused before the charge and before main
// is asked; where the policy warns of it only, it is answered, and counted all the same.
func TestNotCertified(t *testing.T) {
	const sql = "SELECT count(*) FROM patients"
	for _, c := range []struct {
		certify string
		refused bool
	}{{"require", true}, {"warn", false}} {
		w := newWorld(t, "defaults:", "certify: "+c.certify+"\ndefaults:")
		before := w.left()
		w.engine.state.Load().schema.Relations[policy.Name{Schema: "public", Relation: "patients"}].Shape = ""
		bound, err := w.bind(sql)
		if refused := refusal.Is(err, refusal.NotCertified); refused != c.refused || refused && err.(*pgconn.PgError).Code != "0A000" {
			t.Errorf("%s: %v", c.certify, err)
			continue
		}
		if n := w.metrics.verdicts["uncertified"]; n != 1 {
			t.Errorf("%s: counted %d times", c.certify, n)
		}
		if c.refused {
			if _, err := w.bind("EXPLAIN " + sql); !refusal.Is(err, refusal.NotCertified) {
				t.Errorf("EXPLAIN: %v", err)
			}
			if w.left() != before || w.count("check")+w.count("measure") != 0 {
				t.Errorf("%s: %s left of %s, main was asked", c.certify, w.left(), before)
			}
			continue
		}
		if err := w.engine.Charge(w.ctx, w.scope, bound); err != nil {
			t.Fatal(err)
		}
		if _, err := bound.Execute(w.ctx); err != nil || w.count("measure") != 1 {
			t.Errorf("%s: %v, measured %d times", c.certify, err, w.count("measure"))
		}
		lines, err := w.bind("EXPLAIN " + sql)
		if err != nil || !strings.Contains(strings.Join(lines.(explained).lines, "\n"), "certified: no") {
			t.Errorf("EXPLAIN: %v", err)
		}
	}
}

package rewrite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestJoinMultiplicity: what a plan says of the public rows that one row meets is never less than the most that any
// value meets, for ranges of all kinds: inside each other, equal, empty, the wrong way round, and without an end. Of
// half-open ranges it is just that.
func TestJoinMultiplicity(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	operators := [][2]string{{">=", "<"}, {">", "<="}, {">", "<"}, {">=", "<="}}
	for range 60 {
		type interval struct{ lo, hi *int }
		ranges := make([]interval, 1+random.IntN(8))
		end := func() *int {
			if random.IntN(8) == 0 {
				return nil
			}
			n := random.IntN(12) - 2
			return &n
		}
		text := func(n *int) string {
			if n == nil {
				return "NULL::int"
			}
			return fmt.Sprint(*n)
		}
		var rows []string
		for i := range ranges {
			ranges[i] = interval{end(), end()}
			rows = append(rows, fmt.Sprintf("(%s, %s)", text(ranges[i].lo), text(ranges[i].hi)))
		}
		op := operators[random.IntN(len(operators))]
		holds := func(x float64, r interval) bool {
			return r.lo != nil && r.hi != nil && (x > float64(*r.lo) || op[0] == ">=" && x == float64(*r.lo)) &&
				(x < float64(*r.hi) || op[1] == "<=" && x == float64(*r.hi))
		}
		most := 0
		for x := -3.0; x < 12; x += 0.5 {
			met := 0
			for _, r := range ranges {
				if holds(x, r) {
					met++
				}
			}
			most = max(most, met)
		}
		sql := fmt.Sprintf(
			"SELECT count(*) FROM patients p JOIN (VALUES %s) AS r(a, b) ON p.weight::numeric(10,1) %s r.a AND p.weight::numeric(10,1) %s r.b", strings.Join(rows, ", "), op[0], op[1])
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		met := 1
		if releases := q.plan.Blocks[0].Releases; len(releases) > 0 {
			met = int(releases[0].Sensitivity)
		}
		if met < most || met > max(1, most) {
			t.Errorf("%s: %d rows meet, the plan says %d", sql, most, met)
		}
		for _, p := range multiplicityProofs(q) {
			if !theWorld.proven(t, p) {
				t.Errorf("%s: the proof fails: %s", sql, p.Values.Text)
			}
		}
	}
}

// multiplicityProofs are those of how many public rows a row matches.
func multiplicityProofs(q *question) []rewrite.Proof {
	return slices.DeleteFunc(slices.Clone(q.plan.Proofs), func(p rewrite.Proof) bool {
		return p.Values.Text == "" ||
			p.Of != ""
	})
}

// TestJoinMultiplicityIsProven: once a public table has more equal rows than when the statement was planned, main does
// not bear the plan out.
func TestJoinMultiplicityIsProven(t *testing.T) {
	ctx := context.Background()
	asked := map[string]*question{}
	for _, sql := range []string{
		"SELECT count(*) FROM visits v JOIN shifts s ON s.ward = v.ward",
		"SELECT s.part, count(v.visit_id) FROM shifts s LEFT JOIN visits v ON v.ward = s.ward GROUP BY s.part",
		"SELECT count(*) FROM visits v LEFT JOIN shifts s ON s.ward = v.ward AND v.visited >= s.begins AND v.visited < s.ends",
		"SELECT count(*) FROM patients p JOIN shifts s ON s.code = p.score",
		"SELECT count(*) FROM visits v, shifts s",
		"SELECT count(*) FROM visits v JOIN (SELECT ward, lower(part) AS part FROM shifts WHERE begins IS NOT NULL) s ON s.ward = v.ward",
	} {
		q, err := theWorld.ask(sql, nil)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		asked[sql] = q
	}
	if _, err := theWorld.main.Exec(
		ctx, "BEGIN; INSERT INTO shifts SELECT shift_id + 100, ward, part, begins, ends, code FROM shifts"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := theWorld.main.Exec(ctx, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}()
	for sql, q := range asked {
		proofs := multiplicityProofs(q)
		if len(proofs) == 0 {
			t.Errorf("%s: the plan rests on no proof", sql)
		}
		for _, p := range proofs {
			if theWorld.proven(t, p) {
				t.Errorf("%s: the proof holds of twice as many rows: %s", sql, p.Values.Text)
			}
		}
	}
}

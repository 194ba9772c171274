package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/gate"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// lookedAt is a statement of one count.
var lookedAt = &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{{
	Releases: []mechanism.Release{scalar(0, mechanism.NoUpper, 1, mechanism.Choice{})},
	Columns:  []rewrite.Column{{Releases: []int{0}}},
}}}

// TestBehindALook has counts of several sizes looked at: what is bought behind the look keeps the margin, or is all
// there is, and both together cost no more than the statement at once.
func TestBehindALook(t *testing.T) {
	const margin = .1
	ctx := context.Background()
	for _, c := range []struct {
		rows int64
		buys string
	}{
		{1_000_000, "nothing"}, {120, "a part"}, {40, "all"}, {4, "nothing"}, {0, "all"},
	} {
		for _, method := range []policy.Method{policy.RDP, policy.Pure} {
			b := budgetOf(method, 10, .5)
			whole := shared(t, lookedAt, b)
			first := begunWithLook(ctx, whole, margin)
			answer := []released{{Released: gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{c.rows}}}}}
			next := first.look.next(ctx, first, answer)
			if hint := first.ofLook(answer); strings.Contains(hint, "SET dpproxy.epsilon = 0.5 brings") != (c.rows == 4) {
				t.Errorf("%s: %d rows: %s", method, c.rows, hint)
			}
			if next == nil {
				if c.buys != "nothing" {
					t.Errorf("%s: %d rows buy nothing, not %s", method, c.rows, c.buys)
				}
				continue
			}
			buys := "a part"
			if next.budget.epsilon == first.look.rest.epsilon {
				buys = "all"
			}
			if buys != c.buys {
				t.Errorf("%s: %d rows buy %s, not %s", method, c.rows, buys, c.buys)
			}
			if off, ok := first.sizesOf(answer).off(next); buys == "a part" && !(ok && off <= margin) {
				t.Errorf("%s: %d rows are off by %g", method, c.rows, off)
			}
			once, _ := b.room.Share(whole.charge.Curve)
			if paid, _ := b.room.Share(added(first.charge.Curve, next.charge.Curve)); paid > once*(1+1e-6) {
				t.Errorf("%s: %d rows: %g of the budget, at once %g", method, c.rows, paid, once)
			}
		}
	}
}

// added is what two charges cost together.
func added(a, b mechanism.Curve) mechanism.Curve {
	sum := mechanism.Curve{Pure: a.Pure + b.Pure}
	for i := range mechanism.Orders {
		sum.Renyi = append(sum.Renyi, a.Renyi[i]+b.Renyi[i])
	}
	return sum
}

// TestKeptLook: an answer of a look is that of one under another budget, too, and one behind it is none.
func TestKeptLook(t *testing.T) {
	ctx := context.Background()
	for _, budget := range []float64{30, 30.5, 31.5, 40} {
		first := begunWithLook(ctx, shared(t, lookedAt, budgetOf(policy.RDP, budget, .2)), .1)
		for _, looked := range []bool{false, true} {
			price := mechanism.Guarantee{Epsilon: first.price.Epsilon * (1 + 1e-15), Order: first.price.Order}
			p,
				err := first.drawn(
				ctx, []released{{
					Released:  gate.Released{Keys: make(rewrite.KeyRows, 1), Values: [][]int64{{50}}},
					drawnWith: drawnWith{Price: &price, Look: looked},
				}})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]float64{true: wrongLooks, false: 1 - wrongLooks}[looked]; p.Part != want ||
				(p.look != nil) != looked {
				t.Errorf("budget %g, looked %v: part %g", budget, looked, p.Part)
			}
		}
	}
}

// TestLook asks for a count under a policy that wants a margin of the answer: it is charged once where a look is
// enough, and else twice. An ε that is asked for is charged at once; what is known is free. Less noise than decides
// here otherwise has a chance below 1e-6.
func TestLook(t *testing.T) {
	const sql = "SELECT count(*) FROM patients"
	for _, c := range []struct {
		rows    int64
		set     string
		charges int
	}{
		{rows: 20000, charges: 1}, {rows: 700, charges: 2}, {rows: 700, set: "set dpproxy.epsilon 0.5", charges: 1},
	} {
		w := newWorld(t, "{epsilon: 50, epsilon_max: 60}", "{epsilon: 0.5, epsilon_max: 1, margin: 10%}")
		w.fake.result = [][]byte{[]byte("7")}
		w.fake.rows = []backend.MeasureRow{{Integers: []int64{1, c.rows}}}
		if c.set != "" {
			w.do(t, c.set)
		}
		w.do(t, "ask "+sql)
		spent := w.count("spend")
		if lines := w.take(); spent != c.charges {
			t.Errorf("%d rows %s: %d charges: %q", c.rows, c.set, spent, lines)
		}
		left := w.left()
		if w.do(t, "ask "+sql); w.left() != left {
			t.Errorf("%d rows %s: asked again, %s is left of %s", c.rows, c.set, w.left(), left)
		}
	}
}

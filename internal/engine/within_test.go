package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
)

// TestWithin: a release with a margin keeps it, the others keep their share, and the statement costs what they cost
// together.
func TestWithin(t *testing.T) {
	count := mechanism.Release{
		Name: "count(*)", Kind: mechanism.Scalar, Range: mechanism.Range{{Lo: 0, Hi: 100000}},
		Sensitivity: 1, Groups: 2, Weight: 1, Grid: mechanism.Grid{Step: 1},
	}
	wanted := count
	wanted.Name, wanted.Margin = "count(x)", 40
	chained := mechanism.Release{Name: "avg(x)", Kind: mechanism.SumGivenCount, PerRow: mechanism.Interval{
		Lo: -60, Hi: 60,
	}, Sensitivity: 60, Groups: 2, Weight: 1, Grid: mechanism.Grid{Step: 1}}
	plan := &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{
		{Releases: []mechanism.Release{wanted, count, chained}}, {Releases: []mechanism.Release{count}},
	}}
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		b := budgetOf(method, 10, .5)
		p := shared(t, plan, b)
		first := p.Mechanisms[0].Releases
		if m := first[0].PlannedMargin(); m > 40 || m < 36 {
			t.Errorf("%s: margin %g, want 40 or little less", method, m)
		}
		quarter := p.price.Epsilon / 4
		if math.Abs(first[1].Epsilon()/quarter-1) > 1e-9 || math.Abs(first[2].Epsilon()/quarter-1) > 1e-9 ||
			math.Abs(p.Mechanisms[1].Releases[0].Epsilon()/quarter-1) > 1e-9 {
			t.Errorf("%s: the others have %g, %g of %g", method, first[1].Epsilon(), first[2].Epsilon(), quarter)
		}
		coversWhatIsDrawn(t, p)
		if paid := p.price.paidBy(p.charge.Curve); math.Abs(b.priceAt(p.epsilon, p.price.order).Epsilon/paid-1) > 1e-8 {
			t.Errorf("%s: epsilon %g pays %g, the releases cost %g", method, p.epsilon,
				b.priceAt(p.epsilon, p.price.order).Epsilon, paid)
		}
	}
	plan.Blocks[0].Releases[0].Margin = 1
	for _, method := range []policy.Method{policy.Pure, policy.RDP} {
		if _, err := shareBudget(context.Background(), plan, budgetOf(method, 10, .5)); codeOf(err) != "22023" {
			t.Errorf("%s: a margin of 1: %v", method, err)
		}
	}
}

// TestLeastMargin: a refused margin names one that can be had, and little less than which cannot.
func TestLeastMargin(t *testing.T) {
	told := regexp.MustCompile(`least margin that can be had is ±(\S+)\. Ask`)
	plan := &rewrite.Plan{EpsilonMax: 1, Blocks: []rewrite.Block{{Releases: []mechanism.Release{countUpTo(1000)}}}}
	for _, wanted := range []string{"0.001", "0.0000001%"} {
		try := func(margin string) (string, error) {
			w, err := parseMargin(margin)
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.budgetFor(context.Background(), plan, budgetOf(policy.RDP, 10, .5))
			if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) {
				return refused.Hint, err
			}
			return "", err
		}
		hint, err := try(wanted)
		least := told.FindStringSubmatch(hint)
		if least == nil {
			t.Fatalf("%s: %v, hint %q", wanted, err, hint)
		}
		if _, err := try(least[1]); err != nil {
			t.Errorf("%s: %s is refused: %v", wanted, least[1], err)
		}
		number, share := strings.CutSuffix(least[1], "%")
		var value float64
		if _, err := fmt.Sscan(number, &value); err != nil {
			t.Fatal(err)
		}
		less := plain(value / 2)
		if share {
			less += "%"
		}
		if _, err := try(less); err == nil {
			t.Errorf("%s: half of the least margin %s can be had", wanted, least[1])
		}
	}
}

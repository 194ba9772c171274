package stores_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestHistoryAddsUp: the shares of a period's statements add up to what the budget says is spent, over charges of
// different kinds, periods, checkpoints and restarts, and after the budget was changed; and the latest few entries are
// those of the whole history.
func TestHistoryAddsUp(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		config, ctx := ledgertest.PureConfig(0), context.Background()
		config.Method, config.SelectionDeltaShare, config.Checkpoint = policy.RDP, .5, 4
		config.Analysts = map[string]policy.Budget{"alice": {Epsilon: 20, Delta: 1e-6}}
		s := open(config)
		ask := func(n int) {
			for i := range n {
				c := ledgertest.PureCharge(.3)
				c.Query = fmt.Sprint(i)
				if i%3 == 1 {
					c.Curve = ledgertest.GaussianCurve(.03)
				}
				if _, err := s.Spend(ctx, "alice", []ledger.Charge{c}); err != nil {
					t.Fatal(err)
				}
			}
		}
		ask(7)
		if _, err := s.Reset(ctx, "alice"); err != nil {
			t.Fatal(err)
		}
		ask(11)
		check := func() {
			whole, err := s.History(ctx, "alice", 0)
			if err != nil || len(whole) != 18 {
				t.Fatalf("%d entries, %v", len(whole), err)
			}
			for _, limit := range []int{1, 2, 5, 11, 12, 17, 18, 19} {
				latest, err := s.History(ctx, "alice", limit)
				if err != nil || !slices.Equal(latest, whole[:min(limit, 18)]) {
					t.Errorf("the latest %d: %v, %v; all: %v", limit, latest, err, whole)
				}
			}
			b, err := s.Balance(ctx, "alice")
			sum := 0.0
			for _, e := range whole[:11] {
				sum += e.Share
			}
			if err != nil || math.Abs(sum-b.ShareSpent) > 1e-12 || sum < .05 {
				t.Errorf("shares add up to %g, and %g is spent, %v", sum, b.ShareSpent, err)
			}
		}
		check()
		config.Analysts = map[string]policy.Budget{"alice": {Epsilon: 8, Delta: 1e-6}}
		if err := s.Reconfigure(ctx, config); err != nil {
			t.Fatal(err)
		}
		check()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(config)
		check()
		if h, err := s.History(ctx, "bob", 5); err != nil || len(h) != 0 {
			t.Errorf("an analyst without a record: %v, %v", h, err)
		}
	})
}

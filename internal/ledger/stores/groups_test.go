package stores_test

import (
	"context"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// TestMembersHaveBudgetsOfTheirOwn: an analyst of a group is charged on an account of their own, which the first charge
// makes and another group does not refill; and all count in the budget of all together.
func TestMembersHaveBudgetsOfTheirOwn(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		ctx, clock := context.Background(), ledgertest.NewClock()
		groups := map[string]string{"bob": "visitors", "carol": "visitors", "dave": "gone"}
		c := ledgertest.PureConfig(1)
		c.Clock = clock.Now
		c.Groups = map[string]policy.Budget{"visitors": {Epsilon: 1, Every: time.Hour}, "clinicians": {Epsilon: 2}}
		c.GroupOf = func(analyst string) string { return groups[analyst] }
		c.Group = &policy.Budget{Epsilon: 2.5}
		s := open(c)
		spend := func(analyst string, epsilon float64, code string) {
			t.Helper()
			_, err := s.Spend(ctx, analyst, []ledger.Charge{ledgertest.PureCharge(epsilon)})
			ledgertest.WantCode(t, err, code)
		}
		if accounts, err := s.Show(ctx); err != nil || len(accounts) != 2 {
			t.Errorf("%+v, %v: nobody of a group has asked", accounts, err)
		}
		spend("bob", 0.75, "")
		spend("bob", 0.5, "53400")
		spend("carol", 0.75, "")
		spend("dave", 0.1, "53400") // has no budget
		groups["bob"] = "clinicians"
		spend("bob", 1, "") // 1.75 of 2 now, not of a new 2
		spend("bob", 0.5, "53400")
		spend("carol", 0.25, "53400") // all together: 2.5 are spent
		if _, err := s.Reset(ctx, "carrol"); err == nil {
			t.Error("a misspelt analyst has an account now")
		}
		accounts, err := s.Show(ctx)
		if err != nil || len(accounts) != 4 {
			t.Fatalf("%+v, %v", accounts, err)
		}
		for i, want := range []struct {
			name         string
			total, spent float64
		}{{"alice", 1, 0}, {"bob", 2, 1.75}, {"carol", 1, 0.75}, {ledger.AllAnalysts, 2.5, 2.5}} {
			if a := accounts[i]; a.Analyst != want.name || a.EpsilonTotal != want.total || *a.EpsilonSpent != want.spent ||
				!a.Listed {
				t.Errorf("%+v, want %+v", a, want)
			}
		}
		clock.Move(2 * time.Hour)
		if b, err := s.Balance(ctx, "carol"); err != nil || b.EpsilonLeft != 1 {
			t.Errorf("after the group's period: %+v, %v", b, err)
		}
		if b, err := s.Balance(ctx, "bob"); err != nil || b.EpsilonLeft != 0.25 {
			t.Errorf("bob's group has no period: %+v, %v", b, err)
		}
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

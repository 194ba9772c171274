package stores_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestSelectionHasItsOwnDelta(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		for _, delta := range []float64{1e-6, 3e-7} {
			c, ctx := ledgertest.PureConfig(1e6), context.Background()
			c.Method, c.SelectionDeltaShare = policy.RDP, 0.5
			c.Analysts["alice"] = policy.Budget{Epsilon: 1e6, Delta: delta}
			s := open(c)
			charge := ledgertest.PureCharge(0.1)
			const uses = 1000
			charge.SelectionDelta = c.SelectionDelta("alice") / uses
			charges := make([]ledger.Charge, uses)
			for i := range charges {
				charges[i] = charge
			}
			if _, err := s.Spend(ctx, "alice", charges); err != nil {
				t.Fatalf("%d selections at δ = %v: %v", uses, delta, err)
			}
			_, err := s.Spend(ctx, "alice", []ledger.Charge{charge})
			ledgertest.WantCode(t, err, "53400")
			if err == nil || !strings.Contains(err.Error(), "partition selections") {
				t.Errorf("the error does not say what is used up: %v", err)
			}
			charge.SelectionDelta = 0
			if _, err := s.Spend(ctx, "alice", []ledger.Charge{charge}); err != nil {
				t.Errorf("a statement without selection: %v", err)
			}
			if _, err := s.Reset(ctx, "alice"); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if d := ledgertest.PureConfig(1).SelectionDelta("alice"); d != 0 {
		t.Errorf("selections under pure accounting have δ = %v", d)
	}
}

// TestAStatementGoesByTheRulesOfItsFirstCharge: a reload between two charges of one statement changes neither budget
// nor method for it.
func TestAStatementGoesByTheRulesOfItsFirstCharge(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		c, ctx := ledgertest.PureConfig(10), context.Background()
		c.Method, c.SelectionDeltaShare = policy.RDP, 0.5
		c.Analysts["alice"] = policy.Budget{Epsilon: 10, Delta: 1e-6}
		s := open(c)
		charge := ledgertest.PureCharge(6)
		charge.Method = policy.RDP
		first, err := s.Spend(ctx, "alice", []ledger.Charge{charge})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Reconfigure(ctx, ledgertest.PureConfig(5)); err != nil {
			t.Fatal(err)
		}
		charge = ledgertest.PureCharge(1)
		charge.Curve.Pure = 1.5 // which pure accounting does not take for 1
		charge.Method = policy.RDP
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{charge}); !errors.Is(err, ledger.ErrReplanned) {
			t.Errorf("a plan for another method: %v", err)
		}
		charge.Begun = first.Begun
		if b, err := s.Spend(ctx, "alice", []ledger.Charge{charge}); err != nil || b.EpsilonSpent != 7.5 {
			t.Errorf("the second charge of a statement: %+v, %v", b, err)
		}
		_, err = s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
		ledgertest.WantCode(t, err, "53400")
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestChangedMethodKeepsWhatWasSpent(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		c, ctx := ledgertest.PureConfig(10), context.Background()
		s := open(c)
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(2)}); err != nil {
			t.Fatal(err)
		}
		rdp := ledgertest.PureConfig(10)
		rdp.Method, rdp.SelectionDeltaShare = policy.RDP, 0.5
		rdp.Analysts["alice"] = policy.Budget{Epsilon: 10, Delta: 1e-6}
		if err := s.Reconfigure(ctx, rdp); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 2 || b.Delta != 1e-6 {
			t.Errorf("under rdp: %+v, %v", b, err)
		}
		gaussian := ledger.Charge{Epsilon: 0.1, Curve: ledgertest.GaussianCurve(.001)}
		b, err := s.Spend(ctx, "alice", []ledger.Charge{gaussian})
		if err != nil || b.EpsilonSpent <= 2 || math.IsInf(b.EpsilonSpent, 0) {
			t.Errorf("with a Gaussian release: %+v, %v", b, err)
		}
		if err := s.Reconfigure(ctx, c); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || !math.IsInf(b.EpsilonSpent, 1) || b.EpsilonLeft != 0 {
			t.Errorf("back under pure: %+v, %v", b, err)
		}
		accounts, err := s.Show(ctx)
		if err != nil || accounts[0].EpsilonSpent != nil {
			t.Errorf("show: %+v, %v, want an unbounded ε", accounts, err)
		}
	})
}

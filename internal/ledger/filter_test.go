package ledger

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestSharesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "log10 epsilon"))
		delta := math.Pow(10, rapid.Float64Range(-15, -1).Draw(t, "log10 delta"))
		sum, least := 0.0, math.Inf(1)
		for _, s := range shares(mechanism.Orders, epsilon, delta) {
			sum += s
			least = min(least, s)
		}
		if sum > delta*(1+reserve/2) || sum < delta*(1-reserve) || least <= 0 {
			t.Errorf("shares of %v add up to %v, the least is %v", delta, sum, least)
		}
	})
	if s := shares([]float64{2}, 1, 1e-6); s[0] != 1e-6 {
		t.Errorf("the only order has %v", s[0])
	}
	for _, s := range shares(mechanism.Orders, 1, 0) {
		if s != 0 {
			t.Errorf("a share of nothing is %v", s)
		}
	}
}

// TestFilterIsNotBelowTheBestOrder: the surcharge of a share is never less than converting at the whole of δ_c would cost,
// and the order that is best for Gaussian noise loses less than a percent by sharing.
func TestFilterIsNotBelowTheBestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := policy.Budget{Epsilon: rapid.Float64Range(2, 50).Draw(t, "epsilon"), Delta: 1e-6}
		f := newFilter(budget, policy.RDP, 0.5)
		best := 0.0
		for _, alpha := range mechanism.Orders {
			best = max(best, (budget.Epsilon-mechanism.EpsilonAt(alpha, 0, budget.Delta/2))/alpha)
		}
		at := func(rho float64) sums {
			s := sums{pure: unbounded}
			for _, alpha := range mechanism.Orders {
				s.renyi = append(s.renyi, ceil(rho*alpha))
			}
			return s
		}
		if f.admits(at(best * (1 + 1e-9))) {
			t.Errorf("ρ = %v is admitted, more than δ_c allows at any order", best)
		}
		if !f.admits(at(best * 0.98)) {
			t.Errorf("ρ = %v is refused, though one order at all of δ_c allows %v", best*0.98, best)
		}
	})
}

func TestSelectionHasItsOwnDelta(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Config) Store) {
		for _, delta := range []float64{1e-6, 3e-7} {
			c, ctx := pureConfig(1e6), context.Background()
			c.Method, c.SelectionDeltaShare = policy.RDP, 0.5
			c.Analysts["alice"] = policy.Budget{Epsilon: 1e6, Delta: delta}
			s := open(c)
			charge := pureCharge(0.1)
			charge.SelectionDelta = c.SelectionDelta("alice")
			charges := make([]Charge, selectionUses)
			for i := range charges {
				charges[i] = charge
			}
			if _, err := s.Spend(ctx, "alice", charges); err != nil {
				t.Fatalf("%d selections at δ = %v: %v", selectionUses, delta, err)
			}
			_, err := s.Spend(ctx, "alice", []Charge{charge})
			wantCode(t, err, "53400")
			if err == nil || !strings.Contains(err.Error(), "partition selections") {
				t.Errorf("the error does not say what is used up: %v", err)
			}
			charge.SelectionDelta = 0
			if _, err := s.Spend(ctx, "alice", []Charge{charge}); err != nil {
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
	if d := pureConfig(1).SelectionDelta("alice"); d != 0 {
		t.Errorf("a selection under pure accounting has δ = %v", d)
	}
}

func TestChangedMethodKeepsWhatWasSpent(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(Config) Store) {
		c, ctx := pureConfig(10), context.Background()
		s := open(c)
		if _, err := s.Spend(ctx, "alice", []Charge{pureCharge(2)}); err != nil {
			t.Fatal(err)
		}
		rdp := pureConfig(10)
		rdp.Method, rdp.SelectionDeltaShare = policy.RDP, 0.5
		rdp.Analysts["alice"] = policy.Budget{Epsilon: 10, Delta: 1e-6}
		if err := s.Reconfigure(ctx, rdp); err != nil {
			t.Fatal(err)
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 2 || b.Delta != 1e-6 {
			t.Errorf("under rdp: %+v, %v", b, err)
		}
		gaussian := Charge{Epsilon: 0.1, Curve: mechanism.Curve{Pure: math.Inf(1), Renyi: make([]float64, len(mechanism.Orders))}}
		for i, alpha := range mechanism.Orders {
			gaussian.Curve.Renyi[i] = alpha / 1000
		}
		b, err := s.Spend(ctx, "alice", []Charge{gaussian})
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

func TestConfigsThatCannotBe(t *testing.T) {
	good := policy.Budget{Epsilon: 1, Delta: 1e-6}
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Method: "zcdp"}, "accounting method"},
		{Config{Method: policy.RDP, SelectionDeltaShare: 2}, "selection_delta_share"},
		{Config{Method: policy.RDP, Analysts: map[string]policy.Budget{"a": {Epsilon: 1}}}, "delta 0 of analyst a"},
		{Config{Method: policy.RDP, Group: &policy.Budget{Epsilon: 1}}, "delta 0 of all analysts together"},
		{Config{Method: policy.Pure}, "limit of failures 0"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: math.NaN()}}}, "epsilon NaN"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: -1}}}, "epsilon -1"},
		{Config{Method: policy.Pure, Analysts: map[string]policy.Budget{"a": {Epsilon: 1, Every: -1}}}, "period"},
		{Config{Method: policy.RDP, Analysts: map[string]policy.Budget{"": good}}, "empty name"},
	} {
		if _, err := newRules(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.c, err, tt.want)
		}
	}
}

package admin

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// profiled has a budget for all analysts together, and one for profiles.
func profiled() ledger.Config {
	c := ledgertest.PureConfig(10)
	c.Group = &policy.Budget{Epsilon: 2}
	c.Analysts[policy.ProfileAccount] = policy.Budget{Epsilon: 1}
	return c
}

func TestProfilesAreCharged(t *testing.T) {
	ctx := context.Background()
	dsn, s := served(t, profiled())
	connect(t, dsn) // it listens
	free := "file:" + filepath.Join(t.TempDir(), "ledger")
	for name, at := range map[string]string{"beside a running proxy": dsn, "without one": free} {
		t.Run(name, func(t *testing.T) {
			p, err := OpenAccount(ctx, at, policy.ProfileAccount, profiled())
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			two := []ledger.Charge{ledgertest.PureCharge(0.25), ledgertest.PureCharge(0.5)}
			if b, err := p.Preview(ctx, two); err != nil || b.EpsilonLeft != 0.25 || len(b.Shares) != 2 {
				t.Errorf("what two charges would leave: %+v, %v", b, err)
			}
			if _, err := p.Preview(ctx, append(two, two...)); err == nil || !strings.Contains(err.Error(), "53400") {
				t.Errorf("what is more than the budget, before it is charged: %v", err)
			}
			b, err := p.Charge(ctx, two)
			if err != nil || b.EpsilonLeft != 0.25 || len(b.Shares) != 2 {
				t.Errorf("two charges: %+v, %v", b, err)
			}
			if _, err := p.Charge(ctx, []ledger.Charge{ledgertest.PureCharge(0.125), ledgertest.PureCharge(0.25)}); err == nil || !strings.Contains(err.Error(), "53400") {
				t.Errorf("more than the budget: %v", err)
			}
			if b, err := p.Charge(ctx, []ledger.Charge{ledgertest.PureCharge(0.25)}); err != nil || b.EpsilonLeft != 0 {
				t.Errorf("what is left, as a refused charge takes nothing: %+v, %v", b, err)
			}
		})
	}
	accounts, err := s.Show(ctx)
	if err != nil || len(accounts) != 3 || accounts[0].Analyst != policy.ProfileAccount ||
		*accounts[0].EpsilonSpent != 1 ||
		accounts[2].Analyst != ledger.AllAnalysts || *accounts[2].EpsilonSpent != 1 {
		t.Errorf("show: %+v, %v", accounts, err)
	}
	if _, err := s.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// TestUnboundedCurvesTravel: Gaussian noise has no pure ε, and its charge goes through the socket all the same.
func TestUnboundedCurvesTravel(t *testing.T) {
	ctx := context.Background()
	c := profiled()
	c.Method, c.SelectionDeltaShare = policy.RDP, 0.5
	for name := range c.Analysts {
		c.Analysts[name] = policy.Budget{Epsilon: 50, Delta: 1e-6}
	}
	c.Group = nil
	dsn, s := served(t, c)
	charge := ledger.Charge{
		Query: "q", Fingerprint: "f", Epsilon: 1, SelectionDelta: 1e-10,
		Curve: mechanism.Curve{Pure: math.Inf(1), Renyi: mechanism.LaplaceCurve(1).Renyi},
	}
	got, err := remote{connect(t, dsn), policy.ProfileAccount}.Charge(ctx, []ledger.Charge{charge})
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.Balance(ctx, policy.ProfileAccount)
	if err != nil || got.EpsilonSpent != want.EpsilonSpent || got.EpsilonSpent <= 0 {
		t.Errorf("spent %+v, want %+v, %v", got, want, err)
	}
}

// TestUnusedAccountsOfProfilesAreNotShown keeps the list of analysts as it is where nobody has profiled.
func TestUnusedAccountsOfProfilesAreNotShown(t *testing.T) {
	_, s := served(t, profiled())
	accounts, err := s.Show(context.Background())
	if err != nil || len(accounts) != 2 {
		t.Errorf("show: %+v, %v", accounts, err)
	}
}

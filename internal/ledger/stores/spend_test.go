package stores_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

func TestTenTenthsAreOne(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(ledgertest.PureConfig(1)), context.Background()
		for i := range 10 {
			if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.1)}); err != nil {
				t.Fatalf("charge %d: %v", i+1, err)
			}
		}
		b, err := s.Balance(ctx, "alice")
		if want := (ledger.Balance{EpsilonTotal: 1, EpsilonSpent: 1, ShareSpent: 1}); err != nil ||
			!reflect.DeepEqual(b, want) {
			t.Errorf("balance %+v, %v, want %+v", b, err, want)
		}
		_, err = s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1e-18)})
		ledgertest.WantCode(t, err, "53400")
	})
}

func TestChargesAreAllOrNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(ledgertest.PureConfig(1)), context.Background()
		_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.6), ledgertest.PureCharge(0.6)})
		ledgertest.WantCode(t, err, "53400")
		b, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.4), ledgertest.PureCharge(0.6)})
		if want := (ledger.Balance{
			EpsilonTotal: 1, EpsilonSpent: 1, ShareSpent: 1, Shares: []float64{0.4, 0.6},
			Begun: b.Begun,
		}); err != nil || !reflect.DeepEqual(b, want) {
			t.Errorf("balance %+v, %v, want %+v", b, err, want)
		}
	})
}

// TestSharesAreWhatIsLess: a charge takes the share of the budget that is less by it. Charges that are admitted
// together take what they would one after the other, and a preview says the same.
func TestSharesAreWhatIsLess(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		config := ledgertest.PureConfig(0)
		config.Method, config.Analysts = policy.RDP, map[string]policy.Budget{
			"alice": {Epsilon: 5, Delta: 1e-6},
			"bob":   {Epsilon: 5, Delta: 1e-6},
		}
		s, ctx := open(config), context.Background()
		var charges []ledger.Charge
		for i, gauss := range []float64{0.004, 0.02, 0.001} {
			c := ledgertest.PureCharge(0.1)
			c.Fingerprint, c.Curve = string(rune('a'+i)), ledgertest.GaussianCurve(gauss)
			charges = append(charges, c)
		}
		preview, err := s.Preview(ctx, "alice", charges)
		if err != nil {
			t.Fatal(err)
		}
		together, err := s.Spend(ctx, "alice", charges)
		if err != nil || !reflect.DeepEqual(together, preview) || len(together.Shares) != len(charges) {
			t.Fatalf("spent %+v, %v, the preview was %+v", together, err, preview)
		}
		left := 1.0
		for i, c := range charges {
			b, err := s.Spend(ctx, "bob", []ledger.Charge{c})
			if err != nil {
				t.Fatal(err)
			}
			if less := left - b.ShareLeft; len(b.Shares) != 1 || math.Abs(b.Shares[0]-less) > 1e-12 ||
				b.Shares[0] != together.Shares[i] {
				t.Errorf("charge %d: took %v, %v left of %v; together it took %v", i, b.Shares, b.ShareLeft, left,
					together.Shares[i])
			}
			left = b.ShareLeft
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || b.Shares != nil || b.ShareLeft != left {
			t.Errorf("balance %+v, %v, want %v left", b, err, left)
		}
	})
}

func TestChargesThatCannotBe(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(ledgertest.PureConfig(1)), context.Background()
		for _, bad := range []ledger.Charge{
			{Epsilon: 0},
			{Epsilon: -1},
			{Epsilon: math.NaN()},
			{Epsilon: math.Inf(1)},
			{Epsilon: 1e-19},
			{Epsilon: 0.1, SelectionDelta: -1},
			{Epsilon: 0.1, SelectionDelta: math.NaN()},
			{Epsilon: 0.1, Curve: mechanism.Curve{Pure: 0.2}},
			{Epsilon: 0.1, Curve: mechanism.Curve{Pure: math.NaN()}},
			{Epsilon: 0.1, Curve: mechanism.Curve{Pure: math.Inf(1)}},
			{Epsilon: 0.1, Curve: mechanism.Curve{Renyi: []float64{1}}},
		} {
			_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.1), bad})
			ledgertest.WantCode(t, err, "XX000")
		}
		_, err := s.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(0.1)})
		ledgertest.WantCode(t, err, "53400")
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 0 {
			t.Errorf("balance %+v, %v, want nothing spent", b, err)
		}
	})
}

func TestLastEpsilonGoesToExactlyAsManyAsItPaysFor(t *testing.T) {
	const sessions, affordable = 64, 5
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s := open(ledgertest.PureConfig(affordable))
		if got := race(t, "alice", sessions, s); got != affordable {
			t.Errorf("%d of %d admitted, want %d", got, sessions, affordable)
		}
	})
}

func TestTwoProxiesShareTheLastEpsilon(t *testing.T) {
	const sessions, affordable = 64, 5
	open := opener(t, postgresDSN(t))
	c := ledgertest.PureConfig(affordable)
	if got := race(t, "alice", sessions, open(c), open(c)); got != affordable {
		t.Errorf("%d of %d admitted, want %d", got, sessions, affordable)
	}
}

// race lets sessions spend ε = 1 at the same time, on several handles in turn, and counts who got it.
func race(t *testing.T, analyst string, sessions int, on ...ledger.Store) int {
	t.Helper()
	var admitted atomic.Int64
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			_, err := on[i%len(on)].Spend(context.Background(), analyst, []ledger.Charge{ledgertest.PureCharge(1)})
			if err == nil {
				admitted.Add(1)
			} else {
				ledgertest.WantCode(t, err, "53400")
			}
		})
	}
	all.Wait()
	return int(admitted.Load())
}

func TestRestartKeepsEverything(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		first, ctx := open(ledgertest.PureConfig(1)), context.Background()
		if _, err := first.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.3)}); err != nil {
			t.Fatal(err)
		}
		if err := first.Fail(ctx, "alice", "bad"); err != nil {
			t.Fatal(err)
		}
		if _, err := first.PutAnswer(ctx, "key", []byte("42"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		s := open(ledgertest.PureConfig(1))
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 0.3 {
			t.Errorf("balance %+v, %v, want 0.3 spent", b, err)
		}
		if failed, err := s.Failed(ctx, "alice", "bad"); err != nil || !failed {
			t.Errorf("failed %v, %v, want true", failed, err)
		}
		if a, ok, err := s.Answer(ctx, "key"); err != nil || !ok || string(a) != "42" {
			t.Errorf("answer %q, %v, %v, want 42", a, ok, err)
		}
		if h, err := s.History(ctx, "alice", 10); err != nil || len(h) != 1 || h[0].Epsilon != 0.3 {
			t.Errorf("history %+v, %v", h, err)
		}
	})
}

func TestFailuresAreRefusedUntilCleared(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(ledgertest.PureConfig(1)), context.Background()
		if err := s.Fail(ctx, "alice", "f"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.1)})
		ledgertest.WantCode(t, err, "55000")
		if n, err := s.Clear(ctx, "alice"); n != 1 || err != nil {
			t.Errorf("cleared %d, %v, want 1", n, err)
		}
		if n, err := s.Clear(ctx, "alice"); n != 0 || err != nil {
			t.Errorf("cleared %d, %v, want 0", n, err)
		}
		if _, err := s.Clear(ctx, "nobody"); err == nil {
			t.Error("cleared an analyst who does not exist")
		}
		_, err = s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.1)})
		ledgertest.WantCode(t, err, "")
		if err := s.Fail(ctx, "alice", "f"); err != nil {
			t.Fatal(err)
		}
		if failed, err := s.Failed(ctx, "alice", "f"); err != nil || !failed {
			t.Errorf("failed again %v, %v, want true", failed, err)
		}
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestAllAnalystsTogether(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		c, ctx := ledgertest.PureConfig(1), context.Background()
		c.Analysts["bob"] = policy.Budget{Epsilon: 1}
		s := open(c)
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(0.7)}); err != nil {
			t.Fatal(err)
		}
		// The budget for all comes later, and counts what was charged before.
		c.Group = &policy.Budget{Epsilon: 1}
		if err := s.Reconfigure(ctx, c); err != nil {
			t.Fatal(err)
		}
		_, err := s.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(0.4)})
		ledgertest.WantCode(t, err, "53400")
		if _, err := s.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(0.3)}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Reset(ctx, ledger.AllAnalysts); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Spend(ctx, "bob", []ledger.Charge{ledgertest.PureCharge(0.7)}); err != nil {
			t.Fatal(err)
		}
		accounts, err := s.Show(ctx)
		if err != nil || len(accounts) != 3 {
			t.Fatalf("%+v, %v, want three accounts", accounts, err)
		}
		for i, want := range []struct {
			name  string
			spent float64
		}{{"alice", 0.7}, {"bob", 1}, {ledger.AllAnalysts, 0.7}} {
			if a := accounts[i]; a.Analyst != want.name || *a.EpsilonSpent != want.spent {
				t.Errorf("%s spent %v, want %s %v", a.Analyst, *a.EpsilonSpent, want.name, want.spent)
			}
		}
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestPreviewIsWhatSpendWouldSay(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		c, ctx := ledgertest.PureConfig(1), context.Background()
		c.Group = &policy.Budget{Epsilon: 0.8}
		s := open(c)
		same := func(charges ...ledger.Charge) {
			t.Helper()
			before, err := s.Balance(ctx, "alice")
			if err != nil {
				t.Fatal(err)
			}
			preview, foreseen := s.Preview(ctx, "alice", charges)
			if after, err := s.Balance(ctx, "alice"); err != nil || !reflect.DeepEqual(after, before) {
				t.Errorf("a preview has changed %+v to %+v, %v", before, after, err)
			}
			spent, err := s.Spend(ctx, "alice", charges)
			if !reflect.DeepEqual(preview, spent) || fmt.Sprint(foreseen) != fmt.Sprint(err) {
				t.Errorf("foreseen %+v, %v; spent %+v, %v", preview, foreseen, spent, err)
			}
		}
		same(ledgertest.PureCharge(0.3), ledgertest.PureCharge(0.1))
		same(ledgertest.PureCharge(0.5)) // too much for all together
		same(ledger.Charge{Epsilon: -1})
		if err := s.Fail(ctx, "alice", "f"); err != nil {
			t.Fatal(err)
		}
		same(ledgertest.PureCharge(0.1))
		if _, err := s.Clear(ctx, "alice"); err != nil {
			t.Fatal(err)
		}
		same(ledgertest.PureCharge(0.1))
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestCallerWhoGivesUp(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s := open(ledgertest.PureConfig(10))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
		ledgertest.WantCode(t, err, "57014")
		if b, err := s.Balance(context.Background(), "alice"); err != nil || b.EpsilonSpent != 0 {
			t.Errorf("balance %+v, %v", b, err)
		}
	})
}

func TestUnknownKindOfLedger(t *testing.T) {
	if _, err := stores.Open(context.Background(), "mysql://", ledgertest.PureConfig(1)); err == nil {
		t.Error("an unknown kind of ledger was opened")
	}
}

package stores_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

const day = 24 * time.Hour

// monthly is alice with ε = 1 every 30 days.
func monthly(c *ledgertest.Clock) ledger.Config {
	config := ledgertest.PureConfig(1)
	config.Analysts["alice"] = policy.Budget{Epsilon: 1, Every: 30 * day}
	config.Clock = c.Now
	return config
}

func TestPeriodsFollowEachOther(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		clock, ctx := ledgertest.NewClock(), context.Background()
		began := clock.Now()
		s := open(monthly(clock))
		spend := func(want string) ledger.Balance {
			t.Helper()
			b, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
			ledgertest.WantCode(t, err, want)
			return b
		}
		if b := spend(""); !b.PeriodEnds.Equal(began.Add(30 * day)) {
			t.Errorf("the first period ends %v", b.PeriodEnds)
		}
		spend("53400")
		clock.Move(30*day - time.Microsecond)
		spend("53400")
		clock.Move(time.Microsecond)
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonLeft != 1 || !b.PeriodEnds.Equal(began.Add(60*day)) {
			t.Errorf("after 30 days: %+v, %v", b, err)
		}
		spend("")
		clock.Move(45 * day) // day 75: in the middle of the period from day 60 to day 90
		if b := spend(""); !b.PeriodEnds.Equal(began.Add(90 * day)) {
			t.Errorf("a late charge has shifted the period: it ends %v", b.PeriodEnds)
		}
		if r, err := s.Verify(ctx); err != nil || r.Records == 0 {
			t.Errorf("verify: %+v, %v", r, err)
		}
	})
}

func TestClockJumps(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		clock, ctx := ledgertest.NewClock(), context.Background()
		start := clock.Now()
		s := open(monthly(clock))
		spend := func(when, want string) {
			t.Helper()
			if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)}); (err != nil) != (want != "") {
				t.Errorf("%s: %v, want %q", when, err, want)
			}
		}
		spend("first", "")
		clock.Set(start.Add(-400 * day))
		spend("set back", "53400")
		s.Close()
		s = open(monthly(clock))
		spend("set back, after a restart", "53400")
		clock.Set(start.Add(10 * 365 * day))
		spend("jumped ahead ten years: one period, not 121", "")
		spend("again there", "53400")
		clock.Set(start.Add(day))
		spend("corrected", "53400")
		clock.Set(start.Add(31 * day))
		spend("a month later by the corrected clock", "53400")
		clock.Set(start.Add(10*365*day + 31*day))
		spend("when the start time gets there", "")
		h, err := s.History(ctx, "alice", 0)
		if err != nil || len(h) != 3 {
			t.Fatalf("history %v, %v", h, err)
		}
		for i := 1; i < len(h); i++ {
			if h[i].At.After(h[i-1].At) {
				t.Errorf("record at %v before one at %v", h[i].At, h[i-1].At)
			}
		}
	})
}

func TestAnswersExpire(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		clock, ctx := ledgertest.NewClock(), context.Background()
		s := open(monthly(clock))
		put := func(key, answer string, ttl time.Duration) {
			t.Helper()
			if _, err := s.PutAnswer(ctx, key, []byte(answer), ttl); err != nil {
				t.Fatal(err)
			}
		}
		want := func(key, answer string) {
			t.Helper()
			got, ok, err := s.Answer(ctx, key)
			if err != nil || string(got) != answer || ok != (answer != "") {
				t.Errorf("%s: %q, %v, %v, want %q", key, got, ok, err, answer)
			}
		}
		put("a", "1", time.Hour)
		put("b", "2", 3*time.Hour)
		put("never", "3", 0)
		want("a", "1")
		want("never", "")
		clock.Move(time.Hour - time.Second)
		want("a", "1")
		put("b", "4", 2*time.Hour) // the first answer is kept
		want("b", "2")
		s.Close()
		s = open(monthly(clock))
		want("a", "1")
		want("b", "2")
		clock.Move(time.Second)
		want("a", "")
		want("b", "2")
		put("c", "5", time.Hour) // takes what has expired away
		s.Close()
		s = open(monthly(clock))
		want("b", "2")
		want("c", "5")
		clock.Move(-time.Second) // not even for a clock that was set back
		want("a", "")
	})
}

func TestReloads(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(ledgertest.PureConfig(10)), context.Background()
		if _, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(4)}); err != nil {
			t.Fatal(err)
		}
		reload := func(c ledger.Config) {
			t.Helper()
			if err := s.Reconfigure(ctx, c); err != nil {
				t.Fatal(err)
			}
		}
		reload(ledgertest.PureConfig(3)) // below what is spent
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 4 || b.EpsilonLeft != 0 {
			t.Errorf("lowered: %+v, %v", b, err)
		}
		_, err := s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1e-6)})
		ledgertest.WantCode(t, err, "53400")

		renamed := ledgertest.PureConfig(5)
		renamed.Analysts = map[string]policy.Budget{"alicia": {Epsilon: 5}}
		reload(renamed)
		_, err = s.Spend(ctx, "alice", []ledger.Charge{ledgertest.PureCharge(1)})
		ledgertest.WantCode(t, err, "53400")
		if b, err := s.Balance(ctx, "alice"); err != nil || !reflect.DeepEqual(b, ledger.Balance{}) {
			t.Errorf("removed: %+v, %v", b, err)
		}
		if _, err := s.Spend(ctx, "alicia", []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
			t.Error(err)
		}
		accounts, err := s.Show(ctx)
		if err != nil || len(accounts) != 2 || accounts[0].Listed || *accounts[0].EpsilonSpent != 4 || !accounts[1].Listed {
			t.Errorf("show: %+v, %v", accounts, err)
		}

		reload(ledgertest.PureConfig(10))
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonLeft != 6 {
			t.Errorf("listed again: %+v, %v", b, err)
		}
		bad := ledgertest.PureConfig(10)
		bad.Method = policy.RDP // without δ
		if err := s.Reconfigure(ctx, bad); err == nil {
			t.Error("rdp without a delta was accepted")
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonLeft != 6 {
			t.Errorf("after a reload that failed: %+v, %v", b, err)
		}
	})
}

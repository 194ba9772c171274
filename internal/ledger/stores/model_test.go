package stores_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// model is the ledger in the plainest terms: ε in whole hundredths, one map, no store.
type model struct {
	budgets  map[string]int // group: ""
	limit    int            // of failures
	every    time.Duration
	accounts map[string]*modelAccount
	clock    *ledgertest.Clock
}

type modelAccount struct {
	began, last time.Time
	spent       int
	failures    int
	refused     map[string]bool
	history     []string
}

// now is the time by the ledger: never before a record of the account's or the group's.
func (m *model) now(name string) time.Time {
	now := m.clock.Now()
	for _, n := range []string{name, ""} {
		if a := m.accounts[n]; a != nil && a.last.After(now) {
			now = a.last
		}
	}
	return now
}

// record returns the account as it is when something is recorded in it now.
func (m *model) record(name string, now time.Time) *modelAccount {
	a := m.accounts[name]
	if a == nil {
		a = &modelAccount{began: now, refused: map[string]bool{}}
		m.accounts[name] = a
	}
	for m.every > 0 && now.Sub(a.began) >= m.every {
		a.began, a.spent = a.began.Add(m.every), 0
		m.forget(a)
	}
	a.last = now
	return a
}

// forget is what a new period does to failures: they are forgotten unless they are used up.
func (m *model) forget(a *modelAccount) {
	if a.failures < m.limit {
		a.failures = 0
	}
}

// usedUp tells whether an analyst's failures are used up. A period that is over makes no difference: it takes along
// what is at the limit.
func (m *model) usedUp(name string) bool {
	a := m.accounts[name]
	return a != nil && a.failures >= m.limit
}

// spentBy is what an account has spent in the period that holds now.
func (m *model) spentBy(name string, now time.Time) int {
	a := m.accounts[name]
	if a == nil || m.every > 0 && now.Sub(a.began) >= m.every {
		return 0
	}
	return a.spent
}

// spend returns the SQLSTATE, "" where it is admitted. Of the charges that are shared nothing counts for all together.
func (m *model) spend(who string, queries []string, hundredths []int, shared []bool) string {
	own, listed := m.budgets[who]
	if !listed {
		return "53400"
	}
	if m.usedUp(who) {
		return "55000"
	}
	for _, q := range queries {
		if a := m.accounts[who]; a != nil && a.refused[q] {
			return "55000"
		}
	}
	sum, all := 0, 0
	for i, h := range hundredths {
		if h <= 0 {
			return "XX000"
		}
		if sum += h; !shared[i] {
			all += h
		}
	}
	now := m.now(who)
	if group, limited := m.budgets[""]; m.spentBy(who, now)+sum > own || limited && m.spentBy("", now)+all > group {
		return "53400"
	}
	m.record(who, now).spent += sum
	m.record("", now).spent += all
	m.accounts[who].history = append(m.accounts[who].history, queries...)
	return ""
}

// run drives a ledger and the model side by side. On PostgreSQL two handles take turns, as two proxies would.
func run(t *rapid.T, dsn string) {
	ctx := context.Background()
	clock := ledgertest.NewClock()
	budgets := rapid.SampledFrom([]int{0, 50, 100, 300})
	m := &model{
		budgets: map[string]int{
			"": budgets.Draw(t, "all"), "alice": budgets.Draw(t, "alice"),
			"bob": budgets.Draw(t, "bob"),
		},
		limit:    rapid.IntRange(1, 4).Draw(t, "failures"),
		every:    rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "every"),
		accounts: map[string]*modelAccount{}, clock: clock,
	}
	checkpoint := rapid.Uint64Range(1, 6).Draw(t, "checkpoint")
	config := func() ledger.Config {
		c := ledgertest.PureConfig(0)
		c.Failures, c.Checkpoint = m.limit, checkpoint
		c.Clock, c.Analysts = clock.Now, map[string]policy.Budget{}
		for name, b := range m.budgets {
			budget := policy.Budget{Epsilon: float64(b) / 100, Every: m.every}
			if c.Analysts[name] = budget; name == "" {
				delete(c.Analysts, name)
				c.Group = &budget
			}
		}
		return c
	}
	open := func() ledger.Store {
		s, err := stores.Open(ctx, dsn, config())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	handles := []ledger.Store{open()}
	if ledger.IsPostgres(dsn) {
		handles = append(handles, open())
		m.record("", clock.Now()) // there the group's account begins with the first policy that bounds it
	}
	defer func() {
		for _, s := range handles {
			s.Close()
		}
	}()
	who := rapid.SampledFrom([]string{"alice", "bob", "carol"})
	query := rapid.SampledFrom([]string{"q1", "q2", "q3"})
	handle := func() ledger.Store { return handles[rapid.IntRange(0, len(handles)-1).Draw(t, "proxy")] }
	t.Repeat(map[string]func(*rapid.T){
		"spend": func(t *rapid.T) {
			name := who.Draw(t, "who")
			hundredths := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 3).Draw(t, "hundredths")
			var charges []ledger.Charge
			var queries []string
			var shared []bool
			for _, h := range hundredths {
				c := ledgertest.PureCharge(float64(h) / 100)
				c.Query = query.Draw(t, "query")
				c.Fingerprint, c.Shared = c.Query, rapid.Bool().Draw(t, "shared")
				charges, queries, shared = append(charges, c), append(queries, c.Query), append(shared, c.Shared)
			}
			want := m.spend(name, queries, hundredths, shared)
			b, err := handle().Spend(ctx, name, charges)
			for i, share := range b.Shares {
				if math.Abs(share*float64(m.budgets[name])-float64(hundredths[i])) > 1e-9 {
					t.Fatalf("%s spends %v of %d: shares of %v", name, hundredths, m.budgets[name], b.Shares)
				}
			}
			var e *pgconn.PgError
			if code := ""; errors.As(err, &e) {
				if code = e.Code; code != want {
					t.Fatalf("%s spends %v: %v, want %q", name, hundredths, err, want)
				}
			} else if err != nil || want != "" || len(b.Shares) != len(charges) {
				t.Fatalf("%s spends %v: %v, want %q", name, hundredths, err, want)
			}
		},
		"time passes": func(t *rapid.T) {
			clock.Move(time.Duration(rapid.IntRange(-50, 100).Draw(t, "minutes")) * time.Minute)
		},
		"fail": func(t *rapid.T) {
			name, q := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "who"), query.Draw(t, "query")
			err := handle().Fail(ctx, name, q)
			if (err != nil) != m.usedUp(name) {
				t.Fatalf("%s, whose failures are used up: %v: a failure: %v", name, m.usedUp(name), err)
			}
			if err != nil {
				return
			}
			a := m.record(name, m.now(name))
			a.failures++
			a.refused[q] = true
		},
		"clear": func(t *rapid.T) {
			name := rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "who")
			n, err := handle().Clear(ctx, name)
			want := 0
			if a := m.accounts[name]; a != nil && len(a.refused) > 0 {
				a.last, a.failures = m.now(name), 0
				want, a.refused = len(a.refused), map[string]bool{}
			}
			if err != nil || n != want {
				t.Fatalf("cleared %d, %v, want %d", n, err, want)
			}
		},
		"reset": func(t *rapid.T) {
			name := rapid.SampledFrom([]string{"alice", "bob", ledger.AllAnalysts}).Draw(t, "who")
			if _, err := handle().Reset(ctx, name); err != nil {
				t.Fatal(err)
			}
			name = strings.TrimPrefix(name, ledger.AllAnalysts)
			a := m.record(name, m.now(name))
			a.began, a.spent = a.last, 0
			m.forget(a)
		},
		"reload": func(t *rapid.T) {
			m.budgets[rapid.SampledFrom([]string{"", "alice", "bob"}).Draw(t, "whose")] = budgets.Draw(t, "budget")
			m.limit = rapid.IntRange(1, 4).Draw(t, "failures")
			for _, s := range handles {
				if err := s.Reconfigure(ctx, config()); err != nil {
					t.Fatal(err)
				}
			}
		},
		"restart": func(t *rapid.T) {
			for i := range handles {
				if err := handles[i].Close(); err != nil {
					t.Fatal(err)
				}
				handles[i] = open()
			}
		},
		"": func(t *rapid.T) {
			for _, name := range []string{"alice", "bob"} {
				if err := handle().Releasable(ctx, name); (err != nil) != m.usedUp(name) {
					t.Fatalf("%s, whose failures are used up: %v: an answer may be given: %v", name, m.usedUp(name), err)
				}
				b, err := handle().Balance(ctx, name)
				spent := m.spentBy(name, m.now(name))
				if err != nil || b.EpsilonSpent != float64(spent)/100 ||
					b.EpsilonLeft != float64(max(0, m.budgets[name]-spent))/100 {
					t.Fatalf("%s: %+v, %v, want %d of %d hundredths spent", name, b, err, spent, m.budgets[name])
				}
				h, err := handle().History(ctx, name, 0)
				var got []string
				for i := range h {
					got = append(got, h[len(h)-1-i].Query)
				}
				var expected []string
				if a := m.accounts[name]; a != nil {
					expected = a.history
				}
				if err != nil || fmt.Sprint(got) != fmt.Sprint(expected) {
					t.Fatalf("history of %s is %v, %v, want %v", name, got, err, expected)
				}
			}
			if _, err := handle().Verify(ctx); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func TestFileFollowsTheModel(t *testing.T) {
	folder, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		run(t, "file:"+filepath.Join(folder, fmt.Sprint(n)))
	})
}

var tableChecks = flag.Int(
	"tables", 8, "how many runs of the model a PostgreSQL ledger is held against, a database each")

func TestTablesFollowTheModel(t *testing.T) {
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; checks > *tableChecks { // a database each
			return
		}
		run(rt, postgresDSN(t))
	})
}

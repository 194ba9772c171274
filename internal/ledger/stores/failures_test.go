package stores_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// failingConfig lets an analyst fail three times; bob is there to be left alone.
func failingConfig() ledger.Config {
	c := ledgertest.PureConfig(10)
	c.Analysts["bob"] = policy.Budget{Epsilon: 10}
	c.Failures = 3
	return c
}

// chargeFor is a charge of 0.1 for a statement of its own.
func chargeFor(fingerprint string) []ledger.Charge {
	c := ledgertest.PureCharge(0.1)
	c.Fingerprint = fingerprint
	return []ledger.Charge{c}
}

// fails records as many failures of alice's, which must all count.
func fails(t *testing.T, s ledger.Store, fingerprints ...string) {
	t.Helper()
	for _, f := range fingerprints {
		if err := s.Fail(context.Background(), "alice", f); err != nil {
			t.Fatalf("failure of %s: %v", f, err)
		}
	}
}

// wantUsed checks what `budget show` says of alice's failures, and whether she is refused.
func wantUsed(t *testing.T, s ledger.Store, used uint64) {
	t.Helper()
	accounts, err := s.Show(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if a := accounts[0]; a.Analyst != "alice" || a.FailuresUsed != used {
		t.Errorf("%s has used %d failures, want %d of alice's", a.Analyst, a.FailuresUsed, used)
	}
	code := ""
	if used >= uint64(accounts[0].FailuresAllowed) {
		code = "55000"
	}
	ledgertest.WantCode(t, s.Releasable(context.Background(), "alice"), code)
	_, err = s.Preview(context.Background(), "alice", chargeFor("another"))
	ledgertest.WantCode(t, err, code)
}

func TestFailuresAreUsedUp(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(failingConfig()), context.Background()
		fails(t, s, "f1", "f2")
		if _, err := s.Spend(ctx, "alice", chargeFor("g")); err != nil {
			t.Errorf("with a failure left: %v", err)
		}
		wantUsed(t, s, 2)
		fails(t, s, "f3")
		wantUsed(t, s, 3)
		_, err := s.Spend(ctx, "alice", chargeFor("never asked before"))
		ledgertest.WantCode(t, err, "55000")
		if err == nil || !strings.Contains(err.Error(), "3 of your statements failed") {
			t.Errorf("the refusal says %v", err)
		}
		// What ends after the limit is reached leaves no trace: it could be seen in a later period.
		ledgertest.WantCode(t, s.Fail(ctx, "alice", "in flight"), "55000")
		if failed, err := s.Failed(ctx, "alice", "in flight"); failed || err != nil {
			t.Errorf("a failure beyond the limit is remembered: %v, %v", failed, err)
		}
		if b, err := s.Balance(ctx, "alice"); err != nil || b.EpsilonSpent != 0.1 {
			t.Errorf("balance %+v, %v: a refused statement was charged", b, err)
		}
		_, err = s.Spend(ctx, "bob", chargeFor("f1"))
		ledgertest.WantCode(t, err, "")

		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(failingConfig())
		wantUsed(t, s, 3)
		// A reload changes the limit, not the count.
		more := failingConfig()
		more.Failures = 4
		if err := s.Reconfigure(ctx, more); err != nil {
			t.Fatal(err)
		}
		wantUsed(t, s, 3)
		fails(t, s, "f4")
		wantUsed(t, s, 4)
		if n, err := s.Clear(ctx, "alice"); n != 4 || err != nil {
			t.Errorf("cleared %d, %v, want 4", n, err)
		}
		wantUsed(t, s, 0)
		_, err = s.Spend(ctx, "alice", chargeFor("f1"))
		ledgertest.WantCode(t, err, "")
		if _, err := s.Verify(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestFailuresAndPeriods(t *testing.T) {
	const every = time.Hour
	newPeriods := map[string]func(*testing.T, ledger.Store, *ledgertest.Clock){
		"elapsed": func(_ *testing.T, _ ledger.Store, clock *ledgertest.Clock) { clock.Move(every) },
		"reset": func(t *testing.T, s ledger.Store, _ *ledgertest.Clock) {
			if _, err := s.Reset(context.Background(), "alice"); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, newPeriod := range newPeriods {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
				c, clock, ctx := failingConfig(), ledgertest.NewClock(), context.Background()
				c.Clock, c.Analysts["alice"] = clock.Now, policy.Budget{Epsilon: 10, Every: every}
				s := open(c)
				fails(t, s, "f1", "f2")
				newPeriod(t, s, clock)
				wantUsed(t, s, 0)
				if failed, err := s.Failed(ctx, "alice", "f1"); !failed || err != nil {
					t.Errorf("a new period forgets which statement failed: %v, %v", failed, err)
				}
				fails(t, s, "f3", "f4", "f5")
				newPeriod(t, s, clock)
				wantUsed(t, s, 3) // an administrator has to look
				newPeriod(t, s, clock)
				wantUsed(t, s, 3)
				if _, err := s.Clear(ctx, "alice"); err != nil {
					t.Fatal(err)
				}
				wantUsed(t, s, 0)
				_, err := s.Spend(ctx, "alice", chargeFor("f1"))
				ledgertest.WantCode(t, err, "")
				if _, err := s.Verify(ctx); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestParallelFailuresDoNotPassTheLimit(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		reportFailures(t, open(failingConfig()))
	})
}

func TestTwoProxiesShareTheFailuresLeft(t *testing.T) {
	open := opener(t, postgresDSN(t))
	reportFailures(t, open(failingConfig()), open(failingConfig()))
}

// reportFailures has sessions fail and succeed at the same time on several handles in turn. Exactly as many as the
// policy allows may report a failure to the analyst, and none that ends later may give an answer.
func reportFailures(t *testing.T, on ...ledger.Store) {
	t.Helper()
	var reported atomic.Int64
	var sessions sync.WaitGroup
	ctx := context.Background()
	for i := range 64 {
		sessions.Go(func() {
			s := on[i%len(on)]
			if err := s.Fail(ctx, "alice", fmt.Sprint(i)); err == nil {
				reported.Add(1)
			} else {
				ledgertest.WantCode(t, err, "55000")
				ledgertest.WantCode(t, s.Releasable(ctx, "alice"), "55000")
			}
		})
	}
	sessions.Wait()
	if reported.Load() != 3 {
		t.Errorf("%d sessions reported a failure, want 3", reported.Load())
	}
	for _, s := range on {
		wantUsed(t, s, 3)
	}
	if _, err := on[0].Verify(ctx); err != nil {
		t.Error(err)
	}
}

func TestExportOfFailures(t *testing.T) {
	eachStore(t, func(t *testing.T, open func(ledger.Config) ledger.Store) {
		s, ctx := open(failingConfig()), context.Background()
		fails(t, s, "f1", "f2", "f3")
		if _, err := s.Reset(ctx, "alice"); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.Export(ctx, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range bytes.Lines(out.Bytes()) {
			var e struct {
				Analyst, Kind, Fingerprint string
				Failures                   int
			}
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if e.Analyst == "alice" {
				got = append(got, fmt.Sprint(e.Kind, e.Fingerprint, e.Failures))
			}
		}
		if want := "[period0 failf11 failf22 failf33 period3]"; fmt.Sprint(got) != want {
			t.Errorf("exported %v, want %v", got, want)
		}
	})
}

// TestKilledBetweenFailureAndError: a failure that an analyst has seen is counted, whenever the process ends.
func TestKilledBetweenFailureAndError(t *testing.T) {
	for kind, dsn := range map[string]string{
		"file":     "file:" + filepath.Join(t.TempDir(), "ledger"),
		"postgres": postgresDSN(t),
	} {
		t.Run(kind, func(t *testing.T) {
			random, reported := rand.New(rand.NewPCG(5, 6)), emptyFile(t)
			for i := range 2 * len(crashSteps) {
				step := crashSteps[i%len(crashSteps)]
				crash(t, dsn, reported, step, 1+random.IntN(12), "LEDGER_TEST_FAIL=1")
				c := ledgertest.PureConfig(1e9)
				c.Failures = 1e9
				s, err := stores.Open(context.Background(), dsn, c)
				if err != nil {
					t.Fatal(err)
				}
				accounts, err := s.Show(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Verify(context.Background()); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if counted := accounts[0].FailuresUsed; uint64(sizeOf(t, reported)) > counted {
					t.Fatalf("killed at %s: %d failures reported, %d counted", step, sizeOf(t, reported), counted)
				}
			}
		})
	}
}

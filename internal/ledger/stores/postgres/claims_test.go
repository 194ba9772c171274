package postgres_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
)

// asking is a charge for a question.
func asking(question string) []ledger.Charge {
	c := ledgertest.PureCharge(1)
	c.Question = question
	return []ledger.Charge{c}
}

// wantKept puts an answer and checks which one is kept.
func wantKept(t *testing.T, s *postgres.Store, question, answer, want string) {
	t.Helper()
	kept, err := s.PutAnswer(context.Background(), question, []byte(answer), time.Hour)
	if err != nil || string(kept) != want {
		t.Errorf("kept %q, %v, want %q", kept, err, want)
	}
}

// wantAsked spends for a question, which is somebody else's or not.
func wantAsked(t *testing.T, s *postgres.Store, question string, asked bool) {
	t.Helper()
	_, err := s.Spend(context.Background(), "alice", asking(question))
	if errors.Is(err, ledger.ErrAsked) != asked || err != nil && !asked {
		t.Errorf("%s: %v, want it to be asked: %v", question, err, asked)
	}
}

func TestOneProxyClaimsAQuestion(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	a, b := open(t, dsn, ledgertest.PureConfig(100)), open(t, dsn, ledgertest.PureConfig(100))
	wantAsked(t, a, "q", false)
	wantAsked(t, b, "q", true)
	wantAsked(t, b, "another", false)
	if _, there, err := b.Answer(ctx, "q"); there || err != nil {
		t.Errorf("a claim is an answer: %v", err)
	}
	wantKept(t, a, "q", "1", "1")
	wantAsked(t, b, "q", true) // it has an answer
	if got, there, err := b.Answer(ctx, "q"); !there || string(got) != "1" {
		t.Errorf("answer %q, %v", got, err)
	}
	// Two charges at once for one question, one of them with another: none or all.
	wantAsked(t, a, "r", false)
	if _, err := b.Spend(ctx, "alice", append(asking("r"), asking("s")...)); !errors.Is(err, ledger.ErrAsked) {
		t.Errorf("%v, want %v", err, ledger.ErrAsked)
	}
	wantAsked(t, a, "s", false)
	b.GiveUp("r") // is not b's
	a.GiveUp("r")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if _, err := b.Spend(ctx, "alice", asking("r")); err == nil {
			break
		} else if !errors.Is(err, ledger.ErrAsked) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if balance, err := b.Balance(ctx, "alice"); err != nil || balance.EpsilonSpent != 5 {
		t.Errorf("%+v, %v, want 5 spent", balance, err)
	}
	if _, err := b.Verify(ctx); err != nil {
		t.Error(err)
	}
}

// TestLateAnswerYields: a proxy that was stopped for longer than its claim gets the answer that was stored meanwhile.
// Whoever is late, all get the first.
func TestLateAnswerYields(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	a, b := open(t, dsn, ledgertest.PureConfig(100)), open(t, dsn, ledgertest.PureConfig(100))
	over := func() {
		pgservertest.Exec(t, ledgertest.Superuser(t, dsn),
			`UPDATE dpproxy_ledger.answer SET expires = now() WHERE octet_length(sealed) = 16`)
	}
	wantAsked(t, a, "q", false)
	over()
	wantAsked(t, b, "q", false)
	wantKept(t, b, "q", "b's", "b's")
	wantKept(t, a, "q", "a's", "b's")
	a.GiveUp("q") // there is nothing to give up

	wantAsked(t, a, "r", false)
	over()
	wantAsked(t, b, "r", false)
	wantKept(t, a, "r", "a's", "a's") // under b's claim
	wantKept(t, b, "r", "b's", "a's")
	for _, s := range []*postgres.Store{a, b} {
		if got, _, err := s.Answer(ctx, "r"); string(got) != "a's" {
			t.Errorf("answer %q, %v", got, err)
		}
	}
	if balance, err := b.Balance(ctx, "alice"); err != nil || balance.EpsilonSpent != 4 {
		t.Errorf("%+v, %v, want 4 spent: each answer was paid for", balance, err)
	}
}

// TestOneOfManyProxiesIsCharged has three proxies ask the same questions at once.
func TestOneOfManyProxiesIsCharged(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	var proxies []*postgres.Store
	for range 3 {
		proxies = append(proxies, open(t, dsn, ledgertest.PureConfig(1000)))
	}
	questions := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	var charged atomic.Int64
	var all sync.WaitGroup
	for i := range 72 {
		all.Go(func() {
			_, err := proxies[i%3].Spend(ctx, "alice", asking(questions[i/3%len(questions)]))
			if err == nil {
				charged.Add(1)
			} else if !errors.Is(err, ledger.ErrAsked) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := charged.Load(); n != int64(len(questions)) {
		t.Errorf("%d charges for %d questions", n, len(questions))
	}
	if balance, err := proxies[0].Balance(ctx, "alice"); err != nil || balance.EpsilonSpent != float64(len(questions)) {
		t.Errorf("%+v, %v", balance, err)
	}
}

package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// many has analysts 0 to n−1, with alice.
func many(n int) ledger.Config {
	c := ledgertest.PureConfig(1000)
	for i := range n {
		c.Analysts[fmt.Sprint(i)] = policy.Budget{Epsilon: 1000}
	}
	return c
}

// TestOneAccountHoldsUpNoOther: transactions are shared, and neither a lock on an account nor damage to it is.
func TestOneAccountHoldsUpNoOther(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	s := open(t, dsn, many(4))
	charge := []ledger.Charge{ledgertest.PureCharge(1)}
	for _, who := range []string{"alice", "0", "1", "2"} {
		if _, err := s.Spend(ctx, who, charge); err != nil {
			t.Fatal(err)
		}
	}
	pgservertest.Exec(t, ledgertest.Superuser(t, dsn),
		`UPDATE dpproxy_ledger.account SET state = set_byte(state, 12, get_byte(state, 12) # 1) WHERE name = '2'`)
	conn, err := pgx.Connect(ctx, ledgertest.Superuser(t, dsn))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `BEGIN; SELECT FROM dpproxy_ledger.account WHERE name = 'alice' FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	held := make(chan error, 1)
	go func() {
		_, err := s.Spend(ctx, "alice", charge)
		held <- err
	}()
	for range 3 {
		var all sync.WaitGroup
		for _, who := range []string{"0", "1", "2", "3"} { // 3 has no account yet
			all.Go(func() {
				_, err := s.Spend(ctx, who, charge)
				if damaged := who == "2"; damaged != (err != nil) {
					t.Errorf("%s: %v", who, err)
				}
			})
		}
		all.Wait()
	}
	if _, err := conn.Exec(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-held; err != nil { // on a slow machine the others took longer than it waits
		ledgertest.WantCode(t, err, "58030")
	}
	for who, want := range map[string]float64{"0": 4, "1": 4, "3": 3} {
		if b, err := s.Balance(ctx, who); err != nil || b.EpsilonSpent != want {
			t.Errorf("%s: %+v, %v, want %g spent", who, b, err, want)
		}
	}
}

// TestSharedTransactionsOfManyProxies has three proxies charge twelve analysts at once, whose budgets and whose common
// budget hold less than they ask for.
func TestSharedTransactionsOfManyProxies(t *testing.T) {
	dsn, ctx := newLedger(t), context.Background()
	c := many(12)
	c.Analysts["0"] = policy.Budget{Epsilon: 5}
	c.Group = &policy.Budget{Epsilon: 200}
	var admitted sync.Map
	var all sync.WaitGroup
	for range 3 {
		s := open(t, dsn, c)
		for session := range 24 {
			all.Go(func() {
				for range 4 {
					who := fmt.Sprint(session % 12)
					if _, err := s.Spend(ctx, who, []ledger.Charge{ledgertest.PureCharge(1)}); err != nil {
						ledgertest.WantCode(t, err, "53400")
						return
					}
					n, _ := admitted.LoadOrStore(who, new(counter))
					n.(*counter).add()
				}
			})
		}
	}
	all.Wait()
	s, sum := open(t, dsn, c), 0
	for i := range 12 {
		who, n := fmt.Sprint(i), 0
		if counted, ok := admitted.Load(who); ok {
			n = counted.(*counter).n
		}
		sum += n
		if b, err := s.Balance(ctx, who); err != nil || b.EpsilonSpent != float64(n) {
			t.Errorf("%s: %+v, %v, want %d spent", who, b, err, n)
		}
		if i == 0 && n != 5 && sum != 200 {
			t.Errorf("%s was charged %d times", who, n)
		}
	}
	if sum != 200 {
		t.Errorf("%d charges of all together, want 200", sum)
	}
	if _, err := s.Verify(ctx); err != nil {
		t.Error(err)
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

package stores_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/pgserver/pgservertest"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// sessions at the same time.
var benchSessions = []int{1, 8, 64}

// parallel runs b.N operations in a fixed number of sessions and reports operations per second.
func parallel(b *testing.B, sessions int, operation func(session int) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for session := range sessions {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := operation(session); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
}

// BenchmarkBare appends a record of benchCharge to a file and syncs it: what no ledger can do faster with one session.
func BenchmarkBare(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	record := make([]byte, 64+8*len(mechanism.Orders))
	parallel(b, 1, func(int) error {
		if _, err := f.Write(record); err != nil {
			return err
		}
		return f.Sync()
	})
}

func BenchmarkFile(b *testing.B) {
	for _, sessions := range benchSessions {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			benchSpend(b, "file:"+filepath.Join(b.TempDir(), "ledger"), sessions, "alice")
		})
	}
}

// BenchmarkTables charges on a server that syncs: all sessions as one analyst, and each as one of eight.
func BenchmarkTables(b *testing.B) {
	s, err := pgserver.Start(context.Background(), pgserver.Options{Durable: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Stop()
	dsn := s.DSN("postgres", pgserver.Superuser)
	pgservertest.Exec(b, dsn, "CREATE ROLE proxy LOGIN")
	for _, analysts := range []int{1, 8} {
		for _, sessions := range benchSessions {
			b.Run(fmt.Sprintf("analysts=%d/sessions=%d", analysts, sessions), func(b *testing.B) {
				pgservertest.Exec(b, dsn, postgres.SetupSQL("proxy"))
				var names []string
				for i := range analysts {
					names = append(names, fmt.Sprintf("analyst%d", i))
				}
				benchSpend(b, dsn, sessions, names...)
			})
		}
	}
}

// benchCharge has a curve with every order.
func benchCharge() ledger.Charge {
	c := ledgertest.PureCharge(0.1)
	c.Curve = mechanism.PureCurve(c.Epsilon)
	return c
}

func benchSpend(b *testing.B, dsn string, sessions int, analysts ...string) {
	config, ctx := ledgertest.PureConfig(1e12), context.Background()
	for _, name := range analysts {
		config.Analysts[name] = policy.Budget{Epsilon: 1e12}
	}
	s, err := stores.Open(ctx, dsn, config)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	charge := benchCharge()
	parallel(b, sessions, func(session int) error {
		_, err := s.Spend(ctx, analysts[session%len(analysts)], []ledger.Charge{charge})
		return err
	})
}

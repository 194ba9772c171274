package stores_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

var year = flag.Int("year", 100_000, "how many charges the benchmarks of a year put into a ledger")

// years are what a year's statements may look like: a dashboard's, the same again and again, or each with a text and a
// curve of its own.
var years = []struct {
	name     string
	analysts int
	query    int // length of its text
	differ   bool
}{
	{"same", 1, 110, false},
	{"analysts=1000", 1000, 110, false},
	{"differ", 1, 300, true},
}

// fill charges a year's statements as fast as it goes: a thousand to a transaction.
func fill(b *testing.B, s ledger.Store, analysts, query int, differ bool) {
	b.Helper()
	const together = 1000
	batch := make([]ledger.Charge, together)
	charge := benchCharge()
	charge.Policy = strings.Repeat("v", 16)
	for n := 0; n < *year; n += together {
		for i := range batch {
			if differ {
				charge.Curve = mechanism.LaplaceCurve(0.1 + 1e-7*float64(n+i))
			}
			charge.Query, charge.Fingerprint = strings.Repeat("q", query-8)+fmt.Sprintf("%08d", n+i), fmt.Sprintf("%064d", n+i)
			batch[i] = charge
		}
		if _, err := s.Spend(context.Background(), fmt.Sprintf("analyst%d", n/together%analysts), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// yearConfig has as many analysts.
func yearConfig(analysts int) ledger.Config {
	config := ledgertest.PureConfig(1e12)
	config.Method = policy.RDP
	config.Analysts = map[string]policy.Budget{}
	for i := range analysts {
		config.Analysts[fmt.Sprintf("analyst%d", i)] = policy.Budget{Epsilon: 1e12, Delta: 1e-6}
	}
	return config
}

// BenchmarkYearFile says what a year's charges take of a file, how long it takes to open it, and to verify it.
func BenchmarkYearFile(b *testing.B) {
	benchYears(b, func() (string, func() float64) {
		path := filepath.Join(b.TempDir(), "ledger")
		return "file:" + path, func() float64 {
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			return float64(info.Size())
		}
	})
}

// BenchmarkYearTables says the same of a ledger in PostgreSQL.
func BenchmarkYearTables(b *testing.B) {
	benchYears(b, func() (string, func() float64) {
		dsn := postgresDSN(b)
		return dsn, func() (size float64) {
			conn, err := pgx.Connect(b.Context(), ledgertest.Superuser(b, dsn))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(b.Context())
			if err := conn.QueryRow(b.Context(), `SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
				WHERE relkind = 'r' AND relnamespace = 'dpproxy_ledger'::regnamespace`).Scan(&size); err != nil {
				b.Fatal(err)
			}
			return size
		}
	})
}

// benchYears opens and verifies ledgers with a year's charges. fresh returns a new ledger's DSN, and what says its size
// in bytes.
func benchYears(b *testing.B, fresh func() (dsn string, size func() float64)) {
	for _, y := range years {
		b.Run(y.name, func(b *testing.B) {
			dsn, size := fresh()
			config := yearConfig(y.analysts)
			s, err := stores.Open(b.Context(), dsn, config)
			if err != nil {
				b.Fatal(err)
			}
			fill(b, s, y.analysts, y.query, y.differ)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.Run("open", func(b *testing.B) {
				benchOpen(b, dsn, config)
				b.ReportMetric(size()/float64(*year), "B/charge")
			})
			b.Run("verify", func(b *testing.B) { benchVerify(b, dsn, config) })
		})
	}
}

// benchOpen opens a ledger. On a machine that is busy with other things, the processor's time says more than the
// clock's.
func benchOpen(b *testing.B, dsn string, config ledger.Config) {
	var worked time.Duration
	for b.Loop() {
		before := processor(b)
		s, err := stores.Open(b.Context(), dsn, config)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		worked += processor(b) - before
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(worked.Seconds()/float64(b.N), "cpu-s/op")
}

// processor is the time that the process has had of the processors.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func benchVerify(b *testing.B, dsn string, config ledger.Config) {
	s, err := stores.Open(b.Context(), dsn, config)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	records, before := uint64(0), processor(b)
	for b.Loop() {
		r, err := s.Verify(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		records += r.Records
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
	b.ReportMetric(1e6*(processor(b)-before).Seconds()/float64(records), "cpu-µs/record")
}

package accounting

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// BenchmarkAppendFsync is the floor of every store: it appends one record to a file and syncs it.
func BenchmarkAppendFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	payload := (&Record{Kind: KindCharge, Curve: mechanism.PureCurve(0.1)}).encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Write(payload); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "charges/s")
}

// BenchmarkFilter is the decision alone: a charge added to sums, and the budget asked.
func BenchmarkFilter(b *testing.B) {
	f := newFilter(policy.Budget{Epsilon: 10, Delta: 1e-6}, policy.RDP, 0.5)
	charge := ledger.Charge{Epsilon: 0.1, Curve: mechanism.PureCurve(0.1)}
	var total sums
	b.ReportAllocs()
	for b.Loop() {
		c, err := cost(charge, policy.RDP)
		if err != nil {
			b.Fatal(err)
		}
		total = total.add(c)
		f.admits(total)
	}
}

package bolt

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/ledgertest"
)

// TestFileStaysSoundUnderChurn grows, shrinks and splits pages of every kind, and lets the check of the pages look at
// each state that bbolt leaves behind: it must not take a sound file for a damaged one.
func TestFileStaysSoundUnderChurn(t *testing.T) {
	random, clock := rand.New(rand.NewPCG(5, 6)), ledgertest.NewClock()
	path, ctx := filepath.Join(t.TempDir(), "ledger"), context.Background()
	config := ledgertest.PureConfig(1e9)
	config.Clock = clock.Now
	for i := range 40 {
		config.Analysts[fmt.Sprint("analyst", i)] = config.Analysts["alice"]
	}
	charges, kept := 0, map[string]int{}
	for range 60 {
		s, err := Open(path, config)
		if err != nil {
			t.Fatal(err)
		}
		for key, size := range kept {
			if a, ok, err := s.Answer(ctx, key); err != nil || ok && len(a) != size {
				t.Errorf("answer %s: %d bytes, %v, want %d", key, len(a), err, size)
			}
		}
		for range random.IntN(200) {
			key, size := fmt.Sprint("key", random.IntN(3000)), random.IntN(1<<random.IntN(16))
			first, err := s.PutAnswer(ctx, key, make([]byte, size), time.Duration(1+random.IntN(100))*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			kept[key] = len(first)
		}
		clock.Move(time.Duration(random.IntN(40)) * time.Hour)
		for range random.IntN(20) {
			c := ledgertest.PureCharge(1)
			c.Query = strings.Repeat("q", random.IntN(1<<random.IntN(16)))
			if _, err := s.Spend(ctx, fmt.Sprint("analyst", random.IntN(40)), []ledger.Charge{c}); err != nil {
				t.Fatal(err)
			}
			charges++
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := openTest(t, path, config)
	accounts, err := s.Show(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, a := range accounts {
		sum += *a.EpsilonSpent
	}
	if sum != float64(charges) {
		t.Errorf("%v charged, want %d", sum, charges)
	}
}

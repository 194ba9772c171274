package scale

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/ledger/stores"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// statement is the length of a statement's text, in bytes: that of a dashboard's.
const statement = 300

// sample is how many charges or answers a size is taken from.
const sample = 20_000

// chargeBytes writes charges to a ledger in a file and returns by how many bytes each lets it grow. curve is that of
// the i-th.
func chargeBytes(ctx context.Context, method policy.Method, curve func(i int) mechanism.Curve) (float64, error) {
	return growth(ctx, method, func(l ledger.Ledger) error {
		batch := make([]ledger.Charge, sample)
		for i := range batch {
			batch[i] = ledger.Charge{
				Query: strings.Repeat("q", statement), Fingerprint: strings.Repeat("f", 64), Policy: strings.Repeat("v", 16),
				Epsilon: 0.1, Curve: curve(i),
			}
		}
		_, err := l.Spend(ctx, "alice", batch)
		return err
	})
}

// answerBytes keeps answers of a number of released integers and returns what each takes.
func answerBytes(ctx context.Context, integers int) (float64, error) {
	return growth(ctx, policy.Pure, func(l ledger.Ledger) error {
		for i := range sample {
			// As the engine keeps them: decimal, here of six digits.
			answer := []byte(`[{"Values":[[` + strings.TrimSuffix(strings.Repeat("123456,", integers), ",") + `]]}]`)
			if _, err := l.PutAnswer(ctx, fmt.Sprint(i), answer, 24*time.Hour); err != nil {
				return err
			}
		}
		return nil
	})
}

// growth returns by how much a new ledger's file grows for each of sample things that are put into it.
func growth(ctx context.Context, method policy.Method, put func(ledger.Ledger) error) (_ float64, err error) {
	dir, err := os.MkdirTemp("", "dpproxy-scale-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ledger")
	l, err := stores.Open(ctx, "file:"+path, ledger.Config{
		Method: method, Analysts: map[string]policy.Budget{"alice": {Epsilon: 1e9, Delta: 1e-6}}, Failures: 5,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, err
	}
	if err := put(l); err != nil {
		l.Close()
		return 0, err
	}
	if err := l.Close(); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / sample, nil
}

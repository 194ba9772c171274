package engine

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/dpproxy/dpproxy/internal/ledger"
)

const (
	secretKey  = "group selection" // no answer's key: those are hex
	secretLife = 100 * 365 * 24 * time.Hour
)

// groupSecret returns the key of the hash that chooses a unit's groups (docs/privacy.md P11). The ledger keeps it, so that a
// restarted proxy, or another one on the same ledger, chooses the same. No privacy rests on it.
func groupSecret(ctx context.Context, l ledger.Ledger) (string, error) {
	stored, found, err := l.Answer(ctx, secretKey)
	if err != nil || found {
		return string(stored), err
	}
	fresh := rand.Text()
	stored, err = l.PutAnswer(ctx, secretKey, []byte(fresh), secretLife) // of another proxy, if that was first
	return string(stored), err
}

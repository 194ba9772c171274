package backend

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Backend holds the pools of one policy. It is safe for concurrent use.
type Backend struct {
	policy *policy.Policy
	path   string // search_path on shadow and public
	main   *pool  // for measures
	check  *pool  // main as well, for what is free: that must not wait for a measure
	shadow *pool
	public *pool // nil: no public table
	twin   *pool // nil: no synthetic rows
	types  atomic.Pointer[introspect.TypeNumbers]
	used   sync.RWMutex // who uses the pools reads; Drain writes

	pinSets *lru.Cache[pinsKey, *pinSet]
}

// checkConns is the size of the pool check: parse analysis and reading catalogs take milliseconds.
const checkConns = 2

// Open connects to every database that the policy needs. The error says which one failed and what to do. Where a
// database does not answer later, clients get a fixed text and log gets the reason.
func Open(ctx context.Context, p *policy.Policy, log *slog.Logger) (*Backend, error) {
	pinSets, err := lru.New[pinsKey, *pinSet](keptPins)
	if err != nil {
		return nil, err
	}
	b := &Backend{policy: p, path: searchPath(p), pinSets: pinSets}
	open := []struct {
		key   string
		dsn   string
		limit int
		pool  **pool
	}{
		{"main", p.Databases.Main, p.Pool.Main, &b.main},
		{"main", p.Databases.Main, checkConns, &b.check},
		{"shadow", p.Databases.Shadow, p.Pool.Shadow, &b.shadow},
		{"public", p.Databases.Public, p.Pool.Public, &b.public},
		{"synthetic", p.Databases.Synthetic, p.Pool.Public, &b.twin},
	}
	for _, o := range open {
		if o.key == "public" && !p.HasPublicTable() || o.key == "synthetic" && p.Synthetic == nil {
			continue
		}
		if o.dsn == "" {
			b.Close()
			return nil, p.MissingDSN(o.key)
		}
		opened, err := openPool(ctx, o.key, o.dsn, o.limit, p.Pool.Wait, log)
		if err != nil {
			b.Close()
			return nil, err
		}
		*o.pool = opened
	}
	if err := b.checkVersion(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Use keeps the pools open until Leave. It says false once they are to be closed.
func (b *Backend) Use() bool { return b.used.TryRLock() }

// Leave ends one Use.
func (b *Backend) Leave() { b.used.RUnlock() }

// Drain closes what no statement is using, and each other connection as soon as its statement has ended. It waits for
// those that Use the pools, and lets nobody in any more.
func (b *Backend) Drain() {
	for _, p := range b.pools() {
		p.pool.Reset()
	}
	b.used.Lock()
}

// pools are those that are open.
func (b *Backend) pools() (list []*pool) {
	for _, p := range []*pool{b.main, b.check, b.shadow, b.public, b.twin} {
		if p != nil {
			list = append(list, p)
		}
	}
	return list
}

// Close ends every connection. It waits for statements in flight.
func (b *Backend) Close() {
	for _, p := range b.pools() {
		p.pool.Close()
	}
}

// Ping asks every database for a sign of life: for /readyz.
func (b *Backend) Ping(ctx context.Context) error {
	for _, p := range []*pool{b.main, b.shadow, b.public, b.twin} {
		if p == nil {
			continue
		}
		if err := p.pool.Ping(ctx); err != nil {
			return fmt.Errorf("databases.%s: %w", p.name, err)
		}
	}
	return nil
}

// Stats returns the pools' counters by name ("main", "check", "shadow", "public", "synthetic"): for metrics.
func (b *Backend) Stats() map[string]*pgxpool.Stat {
	stats := make(map[string]*pgxpool.Stat, 5)
	for name, p := range map[string]*pool{
		"main": b.main, "check": b.check, "shadow": b.shadow, "public": b.public, "synthetic": b.twin,
	} {
		if p != nil {
			stats[name] = p.pool.Stat()
		}
	}
	return stats
}

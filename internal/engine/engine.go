package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/mechanism"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/rewrite/command"
	"github.com/dpproxy/dpproxy/internal/session"
)

// planCacheSize is the number of analysed statements kept. An analysis takes some 10–100 kB.
const planCacheSize = 1024

// Engine implements session.Engine over one ledger and, at any time, one policy.
type Engine struct {
	ledger  Ledger
	metrics Metrics
	log     *slog.Logger
	state   atomic.Pointer[state]
	flights flights
}

// Ledger is what an engine needs of the budget. Preview is for EXPLAIN alone.
type Ledger interface {
	ledger.Ledger
	ledger.Previewer
}

// Metrics is what an engine counts. Labels never hold SQL or values.
type Metrics interface {
	// Statement counts a statement by verdict: "shadow", "public", "private", "cached", "explain", or one that analysis "refused".
	Statement(verdict string)
	// Stage observes how long one stage took: "analyse", "plan", "charge", "measure", "draw", "finish".
	Stage(stage string, d time.Duration)
	// Charged adds to the ε that statements were charged.
	Charged(epsilon float64)
}

// state is everything that a policy reload replaces.
type state struct {
	policy  *policy.Policy
	schema  *rewrite.Schema
	backend *backend.Backend
	plans   *lru.Cache[planKey, *analysed]
	lookups *lookups
	shares  map[rewrite.Route]*shares // of the pool that serves the route; RoutePrivate: main's
	info    session.Info
	secret  string // of the group selection's keyed hash (PRIVACY 9)
	version int    // main's server_version_num
}

// New returns an engine that answers under p. The backend and the ledger stay the caller's to close.
func New(ctx context.Context, p *policy.Policy, b *backend.Backend, l Ledger, m Metrics, log *slog.Logger) (*Engine, error) {
	e := &Engine{ledger: l, metrics: m, log: log}
	return e, e.Load(ctx, p, b)
}

// Load replaces policy and backend. Statements that are running keep the old ones. On an error nothing has changed.
func (e *Engine) Load(ctx context.Context, p *policy.Policy, b *backend.Backend) error {
	schema, err := b.Schema(ctx)
	if err != nil {
		return err
	}
	secret, err := groupSecret(ctx, e.ledger)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	parameters, err := b.ServerParameters(ctx)
	if err != nil {
		return err
	}
	main, err := pgconn.ParseConfig(p.Databases.Main)
	if err != nil {
		return fmt.Errorf("databases.main: %w", err)
	}
	plans, err := lru.New[planKey, *analysed](planCacheSize)
	if err != nil {
		return err
	}
	e.state.Store(&state{
		policy: p, schema: schema, backend: b, plans: plans, lookups: newLookups(),
		shares: map[rewrite.Route]*shares{
			rewrite.RoutePrivate: newShares(p.Pool.Main, p.Pool.Wait),
			rewrite.RouteShadow:  newShares(p.Pool.Shadow, p.Pool.Wait),
			rewrite.RoutePublic:  newShares(p.Pool.Public, p.Pool.Wait),
		},
		secret: secret, version: b.Version(),
		info: session.Info{Parameters: parameters, Database: main.Database, Epsilon: p.Defaults.Epsilon, EpsilonMax: p.Defaults.EpsilonMax},
	})
	return nil
}

// reread replaces a schema that main no longer bears out: an index that a plan rests on is gone. Plans made of it go too.
func (e *Engine) reread(ctx context.Context, old *state) {
	schema, err := old.backend.Schema(ctx)
	if err != nil {
		e.log.Error("main's catalogs could not be read again", "error", err.Error())
		return
	}
	fresh := *old
	fresh.schema = schema
	if fresh.plans, err = lru.New[planKey, *analysed](planCacheSize); err == nil && e.state.CompareAndSwap(old, &fresh) {
		e.log.Warn("main does not bear out what plans rested on; its catalogs were read again")
	}
}

// Parse splits a text into statements and says which of them the session answers itself.
func (e *Engine) Parse(sql string) ([]session.Statement, error) {
	parsed, err := rewrite.Parse(sql, e.state.Load().policy.Limits.SQLBytes)
	if err != nil {
		return nil, err
	}
	statements := make([]session.Statement, len(parsed))
	for i, st := range parsed {
		statements[i] = session.Statement{SQL: st.SQL, Offset: st.Offset, Command: commandOf(st), Tree: st}
	}
	return statements, nil
}

// CheckSetting has the shadow judge a TimeZone or DateStyle.
func (e *Engine) CheckSetting(ctx context.Context, name, value string) (string, error) {
	return e.state.Load().backend.CheckSetting(ctx, name, value)
}

// Info is what new sessions report.
func (e *Engine) Info(context.Context) (session.Info, error) { return e.state.Load().info, nil }

// sources hands out generators: each is used by one statement at a time.
var sources = sync.Pool{New: func() any { return mechanism.NewSource() }}

// errRemoved means that a policy reload removed the analyst of an open session.
func errRemoved() error {
	return pgerr.New(pgerr.InvalidAuthorization, "analyst is no longer in the policy", pgerr.Fatal())
}

// commandOf is what the session answers itself; nil for the engine's own statements.
func commandOf(st *rewrite.Statement) command.Command {
	if c, ok := command.Of(st.Node, st.SQL); ok {
		return c
	}
	return nil
}

package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/ledger"
	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite"
	"github.com/dpproxy/dpproxy/internal/session"
)

// Of analysed statements the last analysisCacheSize are kept, of long ones fewer: some analysisBytes together.
const analysisCacheSize, analysisBytes = 1024, 64 << 20

// Engine implements session.Engine over one ledger and, at any time, one policy.
type Engine struct {
	ledger   Ledger
	metrics  Metrics
	log      *slog.Logger
	state    atomic.Pointer[state]
	withheld atomic.Bool // public tables are (Withhold)
	removed  atomic.Bool // the policy has no such database any more
	analyses atomic.Int64
	kept     keptStatements
	releaser releaser // charges and measures, except where the answer is known
}

// releaser charges statements over private rows, and releases their answers. direct does both for each statement that
// it is given (charge.go, measure.go); answerCache around it spares those whose answer is known (answercache.go);
// inTables around that has tables asked in the place of their slices (workload.go).
type releaser interface {
	charge(ctx context.Context, scope session.Scope, p *private) error
	measure(ctx context.Context, p *private) ([]released, error)
}

// Ledger charges budgets and keeps answers. Only EXPLAIN previews.
type Ledger interface {
	ledger.Ledger
	ledger.Previewer
}

// Metrics counts statements and times their stages. Labels never hold SQL or values.
type Metrics interface {
	// Statement counts a statement by verdict: "shadow", "public", "synthetic", "private", "cached", "explain", or one
	// that analysis "refused".
	Statement(verdict string)
	// Stage observes how long one stage took: "analyse", "plan", "charge", "measure", "draw", "finish".
	Stage(stage string, d time.Duration)
	// Charged adds to the ε that statements were charged.
	Charged(epsilon, share float64) // nominal, and of the analyst's budget
	// Uncertified counts a query for main that is not certified.
	Uncertified()
}

// state holds everything that a policy reload replaces.
type state struct {
	policy    *policy.Policy
	schema    *rewrite.Schema
	databases databases
	texts     *lru.Cache[string, []session.Statement]
	analyses  *lists[analysisKey, *analysed]
	lookups   *lookups
	quotas    map[rewrite.Route]*quota   // of the pool that serves the route; RoutePrivate: main's
	budgets   map[string]statementBudget // by budgetKey, without the ε of a statement
	info      session.Info
	secret    string // key of the hash that chooses a unit's groups (docs/privacy.md P11)
}

// New returns an engine that answers under p. The backend and the ledger stay the caller's to close.
func New(ctx context.Context, p *policy.Policy, b *backend.Backend, l Ledger, m Metrics, log *slog.Logger) (
	*Engine, error,
) {
	e := newEngine(l, m, log)
	return e, e.load(ctx, p, connections{b})
}

func newEngine(l Ledger, m Metrics, log *slog.Logger) *Engine {
	e := &Engine{ledger: l, metrics: m, log: log, kept: newKeptStatements()}
	e.releaser = inTables{&answerCache{releaser: direct{e}, ledger: l, log: log}}
	return e
}

// Load reads what another policy of the database, and its backend, need. Nothing has changed until use is called, which
// replaces the old ones; statements that are running keep them.
func (e *Engine) Load(ctx context.Context, p *policy.Policy, b *backend.Backend) (use func(), err error) {
	fresh, err := e.read(ctx, p, connections{b})
	return func() { e.state.Store(fresh) }, err
}

func (e *Engine) load(ctx context.Context, p *policy.Policy, d databases) error {
	fresh, err := e.read(ctx, p, d)
	if err == nil {
		e.state.Store(fresh)
	}
	return err
}

func (e *Engine) read(ctx context.Context, p *policy.Policy, d databases) (*state, error) {
	secret, err := groupSecret(ctx, e.ledger)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	parameters, err := d.ServerParameters(ctx)
	if err != nil {
		return nil, err
	}
	name := p.Name
	if name == "" {
		main, err := pgconn.ParseConfig(p.Databases.Main)
		if err != nil {
			return nil, fmt.Errorf("databases.main: %w", err)
		}
		name = main.Database
	}
	schema, err := readSchema(ctx, d, name)
	if err != nil {
		return nil, err
	}
	texts, err := lru.New[string, []session.Statement](parsedTexts)
	if err != nil {
		return nil, err
	}
	return &state{
		policy: p, schema: schema, databases: d, texts: texts, analyses: newAnalyses(), lookups: newLookups(), secret: secret,
		budgets: statementBudgets(p),
		quotas: map[rewrite.Route]*quota{
			rewrite.RoutePrivate:   newQuota(p.Pool.Main, p.Pool.Wait),
			rewrite.RouteShadow:    newQuota(p.Pool.Shadow, p.Pool.Wait),
			rewrite.RoutePublic:    newQuota(p.Pool.Public, p.Pool.Wait),
			rewrite.RouteSynthetic: newQuota(p.Pool.Public, p.Pool.Wait),
		},
		info: session.Info{
			Parameters: parameters, Database: name, Epsilon: p.Defaults.Epsilon,
			EpsilonMax: p.Defaults.EpsilonMax, EmptyGroups: p.Defaults.EmptyGroups, Intervals: p.Defaults.Intervals,
			Rows: p.RowsOf,
		},
	}, nil
}

// readSchema reads the catalogs of the database that clients know by a name.
func readSchema(ctx context.Context, d databases, name string) (*rewrite.Schema, error) {
	schema, err := d.Schema(ctx)
	if err != nil {
		return nil, err
	}
	schema.Databases = append([]string{name}, schema.Policy.Beside...)
	return schema, nil
}

// Refresh compares main and shadow with the schema that statements are planned by, and reads it again if they have
// changed in a way that the policy allows: an analyst need not run into it. An error says how they do not fit the
// policy, or that one did not answer; then the old schema stays, and statements over what has changed are refused
// before the charge.
func (e *Engine) Refresh(ctx context.Context) error {
	s := e.state.Load()
	fits, err := s.databases.Fits(ctx, s.schema)
	if err == nil && !fits {
		e.reread(ctx, s)
	}
	return err
}

// reread replaces the schema after main has changed: an index that a plan rests on is gone, for example. It drops all
// analyses.
func (e *Engine) reread(ctx context.Context, old *state) {
	schema, err := readSchema(ctx, old.databases, old.info.Database)
	if err != nil {
		e.log.Error("main's catalogs could not be read again", "error", old.policy.Locate(err).Error())
		return
	}
	fresh := *old
	fresh.schema, fresh.lookups, fresh.analyses = schema, newLookups(), newAnalyses() // public rows are read again, too
	if e.state.CompareAndSwap(old, &fresh) {
		e.log.Warn("main has changed; its catalogs were read again")
	}
}

// enter gives the state in force. Its connections stay open until Leave, whatever is loaded meanwhile.
func (e *Engine) enter() (*state, error) {
	for {
		s := e.state.Load()
		if s.databases.Use() {
			return s, nil
		}
		if e.removed.Load() || e.state.Load().databases == s.databases { // no other will come
			return nil, e.gone(s)
		}
	}
}

// gone refuses the statements of a database whose connections are closed.
func (e *Engine) gone(s *state) error {
	if e.removed.Load() {
		return pgerr.New(pgerr.InvalidCatalogName, fmt.Sprintf("database %q is no longer in the policy", s.info.Database),
			pgerr.Fatal())
	}
	return pgerr.New(pgerr.AdminShutdown, "terminating connection due to administrator command", pgerr.Fatal())
}

// CheckSetting has the shadow judge a TimeZone or DateStyle.
func (e *Engine) CheckSetting(ctx context.Context, name, value string) (string, error) {
	s, err := e.enter()
	if err != nil {
		return "", err
	}
	defer s.databases.Leave()
	return s.databases.CheckSetting(ctx, name, value)
}

// Info implements session.Engine.
func (e *Engine) Info(context.Context) (session.Info, error) { return e.state.Load().info, nil }

// Remove ends the sessions of a database that the policy has no more, each at its next statement.
func (e *Engine) Remove() { e.removed.Store(true) }

// knows refuses the statements of a session whose analyst, or whose database, a policy reload has removed.
func (e *Engine) knows(s *state, analyst string) error {
	switch {
	case e.removed.Load():
		return e.gone(s)
	case !s.policy.Knows(analyst):
		return pgerr.New(pgerr.InvalidAuthorization, "analyst is no longer in the policy", pgerr.Fatal())
	}
	return nil
}

const (
	secretKey  = "group selection" // no answer's key: those are hex
	secretLife = 100 * 365 * 24 * time.Hour
)

// groupSecret returns the key of the hash that chooses a unit's groups (docs/privacy.md P11). The ledger keeps it, so
// that a restarted proxy, or another one on the same ledger, chooses the same. No privacy rests on it.
func groupSecret(ctx context.Context, l ledger.Ledger) (string, error) {
	stored, found, err := l.Answer(ctx, secretKey)
	if err != nil || found {
		return string(stored), err
	}
	fresh := rand.Text()
	stored, err = l.PutAnswer(ctx, secretKey, []byte(fresh), secretLife) // of another proxy, if that was first
	return string(stored), err
}

// Withhold has nothing be read as public, or what was withheld be read again: it is not certain any more that the rows
// are nobody's, as where a public table leads to people now (docs/privacy.md P30). What was read before is forgotten.
func (e *Engine) Withhold(public bool) {
	if e.withheld.Swap(public) == public || !public {
		return
	}
	for {
		old := e.state.Load()
		fresh := *old
		fresh.lookups = newLookups()
		if e.state.CompareAndSwap(old, &fresh) {
			return
		}
	}
}

// mayRead refuses to read public rows while they are withheld, and the twin, which has copies of them.
func (e *Engine) mayRead(on rewrite.Route) error {
	if on == rewrite.RouteShadow || !e.withheld.Load() {
		return nil
	}
	return refusal.New(refusal.Database, "public tables are withheld: the main database has changed",
		pgerr.Hint("Nothing was charged. Ask again later, or tell the administrator: the proxy's log says what has changed."))
}

package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/demo"
	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/internal/verifier"
	"github.com/dpproxy/dpproxy/policies"
)

var (
	//go:embed people.yaml
	peoplePolicy string
	//go:embed staff.yaml
	staffPolicy string
	//go:embed staff.sql
	staffSQL string
)

const password = "accuracy"

// Names of proxies. Each has a policy of its own; all but the first two share the people.
const (
	clinic = "clinic" // the demo's data and policy
	staff  = "staff"  // a firm's staff
	pure   = "pure"   // method: pure, ε 1, a budget without end
	renyi  = "renyi"  // method: rdp, ε 0.5, budgets of (20, 1e-6)
	kept   = "kept"   // as renyi, and answers are kept
)

const (
	statementEpsilon = 0.5 // of clinic and renyi
	budgetEpsilon    = 20.0
	budgetDelta      = 1e-6
	// analysts share the questions of clinic and renyi, as one's budget is soon spent.
	analysts = 1000
	// marginAnalyst has a budget of (10, 1e-6).
	marginAnalyst = "margins"
)

// world is a throw-away PostgreSQL with the data, and proxies in front of it.
type world struct {
	postgres *pgserver.Server
	verifier string
	proxies  map[string]*server.Server
	policies map[string]*policy.Policy

	mutex sync.Mutex
	asked map[string]int // analysts of each proxy who have asked
}

// start makes the server and the data.
func start(ctx context.Context) (_ *world, err error) {
	w := &world{proxies: map[string]*server.Server{}, policies: map[string]*policy.Policy{}, asked: map[string]int{}}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	if w.verifier, err = verifier.New(password); err != nil {
		return nil, err
	}
	settings := map[string]string{
		"shared_buffers": "512MB", "work_mem": "256MB", "jit": "off",
		"max_parallel_workers_per_gather": "0", "max_connections": "200",
	}
	if w.postgres, err = pgserver.Start(ctx, pgserver.Options{Settings: settings}); err != nil {
		return nil, err
	}
	for _, db := range []string{"clinic", "staff", "people"} {
		if err := w.admin(ctx, "postgres", func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "CREATE DATABASE "+db)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if err := demo.Load(ctx, w.postgres.DSN("clinic", pgserver.Superuser), demo.Patients); err != nil {
		return nil, err
	}
	if err := w.admin(ctx, "staff", func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, staffSQL)
		return err
	}); err != nil {
		return nil, err
	}
	return w, w.admin(ctx, "people", func(conn *pgx.Conn) error { return loadPeople(ctx, conn) })
}

func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, p := range w.proxies {
		_ = p.Shutdown(ctx) // nobody asks any more
	}
	if w.postgres != nil {
		w.postgres.Stop()
	}
}

// admin calls f with a connection of the superuser.
func (w *world) admin(ctx context.Context, db string, f func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, w.postgres.DSN(db, pgserver.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return f(conn)
}

// database is the one that a proxy is in front of.
func database(proxy string) string {
	if proxy == clinic || proxy == staff {
		return proxy
	}
	return "people"
}

// proxy starts a proxy, unless it runs already.
func (w *world) proxy(ctx context.Context, name string) (*server.Server, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if p := w.proxies[name]; p != nil {
		return p, nil
	}
	p, err := w.policy(name)
	if err != nil {
		return nil, err
	}
	if err := provision.Setup(ctx, p, io.Discard); err != nil {
		return nil, fmt.Errorf("setup of %s: %w", name, err)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := server.Start(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", name, err)
	}
	w.proxies[name], w.policies[name] = s, p
	return s, nil
}

// policy writes a policy and reads it. What it says of tables and of ε is as it was written; that every answer is drawn
// anew, unless the proxy keeps them, and leaves at once, and that many analysts ask, is set here.
func (w *world) policy(name string) (*policy.Policy, error) {
	db := database(name)
	dir := filepath.Join(w.postgres.Folder(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	text := policies.Clinic
	switch name {
	case clinic:
	case staff:
		text = strings.Replace(staffPolicy, "@VERIFIER@", w.verifier, 1)
	default:
		accounting, epsilon := "{method: rdp, delta: 1e-6}", fmt.Sprint(statementEpsilon)
		if name == pure {
			accounting, epsilon = "{method: pure}", "1"
		}
		text = strings.NewReplacer("@NAME@", name, "@ACCOUNTING@", accounting, "@EPSILON@", epsilon, "@VERIFIER@", w.verifier,
			"@WARDS@", wardList()).Replace(peoplePolicy)
	}
	main, public := w.postgres.DSN(db, "accuracy_main"), w.postgres.DSN(db, "accuracy_public")
	shadow, admin := w.postgres.DSN(db+"_shadow", "accuracy_shadow"), w.postgres.DSN(db, pgserver.Superuser)
	text = strings.NewReplacer(
		"${ACCURACY_MAIN}", main, "${ACCURACY_SHADOW}", shadow, "${ACCURACY_ADMIN}", admin,
		"${DPPROXY_MAIN_DSN}", main, "${DPPROXY_SHADOW_DSN}", shadow, "${DPPROXY_PUBLIC_DSN}", public, "${DPPROXY_ADMIN_DSN}",
		admin,
		"listen: 127.0.0.1:6432", "listen: 127.0.0.1:0").Replace(text)
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := policy.Load(file)
	if err != nil {
		return nil, err
	}
	p.AnswersTTL, p.Timing, p.Budget, p.Analysts = 0, policy.Timing{}, nil, map[string]*policy.Analyst{}
	budget := policy.Budget{Epsilon: budgetEpsilon, Delta: budgetDelta}
	if name == pure {
		budget = policy.Budget{Epsilon: 1e9}
	}
	if name == kept {
		p.AnswersTTL = 24 * time.Hour
	}
	for i := range analysts {
		p.Analysts[analyst(i)] = &policy.Analyst{Name: analyst(i), Verifier: w.verifier, Budget: budget}
	}
	if name == renyi {
		p.Analysts[marginAnalyst] = &policy.Analyst{Name: marginAnalyst, Verifier: w.verifier, Budget: policy.Budget{
			Epsilon: 10, Delta: budgetDelta,
		}}
	}
	return p, nil
}

func analyst(i int) string { return fmt.Sprintf("a%d", i) }

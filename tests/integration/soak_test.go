package integration_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

const (
	soakClients = 500
	soakTime    = 2 * time.Minute
	// soakHeap is how much the proxy's heap may have grown when all clients are gone, bytes: plans and calibrations that
	// are kept, and garbage that is not collected yet. A leak of one 64 KiB buffer per connection passes it many times.
	soakHeap = 256 << 20
)

// TestSoak lets many clients come and go, cancel, vanish and ask for what is refused. When they are gone, the proxy has
// no goroutine, connection or heap of theirs left, PostgreSQL no more connections than the pools allow, and nobody has
// overspent.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("make soak asks it")
	}
	metrics := freeAddress(t)
	p := start(t, purePolicy(fmt.Sprintf("limits: {connections: %d, per_address: %d}", 2*soakClients, 2*soakClients),
		"pool: {main: 6, shadow: 10, public: 4, wait: 60s}", fmt.Sprintf("metrics: {listen: %q}", metrics)), clinic)
	before := scrape(t, metrics)
	// Without a deadline: a dialer keeps a deadline by its own timer, which may fire before ctx is done.
	ctx, stop := context.WithCancel(context.Background())
	defer time.AfterFunc(soakTime, stop).Stop()
	defer stop()
	var answered, bobs atomic.Int64
	unexpected := make(chan error, soakClients)
	var clients sync.WaitGroup
	for i := range soakClients {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				if err := p.visit(ctx, random, &answered, &bobs); err != nil {
					unexpected <- err
					return
				}
			}
		})
	}
	clients.Wait()
	close(unexpected)
	for err := range unexpected {
		t.Error(err)
	}
	if answered.Load() < soakClients {
		t.Errorf("only %d statements were answered by %d clients", answered.Load(), soakClients)
	}
	t.Logf("%d statements answered", answered.Load())
	eventually(t, "no connection is left", func() bool { return scrape(t, metrics)["dpproxy_connections"] == 0 })
	eventually(t, "no goroutine of a client is left", func() bool {
		// A pooled connection has no goroutine of its own; the slack is for the runtime's and the metrics listener's.
		return scrape(t, metrics)["go_goroutines"] <= before["go_goroutines"]+20
	})
	eventually(t, "the heap is back", func() bool {
		return scrape(t, metrics)["go_memstats_heap_inuse_bytes"] <= before["go_memstats_heap_inuse_bytes"]+soakHeap
	})
	if n := p.backendConnections(); n > 6+2+10+4 { // 2 check what is free
		t.Errorf("%d backend connections, more than the pools' 22", n)
	}
	// bob has ε = 1 and pays 0.1 for each new question.
	if bobs.Load() > 10 {
		t.Errorf("bob was answered %d new questions at epsilon 0.1, with a budget of 1", bobs.Load())
	}
	if out, err := p.command("budget", "verify").CombinedOutput(); err != nil {
		t.Errorf("budget verify: %v\n%s", err, out)
	}
}

// visit is one client's life. Errors that a client has to expect here are none.
func (p *proxy) visit(ctx context.Context, random *rand.Rand, answered, bobs *atomic.Int64) error {
	user := "alice"
	if random.IntN(10) == 0 {
		user = "bob"
	}
	config, err := pgx.ParseConfig(p.dsn(user))
	if err != nil {
		return err
	}
	config.DefaultQueryExecMode = []pgx.QueryExecMode{
		pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec,
		pgx.QueryExecModeCacheStatement,
	}[random.IntN(3)]
	var spent atomic.Bool
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		spent.Store(strings.Contains(n.Message, "% of your budget spent"))
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, "SET dpproxy.epsilon = 0.1"); err != nil && ctx.Err() == nil {
		return err
	}
	for range 1 + random.IntN(5) {
		statement := []string{
			"SELECT ward, beds FROM wards ORDER BY ward",
			"SELECT relname FROM pg_class WHERE relkind = 'r' LIMIT 3",
			fmt.Sprintf("SELECT count(*), avg(income) FROM patients WHERE age > %d", random.IntN(100)),
			fmt.Sprintf("SELECT ward, count(*) FROM visits WHERE minutes > %d GROUP BY ward ORDER BY 2", random.IntN(600)),
			"SELECT * FROM patients",
			"SELECT epsilon_left FROM dpproxy.budget",
			"EXPLAIN SELECT avg(age) FROM patients",
		}[random.IntN(7)]
		switch random.IntN(12) {
		case 0: // vanish with an answer under way
			_ = conn.PgConn().Conn().Close()
			return nil
		case 1: // cancel, perhaps too late
			hurried, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(20))*time.Millisecond)
			_, _ = conn.Exec(hurried, statement)
			cancel()
			return nil
		}
		spent.Store(false)
		_, err := conn.Exec(ctx, statement)
		var e *pgconn.PgError
		switch {
		case err == nil:
			answered.Add(1)
			if user == "bob" && spent.Load() {
				bobs.Add(1)
			}
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &e) && (e.Code == "42501" || e.Code == "53400"):
		default:
			return fmt.Errorf("%s as %s: %w", statement, user, err)
		}
	}
	return nil
}

// backendConnections counts the proxy's connections to PostgreSQL.
func (p *proxy) backendConnections() int {
	p.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, p.server.DSN(p.db, pgserver.Superuser))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close(ctx)
	var n int
	if err := conn.QueryRow(
		ctx, "SELECT count(*) FROM pg_stat_activity WHERE usename IN ('it_main', 'it_shadow', 'it_public')").Scan(&n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// scrape reads the proxy's metrics that have no label.
func scrape(t *testing.T, address string) map[string]float64 {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	out := map[string]float64{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			out[name] = v
		}
	}
	return out
}

// freeAddress is a loopback address that nothing listens on at the moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

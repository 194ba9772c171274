package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// target is one way to the same table.
type target struct{ name, dsn string }

// overhead runs one public aggregate, about 2 ms on PostgreSQL, over every way there, at 1, 8 and 32 connections and in
// pgx's three protocol modes. It prints throughput and latency as ratios to the direct connection in the same round.
func overhead(ctx context.Context, h *harness, rounds int) error {
	if err := stages(ctx, h, 100*rounds); err != nil {
		return err
	}
	targets := []target{{"direct", h.server.DSN("bench", "bench_public")}}
	for _, mode := range []string{"session", "transaction"} {
		dsn, stop, err := bouncer(ctx, h, mode)
		if err != nil {
			return err
		}
		defer stop()
		targets = append(targets, target{"pgbouncer " + mode, dsn})
	}
	targets = append(targets, target{"dpproxy", h.proxyDSN()})
	modes := []struct {
		name string
		mode pgx.QueryExecMode
	}{
		{"simple", pgx.QueryExecModeSimpleProtocol},
		{"extended", pgx.QueryExecModeExec},
		{"prepared", pgx.QueryExecModeCacheStatement},
	}
	for _, sql := range []string{"SELECT count(*), avg(p_size), min(p_brand) FROM part WHERE p_size > 10", "SELECT 1"} {
		fmt.Printf("\n%s\n%-12s %-10s %-22s %12s %12s %8s\n", sql, "connections", "protocol", "through", "statements/s",
			"latency", "ratio")
		for _, clients := range []int{1, 8, 32} {
			for _, m := range modes {
				if err := overheadRow(ctx, targets, sql, clients, m.name, m.mode, rounds); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func overheadRow(ctx context.Context, targets []target, sql string, clients int, name string, mode pgx.QueryExecMode,
	rounds int,
) error {
	rates := make([][]float64, len(targets))
	failed := make([]error, len(targets))
	for round := range rounds {
		for i, t := range targets {
			if failed[i] != nil {
				continue
			}
			rate, err := load(ctx, t.dsn, sql, clients, mode)
			if err != nil {
				failed[i] = err
				continue
			}
			if round > 0 {
				rates[i] = append(rates[i], rate)
			}
		}
	}
	if failed[0] != nil {
		return failed[0]
	}
	direct := medianFloat(rates[0])
	for i, t := range targets {
		if failed[i] != nil {
			fmt.Printf("%-12d %-10s %-22s fails: %v\n", clients, name, t.name, failed[i])
			continue
		}
		rate := medianFloat(rates[i])
		latency := time.Duration(float64(clients) / rate * float64(time.Second))
		fmt.Printf("%-12d %-10s %-22s %12.0f %12s %8.2f\n", clients, name, t.name, rate, milliseconds(latency), rate/direct)
	}
	return nil
}

// load runs the statement on every connection for a while and returns statements per second.
func load(ctx context.Context, dsn, sql string, clients int, mode pgx.QueryExecMode) (float64, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return 0, err
	}
	config.DefaultQueryExecMode = mode
	conns := make([]*pgx.Conn, clients)
	for i := range conns {
		if conns[i], err = pgx.ConnectConfig(ctx, config); err != nil {
			return 0, err
		}
		defer conns[i].Close(ctx)
	}
	const span = 700 * time.Millisecond
	var wg sync.WaitGroup
	counts, errs := make([]int, clients), make([]error, clients)
	began := time.Now()
	for i, conn := range conns {
		wg.Go(func() {
			for time.Since(began) < span && errs[i] == nil {
				_, errs[i] = conn.Exec(ctx, sql)
				counts[i]++
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	total := 0
	for i := range counts {
		if errs[i] != nil {
			return 0, errs[i]
		}
		total += counts[i]
	}
	return float64(total) / took.Seconds(), nil
}

// bouncer starts PgBouncer in front of the server.
func bouncer(ctx context.Context, h *harness, mode string) (dsn string, stop func(), err error) {
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		return "", nil, fmt.Errorf("pgbouncer is not installed (Debian: apt-get install pgbouncer): %w", err)
	}
	addr, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "bouncer-")
	if err != nil {
		return "", nil, err
	}
	config := fmt.Sprintf(
		"[databases]\nbench = host=%s port=%d dbname=bench user=bench_public\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%s\nunix_socket_dir=\nauth_type=any\npool_mode=%s\ndefault_pool_size=40\nmax_client_conn=200\nignore_startup_parameters=extra_float_digits\n",
		h.server.Host, h.server.Port, port, mode)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return "", nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", nil, err
	}
	args := []string{"-q", file}
	if os.Getuid() == 0 { // PgBouncer refuses root
		if _, err := user.Lookup("postgres"); err != nil {
			return "", nil, err
		}
		args = append([]string{"-u", "postgres"}, args...)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	dsn = "postgres://bench@" + addr + "/bench?sslmode=disable"
	for range 50 {
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			return dsn, stop, conn.Close(ctx)
		}
		time.Sleep(100 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("pgbouncer does not answer")
}

// tinyTPCH loads the smallest data set: the overhead does not depend on it.
func tinyTPCH(ctx context.Context, h *harness) error {
	if err := loadTPCH(ctx, h, 0.05); err != nil {
		return err
	}
	for _, sql := range []string{"ALTER SYSTEM SET max_parallel_workers_per_gather = 0", "SELECT pg_reload_conf()"} {
		if err := h.admin(ctx, "postgres", sql); err != nil {
			return err
		}
	}
	return nil
}

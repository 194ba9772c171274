package main

import (
	"context"
	"embed"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

//go:embed tpch/schema.sql
var schemaText string

//go:embed tpch/queries/*.sql
var queries embed.FS

// What the ratios were measured under; a line of output says so.
const (
	serverSettings  = "shared_buffers 2GB, work_mem 256MB, random_page_cost 1.1, jit off, at most 2 workers"
	plannerSettings = "parallel_tuple_cost 0.001, parallel_setup_cost 10"
)

// tpch sends each query through the proxy and, as the administrator, straight to PostgreSQL, in turns.
func tpch(ctx context.Context, h *harness, sf float64, rounds int) error {
	began := time.Now()
	if err := loadTPCH(ctx, h, sf); err != nil {
		return err
	}
	if err := h.serve(ctx); err != nil {
		return err
	}
	fmt.Printf("TPC-H-shaped data at SF %g, made in %s. Ratios to the plain query, medians of %d interleaved rounds.\n\n", sf, time.Since(began).Round(time.Second), rounds-1)
	// The plain side gets the planner settings that the measure transaction sets (MEASURE: cheap parallelism).
	direct, proxied, err := h.connections(ctx, "SET parallel_tuple_cost = 0.001; SET parallel_setup_cost = 10")
	if err != nil {
		return err
	}
	defer direct.Close(ctx)
	defer proxied.Close(ctx)
	files, err := queries.ReadDir("tpch/queries")
	if err != nil {
		return err
	}
	fmt.Printf("Both sides: %s, %s; orders has a unique index on (o_orderkey) INCLUDE (o_custkey).\n\n", serverSettings, plannerSettings)
	fmt.Printf("%-16s %12s %12s %8s %12s %8s\n", "query", "plain", "measure", "ratio", "statement", "ratio")
	for _, file := range files {
		text, err := queries.ReadFile(path.Join("tpch/queries", file.Name()))
		if err != nil {
			return err
		}
		plain := text
		if original, stored := strings.CutSuffix(file.Name(), "_stored.sql"); stored { // held against the query over the plain tables
			if plain, err = queries.ReadFile(path.Join("tpch/queries", original+".sql")); err != nil {
				return err
			}
		}
		if err := h.compare(ctx, strings.TrimSuffix(file.Name(), ".sql"), string(plain), string(text), direct, proxied, rounds); err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	return nil
}

// compare prints the plain query's time, that of the measure query by the proxy's own metrics, and that of the whole
// statement, with ratios to the plain query.
func (h *harness) compare(ctx context.Context, name, plainSQL, sql string, direct, proxied *pgx.Conn, rounds int) error {
	var plain, measure, statement []time.Duration
	for round := range rounds {
		p, err := repeat(ctx, direct, plainSQL, 1)
		if err != nil {
			return err
		}
		before, err := h.stageSeconds(ctx)
		if err != nil {
			return err
		}
		s, err := repeat(ctx, proxied, sql, 1)
		if err != nil {
			return err
		}
		after, err := h.stageSeconds(ctx)
		if err != nil {
			return err
		}
		if round > 0 {
			plain, statement = append(plain, p), append(statement, s)
			measure = append(measure, time.Duration((after["measure"]-before["measure"])*float64(time.Second)))
		}
	}
	p, m, s := median(plain), median(measure), median(statement)
	fmt.Printf("%-16s %12s %12s %8.2f %12s %8.2f\n", name, milliseconds(p), milliseconds(m), float64(m)/float64(p), milliseconds(s), float64(s)/float64(p))
	return nil
}

// connections opens one connection straight to PostgreSQL, where it runs first, and one through the proxy.
func (h *harness) connections(ctx context.Context, first string) (direct, proxied *pgx.Conn, err error) {
	if direct, err = connect(ctx, h.server.DSN("bench", pgserver.Superuser), first); err != nil {
		return nil, nil, err
	}
	proxied, err = connect(ctx, h.proxyDSN(), "SET dpproxy.notices = off")
	return direct, proxied, err
}

func connect(ctx context.Context, dsn, first string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	_, err = conn.PgConn().Exec(ctx, first).ReadAll()
	return conn, err
}

// loadTPCH makes the database "bench".
func loadTPCH(ctx context.Context, h *harness, sf float64) error {
	if err := h.admin(ctx, "postgres", "CREATE DATABASE bench"); err != nil {
		return err
	}
	if err := h.admin(ctx, "bench", strings.ReplaceAll(schemaText, ":sf", strconv.FormatFloat(sf, 'g', -1, 64))); err != nil {
		return fmt.Errorf("loading: %w", err)
	}
	return h.admin(ctx, "bench", "VACUUM ANALYZE")
}

package main

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
)

//go:embed tpch/schema.sql
var schemaText string

// What the ratios were measured under; a line of output says so.
const (
	serverSettings  = "shared_buffers 2GB, work_mem 256MB, random_page_cost 1.1, jit off, at most 2 workers"
	plannerSettings = "parallel_tuple_cost 0.001, parallel_setup_cost 10"
)

// tpch runs each query as it is, by hand and as dpproxy measures it straight on PostgreSQL, and sends it through the
// proxy, in turns.
func tpch(ctx context.Context, h *harness, sf float64, rounds int, only string) error {
	began := time.Now()
	if err := loadTPCH(ctx, h, sf); err != nil {
		return err
	}
	if err := h.record(); err != nil {
		return err
	}
	if err := h.serve(ctx); err != nil {
		return err
	}
	fmt.Printf("TPC-H-shaped data at SF %g, made in %s. Ratios to the plain query, medians of %d interleaved rounds.\n\n",
		sf, time.Since(began).Round(time.Second), rounds-1)
	// All get the planner settings that the measure transaction sets (MEASURE: cheap parallelism).
	direct, proxied, err := h.connections(ctx, "SET parallel_tuple_cost = 0.001; SET parallel_setup_cost = 10")
	if err != nil {
		return err
	}
	defer direct.Close(ctx)
	defer proxied.Close(ctx)
	list, err := shapes()
	if err != nil {
		return err
	}
	fmt.Printf("All sides: %s, %s; orders has a unique index on (o_orderkey) INCLUDE (o_custkey).\n\n", serverSettings,
		plannerSettings)
	fmt.Printf("%-16s %12s %8s %8s %10s %13s %13s\n", "query", "plain", "by hand", "measure", "statement", "measure/hand",
		"the same, CPU")
	for _, s := range list {
		if !strings.Contains(s.name, only) {
			continue
		}
		if err := h.compare(ctx, s, direct, proxied, rounds); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// sides of a comparison, in the order in which they run in a round.
const (
	plainSide = iota
	handSide
	measureSide
	statementSide
	allSides
)

// compare prints the time of the plain query, and ratios of the others to it: the median of those of each round.
func (h *harness) compare(ctx context.Context, s shape, direct, proxied *pgx.Conn, rounds int) error {
	measure, err := h.measureOf(ctx, proxied, s.sql)
	if err != nil {
		return err
	}
	pid, err := postmaster(ctx, direct)
	if err != nil {
		return err
	}
	text := func(conn *pgx.Conn, sql string) func() error {
		return func() error { _, err := repeat(ctx, conn, sql, 1); return err }
	}
	runs := [allSides]func() error{
		plainSide: text(direct, s.plain), handSide: text(direct, s.hand), statementSide: text(proxied, s.sql),
		measureSide: func() error { return again(ctx, direct, measure).Err },
	}
	var took, cpu [allSides][]float64
	for round := range rounds {
		for side, run := range runs {
			before, began := serverCPU(pid), time.Now()
			if err := run(); err != nil {
				return err
			}
			if round > 0 {
				took[side] = append(took[side], time.Since(began).Seconds())
				cpu[side] = append(cpu[side], (serverCPU(pid) - before).Seconds())
			}
		}
	}
	ratio := func(of [allSides][]float64, side, to int) float64 {
		ratios := make([]float64, len(of[side]))
		for i, t := range of[side] {
			ratios[i] = t / of[to][i]
		}
		return medianFloat(ratios)
	}
	plain := time.Duration(medianFloat(took[plainSide]) * float64(time.Second))
	fmt.Printf("%-16s %12s %8.2f %8.2f %10.2f %13.2f %13.2f\n", s.name, milliseconds(plain),
		ratio(took, handSide, plainSide), ratio(took, measureSide, plainSide),
		ratio(took, statementSide, plainSide), ratio(took, measureSide, handSide), ratio(cpu, measureSide, handSide))
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

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgserver"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/provision"
	"github.com/dpproxy/dpproxy/internal/server"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

// estate is a database of many tables, in families of ten, and the policy over it: people, seven tables of facts about
// them, one of them by way of another, and two public ones.
type estate struct {
	ddl, policy strings.Builder
}

func newEstate(tables int) *estate {
	e := &estate{}
	for i := range tables {
		people, name := i-i%10, fmt.Sprintf("t%d", i)
		switch i % 10 {
		case 0:
			e.add("CREATE TABLE %s (id bigint PRIMARY KEY, age int NOT NULL, city text)", name)
			e.list(
				"%s: {privacy_unit: {name: unit%d, column: id}, columns: {id: {}, age: {bounds: [0, 120]}, city: {values: [a, b, c]}}}", name, people)
		case 7:
			e.add("CREATE TABLE %s (id bigint PRIMARY KEY, visit bigint NOT NULL REFERENCES t%d, n int, at timestamptz)", name,
				i-1)
			e.list(
				"%s: {privacy_unit: {name: unit%d, via: {column: visit, references: t%d.id}}, max_rows_per_unit: 100, columns: {id: {}, visit: {}, n: {bounds: [0, 10]}, at: {}}}", name, people, i-1)
		case 8, 9:
			e.add("CREATE TABLE %s (code text PRIMARY KEY, label text, price numeric(8,2))", name)
			e.list("%s: {public: true}", name)
		default:
			e.add(
				"CREATE TABLE %s (id bigint PRIMARY KEY, person bigint NOT NULL REFERENCES t%d, code text, n int, price numeric(8,2), at timestamptz); CREATE INDEX ON %s (person)", name, people, name)
			e.list(
				"%s: {privacy_unit: {name: unit%d, column: person}, max_rows_per_unit: 10, columns: {id: {}, person: {}, code: {}, n: {bounds: [0, 10]}, price: {bounds: [0, 100]}, at: {}}}", name, people)
		}
	}
	return e
}

func (e *estate) add(format string, args ...any) { fmt.Fprintf(&e.ddl, format+";\n", args...) }

func (e *estate) list(format string, args ...any) { fmt.Fprintf(&e.policy, "  "+format+"\n", args...) }

// wideTable has a unit, and so many columns of which statements read two.
func (e *estate) wideTable(columns int) string {
	name := fmt.Sprintf("wide%d", columns)
	var ddl, listed strings.Builder
	for i := range columns - 2 {
		fmt.Fprintf(&ddl, ", c%d int", i)
		fmt.Fprintf(&listed, ", c%d: {bounds: [0, 9]}", i)
	}
	e.add(
		"CREATE TABLE %s (id bigint PRIMARY KEY, n int%s); INSERT INTO %s SELECT i, i %% 10 FROM generate_series(1, 1000) i",
		name, ddl.String(), name)
	e.list("%s: {privacy_unit: {name: wide, column: id}, columns: {id: {}, n: {bounds: [0, 9]}%s}}", name, listed.String())
	return name
}

// growth measures what grows with the number of tables, and of columns: setup, start, reload and the look each minute,
// beside the DDL that makes the tables themselves.
func growth(ctx context.Context, h *harness, rounds int) error {
	fmt.Printf("%-14s %12s %12s %12s %12s %12s %12s\n", "", "their DDL", "setup", "setup again", "start", "reload", "look")
	var first, last [6]time.Duration
	for _, tables := range []int{10, 100, 1000} {
		took, err := h.grow(ctx, newEstate(tables), fmt.Sprintf("estate%d", tables), rounds, nil)
		if err != nil {
			return fmt.Errorf("%d tables: %w", tables, err)
		}
		printGrowth(fmt.Sprintf("%d tables", tables), took)
		if tables == 10 {
			first = took
		}
		last = took
	}
	fmt.Printf("%-14s", "1000 to 10")
	for i := range last {
		fmt.Printf(" %12.1f", float64(last[i])/float64(first[i]))
	}
	fmt.Println()
	wide := &estate{}
	narrowName, wideName := wide.wideTable(5), wide.wideTable(1600)
	var asked [2]time.Duration
	took, err := h.grow(ctx, wide, "wide", rounds, func(conn *pgx.Conn) (err error) {
		asked, err = h.asked(ctx, conn, [2]string{narrowName, wideName}, rounds)
		return err
	})
	if err != nil {
		return fmt.Errorf("1600 columns: %w", err)
	}
	printGrowth("1600 columns", took)
	fmt.Printf("\na private statement over a table of 5 columns %s, of 1600 %s: %.2f\n", milliseconds(asked[0]),
		milliseconds(asked[1]), float64(asked[1])/float64(asked[0]))
	return nil
}

func printGrowth(of string, took [6]time.Duration) {
	fmt.Printf("%-14s", of)
	for _, d := range took {
		fmt.Printf(" %12s", d.Round(time.Millisecond))
	}
	fmt.Println()
}

// asked is the median time of statements that are new to the proxy, over two tables in turns. The first of each
// connection of main and shadow reads the table's columns from the catalogs, which is no more than a few of them.
func (h *harness) asked(ctx context.Context, conn *pgx.Conn, tables [2]string, rounds int) (medians [2]time.Duration,
	err error,
) {
	var took [2][]time.Duration
	for i := range 100 * rounds {
		for k, table := range tables {
			d, err := drain(ctx, conn, fmt.Sprintf("SELECT avg(n) FROM %s WHERE n < %d", table, 10+i))
			if err != nil {
				return medians, err
			}
			took[k] = append(took[k], d)
		}
	}
	return [2]time.Duration{median(took[0]), median(took[1])}, nil
}

// grow measures one estate in a database of its own, over a server in this process.
func (h *harness) grow(ctx context.Context, e *estate, db string, rounds int, then func(*pgx.Conn) error) (
	took [6]time.Duration, err error,
) {
	if err := h.admin(ctx, "postgres", "CREATE DATABASE "+db); err != nil {
		return took, err
	}
	began := time.Now()
	if err := h.admin(ctx, db, e.ddl.String()); err != nil {
		return took, err
	}
	took[0] = time.Since(began)
	if err := h.admin(ctx, db, "VACUUM ANALYZE"); err != nil {
		return took, err
	}
	p, err := h.estatePolicy(e, db)
	if err != nil {
		return took, err
	}
	var s *server.Server
	defer func() {
		if s != nil {
			_ = s.Close()
		}
	}()
	timed := func(at int, times int, work func() error) {
		var all []time.Duration
		for range times {
			began := time.Now()
			if err == nil {
				err = work()
			}
			all = append(all, time.Since(began))
		}
		took[at] = median(all)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	setup := func() error { return provision.Setup(ctx, p, io.Discard) }
	timed(1, 1, setup)
	timed(2, 1, setup)
	timed(3, 1, func() (err error) { s, err = server.Start(ctx, p, log); return err })
	timed(4, rounds, func() error { return s.Reload(ctx) })
	timed(5, rounds, func() error { s.Look(); return s.Ready(ctx) })
	if err != nil || then == nil {
		return took, err
	}
	conn, err := connect(ctx, fmt.Sprintf("postgres://bench:%s@%s/%s?sslmode=disable", password, s.Addr(), db),
		"SET dpproxy.notices = off")
	if err != nil {
		return took, err
	}
	defer conn.Close(ctx)
	return took, then(conn)
}

func (h *harness) estatePolicy(e *estate, db string) (*policy.Policy, error) {
	v, err := verifier.New(password)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(h.dir, db+".yaml")
	text := fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
databases: {main: %q, shadow: %q, public: %q, admin: %q}
ledger: file:%s.ledger
accounting: {method: rdp, delta: 1e-6}
answers: {ttl: 0}
timing: {steps: off}
analysts: {bench: {password: %q, budget: {epsilon: 1000000, delta: 1e-3}}}
tables:
%s`, h.server.DSN(db, "bench_main"), h.server.DSN(db+"_shadow", "bench_shadow"), h.server.DSN(db, "bench_public"),
		h.server.DSN(db, pgserver.Superuser), db, v, e.policy.String())
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return policy.Load(file)
}

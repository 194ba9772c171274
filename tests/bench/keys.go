package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// keys measures statements that release a count for each of many keys, half of which have rows: of a public table, by
// each way to join it, and of a private column whose values a public table lists. Others select among as many groups of
// a private one.
func keys(ctx context.Context, h *harness, rounds int) error {
	if err := loadTPCH(ctx, h, 0.01); err != nil {
		return err
	}
	const items = `
INSERT INTO codes SELECT g, 'item-' || g FROM generate_series(1, 1000000) g;
INSERT INTO items SELECT 1 + g % 150000, 1 + g % 500000 FROM generate_series(1, 1000000) g;
INSERT INTO picks SELECT custkey, code FROM items;
INSERT INTO events SELECT 1 + g % 150000, g FROM generate_series(1, 1000000) g`
	if err := h.admin(ctx, "bench", items); err != nil {
		return err
	}
	if err := h.admin(ctx, "bench", "VACUUM ANALYZE"); err != nil {
		return err
	}
	if err := h.serve(ctx); err != nil {
		return err
	}
	direct, proxied, err := h.connections(ctx, "")
	if err != nil {
		return err
	}
	defer direct.Close(ctx)
	defer proxied.Close(ctx)
	// the proxy keeps memory that it had: what takes less of it is first
	for _, kind := range []struct{ title, what, sql string }{
		{"selected", "candidates", "SELECT kind, count(*) FROM events WHERE kind <= %d GROUP BY kind"},
		{
			"private JOIN public", "keys",
			"SELECT label, count(*) FROM items JOIN codes ON n = code WHERE n <= %d GROUP BY label",
		},
		{
			"private LEFT JOIN public", "keys",
			"SELECT label, count(*) FROM items LEFT JOIN (SELECT * FROM codes WHERE n <= %d) c ON n = code GROUP BY label",
		},
		{
			"public LEFT JOIN private", "keys",
			"SELECT label, count(code) FROM codes LEFT JOIN items ON n = code WHERE n <= %d GROUP BY label",
		},
		{"values_from", "keys", "SELECT code, count(*) FROM picks WHERE code <= %d OR code IS NULL GROUP BY code"},
	} {
		fmt.Printf("%s\n%10s %12s %12s %8s %12s %14s\n", kind.title, kind.what, "plain", "statement", "ratio", kind.what+"/s",
			"most memory")
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			if err := h.manyKeys(ctx, direct, proxied, fmt.Sprintf(kind.sql, n), n, rounds); err != nil {
				return err
			}
		}
		fmt.Println()
	}
	return nil
}

// manyKeys measures one statement of n keys.
func (h *harness) manyKeys(ctx context.Context, direct, proxied *pgx.Conn, sql string, n, rounds int) error {
	var plain, statement []time.Duration
	h.forgetPeak()
	for range rounds {
		p, err := drain(ctx, direct, sql)
		if err != nil {
			return err
		}
		s, err := drain(ctx, proxied, sql)
		if err != nil {
			return err
		}
		plain, statement = append(plain, p), append(statement, s)
	}
	peak, err := h.peak()
	if err != nil {
		return err
	}
	p, s := median(plain), median(statement)
	fmt.Printf("%10d %12s %12s %8.2f %12.0f %11d MB\n", n, milliseconds(p), milliseconds(s), float64(s)/float64(p),
		float64(n)/s.Seconds(), peak>>20)
	return nil
}

// drain reads an answer and forgets it.
func drain(ctx context.Context, conn *pgx.Conn, sql string) (time.Duration, error) {
	began := time.Now()
	results := conn.PgConn().Exec(ctx, sql)
	for results.NextResult() {
		reader := results.ResultReader()
		for reader.NextRow() {
		}
	}
	return time.Since(began), results.Close()
}

// forgetPeak has the most memory counted from now on, where the system can.
func (h *harness) forgetPeak() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", h.proxy.Process.Pid), []byte("5"), 0)
}

// peak is the most memory that the proxy has held, in bytes; 0 where the system does not say.
func (h *harness) peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.proxy.Process.Pid))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10, err
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// stages starts the proxy over the smallest data set, and says where the time of a statement over private rows goes, by
// the proxy's own metrics, against the plain statement sent straight to PostgreSQL.
func stages(ctx context.Context, h *harness, runs int) error {
	const sql = "SELECT c_mktsegment, count(*), avg(c_acctbal) FROM customer GROUP BY c_mktsegment"
	if err := tinyTPCH(ctx, h); err != nil {
		return err
	}
	if err := h.serve(ctx); err != nil {
		return err
	}
	fmt.Printf("\n%s\n", sql)
	direct, proxied, err := h.connections(ctx, "")
	if err != nil {
		return err
	}
	defer direct.Close(ctx)
	defer proxied.Close(ctx)
	plain, err := repeat(ctx, direct, sql, runs)
	if err != nil {
		return err
	}
	first, err := repeat(ctx, proxied, sql, 1) // parsed and analysed; from now on the plan is cached
	if err != nil {
		return err
	}
	before, err := h.stageSeconds(ctx)
	if err != nil {
		return err
	}
	private, err := repeat(ctx, proxied, sql, runs)
	if err != nil {
		return err
	}
	after, err := h.stageSeconds(ctx)
	if err != nil {
		return err
	}
	row := func(name string, d time.Duration) {
		fmt.Printf("%-34s %12s %8.2f\n", name, milliseconds(d), float64(d)/float64(plain))
	}
	fmt.Printf("%-34s %12s %8s\n", "", "time", "ratio")
	row("plain, direct", plain)
	row("through dpproxy", private)
	row("through dpproxy, first time", first)
	for _, stage := range []string{"plan", "charge", "measure", "draw", "finish"} {
		row("  "+stage, time.Duration((after[stage]-before[stage])/float64(runs)*float64(time.Second)))
	}
	row("  analyse (not cached)", time.Duration(before["analyse"]/max(1, before["analyse count"])*float64(time.Second)))
	return nil
}

// repeat returns the mean time of one run.
func repeat(ctx context.Context, conn *pgx.Conn, sql string, runs int) (time.Duration, error) {
	began := time.Now()
	for range runs {
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(runs), nil
}

// stageSeconds reads the proxy's time by stage, and for each "STAGE count".
func (h *harness) stageSeconds(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	out := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		for suffix, name := range map[string]string{"_sum": "", "_count": " count"} {
			rest, ok := strings.CutPrefix(lines.Text(), "dpproxy_stage_seconds"+suffix+`{stage="`)
			if !ok {
				continue
			}
			stage, value, _ := strings.Cut(rest, `"} `)
			if out[stage+name], err = strconv.ParseFloat(value, 64); err != nil {
				return nil, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
			}
		}
	}
	return out, lines.Err()
}

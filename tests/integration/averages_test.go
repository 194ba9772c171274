package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestMarginsOfAverages: an average has the margin that is asked for, in all groups that have enough rows, at what
// EXPLAIN and history say.
func TestMarginsOfAverages(t *testing.T) {
	t.Run("pure", func(t *testing.T) { marginsOfAverages(t, start(t, purePolicy(), clinic), true) })
	t.Run("rdp", func(t *testing.T) { marginsOfAverages(t, start(t, clinicPolicy(), clinic), false) })
}

func marginsOfAverages(t *testing.T, p *proxy, pure bool) {
	var notice *pgconn.Notice
	conn := p.connect(func(c *pgx.ConnConfig) { c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notice = n } })
	ctx := context.Background()
	ask := func(sql string) (rows [][]any, paid float64) {
		t.Helper()
		before, share := spent(t, conn), shareSpent(t, conn)
		found, err := conn.Query(ctx, sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		rows, err = pgx.CollectRows(found, func(r pgx.CollectableRow) ([]any, error) { return r.Values() })
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		said := notice.Message
		var told float64
		if _, err := fmt.Sscanf(said, "dpproxy: %g%% of your budget spent", &told); err != nil &&
			!strings.HasPrefix(said, "dpproxy: nothing spent, ") {
			t.Errorf("%s: %s: %v", sql, said, err)
		}
		if share = shareSpent(t, conn) - share; math.Abs(told/100-share) > 6e-3*share {
			t.Errorf("%s: %g of the budget is taken: %s", sql, share, said)
		}
		return rows, spent(t, conn) - before
	}
	for _, c := range []struct {
		set, sql     string
		margin, most float64
		rows         int
	}{
		{"SET dpproxy.margin = '0.5'", "SELECT avg(age) FROM patients", .5, 1.4, 1},
		{"SET dpproxy.margin = '0.5'", "SELECT ward, avg(age) FROM patients WHERE ward <> 'C' GROUP BY ward", .5, 4, 2},
		{"SET dpproxy.margin = '2%'", "SELECT avg(age) AS a FROM patients", 2.4, .4, 1},
		{"RESET dpproxy.margin", "SELECT dpproxy.within(avg(age), 0.5) FROM patients WHERE age < 95", .5, 1.4, 1},
		{
			"RESET dpproxy.margin",
			"SELECT diagnosis, dpproxy.within(avg(age), 3) AS a, count(*) FROM patients WHERE diagnosis <> 'gout' GROUP BY diagnosis", 3, 2, 3,
		},
		{
			"SET dpproxy.margin = '2%'", "SELECT ward, avg(age) FROM patients WHERE ward <> 'C' GROUP BY ROLLUP(ward)",
			math.Inf(1), 2, 3,
		},
		{"RESET dpproxy.margin", "SELECT left(name, 7), dpproxy.within(avg(age), 1) AS a FROM patients GROUP BY 1", 1, 0, 1},
		{
			"RESET dpproxy.margin",
			"SELECT avg(age) FROM patients WHERE age > (SELECT dpproxy.within(avg(age), 1) FROM patients)", math.Inf(1), 2, 1,
		},
	} {
		if c.most == 0 && pure {
			continue // partition selection needs a δ
		}
		if _, err := conn.Exec(ctx, c.set); err != nil {
			t.Fatal(err)
		}
		before := spent(t, conn)
		if _, err := conn.Exec(ctx, "EXPLAIN "+c.sql); err != nil || spent(t, conn) != before {
			t.Errorf("EXPLAIN %s: %v, %g spent", c.sql, err, spent(t, conn)-before)
		}
		rows, paid := ask(c.sql)
		if len(rows) < c.rows || pure && paid > c.most || paid <= 0 {
			t.Errorf("%s; %s: %v costs %g", c.set, c.sql, rows, paid)
		}
		detail := notice.Detail
		for _, line := range strings.Split(detail, "\n") {
			name, margins, _ := strings.Cut(line, ": ")
			var least, most float64
			if n, _ := fmt.Sscanf(margins, "±%g to ±%g", &least, &most); n == 1 {
				most = least
			}
			if name != "count" && most > c.margin {
				t.Errorf("%s; %s: %s", c.set, c.sql, line)
			}
		}
		again, free := ask(c.sql)
		if fmt.Sprint(again) != fmt.Sprint(rows) || free != 0 || notice.Detail != detail {
			t.Errorf("%s; %s: %v, then %v for %g: %s, then %s", c.set, c.sql, rows, again, free, detail, notice.Detail)
		}
	}
	var refused *pgconn.PgError
	if _, err := conn.Exec(ctx, "SELECT dpproxy.within(avg(age), 0.00001) FROM patients"); !errors.As(err, &refused) ||
		refused.Code != "22023" {
		t.Errorf("a margin for which the table is too small: %v", err)
	}
	var parts int
	var sum, shares float64
	if err := conn.QueryRow(ctx, "SELECT count(*), sum(epsilon), sum(share) FROM dpproxy.history").Scan(
		&parts, &sum, &shares); err != nil || pure && math.Abs(sum-spent(t, conn)) > 1e-6 || parts < 15 {
		t.Errorf("%d charges of %g in all, of %g: %v", parts, sum, spent(t, conn), err)
	}
	if share := shareSpent(t, conn); math.Abs(shares-share) > 1e-9 {
		t.Errorf("the shares of history add up to %g, and %g of the budget is spent", shares, share)
	}
}

// shareSpent is the share of an analyst's budget that is spent.
func shareSpent(t *testing.T, conn *pgx.Conn) (share float64) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), "SELECT share_spent FROM dpproxy.budget").Scan(&share); err != nil {
		t.Fatal(err)
	}
	return share
}

// TestKilledBetweenCharges kills the proxy after each part of a statement that is charged in parts, while it waits for
// a public moment: what was charged is not forgotten, and nothing of it was answered. Moments are so far apart that none
// passes between a charge and the kill, nor between two looks at what is spent.
func TestKilledBetweenCharges(t *testing.T) {
	p := start(t, purePolicy("timing: {quantum: 3s}"), clinic)
	for parts := 1; parts <= 3; parts++ {
		conn, other := p.connect(), p.connect()
		answered := make(chan error, 1)
		before, last := spent(t, other), 0.
		last = before
		go func() {
			_, err := conn.Exec(context.Background(), fmt.Sprintf(
				"SELECT dpproxy.within(avg(age), 0.5) FROM patients WHERE age > %d", parts))
			answered <- err
		}()
		for seen := 0; seen < parts; {
			if now := spent(t, other); now > last {
				seen, last = seen+1, now
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-p.finished
		p.cmd = nil
		if err := <-answered; err == nil {
			t.Errorf("%d parts: answered before the last public moment", parts)
		}
		p.serve()
		if now := spent(t, p.connect()); now < last-1e-9 || last <= before {
			t.Errorf("%d parts: %g was charged, and %g is known", parts, last-before, now-before)
		}
	}
}

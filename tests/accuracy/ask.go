package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// answer maps a group's key to its numbers; a statement without groups has one row, with the key "". NULL is NaN.
type answer map[string][]float64

// question is one statement: SELECT [key,] aggregates FROM from [GROUP BY key]. With the keys that rollup and unionAll
// make it has a total too, whose key is "".
type question struct {
	proxy      string
	key        string
	aggregates []string
	from       string
}

const (
	rollup   = "ROLLUP "
	unionAll = "UNION ALL "
)

func (q question) sql() string {
	list := strings.Join(q.aggregates, ", ")
	if q.key == "" {
		return "SELECT " + list + " FROM " + q.from
	}
	if key, ok := strings.CutPrefix(q.key, rollup); ok {
		return "SELECT " + key + ", " + list + " FROM " + q.from + " GROUP BY ROLLUP (" + key + ")"
	}
	key, total := strings.CutPrefix(q.key, unionAll)
	grouped := "SELECT " + key + ", " + list + " FROM " + q.from + " GROUP BY " + key
	if total {
		return grouped + " UNION ALL SELECT NULL, " + list + " FROM " + q.from
	}
	return grouped
}

// withIntervals has the announced interval's ends after each aggregate.
func (q question) withIntervals() string {
	plain := q.aggregates
	q.aggregates = nil
	for _, a := range plain {
		q.aggregates = append(q.aggregates, a, "dpproxy.interval_low("+a+")", "dpproxy.interval_high("+a+")")
	}
	return q.sql()
}

// releases are what a question brought: the truth, and an answer for each time that it was asked.
type releases struct {
	truth    answer
	released []answer
}

// workers is how many connections ask at the same time.
const workers = 2

// ask asks a question n times, with intervals or without. Every worker asks as one analyst until the budget of that one
// is spent, then as the next.
func (w *world) ask(ctx context.Context, q question, n int, intervals bool) (r releases, err error) {
	if r.truth, err = w.truth(ctx, q); err != nil {
		return r, err
	}
	r.released = make([]answer, n)
	sql := q.sql()
	if intervals {
		sql = q.withIntervals()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	failed := make([]error, workers)
	for i := range workers {
		wg.Go(func() {
			failed[i] = w.work(ctx, q, sql, func() int { return int(next.Add(1)) - 1 }, r.released)
		})
	}
	wg.Wait()
	return r, errors.Join(failed...)
}

// work fills the answers whose indexes next returns.
func (w *world) work(ctx context.Context, q question, sql string, next func() int, out []answer) error {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(ctx)
		}
	}()
	for i := next(); i < len(out); {
		fresh := conn == nil
		if fresh {
			var err error
			if conn, err = w.connect(ctx, q.proxy, w.nextAnalyst(q.proxy)); err != nil {
				return err
			}
		}
		a, err := query(ctx, conn, sql, q.key != "")
		switch {
		case err == nil:
			out[i] = a
			i = next()
		case spent(err) && !fresh:
			conn.Close(ctx)
			conn = nil
		default:
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

// untilRefused asks questions in turn, as one analyst, until the budget is spent, and returns the answers.
func (w *world) untilRefused(ctx context.Context, analyst string, turn []question, settings ...string) (
	[]answer, error,
) {
	conn, err := w.connect(ctx, turn[0].proxy, analyst)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	for _, sql := range settings {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	for all := []answer(nil); ; {
		q := turn[len(all)%len(turn)]
		a, err := query(ctx, conn, q.sql(), q.key != "")
		switch {
		case spent(err):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", q.sql(), err)
		}
		all = append(all, a)
	}
}

func spent(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == pgerr.BudgetExceeded
}

// nextAnalyst gives out analysts who have asked nothing yet.
func (w *world) nextAnalyst(proxy string) string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.asked[proxy]++
	return analyst(w.asked[proxy] - 1)
}

func (w *world) connect(ctx context.Context, proxy, analyst string) (*pgx.Conn, error) {
	p, err := w.proxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(analyst, password), Host: p.Addr().String(), Path: "/" +
		database(proxy)}
	return pgx.Connect(ctx, u.String())
}

// truth asks main itself.
func (w *world) truth(ctx context.Context, q question) (a answer, err error) {
	err = w.admin(ctx, database(q.proxy), func(conn *pgx.Conn) error {
		a, err = query(ctx, conn, q.sql(), q.key != "")
		return err
	})
	return a, err
}

// query asks once. Where it is grouped, the first column is the key.
func query(ctx context.Context, conn *pgx.Conn, sql string, grouped bool) (answer, error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	return numbers(results[0], grouped)
}

// numbers reads a result.
func numbers(result *pgconn.Result, grouped bool) (_ answer, err error) {
	a := answer{}
	for _, row := range result.Rows {
		key := ""
		if grouped {
			key, row = string(row[0]), row[1:]
		}
		list := make([]float64, len(row))
		for i, text := range row {
			if list[i] = math.NaN(); text != nil {
				if list[i], err = strconv.ParseFloat(string(text), 64); err != nil {
					return nil, err
				}
			}
		}
		a[key] = list
	}
	return a, nil
}

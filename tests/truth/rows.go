package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// rows are those of a database, by table, in the order in which foreign keys let them in. The same seed makes the same
// rows.
type rows struct {
	*rand.Rand
	tables []string
	texts  map[string]*strings.Builder
}

func newRows(seed uint64) *rows {
	return &rows{Rand: rand.New(rand.NewPCG(seed, 28)), texts: map[string]*strings.Builder{}}
}

// table returns what adds rows to a table, which is named with its columns.
func (r *rows) table(columns string) func(values ...any) {
	text := &strings.Builder{}
	r.tables, r.texts[columns] = append(r.tables, columns), text
	return func(values ...any) {
		for i, v := range values {
			if i > 0 {
				text.WriteByte('\t')
			}
			switch v := v.(type) {
			case nil:
				text.WriteString(`\N`)
			case time.Time:
				text.WriteString(v.Format("2006-01-02 15:04:05+00"))
			default:
				fmt.Fprint(text, v)
			}
		}
		text.WriteByte('\n')
	}
}

// load copies all rows into the database.
func (r *rows) load(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, t := range r.tables {
		text := strings.NewReader(r.texts[t].String())
		if _, err := conn.PgConn().CopyFrom(ctx, text, "COPY "+t+" FROM STDIN"); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	_, err := conn.Exec(ctx, "COMMIT; ANALYZE")
	return err
}

// pick returns an index, each as often as its weight says.
func (r *rows) pick(weights ...float64) int {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	at := r.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// between is a moment from a day to before another.
func (r *rows) between(from, to time.Time) time.Time {
	return from.Add(time.Duration(r.Int64N(int64(to.Sub(from)/time.Second))) * time.Second)
}

// counts are n numbers about a mean, within limits, that add up to a total.
func (r *rows) counts(n, total, least, most int, mean, deviation float64) []int {
	list := make([]int, n)
	sum := 0
	for i := range list {
		list[i] = min(max(int(mean+deviation*r.NormFloat64()+0.5), least), most)
		sum += list[i]
	}
	for sum != total {
		i, step := r.IntN(n), 1
		if sum > total {
			step = -1
		}
		if next := list[i] + step; next >= least && next <= most {
			list[i] = next
			sum += step
		}
	}
	return list
}

// named is an invented name.
func named(what string, number int) string { return what + " " + strconv.Itoa(number) }

func day(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
)

// session is a connection with what it was told beside its answers.
type session struct {
	conn   *pgx.Conn
	notice *pgconn.Notice // the last one
}

// connect speaks the simple protocol, as psql does.
func connect(ctx context.Context, dsn string) (*session, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	s := &session{}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { s.notice = n }
	config.RuntimeParams["timezone"] = "UTC"
	s.conn, err = pgx.ConnectConfig(ctx, config)
	return s, err
}

// answer is what a statement brought. Rows are numbers by column; of keys they have no number, and NULL is NaN.
type answer struct {
	columns []string
	times   []bool // the column has times
	rows    map[string][]float64
	order   []string // the keys, as the rows came
	margins map[string]float64
	hint    string
}

// times are the types of columns that have times.
var times = []uint32{pgtype.DateOID, pgtype.TimestampOID, pgtype.TimestamptzOID}

// ask sends a statement and reads its rows; the leading columns that are keys tell them apart.
func (s *session) ask(ctx context.Context, sql string, keys int) (answer, error) {
	a := answer{rows: map[string][]float64{}}
	s.notice = nil
	rows, err := s.conn.Query(ctx, sql)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return a, err
		}
		id := ""
		for _, text := range rows.RawValues()[:keys] {
			if text == nil {
				text = []byte("∅")
			}
			id += string(text) + " | "
		}
		id = strings.TrimSuffix(id, " | ")
		if a.rows[id] != nil {
			return a, fmt.Errorf("two rows %q", id)
		}
		numbers := make([]float64, len(values))
		for i, v := range values {
			if numbers[i], err = number(v); err != nil && i >= keys {
				return a, fmt.Errorf("column %d: %w", i+1, err)
			}
		}
		a.rows[id], a.order = numbers, append(a.order, id)
	}
	for _, f := range rows.FieldDescriptions() {
		a.columns = append(a.columns, f.Name)
		a.times = append(a.times, slices.Contains(times, f.DataTypeOID))
	}
	if s.notice != nil {
		a.margins, a.hint = margins(s.notice.Detail), s.notice.Hint
	}
	return a, rows.Err()
}

// number is that of a value: of times and durations, the seconds.
func number(v any) (float64, error) {
	switch v := v.(type) {
	case nil:
		return math.NaN(), nil
	case int16:
		return float64(v), nil
	case int32:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	case time.Time:
		return float64(v.UnixMicro()) / 1e6, nil
	case pgtype.Numeric:
		f, err := v.Float64Value()
		return f.Float64, err
	case pgtype.Interval:
		return float64(v.Microseconds)/1e6 + 86400*float64(v.Days+30*v.Months), nil
	}
	return math.NaN(), fmt.Errorf("%T is no number", v)
}

var (
	marginLine = regexp.MustCompile(`^(.*): ±(?:.* to ±)?(.*)$`)
	clock      = regexp.MustCompile(`^(?:(\d+) days )?(\d+):(\d\d):(\d\d)$`)
)

// margins reads the lines of a notice's detail: «name: ±6», or «name: ±6 to ±40», of which the wider one holds for all.
func margins(detail string) map[string]float64 {
	found := map[string]float64{}
	for line := range strings.SplitSeq(detail, "\n") {
		m := marginLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if c := clock.FindStringSubmatch(m[2]); c != nil {
			for i, seconds := range []float64{86400, 3600, 60, 1} {
				n, _ := strconv.ParseFloat(c[i+1], 64) // no days are 0
				found[m[1]] += n * seconds
			}
		} else if x, err := strconv.ParseFloat(strings.TrimSuffix(m[2], "%"), 64); err == nil {
			found[m[1]] = x
		}
	}
	return found
}

func spent(err error) bool {
	var refusal *pgconn.PgError
	return errors.As(err, &refusal) && refusal.Code == pgerr.BudgetExceeded
}

// column finds one by its name.
func (a answer) column(name string) int { return slices.Index(a.columns, name) }

// text writes a row for people.
func (a answer) text(id string, keys int) string {
	parts := []string{}
	if keys > 0 {
		parts = append(parts, id)
	}
	for i, x := range a.rows[id] {
		if i >= keys {
			parts = append(parts, strconv.FormatFloat(x, 'g', 8, 64))
		}
	}
	return strings.Join(parts, "  ")
}

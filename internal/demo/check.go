package demo

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// tolerance is how far a count may be from the truth, in patients. With the demo's ε of 0.5 for two or three releases the
// noise has a scale below 10; 600 would be passed with a probability below 1e-20.
const tolerance = 600

// check looks at the answers that show collected.
func (d *demo) check(ctx context.Context) error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	last := len(queries) - 1
	for i, a := range d.answers {
		switch {
		case i == last && (a.failed == nil || a.failed.Code != pgerr.InsufficientPrivilege):
			report("rows about a person were not refused: %s", queries[i])
		case i != last && a.failed != nil:
			report("%s: %w", queries[i], a.failed)
		case i != last && (len(a.rows) == 0 || len(a.notices) == 0 || !strings.HasPrefix(a.notices[0].Message, "dpproxy: epsilon ")):
			report("%s: no rows, or no notice of what it cost", queries[i])
		}
	}
	if len(problems) == 0 {
		problems = append(problems, d.compare(ctx))
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("demo check: %w", err)
	}
	d.say("check passed")
	return nil
}

// compare holds the first count and average against the truth, which the superuser may see.
func (d *demo) compare(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.postgres.DSN(database, pgserver.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var count, age float64
	if err := conn.QueryRow(ctx, queries[0]).Scan(&count, &age); err != nil {
		return err
	}
	row := d.answers[0].rows[0]
	noisyCount, err := strconv.ParseFloat(row[0], 64)
	if err != nil {
		return err
	}
	noisyAge, err := strconv.ParseFloat(row[1], 64)
	if err != nil {
		return err
	}
	if math.Abs(noisyCount-count) > tolerance || noisyCount < 0 || math.Abs(noisyAge-age) > 120*tolerance/count || noisyAge < 0 || noisyAge > 120 {
		return fmt.Errorf("%s: %v and %v, the truth is %v and %v", queries[0], noisyCount, noisyAge, count, age)
	}
	return nil
}

// sql runs statements as superuser.
func (d *demo) sql(ctx context.Context, db, sql string) error {
	conn, err := pgx.Connect(ctx, d.postgres.DSN(db, pgserver.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return exec(ctx, conn, sql)
}

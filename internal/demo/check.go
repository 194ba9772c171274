package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/pgserver"
)

// check looks at the answers that show collected.
func (d *demo) check(ctx context.Context) error {
	var problems []error
	report := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	last := len(queries) - 1
	shown := d.answers[len(queries)]
	if len(shown.rows) != 3 || len(shown.notices) != 1 || !strings.Contains(shown.notices[0].Message, "these rows are synthetic") {
		report("%s: %d rows, or no warning that they are synthetic: %v", preview, len(shown.rows), shown.failed)
	}
	for i, a := range d.answers[:len(queries)] {
		switch {
		case i == last && (a.failed == nil || a.failed.Code != pgerr.InsufficientPrivilege):
			report("rows about a person were not refused: %s", queries[i])
		case i != last && a.failed != nil:
			report("%s: %w", queries[i], a.failed)
		case i != last && (len(a.rows) == 0 || len(a.notices) == 0 ||
			!strings.Contains(a.notices[0].Message, "% of your budget spent, ")):
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

// compare holds every answer against the truth, which the superuser may see.
func (d *demo) compare(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.postgres.DSN(database, pgserver.Superuser))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	n, err := d.noise()
	if err != nil {
		return err
	}
	var problems []error
	for i, c := range comparisons {
		results, err := conn.PgConn().Exec(ctx, c.truth).ReadAll()
		if err != nil {
			return fmt.Errorf("%s: %w", c.truth, err)
		}
		truth, err := c.read(results[0].Rows)
		if err != nil {
			return fmt.Errorf("%s: %w", c.truth, err)
		}
		if err := c.compare(n, d.answers[i], truth); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", queries[i], err))
		}
	}
	return errors.Join(problems...)
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

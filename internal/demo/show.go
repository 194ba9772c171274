package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// queries are what the analyst asks; the last is refused.
var queries = []string{
	"SELECT count(*) AS patients, round(avg(age), 1) AS average_age FROM patients WHERE smoker",
	"SELECT diagnosis, count(*) AS patients, round(avg(income)) AS income FROM patients GROUP BY diagnosis ORDER BY patients DESC",
	"SELECT ward, round(sum(cost)) AS cost FROM visits GROUP BY ward ORDER BY cost DESC LIMIT 3",
	"SELECT name, income FROM patients WHERE id = 4711",
}

// preview is what the application asks: rows.
const preview = "SELECT name, age, diagnosis, ward FROM patients LIMIT 3"

// answer holds what came back for one query.
type answer struct {
	columns []pgconn.FieldDescription
	rows    [][]string
	notices []*pgconn.Notice
	failed  *pgconn.PgError
}

func (d *demo) dsn(user string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(user, password), Host: d.proxy.Addr().String(), Path: "/" +
		database}
	return u.String()
}

// show prints queries and answers as psql does.
func (d *demo) show(ctx context.Context) error {
	if err := d.ask(ctx, analyst, queries...); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\nAs %s, whose application wants rows:\n", application)
	if err := d.ask(ctx, application, preview); err != nil {
		return err
	}
	if d.options.Check {
		return nil
	}
	host, port, err := net.SplitHostPort(d.proxy.Addr().String())
	if err != nil {
		return err
	}
	fmt.Fprintf(
		d.out,
		"\nYour turn, until Ctrl-C (the password is %s, the analyst has a budget):\n\n    psql \"postgres://%s:%s@%s/%s\"\n\n"+
			"Or in a browser, as %s: http://%s\n\n", password, analyst, password, net.JoinHostPort(host, port), database,
		analyst,
		d.proxy.ConsoleAddr())
	return nil
}

// ask connects as an analyst would, and prints what it asks and what comes back.
func (d *demo) ask(ctx context.Context, user string, queries ...string) error {
	config, err := pgx.ParseConfig(d.dsn(user))
	if err != nil {
		return err
	}
	var notices []*pgconn.Notice
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connecting to the proxy: %w", err)
	}
	defer conn.Close(ctx)
	for _, sql := range queries {
		notices = nil
		results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		a := answer{notices: notices}
		if err != nil && !errors.As(err, &a.failed) {
			return fmt.Errorf("asking the proxy: %w", err)
		}
		if a.failed == nil && len(results) == 1 {
			a.columns = results[0].FieldDescriptions
			for _, row := range results[0].Rows {
				texts := make([]string, len(row))
				for i, v := range row {
					texts[i] = string(v)
				}
				a.rows = append(a.rows, texts)
			}
		}
		d.answers = append(d.answers, a)
		fmt.Fprintf(d.out, "\nclinic=> %s;\n%s", sql, a)
	}
	return nil
}

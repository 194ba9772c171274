package provision

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/backend"
	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// Setup makes, as databases.admin, the roles that the DSNs name, their grants in main, the shadow database and the
// synthetic twin; or brings all of it up to date. It may be run at any time and as often as wanted. It changes no role
// that it did not make and no right of anybody else, and it ends by connecting as each role. It writes what it did to
// log, one line each.
func Setup(ctx context.Context, p *policy.Policy, log io.Writer) error {
	d, err := parseDSNs(p)
	if err != nil {
		return err
	}
	admins := []struct{ key, dsn string }{{"admin", p.Databases.AdminMain}, {"admin.shadow", p.Databases.AdminShadow}}
	if d.ledger != nil {
		admins = append(admins, struct{ key, dsn string }{"admin.ledger", p.Databases.AdminLedger})
	}
	for _, a := range admins {
		if a.dsn == "" {
			return fmt.Errorf("%w; or run dpproxy setup --print, and have a DBA run the script with psql", p.MissingDSN(a.key))
		}
	}
	e := &executor{
		policy: p, dsns: d, conns: map[target]*pgx.Conn{}, kept: map[string]string{}, current: map[target]bool{},
	}
	defer e.close()
	if err := e.check(ctx); err != nil {
		return err
	}
	if err := e.reportRevoked(ctx, log); err != nil {
		return err
	}
	for _, s := range steps(p, d) {
		if s.on != onMain {
			if err := e.wait(); err != nil {
				return err
			}
		}
		if current, err := e.isCurrent(ctx, s.on, log); err != nil {
			return err
		} else if current {
			continue
		}
		if err := e.do(ctx, s); err != nil {
			return err
		}
		if s.about != "" {
			fmt.Fprintln(log, "dpproxy: setup:", s.about)
		}
	}
	return verifyRoles(ctx, p, slog.New(slog.NewTextHandler(log, nil)))
}

// executor runs steps over connections as administrator.
type executor struct {
	policy  *policy.Policy
	dsns    dsns
	conns   map[target]*pgx.Conn
	kept    map[string]string
	current map[target]bool // of the mirrors that were looked at: they stay as they are
	aside   chan error      // how the step ends that runs beside the others; nil: none does
}

func (e *executor) close() {
	_ = e.wait() // another error came first
	for _, c := range e.conns {
		_ = c.Close(context.Background()) // done with it either way
	}
}

// check stops before anything is changed if the policy does not fit main.
func (e *executor) check(ctx context.Context) error {
	conn, err := e.conn(ctx, onMain)
	if err != nil {
		return err
	}
	found, err := introspect.Read(ctx, conn, introspect.RelationNames(e.policy))
	if err != nil {
		return err
	}
	return e.policy.Locate(introspect.CheckMain(e.policy, found))
}

//go:embed sql/beyond.sql
var beyondSQL string

// reportRevoked says what dpproxy's roles are about to lose: where another policy names the same roles, that may be an
// accident.
func (e *executor) reportRevoked(ctx context.Context, log io.Writer) error {
	conn, err := e.conn(ctx, onMain)
	if err != nil {
		return err
	}
	for _, r := range mainRoles(e.policy, e.dsns) {
		rows, err := conn.Query(ctx, beyondSQL, r.name, relationsJSON(e.policy))
		if err != nil {
			return err
		}
		lost, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if len(lost) > 0 {
			fmt.Fprintf(
				log,
				"dpproxy: setup: role %s may no longer read %s, which this policy does not list; if another policy does, give that one roles of its own\n",
				r.name, strings.Join(lost, ", "))
		}
	}
	return nil
}

// maintenance is the database that every cluster has, to connect to while the wanted one does not exist.
const maintenance = "postgres"

func (e *executor) conn(ctx context.Context, on target) (*pgx.Conn, error) {
	if c := e.conns[on]; c != nil {
		return c, nil
	}
	d := e.policy.Databases
	admin := map[target]struct{ dsn, database string }{
		onMain:          {d.AdminMain, e.dsns.main.Database},
		onShadowCluster: {d.AdminShadow, maintenance},
		onShadow:        {d.AdminShadow, e.dsns.shadow.Database},
		onLedgerCluster: {d.AdminLedger, maintenance},
	}
	if e.dsns.synthetic != nil {
		admin[onTwin] = struct{ dsn, database string }{d.AdminShadow, e.dsns.synthetic.Database}
	}
	if e.dsns.ledger != nil {
		admin[onLedger] = struct{ dsn, database string }{d.AdminLedger, e.dsns.ledger.Database}
	}
	dsn, database := admin[on].dsn, admin[on].database
	conn, err := backend.Connect(ctx, "admin", dsn, database)
	var failed *backend.ConnectError
	if errors.As(err, &failed) {
		failed.Advice = "is the server running, and is this an administrator's login?"
	}
	if err != nil {
		return nil, err
	}
	e.conns[on] = conn
	if _, err := conn.PgConn().Exec(ctx, stepSettings).ReadAll(); err != nil {
		return nil, err
	}
	return conn, nil
}

// do runs a step, or has it run beside those that follow until wait.
func (e *executor) do(ctx context.Context, s step) error {
	conn, err := e.conn(ctx, s.on)
	if err != nil {
		return err
	}
	s.sql = e.insert(s.sql)
	if s.aside {
		e.aside = make(chan error, 1)
		go func() {
			_, err := s.runOn(ctx, conn)
			e.aside <- err
		}()
		return nil
	}
	texts, err := s.runOn(ctx, conn)
	if err == nil && s.action == keep {
		e.kept[s.name] = texts[0]
	}
	return err
}

// wait returns once no step runs aside.
func (e *executor) wait() (err error) {
	if e.aside != nil {
		err, e.aside = <-e.aside, nil
	}
	return err
}

// runOn runs a step, and each text that it returns if it is one to do so.
func (s step) runOn(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	results, err := conn.PgConn().Exec(ctx, s.sql).ReadAll()
	if err != nil {
		return nil, stepError(s, err)
	}
	all := texts(results)
	if s.action != runEach {
		return all, nil
	}
	for _, text := range all {
		if _, err := conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
			return nil, stepError(s, err)
		}
	}
	return all, nil
}

// insert puts kept texts where psql would.
func (e *executor) insert(sql string) string {
	for name, value := range e.kept {
		sql = strings.ReplaceAll(strings.ReplaceAll(sql, ":'"+name+"'", quoteLiteral(value)), ":"+name, value)
	}
	return sql
}

func texts(results []*pgconn.Result) []string {
	var all []string
	for _, r := range results {
		for _, row := range r.Rows {
			if len(row) > 0 && row[0] != nil {
				all = append(all, string(row[0]))
			}
		}
	}
	return all
}

func stepError(s step, err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Hint != "" {
		err = fmt.Errorf("%w: %s", err, e.Hint)
	}
	if s.about == "" {
		return fmt.Errorf("setup: %w", err)
	}
	return fmt.Errorf("setup: %s: %w", s.about, err)
}

// verifyRoles connects as each role, so that setup does not end well where serve would fail.
func verifyRoles(ctx context.Context, p *policy.Policy, log *slog.Logger) error {
	b, err := backend.Open(ctx, p, log)
	var failed *backend.ConnectError
	if errors.As(err, &failed) && !failed.LacksPassword() {
		failed.Advice = "a role that existed before setup keeps its password and its rights: change the DSN, or the role"
	}
	if err != nil {
		return err
	}
	defer b.Close()
	_, err = b.Schema(ctx)
	return err
}

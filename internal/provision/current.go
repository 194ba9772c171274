package provision

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/introspect"
	"github.com/dpproxy/dpproxy/internal/policy"
)

// strangersSQL counts relations of a mirror that are neither dpproxy's nor, by their number, the policy's.
const strangersSQL = `SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpproxy')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')`

const commentSQL = `SELECT COALESCE(pg_catalog.shobj_description(oid, 'pg_database'), '') FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()`

// isCurrent reports whether a step is one of a mirror that is as it would be made, and says so once.
func (e *executor) isCurrent(ctx context.Context, on target, log io.Writer) (bool, error) {
	for _, m := range mirrors(e.policy, e.dsns) {
		if m.on != on {
			continue
		}
		current, looked := e.current[on]
		if looked {
			return current, nil
		}
		current, err := e.looksCurrent(ctx, m)
		e.current[on] = current
		switch {
		case err != nil:
		case current:
			fmt.Fprintln(log, "dpproxy: setup: "+inDatabase(m.config)+"up to date")
		case on == onTwin:
			fmt.Fprintln(log, "dpproxy: setup: "+inDatabase(m.config)+"without rows, until dpproxy synthesize draws them")
		}
		return current, err
	}
	return false, nil
}

// looksCurrent reports whether a mirror is what setup would make of it: then it stays as it is, and a running proxy
// keeps the numbers of types and tables that it knows, and a twin its rows. The comment says what it was made from;
// whether it still looks like that is compared, since anybody may have changed it.
func (e *executor) looksCurrent(ctx context.Context, m mirror) (bool, error) {
	conn, err := e.conn(ctx, m.on)
	if err != nil {
		return false, err
	}
	var comment, mark string
	if err := conn.QueryRow(ctx, commentSQL).Scan(&comment); err != nil {
		return false, err
	}
	if err := conn.QueryRow(ctx, "SELECT "+e.insert(m.mark())).Scan(&mark); err != nil || comment != mark {
		return false, err
	}
	names := introspect.RelationNames(e.policy)
	var relations int
	if err := conn.QueryRow(ctx, strangersSQL).Scan(&relations); err != nil || relations != len(names) {
		return false, err
	}
	main, err := e.conn(ctx, onMain)
	if err != nil {
		return false, err
	}
	same, err := sameShape(ctx, e.policy, main, conn)
	if err != nil || !same || m.on == onTwin {
		return same, err
	}
	rows, err := rowsAmong(ctx, conn, names)
	return err == nil && len(rows) == 0, err // making it anew refuses rows, and says so
}

// sameShape reports whether a mirror has the tables of main, as far as the policy lists them.
func sameShape(ctx context.Context, p *policy.Policy, main, mirror *pgx.Conn) (bool, error) {
	names := introspect.RelationNames(p)
	inMain, err := introspect.Read(ctx, main, names)
	if err != nil {
		return false, err
	}
	inMirror, err := introspect.Read(ctx, mirror, names)
	if err != nil {
		return false, err
	}
	return introspect.SameShape(p, inMain, inMirror), nil
}

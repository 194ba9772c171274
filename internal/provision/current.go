package provision

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/introspect"
)

// strangersSQL counts relations of the shadow that are neither dpproxy's nor, by their number, the policy's.
const strangersSQL = `SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm', 'S') AND n.nspname !~ '^pg_' AND n.nspname NOT IN ('information_schema', 'dpproxy')
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e')`

const shadowCommentSQL = `SELECT COALESCE(pg_catalog.shobj_description(oid, 'pg_database'), '') FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()`

// shadowIsCurrent reports whether the shadow is what setup would make of it: then it stays as it is, and a running
// proxy keeps the numbers of types and tables that it knows. The comment says what it was made from; whether it still
// looks like that is compared, since anybody may have changed it.
func (e *executor) shadowIsCurrent(ctx context.Context) (bool, error) {
	e.looked = true
	conn, err := e.conn(ctx, onShadow)
	if err != nil {
		return false, err
	}
	var comment, mark string
	if err := conn.QueryRow(ctx, shadowCommentSQL).Scan(&comment); err != nil {
		return false, err
	}
	if err := conn.QueryRow(ctx, "SELECT "+e.insert(shadowMark(e.policy, e.dsns))).Scan(&mark); err != nil ||
		comment != mark {
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
	return e.sameShape(ctx, main, conn)
}

func (e *executor) sameShape(ctx context.Context, main, shadow *pgx.Conn) (bool, error) {
	names := introspect.RelationNames(e.policy)
	inMain, err := introspect.Read(ctx, main, names)
	if err != nil {
		return false, err
	}
	inShadow, err := introspect.Read(ctx, shadow, names)
	if err != nil {
		return false, err
	}
	if !introspect.SameShape(e.policy, inMain, inShadow) {
		return false, nil
	}
	rows, err := rowsAmong(ctx, shadow, names)
	return err == nil && len(rows) == 0, err // making it anew refuses rows, and says so
}

package catalog

import (
	"strings"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// ownSchema is the schema of the relations and functions that analysts may name in addition to those of the policy.
const ownSchema = "dpproxy"

// ShadowSQL returns what setup runs in the shadow database as its owner, in one transaction or several, as often as it
// likes.
//
// It creates the schema dpproxy with the relations and functions of the contract. They hold nothing and compute
// nothing: PostgreSQL needs them to check and describe a statement that names them. When one runs, Check has replaced
// the relations by parameters, and rewrite has replaced the functions by released values.
func ShadowSQL() string {
	var b strings.Builder
	b.WriteString(shadowHead)
	for _, r := range ownRelations {
		b.WriteString("CREATE OR REPLACE VIEW dpproxy." + r.name + " AS SELECT ")
		for i, c := range r.columns {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("NULL::" + c.Type + " AS " + sqltext.Ident(c.Name))
		}
		b.WriteString(" WHERE false;\n")
		b.WriteString("COMMENT ON VIEW dpproxy." + r.name + " IS " + sqltext.Literal(r.comment) + ";\n")
		b.WriteString("GRANT SELECT ON dpproxy." + r.name + " TO PUBLIC;\n")
	}
	b.WriteString(shadowFunctions)
	b.WriteString(shadowRevokes)
	return b.String()
}

// Revokes is the part of ShadowSQL that takes rights from everyone, for a database that has nothing else of it.
func Revokes() string { return shadowRevokes }

// Column is a column of a relation: its name and its type as PostgreSQL spells it.
type Column struct{ Name, Type string }

// ownRelation is a relation of schema dpproxy whose rows the engine supplies.
type ownRelation struct {
	name, comment string
	supply        SupplyKind
	columns       []Column
}

// ownRelations are named by the contract, columns and types included.
var ownRelations = []ownRelation{
	{"budget", "What you may spend: one row, your own.", SupplyBudget, []Column{
		{"analyst", "text"},
		{"epsilon_total", "double precision"},
		{"epsilon_spent", "double precision"},
		{"epsilon_left", "double precision"},
		{"delta", "double precision"},
		{"period_ends", "timestamp with time zone"},
		{"share_spent", "double precision"},
		{"share_left", "double precision"},
	}},
	{"columns", "What you may ask: one row for each column of the policy.", SupplyColumns, []Column{
		{"table_name", "text"},
		{"column_name", "text"},
		{"type", "text"},
		{"lower", "text"},
		{"upper", "text"},
		{"domain", "text"},
		{"uses", "text"},
	}},
	{"history", "What you asked and what it cost: your own statements.", SupplyHistory, []Column{
		{"at", "timestamp with time zone"}, {"query", "text"}, {"epsilon", "double precision"}, {"share", "double precision"},
	}},
	{
		"last", "What your last statement over private tables has released: one row for each aggregate.", SupplyLast,
		[]Column{
			{"column_name", "text"},
			{"mechanism", "text"},
			{"scale", "double precision"},
			{"margin", "double precision"},
			{"left_out", "double precision"},
			{"epsilon", "double precision"},
			{"place", "text"},
		},
	},
	{"help", "Why a question is refused and what to write instead, functions, and settings.", SupplyHelp, []Column{
		{"topic", "text"}, {"text", "text"},
	}},
}

const shadowHead = `CREATE SCHEMA IF NOT EXISTS dpproxy;
COMMENT ON SCHEMA dpproxy IS 'dpproxy: your budget, the policy, and functions over released values';
GRANT USAGE ON SCHEMA dpproxy TO PUBLIC;
`

// The functions carry the types of the contract. Their results on the shadow are NULL and reach nobody.
const shadowFunctions = `CREATE OR REPLACE FUNCTION dpproxy.interval_low(aggregate anyelement) RETURNS anyelement LANGUAGE sql STABLE AS 'SELECT CASE WHEN false THEN $1 END';
COMMENT ON FUNCTION dpproxy.interval_low(anyelement) IS 'lower end of the 95% interval around a released aggregate';
CREATE OR REPLACE FUNCTION dpproxy.interval_high(aggregate anyelement) RETURNS anyelement LANGUAGE sql STABLE AS 'SELECT CASE WHEN false THEN $1 END';
COMMENT ON FUNCTION dpproxy.interval_high(anyelement) IS 'upper end of the 95% interval around a released aggregate';
CREATE OR REPLACE FUNCTION dpproxy.noise_stddev(aggregate anyelement) RETURNS double precision LANGUAGE sql STABLE AS 'SELECT NULL::double precision';
COMMENT ON FUNCTION dpproxy.noise_stddev(anyelement) IS 'standard deviation of the noise in a released aggregate';
CREATE OR REPLACE FUNCTION dpproxy.within(aggregate anyelement, margin numeric) RETURNS anyelement LANGUAGE sql STABLE AS 'SELECT CASE WHEN false THEN $1 END';
COMMENT ON FUNCTION dpproxy.within(anyelement, numeric) IS 'a count or sum, released with the epsilon that keeps a 95% margin';
GRANT EXECUTE ON FUNCTION dpproxy.interval_low(anyelement), dpproxy.interval_high(anyelement), dpproxy.noise_stddev(anyelement), dpproxy.within(anyelement, numeric) TO PUBLIC;
`

// shadowRevokes takes from everyone, in the shadow database alone, what no statement there needs. It is a second wall:
// the lists of this package refuse all of it before it gets here. An owner who is no superuser may not revoke what
// belongs to the system; setup then goes on with the first wall alone, and says so in a NOTICE.
const shadowRevokes = `REVOKE CREATE ON SCHEMA public FROM PUBLIC;
DO $dpproxy$
DECLARE f regprocedure;
BEGIN
  EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  IF NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) THEN
    RAISE NOTICE 'dpproxy: only a superuser may revoke functions of the system from PUBLIC in this database';
    RETURN;
  END IF;
  FOR f IN SELECT p.oid::regprocedure FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = 'pg_catalog'::regnamespace AND (p.proname ~
      '^(pg_stat_(get|clear|reset|file)|pg_ls_|pg_read_|pg_write_|pg_file_|pg_sleep|pg_(try_)?advisory_|pg_notify|pg_listening_channels|pg_notification_|lo_|loread|lowrite|txid_|pg_(current|visible|snapshot|xact)_|pg_export_|pg_lock_|pg_blocking|pg_safe_snapshot|pg_prepared_|pg_logical_|pg_create_|pg_drop_|pg_copy_|pg_replication_|pg_switch_|pg_terminate|pg_cancel|pg_reload|pg_rotate|pg_promote|pg_backup|pg_start|pg_stop|pg_wal|pg_control_|pg_current_logfile|pg_hba_|pg_ident_|pg_show_all_file|pg_get_(backend_memory|shmem|wal|replication)|pg_log_backend|pg_database_size|pg_tablespace_size|nextval|setval|setseed|ts_stat)'
      OR p.proname ~ '^(query|table|cursor|schema|database)_to_xml')
  LOOP
    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f::text || ' FROM PUBLIC';
  END LOOP;
END
$dpproxy$;
`

// RoleSQL returns what setup runs for the role of the shadow connection, after creating it, in the shadow database. The
// role can log in and read; nothing that a session leaves behind may outlive it or reach another.
func RoleSQL(role string) string {
	r := sqltext.Ident(role)
	return "ALTER ROLE " + r + ` NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
DO $dpproxy$
BEGIN
` + inDatabase(r, "default_transaction_read_only", "on") +
		inDatabase(r, "statement_timeout", "30s") +
		inDatabase(r, "idle_in_transaction_session_timeout", "60s") +
		inDatabase(r, "lock_timeout", "5s") +
		inDatabase(r, "row_security", "on") +
		inDatabase(r, "max_parallel_workers_per_gather", "0") +
		inDatabase(r, "jit", "off") + // catalog queries have high estimates and few rows: compiling takes longer than running
		`END
$dpproxy$;
`
}

// inDatabase prints one ALTER ROLE … IN DATABASE … SET for a DO block: the database's name is known there only.
func inDatabase(role, setting, value string) string {
	return "  EXECUTE format('ALTER ROLE %s IN DATABASE %I SET " + setting + " = %L', " + sqltext.Literal(role) +
		", current_database(), " + sqltext.Literal(value) + ");\n"
}

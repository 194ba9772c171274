package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// class says how a relation of pg_catalog may be read.
type class int

const (
	plain    class = iota + 1 // as it is: in the shadow it describes the policy's tables and no row
	empty                     // same shape, no rows: the cluster, statistics, other sessions
	filtered                  // by a query of its own
)

// systemRelations is the allow-list of pg_catalog.
var systemRelations = classes(map[class]string{
	plain: `pg_aggregate pg_am pg_amop pg_amproc pg_attrdef pg_attribute pg_available_extension_versions
		pg_available_extensions pg_cast pg_class pg_collation pg_constraint pg_conversion pg_default_acl pg_depend pg_description
		pg_enum pg_event_trigger pg_extension pg_foreign_data_wrapper pg_foreign_server pg_foreign_table pg_index pg_indexes
		pg_inherits pg_init_privs pg_language pg_matviews pg_namespace pg_opclass pg_operator pg_opfamily pg_partitioned_table
		pg_policies pg_policy pg_proc pg_publication pg_publication_namespace pg_publication_rel pg_publication_tables pg_range
		pg_rewrite pg_rules pg_sequence pg_sequences pg_statistic_ext pg_tables pg_timezone_abbrevs pg_timezone_names
		pg_transform pg_trigger pg_ts_config pg_ts_config_map pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_views`,
	empty: `pg_auth_members pg_cursors pg_db_role_setting pg_group pg_largeobject_metadata pg_locks pg_parameter_acl
		pg_prepared_statements pg_prepared_xacts pg_replication_origin_status pg_replication_slots pg_seclabel pg_seclabels
		pg_shdepend pg_shdescription pg_shseclabel pg_stat_activity pg_stat_archiver pg_stat_bgwriter pg_stat_checkpointer
		pg_stat_database pg_stat_database_conflicts pg_stat_gssapi pg_stat_io pg_stat_progress_analyze
		pg_stat_progress_basebackup pg_stat_progress_cluster pg_stat_progress_copy pg_stat_progress_create_index
		pg_stat_progress_vacuum pg_stat_recovery_prefetch pg_stat_replication pg_stat_replication_slots pg_stat_slru
		pg_stat_ssl pg_stat_subscription pg_stat_subscription_stats pg_stat_user_functions pg_stat_wal pg_stat_wal_receiver
		pg_stat_xact_all_tables pg_stat_xact_sys_tables pg_stat_xact_user_functions pg_stat_xact_user_tables
		pg_stat_sys_indexes pg_stat_sys_tables pg_statio_all_sequences pg_statio_sys_indexes pg_statio_sys_sequences
		pg_statio_sys_tables pg_statio_user_sequences pg_stats pg_stats_ext pg_stats_ext_exprs pg_subscription
		pg_subscription_rel
		pg_user_mappings pg_wait_events`,
	filtered: `pg_database pg_roles pg_user pg_settings pg_tablespace
		pg_stat_all_tables pg_stat_user_tables pg_statio_all_tables pg_statio_user_tables
		pg_stat_all_indexes pg_stat_user_indexes pg_statio_all_indexes pg_statio_user_indexes`,
})

var errUnlisted = errors.New("relation is not on the allow-list")

// catalogRelation returns the query that stands for a catalog relation; "" reads it as it is.
func (c *checker) catalogRelation(n policy.Name) (string, error) {
	switch n.Schema {
	case ownSchema:
		return c.ownRows(n.Relation)
	case "information_schema":
		return c.information(n.Relation)
	case "pg_catalog":
		switch systemRelations[n.Relation] {
		case plain:
			return "", nil
		case empty:
			return noRows(n.Relation), nil
		case filtered:
			return c.filteredRelation(n.Relation), nil
		}
	}
	return "", errUnlisted
}

// noRows prints a query with a relation's columns that does not read the relation: only its row type is used.
func noRows(relation string) string {
	return "SELECT r.* FROM pg_catalog.jsonb_populate_record(NULL::pg_catalog." + relation +
		", '{}'::pg_catalog.jsonb) AS r WHERE false"
}

// filteredRelation shows the client's database and user where the shadow has its own.
func (c *checker) filteredRelation(relation string) string {
	switch relation {
	case "pg_database":
		return c.databases()
	case "pg_roles":
		return c.roles("pg_roles", "oid", "rolname", "'rolconnlimit', -1, 'rolconfig', NULL, 'rolvaliduntil', NULL")
	case "pg_user":
		return c.roles("pg_user", "usesysid", "usename", "'useconfig', NULL, 'valuntil', NULL")
	case "pg_tablespace":
		return populate("pg_catalog.pg_tablespace AS t", "t", "'{\"spcacl\": null, \"spcoptions\": null}'::pg_catalog.jsonb",
			"t.spcname IN ('pg_default', 'pg_global')")
	case "pg_settings":
		return "SELECT * FROM pg_catalog.pg_settings AS s WHERE pg_catalog.lower(s.name) IN (" + settingNames +
			") UNION ALL " + c.shownSettings()
	}
	if strings.HasSuffix(relation, "_indexes") {
		return statistics(
			relation,
			"pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS x ON x.oid = i.indexrelid JOIN pg_catalog.pg_class AS c ON c.oid = i.indrelid",
			"'indexrelid', i.indexrelid, 'indexrelname', x.relname, ")
	}
	return statistics(relation, "pg_catalog.pg_class AS c", "")
}

// databases shows the client's database in the place of the shadow, and the others that clients can connect to.
func (c *checker) databases() string {
	overrides := func(name string) string {
		return fmt.Sprintf(
			"pg_catalog.jsonb_build_object('datname', %s, 'datallowconn', true, 'datistemplate', false, 'datconnlimit', -1, 'datacl', NULL, 'datfrozenxid', '3', 'datminmxid', '1')",
			sqltext.EscapedLiteral(name))
	}
	const own = "d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()"
	shown := populate("pg_catalog.pg_database AS d", "d", overrides(c.in.Database), own)
	for _, name := range c.in.Databases {
		if name != c.in.Database {
			shown += " UNION ALL " + populate("pg_catalog.pg_database AS d", "d", overrides(name), own)
		}
	}
	return shown
}

// roles shows the owners of what the shadow holds, and the shadow's role under the client's name.
func (c *checker) roles(relation, oid, name, hidden string) string {
	return populate("pg_catalog."+relation+" AS o", "o",
		fmt.Sprintf("pg_catalog.jsonb_build_object(%s, '%s', CASE WHEN o.%s = current_user THEN %s ELSE o.%s END)", hidden,
			name, name, nameLiteral(c.in.User), name),
		fmt.Sprintf(
			"o.%s = current_user OR o.%s IN (SELECT relowner FROM pg_catalog.pg_class UNION SELECT nspowner FROM pg_catalog.pg_namespace UNION SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())", name, oid))
}

// populate prints a query over one relation that overrides some columns and keeps the others and all types, whatever
// columns the server's version has.
func populate(from, alias, overrides, where string) string {
	return "SELECT r.* FROM " + from + " CROSS JOIN LATERAL pg_catalog.jsonb_populate_record(" + alias + ", " + overrides +
		") AS r WHERE " + where
}

// statistics prints a query that names the relations of a statistics view and counts nothing. Counters that are not
// listed are NULL: the view itself is never read.
func statistics(relation, from, ids string) string {
	where := "c.relkind IN ('r', 't', 'm', 'p')"
	if strings.Contains(relation, "_user_") {
		where += " AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_toast'"
	}
	return "SELECT r.* FROM " + from +
		" JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace CROSS JOIN LATERAL pg_catalog.jsonb_populate_record(NULL::pg_catalog." +
		relation + ", pg_catalog.jsonb_build_object(" + ids +
		"'relid', c.oid, 'schemaname', n.nspname, 'relname', c.relname) || " + zeroObject + ") AS r WHERE " + where
}

// zeroCounters are the counters that tools read: no rows, no scans.
const zeroCounters = `seq_scan seq_tup_read idx_scan idx_tup_fetch idx_tup_read n_tup_ins n_tup_upd n_tup_del n_tup_hot_upd
	n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum vacuum_count autovacuum_count analyze_count
	autoanalyze_count heap_blks_read heap_blks_hit idx_blks_read idx_blks_hit`

var (
	zeroObject   = zeros()
	settingNames = quotedSettings()
)

func zeros() string {
	parts := strings.Fields(zeroCounters)
	for i, p := range parts {
		parts[i] = fmt.Sprintf("%q: 0", p)
	}
	return "'{" + strings.Join(parts, ", ") + "}'::pg_catalog.jsonb"
}

func classes(lists map[class]string) map[string]class {
	m := map[string]class{}
	for k, list := range lists {
		for w := range words(list) {
			m[w] = k
		}
	}
	return m
}

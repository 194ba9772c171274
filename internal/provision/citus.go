package provision

import (
	"context"
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/dpproxy/dpproxy/internal/policy"
)

//go:embed sql/citus.sql
var citusSQL string

// placed says how Citus keeps a table.
type placed struct {
	method  string // h: by the hash of column; n: without a column; empty: on the coordinator alone
	copies  string // of a table without a column, t: every node has it
	group   int64  // tables of one group have equal values of their columns on one node
	column  string
	indexes int // unique ones that the coordinator knows of
}

// checkCitus makes sure that workers of a Citus cluster can answer measure queries: all rows of a unit are on one of
// them, with the public rows that they are joined to. The check reads catalogs alone, of main and, through it, of the
// workers.
func (c *liveCheck) checkCitus(ctx context.Context) error {
	citus, err := c.main.strings(ctx, "SELECT extname::text FROM pg_catalog.pg_extension WHERE extname = 'citus'")
	if err != nil || len(citus) == 0 {
		return err
	}
	tables := map[policy.Name]placed{}
	err = c.main.each(ctx, citusSQL, func(rows pgx.Rows) error {
		var name policy.Name
		var p placed
		err := rows.Scan(&name.Schema, &name.Relation, &p.method, &p.copies, &p.group, &p.column, &p.indexes)
		if c.policy.Table(name) != nil && p.method != "" {
			tables[name] = p
		}
		return err
	})
	if err != nil || len(tables) == 0 {
		return err
	}
	first := map[string]*policy.Table{} // by kind of unit
	for _, t := range c.policy.Tables {
		c.checkPlaced(t, tables)
		if t.Unit == nil || tables[t.Name].method != "h" {
			continue
		}
		if err := c.checkShards(ctx, t, tables[t.Name].indexes); err != nil {
			return err
		}
		of := first[t.Unit.Name]
		if of == nil {
			first[t.Unit.Name] = t
		} else if tables[of.Name].group != tables[t.Name].group {
			c.found.problem(
				"tables.%s: it is not co-located with %s, so that rows of one %s are on several workers: SELECT update_distributed_table_colocation('%s', colocate_with => '%s') on main",
				t.Name, of.Name, t.Unit.Name, t.Name, of.Name)
		}
	}
	return c.checkWorkers(ctx)
}

// checkPlaced holds a table to where it has to be.
func (c *liveCheck) checkPlaced(t *policy.Table, tables map[policy.Name]placed) {
	is := tables[t.Name]
	switch {
	case t.Unit == nil && is.method == "n" && is.copies == "t":
	case t.Unit == nil:
		c.found.problem(
			"tables.%s: it is public, and not every node of the Citus cluster has it: SELECT create_reference_table('%s') on main", t.Name, t.Name)
	case t.Unit.Via != nil:
		via := t.Unit.Via
		if to := tables[via.References]; is.method != "h" || is.column != via.Column || to.column != via.ReferencesColumn {
			c.found.problem(
				"tables.%s.privacy_unit.via: a Citus cluster must find the unit of a row by the column that the table is distributed by: add the unit's column to the table, distribute it by that, and name it as privacy_unit.column", t.Name)
		}
	case is.method != "h":
		c.found.problem(
			"tables.%s: it is not distributed by its unit: SELECT create_distributed_table('%s', '%s') on main, which needs the column in the primary key and no NULL in it", t.Name, t.Name, t.Unit.Column)
	case is.column != t.Unit.Column:
		c.found.problem(
			"tables.%s: it is distributed by %s, not by its unit: SELECT alter_distributed_table('%s', distribution_column => '%s', cascade_to_colocated => true) on main", t.Name, is.column, t.Name, t.Unit.Column)
	}
}

// checkShards makes sure that workers enforce the unique indexes that the coordinator has: plans rest on them
// (docs/privacy.md P1).
func (c *liveCheck) checkShards(ctx context.Context, t *policy.Table, indexes int) error {
	const without = `SELECT DISTINCT CASE WHEN success THEN 'found ' || result ELSE result END FROM pg_catalog.run_command_on_shards($1::pg_catalog.regclass,
  $2 || ' WHERE i.indrelid = %L::pg_catalog.regclass') WHERE NOT success OR result IS DISTINCT FROM $3::text`
	found, err := c.main.strings(ctx, without, identifier(t.Name.Schema, t.Name.Relation),
		"SELECT pg_catalog.count(*) FILTER (WHERE i.indisunique AND i.indisvalid) FROM pg_catalog.pg_index i", indexes)
	if err == nil && len(found) > 0 {
		c.found.problem(
			"tables.%s: %d unique indexes are on the coordinator, and not all on every shard (%s): make them again, with citus.enable_ddl_propagation on", t.Name, indexes, strings.Join(found, "; "))
	}
	return err
}

// checkWorkers logs in to every worker, as main's role and as public's.
func (c *liveCheck) checkWorkers(ctx context.Context) error {
	for _, role := range []*connection{c.main, c.public} {
		if role == nil {
			continue
		}
		failed,
			err := role.strings(
			ctx,
			"SELECT pg_catalog.format('%s:%s: %s', nodename, nodeport, result) FROM pg_catalog.run_command_on_workers('SELECT 1') WHERE NOT success")
		if err != nil {
			return err
		}
		for _, worker := range failed {
			c.found.problem(
				"databases.%s: role %s cannot ask a worker of the Citus cluster (%s): let pg_hba.conf there, or pg_dist_authinfo on the coordinator, admit it", role.name, role.conn.Config().User, worker)
		}
	}
	return nil
}

package provision

import (
	_ "embed"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpproxy/dpproxy/internal/ledger/stores/postgres"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/verifier"
)

//go:embed sql/shadow.sql
var shadowSQL string

//go:embed sql/checks.sql
var checksSQL string

//go:embed sql/create.sql
var createSQL string

//go:embed sql/revoke.sql
var revokeSQL string

// target says where a step of setup runs, as administrator.
type target int

const (
	onMain          target = iota // main's database
	onShadowCluster               // any database of the shadow's cluster: the shadow may not exist yet
	onShadow                      // the shadow database
	onTwin                        // the synthetic twin, on the shadow's cluster
	onLedgerCluster               // any database of a shared ledger's cluster
	onLedger                      // a shared ledger's database
)

// action says what happens with a step's SQL. Setup and its script know the same three, so that both do the same.
type action int

const (
	run     action = iota // run it
	runEach               // run it, then run each text that it returns (psql: \gexec)
	keep                  // run it and keep the text that it returns under a name (psql: \gset)
)

// step holds one part of setup. A kept text is inserted where later SQL says :name (as it is) or :'name' (as a
// literal).
type step struct {
	on     target
	action action
	name   string // keep
	about  string // one line for the script's reader and for errors
	sql    string
	aside  bool // it takes long: setup goes on with main beside it
}

const (
	keptCreate = "dpproxy_create"
	keptShadow = "dpproxy_shadow"
	keptChecks = "dpproxy_checks"
)

// session settings of every step: names are spelled alike, strings are read alike.
const stepSettings = "SET search_path = pg_catalog, pg_temp; SET standard_conforming_strings = on; SET client_min_messages = warning; SET citus.multi_shard_modify_mode = sequential"

// steps lists all of setup, in order.
func steps(p *policy.Policy, d dsns) []step {
	inMain := inDatabase(d.main)
	all := []step{}
	add := func(on target, a action, about, sql string) {
		all = append(all, step{on: on, action: a, about: about, sql: sql})
	}

	for _, m := range mirrors(p, d) {
		all = append(all, m.creation(d.main)...)
	}
	for _, r := range mainRoles(p, d) {
		all = append(all, roleSteps(onMain, r)...)
	}
	add(onMain, run, "", "BEGIN")
	for _, r := range mainRoles(p, d) {
		add(onMain, runEach, inMain+"role "+r.name+" loses what an earlier policy listed", bind(revokeSQL, r.name))
		add(onMain, run, inMain+"role "+r.name+" may read what this policy lists, no more", r.grants)
	}
	add(onMain, run, "", "COMMIT")
	all = append(all, step{
		on: onMain, action: keep, name: keptShadow, about: inMain + "the shape of the policy's tables",
		sql: bind(shadowSQL, relationsJSON(p)),
	})
	if d.synthetic != nil {
		all = append(all, step{
			on: onMain, action: keep, name: keptChecks, about: inMain + "what the rows of these tables are checked for",
			sql: bind(checksSQL, relationsJSON(p)),
		})
	}

	for _, m := range mirrors(p, d) {
		all = append(all, m.steps()...)
	}
	return append(all, ledgerSteps(d)...)
}

// inDatabase begins what a step says of itself.
func inDatabase(c *pgconn.Config) string { return "database " + c.Database + ": " }

// ledgerSteps make a shared ledger's role, database and schema; none for a ledger in a file.
func ledgerSteps(d dsns) []step {
	if d.ledger == nil {
		return nil
	}
	database, user := identifier(d.ledger.Database), identifier(d.ledger.User)
	return append(roleSteps(onLedgerCluster, role{name: d.ledger.User, password: d.ledger.Password}),
		step{
			on: onLedgerCluster, action: runEach, about: inDatabase(d.ledger) + "created, if it is not there",
			sql: "SELECT " + quoteLiteral("CREATE DATABASE "+database+" ENCODING 'UTF8' TEMPLATE template0") +
				" WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = " + quoteLiteral(d.ledger.Database) + ")",
		},
		step{on: onLedger, action: run, about: inDatabase(d.ledger) + "the ledger's schema", sql: postgres.SetupSQL(
			d.ledger.User)},
		step{on: onLedger, action: run, sql: "GRANT CONNECT ON DATABASE " + database + " TO " + user})
}

// role describes a role that a DSN names, and what it gets in main.
type role struct{ name, password, grants string }

// mainRoles returns main's and public's roles.
func mainRoles(p *policy.Policy, d dsns) []role {
	roles := []role{{
		name: d.main.User, password: d.main.Password,
		grants: mainGrants(p, d.main, func(*policy.Table) bool { return true }),
	}}
	if d.public != nil {
		roles = append(roles, role{
			name: d.public.User, password: d.public.Password,
			grants: mainGrants(p, d.public, func(t *policy.Table) bool { return t.Public }),
		})
	}
	return roles
}

// roleComment marks a role that setup made: setup changes no other.
const roleComment = "dpproxy: made by dpproxy setup"

// roleSteps create a role, or give it the DSN's password if it is one of ours.
func roleSteps(on target, r role) []step {
	login := identifier(r.name) + " LOGIN"
	if v, err := verifier.New(r.password); err == nil { // an error means no password
		login += " PASSWORD " + quoteLiteral(v)
	}
	create := "CREATE ROLE " + login + "; COMMENT ON ROLE " + identifier(r.name) + " IS " + quoteLiteral(roleComment)
	return []step{
		{
			on: on, action: runEach, about: "role " + r.name,
			sql: "SELECT " + quoteLiteral("ALTER ROLE "+login) + ownRole("", r.name),
		},
		{on: on, action: runEach, sql: "SELECT " + quoteLiteral(create) +
			" WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = " + quoteLiteral(r.name) + ")"},
	}
}

// ownRole appends the condition that a role was made by setup.
func ownRole(sql, name string) string {
	return sql + " WHERE EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = " + quoteLiteral(name) +
		" AND pg_catalog.shobj_description(oid, 'pg_authid') LIKE 'dpproxy:%')"
}

// bind inserts the one parameter of a query as a literal, since psql has no parameters, and drops the comment above it.
func bind(sql, value string) string {
	for strings.HasPrefix(sql, "--") {
		_, sql, _ = strings.Cut(sql, "\n")
	}
	return strings.ReplaceAll(sql, "$1", quoteLiteral(value))
}

// identifier quotes a relation's or column's name.
func identifier(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// quoteLiteral quotes a string for standard_conforming_strings = on.
func quoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

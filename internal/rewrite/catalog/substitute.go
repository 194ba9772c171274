package catalog

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// substitutes replaces functions whose answer would describe the shadow, the cluster or the pooled connection by
// constants that say nothing of them: no address (as on a Unix socket), no size, locks that are always free.
var substitutes = map[string]string{
	"inet_client_addr":       "NULL::pg_catalog.inet",
	"inet_client_port":       "NULL::pg_catalog.int4",
	"inet_server_addr":       "NULL::pg_catalog.inet",
	"inet_server_port":       "NULL::pg_catalog.int4",
	"pg_backend_pid":         "0::pg_catalog.int4",
	"pg_relation_size":       "0::pg_catalog.int8",
	"pg_table_size":          "0::pg_catalog.int8",
	"pg_indexes_size":        "0::pg_catalog.int8",
	"pg_total_relation_size": "0::pg_catalog.int8",
	"pg_database_size":       "0::pg_catalog.int8",
	"pg_tablespace_size":     "0::pg_catalog.int8",
	"pg_tablespace_location": "''::pg_catalog.text",
	"shobj_description":      "NULL::pg_catalog.text",

	"pg_stat_get_numscans":    "0::pg_catalog.int8",
	"pg_stat_get_live_tuples": "0::pg_catalog.int8",
	"pg_stat_get_dead_tuples": "0::pg_catalog.int8",

	"pg_advisory_lock":                 "''::pg_catalog.void",
	"pg_advisory_lock_shared":          "''::pg_catalog.void",
	"pg_advisory_xact_lock":            "''::pg_catalog.void",
	"pg_advisory_xact_lock_shared":     "''::pg_catalog.void",
	"pg_advisory_unlock_all":           "''::pg_catalog.void",
	"pg_try_advisory_lock":             "true",
	"pg_try_advisory_lock_shared":      "true",
	"pg_try_advisory_xact_lock":        "true",
	"pg_try_advisory_xact_lock_shared": "true",
	"pg_advisory_unlock":               "true",
	"pg_advisory_unlock_shared":        "true",
}

// substituteFor returns the expression that is written in the place of a function, if there is one.
func (c *checker) substituteFor(name string, f *pg_query.FuncCall) (expr string, ok bool, err error) {
	if expr, ok := substitutes[name]; ok {
		return expr, true, nil
	}
	switch name {
	case "current_database":
		return nameLiteral(c.in.Database), true, nil
	case "current_user", "session_user", "getpgusername":
		return nameLiteral(c.in.User), true, nil
	case "current_setting":
		return c.currentSetting(f)
	case "set_config":
		return c.setConfig(f)
	case "has_database_privilege":
		return c.databasePrivilege(f)
	case "age", "mxid_age":
		return c.age(name, f)
	}
	return "", false, nil
}

// valueFunction answers current_user and the like; dates and times pass.
func (c *checker) valueFunction(n *pg_query.Node, v *pg_query.SQLValueFunction) error {
	switch {
	case userFunction(v.Op):
		return c.substituteExpr(n, nameLiteral(c.in.User))
	case v.Op == pg_query.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
		return c.substituteExpr(n, nameLiteral(c.in.Database))
	case v.Op == pg_query.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
		c.usesCatalog(int(v.Location), "current_schema")
	}
	return nil
}

func userFunction(op pg_query.SQLValueFunctionOp) bool {
	switch op {
	case pg_query.SQLValueFunctionOp_SVFOP_CURRENT_USER, pg_query.SQLValueFunctionOp_SVFOP_SESSION_USER,
		pg_query.SQLValueFunctionOp_SVFOP_USER, pg_query.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
		return true
	}
	return false
}

// databasePrivilege answers for the database that the client sees: it may connect, and nothing else.
func (c *checker) databasePrivilege(f *pg_query.FuncCall) (string, bool, error) {
	if len(f.Args) < 2 {
		return "", false, nil
	}
	privilege, ok := constantString(f.Args[len(f.Args)-1])
	if !ok {
		return "", false, c.refuse(refusal.ConstantNeeded, int(f.Location),
			"has_database_privilege() needs a literal privilege", "Write 'CONNECT', 'CREATE' or 'TEMPORARY'.")
	}
	if strings.EqualFold(strings.TrimSpace(privilege), "connect") {
		return "true", true, nil
	}
	return "false", true, nil
}

// age lets the age of a time pass. The age of a transaction number says how many transactions the cluster has run; for
// the columns that hold one the answer is 0. Any other column passes if it can only be one of a public table.
func (c *checker) age(name string, f *pg_query.FuncCall) (string, bool, error) {
	if name == "age" && len(f.Args) == 2 {
		return "", false, nil
	}
	if len(f.Args) != 1 {
		return "", false, c.functionDenied(int(f.Location), name)
	}
	fields := f.Args[0].GetColumnRef().GetFields()
	if len(fields) > 0 {
		switch fields[len(fields)-1].GetString_().GetSval() {
		case "relfrozenxid", "datfrozenxid", "relminmxid", "datminmxid":
			return "0::pg_catalog.int4", true, nil
		}
	}
	switch {
	case name == "age" && isTime(f.Args[0]):
	case name == "age" && len(fields) > 0:
		if c.ageAt < 0 {
			c.ageAt = int(f.Location)
		}
	default:
		return "", false, c.ageRefused(name, int(f.Location))
	}
	return "", false, nil
}

func (c *checker) ageRefused(name string, at int) error {
	return c.refuse(refusal.CatalogForm, at, name+"() of this argument is not supported",
		"Write age(current_date, x), or cast: age(x::timestamptz).")
}

// isTime reports whether an expression is a timestamp or a date by its form.
func isTime(n *pg_query.Node) bool {
	if v := n.GetSqlvalueFunction(); v != nil {
		return !userFunction(v.Op)
	}
	if names := stringsOf(n.GetFuncCall().GetFuncname()); len(names) > 0 {
		return timeFunctions[names[len(names)-1]]
	}
	names := stringsOf(n.GetTypeCast().GetTypeName().GetNames())
	if len(names) == 0 || len(n.GetTypeCast().GetTypeName().GetArrayBounds()) > 0 {
		return false
	}
	switch names[len(names)-1] {
	case "timestamp", "timestamptz", "date":
		return true
	}
	return false
}

// timeFunctions return times, in all their overloads.
var timeFunctions = words(
	`now clock_timestamp statement_timestamp transaction_timestamp to_timestamp to_date date_bin make_date
	make_timestamp make_timestamptz`)

func nameLiteral(s string) string { return sqltext.EscapedLiteral(s) + "::pg_catalog.name" }

// unrecognized gives PostgreSQL's error for a setting that does not exist; those off the list do not.
func (c *checker) unrecognized(at int, name string) error {
	return pgerr.New(pgerr.UndefinedObject, `unrecognized configuration parameter "`+name+`"`,
		pgerr.At(c.text.Position(at)))
}

package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// sessionSettings are held by the session: their values are the client's, not the pooled connection's. The engine
// supplies them. Keys are lower case.
var sessionSettings = words(`
	application_name bytea_output client_encoding client_min_messages datestyle default_transaction_isolation
	default_transaction_read_only extra_float_digits idle_in_transaction_session_timeout intervalstyle jit lc_messages
	lc_monetary lc_numeric lc_time lock_timeout role search_path session_authorization standard_conforming_strings
	statement_timeout timezone transaction_isolation transaction_read_only
	dpproxy.epsilon dpproxy.notices dpproxy.margin dpproxy.empty_groups dpproxy.max_rows dpproxy.max_rows_per_group
	dpproxy.intervals dpproxy.workload dpproxy.rows dpproxy.source`)

// ownSettings are shown in pg_settings beside PostgreSQL's, so that clients complete and describe their names. The type
// is PostgreSQL's word; values are those of an enum.
var ownSettings = []struct{ name, vartype, values, description string }{
	{"dpproxy.epsilon", "real", "", "What one statement over private tables costs."},
	{
		"dpproxy.margin", "string", "",
		"The margin that counts and sums are to have: a number, or a share of the valid range as '2%'.",
	},
	{"dpproxy.notices", "bool", "", "Report cost and margins after each private statement."},
	{"dpproxy.empty_groups", "enum", "{keep,drop}", "Whether groups in which nobody counts are returned."},
	{"dpproxy.max_rows", "integer", "", "Count each unit with at most so many rows; 0 is what the policy allows."},
	{
		"dpproxy.max_rows_per_group", "integer", "",
		"Count each unit with at most so many rows in one group; 0 is what the policy allows.",
	},
	{"dpproxy.intervals", "bool", "", "Return the ends of its 95% interval, x_low and x_high, behind each aggregate x."},
	{"dpproxy.workload", "string", "", "Statements, separated by semicolons, that are asked together and share tables."},
	{"dpproxy.rows", "enum", "{refuse,synthetic}", "Refuse what returns private rows, or answer it with synthetic ones."},
	{"dpproxy.source", "enum", "{real,synthetic}", "Ask the data, or synthetic rows alone, which is free."},
}

// shownSettings prints their rows of pg_settings.
func (c *checker) shownSettings() string {
	rows := make([]string, len(ownSettings))
	for i, s := range ownSettings {
		values := "NULL"
		if s.values != "" {
			values = sqltext.Literal(s.values)
		}
		rows[i] = "(" + sqltext.Literal(s.name) + ", " + c.supply(Supply{Kind: SupplySetting, Name: s.name, Type: "text"}) +
			"::pg_catalog.text, " +
			sqltext.Literal(s.vartype) + ", " + values + ", " + sqltext.Literal(s.description) + ")"
	}
	return "SELECT r.* FROM (VALUES " + strings.Join(rows, ", ") +
		") AS v (n, s, t, e, d) CROSS JOIN LATERAL pg_catalog.jsonb_populate_record(" +
		"NULL::pg_catalog.pg_settings, pg_catalog.jsonb_build_object('name', v.n, 'setting', v.s, 'vartype', v.t, 'enumvals', v.e::pg_catalog.text[], 'short_desc', v.d, " +
		"'category', 'dpproxy', 'context', 'user', 'source', 'session', 'pending_restart', false)) AS r"
}

// serverSettings are facts of the server's build and database, the same for everyone.
var serverSettings = words(`
	block_size in_hot_standby integer_datetimes is_superuser lc_collate lc_ctype max_function_args max_identifier_length
	max_index_keys segment_size server_encoding server_version server_version_num wal_block_size`)

// currentSetting answers current_setting(name [, missing_ok]).
func (c *checker) currentSetting(f *pg_query.FuncCall) (string, bool, error) {
	at := int(f.Location)
	if len(f.Args) == 0 {
		return "", false, nil
	}
	name, ok := constantString(f.Args[0])
	if !ok {
		return "", false, nil
	}
	key := strings.ToLower(name)
	switch {
	case sessionSettings[key]:
		return c.supply(Supply{Kind: SupplySetting, Name: key, Type: "text"}) + "::pg_catalog.text", true, nil
	case serverSettings[key]:
		return "pg_catalog.current_setting(" + sqltext.EscapedLiteral(key) + ")", true, nil
	case len(f.Args) > 1 && isTrue(f.Args[1]):
		return "NULL::pg_catalog.text", true, nil
	}
	return "", false, c.unrecognized(at, name)
}

// settingByName answers current_setting(expression): NULL for what is not listed.
func (c *checker) settingByName(n *pg_query.Node, f *pg_query.FuncCall) error {
	own := ""
	for _, s := range ownSettings {
		own += " WHEN " + sqltext.Literal(s.name) + " THEN " +
			c.supply(Supply{Kind: SupplySetting, Name: s.name, Type: "text"}) + "::pg_catalog.text"
	}
	return wrap(n, f, "(SELECT CASE pg_catalog.lower(n.n)"+own+
		" ELSE pg_catalog.current_setting(n.n, true) END AS current_setting FROM (SELECT CAST(",
		" AS pg_catalog.text)) AS n(n) WHERE pg_catalog.lower(n.n) IN ("+settingNames+"))")
}

// dumpsOnly is what pg_dump and pg_dumpall set first of all, by a query that nobody else sends: which relations they
// will not expand.
const dumpsOnly = "view, foreign-table"

// setConfig takes set_config(name, value, is_local) for the session.
func (c *checker) setConfig(f *pg_query.FuncCall) (string, bool, error) {
	at := int(f.Location)
	if len(f.Args) != 3 {
		return "", false, c.functionDenied(at, "set_config")
	}
	name, ok := constantString(f.Args[0])
	if value, _ := constantString(f.Args[1]); !ok && value == dumpsOnly {
		return "", false, c.refuse(refusal.CatalogObject, at, "pg_dump is not answered: dpproxy returns no rows of a table",
			"Dump the main database itself as its administrator; pg_dump -s there gives the schema alone.")
	}
	if !ok {
		return "", false, c.refuse(refusal.ConstantNeeded, at, "set_config() needs a literal name", "Use SET.")
	}
	key := strings.ToLower(name)
	if !sessionSettings[key] {
		return "", false, c.unrecognized(at, name)
	}
	a := Assignment{Name: key, Local: isTrue(f.Args[2])}
	value := f.Args[1]
	if t := value.GetTypeCast(); t != nil && t.Arg.GetParamRef() != nil {
		value = t.Arg
	}
	if p := value.GetParamRef(); p != nil {
		a.Parameter = int(p.Number)
		c.assignments = append(c.assignments, a)
		return "$" + strconv.Itoa(a.Parameter) + "::pg_catalog.text", true, nil
	}
	text, ok := constantString(value)
	if !ok {
		return "", false, c.refuse(refusal.ConstantNeeded, at, "set_config() needs a literal value", "Use SET.")
	}
	a.Value = text
	c.assignments = append(c.assignments, a)
	return sqltext.EscapedLiteral(text) + "::pg_catalog.text", true, nil
}

// isTrue reads a boolean literal.
func isTrue(n *pg_query.Node) bool {
	if t := n.GetTypeCast(); t != nil {
		n = t.Arg
	}
	k := n.GetAConst()
	if k == nil {
		return false
	}
	if b := k.GetBoolval(); b != nil {
		return b.Boolval
	}
	switch strings.ToLower(k.GetSval().GetSval()) {
	case "t", "true", "on", "1", "y", "yes":
		return true
	}
	return false
}

// quotedSettings prints the names of all settings that pg_settings shows.
func quotedSettings() string {
	shown := maps.Clone(sessionSettings)
	maps.Copy(shown, serverSettings)
	delete(shown, "role") // the pooled connection's
	delete(shown, "session_authorization")
	return literals(shown)
}

// literals prints a set of words as a list of literals, sorted.
func literals(set map[string]bool) string {
	var list []string
	for _, word := range slices.Sorted(maps.Keys(set)) {
		list = append(list, sqltext.Literal(word))
	}
	return strings.Join(list, ", ")
}

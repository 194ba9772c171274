package catalog

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// aclColumns are the catalogs' columns of type aclitem[], by relation. They name the shadow's role; Check shows it as
// PUBLIC, which is what every analyst is. (A role that does not exist cannot be named in an aclitem.)
var aclColumns = map[string]string{
	"pg_class": "relacl", "pg_namespace": "nspacl", "pg_attribute": "attacl", "pg_proc": "proacl", "pg_type": "typacl",
	"pg_language": "lanacl", "pg_foreign_data_wrapper": "fdwacl", "pg_foreign_server": "srvacl",
	"pg_default_acl": "defaclacl",
	"pg_init_privs":  "initprivs",
}

// masked prints an access list with the shadow's role as PUBLIC.
func masked(column string) string {
	return "SELECT pg_catalog.array_agg(CASE WHEN pg_catalog.starts_with(dpproxy_a.i::pg_catalog.text, dpproxy_r.r)" +
		" THEN pg_catalog.substr(dpproxy_a.i::pg_catalog.text, pg_catalog.length(dpproxy_r.r))::pg_catalog.aclitem ELSE dpproxy_a.i END)" +
		" FROM pg_catalog.unnest(" + column + ") AS dpproxy_a(i), " +
		"(SELECT pg_catalog.regexp_replace(current_user::pg_catalog.text, '^(.*[^A-Za-z0-9_].*)$', '\"\\1\"') || '=') AS dpproxy_r(r)"
}

// maskedRelation prints a catalog with its access list masked: for statements that take whole rows of it.
func maskedRelation(relation string) string {
	column := aclColumns[relation]
	return populate("pg_catalog."+relation+" AS c", "c", "pg_catalog.jsonb_build_object('"+column+"', ("+
		masked("c."+column)+"))", "true")
}

// masks reports whether a catalog is replaced because the statement takes whole rows of it.
func (c *checker) masks(relation, referredAs string) bool {
	return aclColumns[relation] != "" && c.wholeRows[referredAs] && !c.tableOID
}

// takesRow notes a reference to a whole row: q.*, a bare q, or a function in the place of a column of q.
func (c *checker) takesRow(x *pg_query.ColumnRef) {
	n := len(x.Fields)
	last := x.Fields[n-1].GetString_().GetSval()
	if n == 1 {
		c.wholeRows[last] = true
	} else if x.Fields[n-1].GetAStar() != nil || pureFunctions[last] {
		c.wholeRows[x.Fields[n-2].GetString_().GetSval()] = true
	}
	if last == "tableoid" {
		c.tableOID = true // not a column of a subquery
	}
}

// takesRows notes what a bare * in a SELECT list stands for.
func (c *checker) takesRows(x *pg_query.SelectStmt) {
	for _, t := range x.TargetList {
		if f := t.GetResTarget().GetVal().GetColumnRef().GetFields(); len(f) == 1 && f[0].GetAStar() != nil {
			for _, item := range x.FromClause {
				c.takesRowsOf(item)
			}
		}
	}
}

func (c *checker) takesRowsOf(item *pg_query.Node) {
	if j := item.GetJoinExpr(); j != nil {
		c.takesRowsOf(j.Larg)
		c.takesRowsOf(j.Rarg)
		return
	}
	if r := item.GetRangeVar(); r != nil {
		c.wholeRows[referredAs(r)] = true
	}
}

// referredAs returns the name under which a statement refers to a relation.
func referredAs(r *pg_query.RangeVar) string {
	if r.Alias != nil {
		return r.Alias.Aliasname
	}
	return r.Relname
}

// accessList edits a reference to one of those columns.
func (c *checker) accessList(n *pg_query.Node, names []string) error {
	last := names[len(names)-1]
	if !c.readsCatalogs || !aclNames[last] {
		return nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = sqltext.Ident(name)
	}
	return become(n, "("+strings.Replace(masked(strings.Join(quoted, ".")), " FROM ", " AS "+sqltext.Ident(last)+" FROM ",
		1)+")")
}

var aclNames = func() map[string]bool {
	names := map[string]bool{}
	for _, n := range aclColumns {
		names[n] = true
	}
	return names
}()

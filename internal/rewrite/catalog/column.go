package catalog

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

// resultFields are the names of OUT parameters of allowed functions, as in (aclexplode(relacl)).grantee.
var resultFields = words(
	`x n grantor grantee privilege_type is_grantable key value ordinality word catcode barelabel catdesc
	baredesc option_name option_value type schema name identity object_names object_args lexeme positions weights tokid token
	alias description dictionaries dictionary lexemes abbrev utc_offset is_dst relid parentrelid isleaf level`)

// columnRef checks a column name. PostgreSQL reads x.f as f(x) where x has no column f, so that a name behind a dot may
// be a function call in disguise.
func (c *checker) columnRef(n *pg_query.Node, x *pg_query.ColumnRef) error {
	var names []string
	for _, f := range x.Fields {
		switch {
		case f.GetString_() != nil:
			names = append(names, f.GetString_().Sval)
		case f.GetAStar() != nil:
			names = append(names, "*")
		default:
			return c.refused(f.ProtoReflect())
		}
	}
	at, last := int(x.Location), names[len(names)-1]
	switch last {
	case "ctid", "xmin", "cmin", "xmax", "cmax":
		return c.refuse(refusal.SystemColumn, at, "permission denied for system column "+last,
			"System columns say where and when rows were written.")
	case "tableoid":
		if c.systemAt < 0 {
			c.systemAt = at
		}
	}
	if len(names) == 1 {
		return c.accessList(n, names)
	}
	if columns, ok := c.functionAliases[names[len(names)-2]]; ok && last != "*" && !columns[last] &&
		!c.harmlessField(last) {
		return c.refuse(refusal.CatalogObject, at, "permission denied for "+strings.Join(names, "."),
			"Name the function's columns: FROM f(…) AS t(a, b).")
	}
	if len(names) == 2 {
		return c.accessList(n, names)
	}
	c.shorten(x, names)
	return nil
}

// harmlessField reports whether (x).name may be read as a field or as a call of name(x).
func (c *checker) harmlessField(name string) bool {
	return resultFields[name] || pureFunctions[name] && name != "age" // age(xid)
}

// indirection checks (expr).field and (expr)[subscript].
func (c *checker) indirection(x *pg_query.A_Indirection) error {
	for _, n := range x.Indirection {
		s := n.GetString_()
		if s == nil || c.harmlessField(s.Sval) {
			continue
		}
		return c.refuse(refusal.CatalogObject, firstLocation(x.Arg.ProtoReflect()), "permission denied for field "+s.Sval+
			" of an expression",
			"PostgreSQL may read (x).f as f(x); write f(x), or name the column in FROM.")
	}
	return nil
}

// shorten takes the schema from schema.relation.column where the relation is a subquery now, and the database from
// longer names.
func (c *checker) shorten(x *pg_query.ColumnRef, names []string) {
	if len(names) == 4 && names[0] == c.in.Database {
		names = names[1:]
	}
	if len(names) == 3 && c.replaced(names[0], names[1]) {
		names = names[1:]
	}
	x.Fields = x.Fields[len(x.Fields)-len(names):]
}

// replaced reports whether Check puts a subquery in the place of a relation.
func (c *checker) replaced(schema, relation string) bool {
	n := nameOf(schema, relation)
	if columns, ok := c.in.Public[n]; ok {
		return columns != nil && !c.empty
	}
	if !c.known(n) || c.in.Private[n] {
		return false
	}
	if c.in.Views[n] != nil {
		return true
	}
	if schema == "pg_catalog" && c.masks(relation, relation) {
		return true
	}
	return schema == ownSchema || schema == "information_schema" && informationSchema[relation] != "" ||
		schema == "pg_catalog" && systemRelations[relation] != plain
}

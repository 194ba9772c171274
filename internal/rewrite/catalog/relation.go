package catalog

import (
	"fmt"
	"slices"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// rangeVar checks a relation name and edits it: qualified, or replaced by a subquery.
func (c *checker) rangeVar(n *pg_query.Node, r *pg_query.RangeVar, s *scope) error {
	at := int(r.Location)
	if r.Catalogname != "" && r.Catalogname != c.in.Database {
		return pgerr.New(pgerr.FeatureNotSupported, fmt.Sprintf("cross-database references are not implemented: %q",
			r.Catalogname+"."+r.Schemaname+"."+r.Relname), pgerr.At(c.text.Position(at)))
	}
	if r.Schemaname == "" && s.has(r.Relname) {
		return nil
	}
	schema, ok := c.resolve(r.Schemaname, r.Relname)
	name := policy.Name{Schema: schema, Relation: r.Relname}
	switch {
	case !ok:
		return c.relationDenied(at, r)
	case c.in.Private[name]:
		if !c.empty {
			return c.relationDenied(at, r)
		}
		c.usesCatalog(at, "an empty answer")
		return qualify(r, schema)
	}
	if columns, public := c.in.Public[name]; public {
		return c.public(n, r, name, columns)
	}
	if c.in.Views[name] != nil {
		return c.view(n, r, name)
	}
	subquery, err := c.catalogRelation(name)
	if err != nil {
		return c.relationDenied(at, r)
	}
	if schema != ownSchema {
		c.usesCatalog(at, "relation "+name.String())
	}
	if subquery == "" && schema == "pg_catalog" && c.masks(r.Relname, referredAs(r)) {
		subquery = maskedRelation(r.Relname)
	}
	if subquery == "" {
		return qualify(r, schema)
	}
	return substitute(n, r, subquery)
}

// public lets a relation of the policy through, cut to its listed columns.
func (c *checker) public(n *pg_query.Node, r *pg_query.RangeVar, name policy.Name, columns []string) error {
	if c.empty {
		// Every relation of the policy exists in the shadow, and the statement returns no row.
		return qualify(r, name.Schema)
	}
	if c.publicAt < 0 {
		c.publicAt = int(r.Location)
	}
	if columns == nil {
		return qualify(r, name.Schema)
	}
	quoted := make([]string, len(columns))
	for i, col := range columns {
		quoted[i] = sqltext.Ident(col)
	}
	return substitute(n, r, "SELECT "+strings.Join(quoted, ", ")+" FROM "+sqltext.Ident(name.Schema)+"."+
		sqltext.Ident(name.Relation))
}

// view puts the definition of a view in its place. It is checked like the client's text, in which it has no position.
func (c *checker) view(n *pg_query.Node, r *pg_query.RangeVar, name policy.Name) error {
	if err := substitute(n, r, "SELECT"); err != nil {
		return err
	}
	query := sqltree.SelectNode(sqltree.Clone(c.in.Views[name]))
	n.GetRangeSubselect().Subquery = query
	return sqltree.WithoutPosition(c.walk(query.ProtoReflect(), nil))
}

// resolve finds the schema that a name means: PostgreSQL's search over pg_catalog and the policy's schemas. Names that
// are in neither are not resolved.
func (c *checker) resolve(schema, relation string) (string, bool) {
	if schema != "" {
		return schema, c.known(policy.Name{Schema: schema, Relation: relation})
	}
	path := c.in.Schemas
	if !slices.Contains(path, "pg_catalog") {
		path = append([]string{"pg_catalog"}, path...)
	}
	for _, sc := range path {
		if c.known(policy.Name{Schema: sc, Relation: relation}) {
			return sc, true
		}
	}
	return "", false
}

func (c *checker) known(n policy.Name) bool {
	if _, ok := c.in.Public[n]; ok || c.in.Private[n] || c.in.Views[n] != nil {
		return true
	}
	switch n.Schema {
	case "pg_catalog":
		return systemRelations[n.Relation] != 0
	case "information_schema":
		return informationSchema[n.Relation] != ""
	case ownSchema:
		return own(n.Relation) != nil
	}
	return false
}

// privateByPath reports whether a bare name means a private relation.
func (c *checker) privateByPath(relation string) bool {
	schema, ok := c.resolve("", relation)
	return ok && c.in.Private[nameOf(schema, relation)]
}

// qualify writes the schema in front of a relation name, and takes a database name away.
func qualify(r *pg_query.RangeVar, schema string) error {
	r.Catalogname, r.Schemaname = "", schema
	return nil
}

// substitute puts a subquery where a relation stands, under the name by which the statement refers to it.
func substitute(n *pg_query.Node, r *pg_query.RangeVar, subquery string) error {
	if !r.Inh {
		return errNotEditable()
	}
	node, err := parseFrom("(" + subquery + ") AS " + sqltext.Ident(r.Relname))
	if err != nil {
		return err
	}
	if r.Alias != nil {
		node.GetRangeSubselect().Alias = r.Alias
	}
	n.Node = node.Node
	return nil
}

func relationParts(r *pg_query.RangeVar) []string {
	var parts []string
	for _, p := range []string{r.Catalogname, r.Schemaname, r.Relname} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return parts
}

// relationDenied refuses a relation: what is no part of the system does not exist, as PostgreSQL says it.
func (c *checker) relationDenied(at int, r *pg_query.RangeVar) error {
	switch name := nameOf(r.Schemaname, r.Relname); {
	case r.Schemaname == "pg_catalog", r.Schemaname == "information_schema", r.Schemaname == "pg_toast",
		r.Schemaname == ownSchema:
	case r.Schemaname == "" && strings.HasPrefix(r.Relname, "pg_"):
	case c.in.Private[name]:
	case r.Schemaname == "" && c.privateByPath(r.Relname):
	default:
		return pgerr.New(pgerr.UndefinedTable, fmt.Sprintf("relation %q does not exist", strings.Join(relationParts(r), ".")),
			pgerr.At(c.text.Position(at)))
	}
	return c.refuse(refusal.CatalogObject, at, "permission denied for relation "+strings.Join(relationParts(r), "."),
		"Ask for tables of the policy, or for catalog relations that the topic introspection of dpproxy.help lists.")
}

package catalog

import (
	"fmt"
	"strings"

	"github.com/dpproxy/dpproxy/internal/policy"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// information prints the query that stands for a relation of information_schema: every column that names the database
// names the client's, every column that names the role names the client's user.
func (c *checker) information(relation string) (string, error) {
	columns := informationSchema[relation]
	if columns == "" {
		return "", errUnlisted
	}
	if columns == "*" {
		return c.anyInformation(relation), nil
	}
	var b strings.Builder
	changed := false
	for i, col := range strings.Fields(columns) {
		if i > 0 {
			b.WriteString(", ")
		}
		q := sqltext.Ident(col)
		switch {
		case col == "catalog_name" || strings.HasSuffix(col, "_catalog"):
			changed = true
			fmt.Fprintf(&b, "CASE WHEN t.%s IS NOT NULL THEN %s::information_schema.sql_identifier END AS %s", q,
				sqltext.EscapedLiteral(c.in.Database), q)
		case userColumns[col]:
			changed = true
			fmt.Fprintf(
				&b, "CASE WHEN t.%s::pg_catalog.name = current_user THEN %s::information_schema.sql_identifier ELSE t.%s END AS %s",
				q, sqltext.EscapedLiteral(c.in.User), q, q)
		default:
			b.WriteString("t." + q)
		}
	}
	if !changed {
		return "", nil
	}
	return "SELECT " + b.String() + " FROM information_schema." + relation + " AS t", nil
}

// anyInformation does the same for whatever columns a relation has.
func (c *checker) anyInformation(relation string) string {
	users := literals(userColumns)
	return populate("information_schema."+relation+" AS t", "t",
		fmt.Sprintf(`(SELECT pg_catalog.jsonb_object_agg(e.key, CASE WHEN e.key IN (%s) THEN %s ELSE %s END)`+
			` FROM pg_catalog.jsonb_each_text(pg_catalog.to_jsonb(t)) AS e WHERE e.key IN (%s) AND e.value = current_user OR e.value IS NOT NULL AND (e.key = 'catalog_name' OR e.key LIKE '%%\_catalog'))`,
			users, sqltext.EscapedLiteral(c.in.User), sqltext.EscapedLiteral(c.in.Database), users), "true")
}

// userColumns name roles.
var userColumns = words(`grantee grantor role_name schema_owner authorization_identifier`)

// ownRows prints the rows of a relation of schema dpproxy: parameters that the engine supplies.
func (c *checker) ownRows(relation string) (string, error) {
	r := own(relation)
	if r == nil {
		return "", errUnlisted
	}
	args := make([]string, len(r.columns))
	names := make([]string, len(r.columns))
	for i, col := range r.columns {
		args[i] = c.supply(Supply{Kind: r.supply, Name: col.Name, Type: col.Type + "[]"}) + "::" + col.Type + "[]"
		names[i] = sqltext.Ident(col.Name)
	}
	return "SELECT * FROM ROWS FROM (pg_catalog.unnest(" + strings.Join(args, "), pg_catalog.unnest(") + ")) AS t(" +
		strings.Join(names, ", ") + ")", nil
}

// own finds a relation of schema dpproxy.
func own(relation string) *ownRelation {
	for i := range ownRelations {
		if ownRelations[i].name == relation {
			return &ownRelations[i]
		}
	}
	return nil
}

func nameOf(schema, relation string) policy.Name {
	return policy.Name{Schema: schema, Relation: relation}
}

package catalog

import (
	"regexp"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// typeCast takes the client's database from names that are cast to regclass, 'clinic.public.patients'::regclass: the
// database that runs the statement has another name. Tools build such names from information_schema's table_catalog.
// Only the form (a || b)::regclass and literals are edited; others run as they are.
func (c *checker) typeCast(t *pg_query.TypeCast, s *scope) error {
	if err := c.children(t.ProtoReflect(), s); err != nil {
		return err
	}
	names := stringsOf(t.GetTypeName().GetNames())
	if len(names) == 0 || names[len(names)-1] != "regclass" || len(t.TypeName.ArrayBounds) > 0 {
		return nil
	}
	if k := t.Arg.GetAConst().GetSval(); k != nil {
		k.Sval = regexp.MustCompile(`^(?:`+quotedPattern(c.in.Database)+`)\.((?:"[^"]*"|[^."]+)\..*)$`).ReplaceAllString(
			k.Sval, "$1")
		return nil
	}
	e := t.Arg.GetAExpr()
	if e == nil || e.Kind != pg_query.A_Expr_Kind_AEXPR_OP {
		return nil
	}
	if names := stringsOf(e.Name); len(names) == 0 || names[len(names)-1] != "||" {
		return nil
	}
	node, err := parseExpr("pg_catalog.regexp_replace(NULL, " + sqltext.EscapedLiteral(c.databasePrefix()) + ", '')")
	if err != nil {
		return err
	}
	node.GetFuncCall().Args[0] = t.Arg
	t.Arg = node
	return nil
}

// databasePrefix is a regular expression of PostgreSQL for the database in front of schema.relation.
func (c *checker) databasePrefix() string {
	return `^(` + quotedPattern(c.in.Database) + `)\.(?=("[^"]*"|[^."]+)\.)`
}

func quotedPattern(name string) string {
	return regexp.QuoteMeta(name) + `|` + regexp.QuoteMeta(sqltext.Ident(name))
}

package finish

import (
	"fmt"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/bind"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// maxReads bounds the public queries of a statement that are tried to be read: each is a question to the shadow, and
// another when it is planned.
const maxReads = 16

// Read takes a public query as one that is read when the statement is planned (docs/privacy.md P4g), once.
func (c *cutter) Read(b *relation.Base, query *pg_query.SelectStmt, wanted bool) (*relation.PublicQuery, error) {
	text, err := sqltree.Deparse(query)
	if err != nil {
		return nil, nil //nolint:nilerr // the query is bound as it is, or refused
	}
	q, met := c.reads[text]
	if met || !wanted {
		return q, nil
	}
	if len(c.reads) == maxReads {
		return nil, refusal.New(refusal.TooComplex, fmt.Sprintf(
			"private rows are combined with more than %d queries over public tables", maxReads),
			pgerr.Hint("Combine some of them into one."))
	}
	c.reads[text] = nil
	if q, err = c.publicQuery(b, query, text); err == nil {
		c.reads[text] = q
	}
	return q, err
}

// Read finds what was made of a public query, for a plan.
func (s stagesOf) Read(_ *relation.Base, query *pg_query.SelectStmt, _ bool) (*relation.PublicQuery, error) {
	if len(s.reads) == 0 {
		return nil, nil
	}
	text, err := sqltree.Deparse(query)
	if err != nil {
		return nil, nil //nolint:nilerr // nothing was made of it
	}
	return s.reads[text], nil
}

// publicQuery makes what is read of a query that PostgreSQL takes by itself, so that it reads no row around it, and
// that names public tables alone; nil: it is none.
func (c *cutter) publicQuery(b *relation.Base, query *pg_query.SelectStmt, text string) (*relation.PublicQuery, error) {
	if b.Desc.Describe == nil || !namesPublic(b, query) {
		return nil, nil
	}
	columns, err := b.Desc.Describe(text)
	if err != nil || len(columns) == 0 {
		return nil, nil //nolint:nilerr // it reads a row around it
	}
	q := &relation.PublicQuery{Columns: columns}
	types := make([]string, len(columns))
	for i, column := range columns {
		ok := false
		if types[i], ok = b.ReadableType(column.Type); !ok {
			return nil, refusal.New(refusal.FromItem, fmt.Sprintf(
				"private rows cannot be combined with the column %q of this query over public tables, for its type", column.Name),
				pgerr.Hint("Leave it out, or cast it to a number, a text, a date or a boolean."))
		}
	}
	if err := plainTexts(b, columns, text); err != nil {
		return nil, err
	}
	f := &finisher{Planned: &Planned{Binder: bind.New(b, c)}}
	t, err := f.template(c.in, query)
	if err != nil {
		return nil, err
	}
	q.Query = schema.ClientQuery{
		SQL: arraysOf(t.text[0], types, relation.MaxConstants+1), On: t.on, Columns: len(columns),
		Clock: t.clock,
	}
	for _, a := range t.args {
		q.Query.Parameters = append(q.Query.Parameters, a.Parameter)
	}
	return q, nil
}

// namesPublic reports whether a query names public tables of the policy alone, and queries of its own WITH.
func namesPublic(b *relation.Base, query *pg_query.SelectStmt) bool {
	tree, ctes := sqltree.SelectNode(query), map[string]bool{}
	sqltree.Visit(tree, func(n *pg_query.Node) bool {
		if c := n.GetCommonTableExpr(); c != nil {
			ctes[c.Ctename] = true
		}
		return true
	})
	return !sqltree.Any(tree, func(n *pg_query.Node) bool {
		v := n.GetRangeVar()
		if v == nil {
			return false
		}
		t := b.Table(v)
		return b.View(v) != nil || t != nil && !t.Public || t == nil && (v.Schemaname != "" || !ctes[v.Relname])
	})
}

// plainTexts refuses texts under a collation of their own: constants have the database's. Two columns of which neither
// has that one cannot be united, and a text that can be with one of "C" and with one of "POSIX" has it.
func plainTexts(b *relation.Base, columns []schema.ColumnDescription, text string) error {
	var names, texts, others []string
	for i, c := range columns {
		name := fmt.Sprintf("c%d", i+1)
		if names = append(names, name); relation.Collated(c.Type) {
			texts, others = append(texts, name), append(others, "x.t")
		}
	}
	if len(texts) == 0 {
		return nil
	}
	united := func(collation string) string {
		return fmt.Sprintf(
			"(SELECT %s FROM (%s) AS s (%s) UNION SELECT %s FROM (SELECT ''::pg_catalog.text COLLATE pg_catalog.%q AS t) AS x)",
			strings.Join(texts, ", "), text, strings.Join(names, ", "), strings.Join(others, ", "), collation)
	}
	if _, err := b.Desc.Describe("SELECT 1 FROM " + united("C") + " AS a, " + united("POSIX") + " AS b"); err != nil {
		return refusal.New(refusal.Collation,
			"a text of this query over public tables has a collation of its own, and cannot be combined with private rows",
			pgerr.Hint(`Write COLLATE "default" behind it.`))
	}
	return nil
}

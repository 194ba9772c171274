package catalog

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// printed returns the text of an edited statement: the client's own where nothing was edited, otherwise one that parses
// to the edited tree.
func printed(stmt, edited *pg_query.Node, text string) (string, error) {
	if proto.Equal(stmt, edited) {
		return text, nil
	}
	sql, err := sqltree.Deparse(edited.GetSelectStmt())
	if err != nil {
		return "", errNotEditable()
	}
	return sql, nil
}

// errNotEditable refuses a form in whose place nothing can be put: no edit may drop a part of the statement.
func errNotEditable() error {
	return refusal.New(refusal.CatalogForm, "this spelling of a catalog query is not supported",
		pgerr.Hint("Write relation and function names plainly (schema.name), without ONLY, OVER, FILTER or WITH ORDINALITY."))
}

// parseFrom parses what may stand in FROM, and returns its node.
func parseFrom(text string) (*pg_query.Node, error) {
	r, err := pg_query.Parse("SELECT FROM " + text)
	if err != nil {
		return nil, errNotEditable()
	}
	from := r.Stmts[0].Stmt.GetSelectStmt().GetFromClause()
	if len(from) != 1 {
		return nil, errNotEditable()
	}
	return from[0], nil
}

// parseExpr parses an expression, and returns its node.
func parseExpr(text string) (*pg_query.Node, error) {
	r, err := pg_query.Parse("SELECT " + text)
	if err != nil {
		return nil, errNotEditable()
	}
	targets := r.Stmts[0].Stmt.GetSelectStmt().GetTargetList()
	if len(targets) != 1 {
		return nil, errNotEditable()
	}
	return targets[0].GetResTarget().GetVal(), nil
}

// become puts the expression of a text in the place of a node.
func become(n *pg_query.Node, text string) error {
	node, err := parseExpr(text)
	if err != nil {
		return err
	}
	n.Node = node.Node
	return nil
}

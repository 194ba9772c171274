package sqltree

import (
	"errors"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
)

// Text is the statement that locations of nodes count in.
type Text string

// Position turns a byte offset into PostgreSQL's 1-based count of characters; 0 if unknown.
func (t Text) Position(location int) int {
	if location < 0 || location > len(string(t)) {
		return 0
	}
	return utf8.RuneCountInString(string(t)[:location]) + 1
}

// Refuse makes a refusal at a node.
func (t Text) Refuse(reason refusal.Reason, n *pg_query.Node, message, hint string) error {
	return t.RefuseAt(reason, LocationOf(n), message, hint)
}

// RefuseAt makes a refusal at a byte offset.
func (t Text) RefuseAt(reason refusal.Reason, location int, message, hint string) error {
	return refusal.New(reason, message, pgerr.At(t.Position(location)), pgerr.Hint("%s", hint))
}

// Error makes an error at a node that PostgreSQL would raise as well.
func (t Text) Error(code string, n *pg_query.Node, message, hint string) error {
	return pgerr.New(code, message, pgerr.At(t.Position(LocationOf(n))), pgerr.Hint("%s", hint))
}

// Located gives an error without a position the position of n.
func (t Text) Located(err error, n *pg_query.Node) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Position == 0 {
		copied := *pe
		copied.Position = int32(t.Position(LocationOf(n)))
		return &copied
	}
	return err
}

// WithoutPosition drops a position that points into a text which the client did not write.
func WithoutPosition(err error) error {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return err
	}
	e := *pe
	e.Position = 0
	return &e
}

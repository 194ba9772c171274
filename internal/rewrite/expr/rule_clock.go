package expr

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/refusal"
)

var clockRules = []rule{
	{names: "now transaction_timestamp statement_timestamp", total: "always", build: moment},
	{names: "date", total: "as the cast to date", build: dateOf},
}

// moment builds the functions that give the time of the statement.
func moment(c *call, _ string) (*Expr, error) {
	if len(c.args) > 0 {
		return nil, Refuse(refusal.Function, c.loc, c.text+" takes no arguments", "")
	}
	return c.b.clock(pgtype.TimestamptzOID, c.text, c.loc)
}

// dateOf builds date(x), a cast by another name.
func dateOf(c *call, _ string) (*Expr, error) {
	if len(c.args) != 1 || c.args[0].typ == pgtype.UnknownOID {
		return nil, nil
	}
	return c.b.cast(c.args[0], pgtype.DateOID, -1, c.text, c.loc)
}

// clock reads the clock once for all rows of a statement: a constant in the measure query, so that the question of another day is
// another question.
func (b *builder) clock(oid uint32, text string, loc int) (*Expr, error) {
	word := "now"
	if oid == pgtype.DateOID {
		word = "today"
	}
	return b.readByServer(oid, word, &Expr{text: text, location: loc})
}

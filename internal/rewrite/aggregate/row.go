package aggregate

import (
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/relation"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltree"
)

// RowArgument returns the row of count(DISTINCT (a, b)); nil for any other call.
func RowArgument(f *pg_query.FuncCall) *pg_query.RowExpr {
	if sqltree.FunctionName(f) != "count" || !f.AggDistinct || len(f.Args) != 1 || len(f.AggOrder) > 0 || f.FuncVariadic {
		return nil
	}
	return f.Args[0].GetRowExpr()
}

// NewRowCount types count(DISTINCT (a, b)). A row is never NULL, whatever its columns are, and NULL equals NULL in it.
func NewRowCount(b *relation.Base, f *pg_query.FuncCall, sc Scope) (*Call, error) {
	c := &Call{Name: "count", Distinct: true, Type: pgtype.Int8OID, Location: int(f.Location)}
	row := RowArgument(f)
	if len(row.Args) == 0 {
		return nil, b.Refuse(refusal.RowValue, f.Args[0], "a row without columns is not supported", "")
	}
	var texts []string
	for _, n := range row.Args {
		x, err := sc.Expression(n)
		if err != nil {
			return nil, err
		}
		c.Row, texts = append(c.Row, x), append(texts, x.Text())
	}
	if f.AggFilter != nil {
		var err error
		if c.Filter, err = sc.Condition(f.AggFilter); err != nil {
			return nil, err
		}
	}
	c.Text = "count(DISTINCT (" + strings.Join(texts, ", ") + "))"
	return c, nil
}

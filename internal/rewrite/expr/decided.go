package expr

import (
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/bounds"
	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
	"github.com/dpproxy/dpproxy/internal/rewrite/sqltext"
)

// Decide finds the column whose value decides a condition, and prints that over the value in its type's text, u.v; nil:
// others, a subquery, a parameter or a collation have a say.
func Decide(condition *Expr) (column *Column, holds string) {
	columns := condition.columns(func(*Expr) bool { return true }, true)
	if len(columns) == 0 || condition.provisional || columns[0].Collation != "" || columns[0].of != nil {
		return nil, ""
	}
	p, c := &printer{columns: map[*Column]query.Scalar{}}, columns[0]
	x := columnExpr(c, -1)
	for _, o := range columns {
		if !query.Equal(o.Ref, c.Ref) {
			return nil, ""
		}
		p.columns[o] = query.Raw("u.v::" + columnType(x))
	}
	plain := true
	condition.walk(func(x *Expr) bool {
		plain = plain && x.verbatim == nil
		return plain
	})
	if !plain {
		return nil, ""
	}
	return c, query.Text(p.print(condition))
}

// Fulfilling lists those of an array of values that fulfil a condition that Decide has printed, NULL among them.
func Fulfilling(holds string, values schema.Canonical) schema.Query {
	return schema.Query{
		SQL: "SELECT DISTINCT u.v FROM pg_catalog.unnest(" + sqltext.Literal(string(values)) +
			"::pg_catalog.text[]) AS u(v) WHERE " + holds,
		Types: []uint32{pgtype.TextOID},
	}
}

// mostLeft bounds the values that Left lists.
const mostLeft = 1000

// Left lists the values that a column may have where what is known of it holds, if they are texts, whole numbers or
// dates; nil: they are others, or more than mostLeft.
func Left(c *Column, n Narrowing) (values []string) {
	oid := columnExpr(c, -1).baseType()
	date := oid == pgtype.DateOID
	switch {
	case pgresolve.IsString(oid) && n.NotNull:
		return n.Domain
	case !n.NotNull || !n.Bounds.Finite() || !date && !pgresolve.IsInt(oid) ||
		bounds.FloorInt(n.Bounds.Width()) >= mostLeft:
		return nil
	}
	for v := bounds.CeilInt(n.Bounds.Lo); v <= bounds.FloorInt(n.Bounds.Hi); v++ {
		text := strconv.FormatInt(v, 10)
		if date {
			text = time.Unix(v*24*60*60, 0).UTC().Format(time.DateOnly)
		}
		values = append(values, text)
	}
	return slices.Clip(values)
}

package relation

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/rewrite/pgresolve"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
	"github.com/dpproxy/dpproxy/internal/rewrite/schema"
)

// SingleValue prints an aggregate that gives the value of a column's one row, and describes it; a domain's is of its
// base type, since NULL may be no value of the domain. min knows neither booleans nor uuids, and of a text it gives a
// text.
func SingleValue(c *Column) (*Column, query.Scalar, bool) {
	v := c.copied()
	x := v.Value
	if x.Base != 0 {
		x.Type, x.Typmod, x.TypeName, x.Base = x.Base, x.BaseTypmod, schema.TypeName(x.Base), 0
	}
	ref := query.F("({})", c.Value.Ref)
	if x.TypeName != c.Value.TypeName {
		ref = query.F("({})::{}", c.Value.Ref, x.TypeName)
	}
	switch {
	case x.Type == pgtype.BoolOID:
		return v, query.F("bool_and({})", ref), true
	case x.Type == pgtype.UUIDOID:
		return v, query.F("(min({}::pg_catalog.text))::pg_catalog.uuid", ref), true
	case x.Type == pgtype.VarcharOID || x.Type == pgtype.NameOID:
		return v, query.F("(min({}))::{}", ref, x.TypeName), true
	case pgresolve.IsNumber(x.Type), pgresolve.IsTime(x.Type), x.Type == pgtype.DateOID, x.Type == pgtype.TextOID,
		x.Type == pgtype.BPCharOID, len(x.EnumLabels) > 0:
		return v, query.F("min({})", ref), true
	}
	return nil, nil, false
}

// ExistsRows prints EXISTS of a relation's rows: for any place, and for a condition of a WHERE. OFFSET 0 keeps
// PostgreSQL from answering one row's question with a hash table of all rows of the relation's tables, which it would
// build when the first row asks, and whose time would tell that one did (P22a). A condition of a WHERE becomes a join.
func ExistsRows(r *Relation, correlated bool) (sql, joined query.Scalar) {
	plain := r.Select(query.Output{X: query.Integer(1)})
	if !correlated {
		return query.Exists{Query: plain}, nil
	}
	fenced := *plain
	fenced.Fence = query.FenceAll
	return query.Exists{Query: &fenced}, query.Exists{Query: plain}
}

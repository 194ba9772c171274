package relation

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/dpproxy/dpproxy/internal/pgerr"
	"github.com/dpproxy/dpproxy/internal/refusal"
	"github.com/dpproxy/dpproxy/internal/rewrite/expr"
	"github.com/dpproxy/dpproxy/internal/rewrite/query"
)

// CanonicalText prints sql, a value of x's type, so that equal values have one text: 1.0 and 1.00, 0 and −0. What keeps
// one of several equal values would else keep the spelling of the row that comes first, and which one does may depend
// on the rows of other units (docs/privacy.md P8). Types whose equal values may have several texts are refused.
func CanonicalText(sql query.Scalar, x *expr.Column) (query.Scalar, error) {
	base, typmod := x.Type, x.Typmod
	if x.Base != 0 {
		base, typmod = x.Base, x.BaseTypmod
	}
	own := base != x.Type
	switch base {
	case pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.DateOID, pgtype.TimeOID,
		pgtype.TimestampOID, pgtype.TimestamptzOID,
		pgtype.UUIDOID, pgtype.ByteaOID, pgtype.QCharOID:
		return sql, nil
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.NameOID:
		if x.DeterministicCollation {
			return sql, nil
		}
	case pgtype.BPCharOID: // character without a length keeps its blanks and ignores them
		if x.DeterministicCollation && typmod >= 0 {
			return sql, nil
		}
	case pgtype.NumericOID:
		switch {
		case typmod >= 0 && isColumn(sql):
			return sql, nil
		case typmod >= 0: // a clamp's literal has digits of its own
			return query.F("pg_catalog.round({}, {})", sql, int(int16((typmod-4)&0x7ff^1024)-1024)), nil
		case !own:
			return query.F("pg_catalog.trim_scale({})", sql), nil
		}
	case pgtype.Float4OID:
		if !own {
			return query.F("({} OPERATOR(pg_catalog.+) '0'::pg_catalog.float4)", sql), nil
		}
	case pgtype.Float8OID:
		if !own {
			return query.F("({} OPERATOR(pg_catalog.+) '0'::pg_catalog.float8)", sql), nil
		}
	default:
		if len(x.EnumLabels) > 0 {
			return sql, nil
		}
	}
	return nil, refusal.New(refusal.KeyValues, fmt.Sprintf(
		"equal values of %q may be written differently, so rows of one person cannot be told apart by it", x.Name),
		pgerr.Hint("Cast it to another type, or leave it out."))
}

// isColumn says that SQL is a column as it stands.
func isColumn(sql query.Scalar) bool {
	_, ok := sql.(query.Column)
	return ok
}
